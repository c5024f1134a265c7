#include "patterns/condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char time_name[] = "time";

int fm_condition_parse(const char *text, struct fm_condition *ret_condition, struct fm_error *error)
{
	const char *sign = strchr(text, '>');
	size_t length = sign ? (size_t)(sign - text) : 0;
	struct fm_condition condition = {.percent = 0};
	char *end = NULL;

	if (length && length < sizeof(condition.name)) {
		memcpy(condition.name, text, length);
		condition.percent = strtod(sign + 1, &end);
		end += end != sign + 1 && *end == '%';
	}
	if (!end || end == sign + 1 || *end || !(condition.percent >= 0 && condition.percent <= 1000))
		return fm_error_set(error, EINVAL,
		                    "a condition is CAUSE>PERCENT, such as latency:memory>20, not \"%s\"", text);
	if (strcmp(condition.name, time_name) != 0 && !fm_causes_have(condition.name)) {
		char names[400] = "";

		for (unsigned i = 0; i < fm_causes_count; i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
			         fm_causes[i].name);
		return fm_error_set(error, EINVAL, "there is no cause \"%s\": %s, or time", condition.name, names);
	}
	*ret_condition = condition;
	return 0;
}

static enum fm_condition_state judge(const struct fm_figure *share, double limit)
{
	if (!share->available)
		return FM_CONDITION_OPEN;
	return share->low > limit ? FM_CONDITION_TRUE : share->high > limit ? FM_CONDITION_OPEN : FM_CONDITION_FALSE;
}

enum fm_condition_state fm_condition_test(const struct fm_condition *condition, const struct fm_analysis *analysis,
                                          struct fm_figure *ret_share)
{
	*ret_share = fm_causes_share(analysis, condition->name);
	return judge(ret_share, condition->percent / 100);
}

enum fm_condition_state fm_condition_test_runs(const struct fm_condition *condition, const struct fm_runs *runs,
                                               struct fm_figure *ret_share)
{
	const struct fm_figure *ratio = &runs->time.ratio;

	if (strcmp(condition->name, time_name) != 0)
		return fm_condition_test(condition, runs->after, ret_share);
	*ret_share = ratio->available ? fm_figure_make(ratio->value - 1, ratio->low - 1, ratio->high - 1, "",
	                                               ratio->origin, ratio->backend, ratio->trials)
	                              : *ratio;
	return judge(ret_share, condition->percent / 100);
}
