#include "patterns/runs.h"

#include <stdio.h>
#include <string.h>

#include "patterns/deciding.h"

static struct fm_figure time_of(const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);

	return native ? native->seconds : fm_figure_unavailable("the run time is unknown");
}

static bool is_notable(const struct fm_figure *share)
{
	return share->available && share->value >= FM_RIVAL_LEAST;
}

static void add_cause(struct fm_runs *runs, const char *name)
{
	struct fm_figure before = fm_causes_share(runs->before, name), after = fm_causes_share(runs->after, name);

	for (unsigned i = 0; i < runs->cause_count; i++)
		if (!strcmp(runs->causes[i].name, name))
			return;
	if (runs->cause_count == FM_RUNS_CAUSES || (!is_notable(&before) && !is_notable(&after)))
		return;
	snprintf(runs->causes[runs->cause_count].name, sizeof(runs->causes[0].name), "%s", name);
	runs->causes[runs->cause_count++].share = fm_compared_make(&before, &after);
}

struct side {
	struct fm_runs *runs;
	const struct fm_analysis *analysis;
};

static void add(void *context, const struct fm_caused *caused)
{
	struct side *side = context;
	char name[FM_CAUSE_NAME];

	add_cause(side->runs, fm_caused_name(side->analysis, caused, name, sizeof(name)));
}

static void add_levels(struct fm_runs *runs)
{
	const struct fm_picture *before = &runs->before->whole.picture, *after = &runs->after->whole.picture;

	for (unsigned i = 0; i < before->level_count; i++)
		for (unsigned k = 0; k < after->level_count; k++) {
			if (strcmp(before->levels[i].name, after->levels[k].name) != 0)
				continue;
			snprintf(runs->levels[runs->level_count].name, sizeof(runs->levels[0].name), "%s",
			         before->levels[i].name);
			runs->levels[runs->level_count++].bytes =
			    fm_compared_make(&before->levels[i].moved_bytes, &after->levels[k].moved_bytes);
		}
}

void fm_runs_compare(const struct fm_analysis *before, const struct fm_analysis *after, struct fm_runs *ret_runs)
{
	struct fm_figure first = time_of(before), second = time_of(after);

	*ret_runs = (struct fm_runs){.before = before, .after = after};
	ret_runs->time = fm_compared_make(&first, &second);
	fm_causes_each(before, add, &(struct side){ret_runs, before});
	fm_causes_each(after, add, &(struct side){ret_runs, after});
	add_levels(ret_runs);
}
