#include "counters/recipe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/formula.h"

enum { VENDOR, VALIDATED };

/* Largest errors in validation: beyond the first, another event is preferred, even one that counts other programs too;
   beyond the second, the formula is called wrong. */
static const double reliable = 0.1, right = 0.25;

static const struct {
	const char *name;
	bool per_level;
} quantities[] = {
#define RECIPE(identifier, name, per_level) {name, per_level},
#include "counters/recipe.def"
#undef RECIPE
};

/* "L2 read [bytes]" -> L2, read. False for other metrics. */
static bool parse_name(const char *text, struct fm_recipe_item *item)
{
	size_t length = strcspn(text, "["), most = 0;

	while (length && text[length - 1] == ' ')
		length--;
	for (unsigned i = 0; i < FM_RECIPE_COUNT; i++) {
		size_t own = strlen(quantities[i].name);
		const char *end = text + length - own;

		/* the longest name that fits: "stores full" is no level called "stores" */
		if (own > length || own <= most || strncmp(end, quantities[i].name, own) ||
		    (quantities[i].per_level ? own + 1 >= length || end[-1] != ' ' : own != length) ||
		    length - own > sizeof(item->level))
			continue;
		most = own;
		item->quantity = (enum fm_recipe_quantity)i;
		snprintf(item->level, sizeof(item->level), "%.*s",
		         quantities[i].per_level ? (int)(length - own - 1) : 0, text);
	}
	return most > 0;
}

/* Counters that a formula mentions. */
struct mentioned {
	const struct fm_group *group;
	bool events[FM_GROUP_EVENTS_MAX];
};

static bool note(void *context, const char *name, double *ret_value)
{
	struct mentioned *mentioned = context;

	*ret_value = 1;
	for (unsigned i = 0; i < mentioned->group->event_count; i++)
		mentioned->events[i] |= !strcmp(mentioned->group->events[i].counter, name);
	return true;
}

static bool find_mentioned(const struct fm_group *group, unsigned metric, struct mentioned *ret)
{
	struct fm_error ignored;
	double value;

	*ret = (struct mentioned){.group = group};
	return !fm_formula_evaluate(group->metrics[metric].formula, note, ret, &value, &ignored);
}

static bool can_be_counted(const struct fm_recipe *recipe, const struct fm_recipe_item *item,
                           const struct fm_recipe_wishes *wishes)
{
	const struct fm_group *group = &recipe->groups[item->validated];
	struct mentioned mentioned;

	if (!find_mentioned(group, item->metric, &mentioned))
		return false;
	for (unsigned i = 0; i < group->event_count && wishes->exists; i++)
		if (mentioned.events[i] && !wishes->exists(wishes->context, group->events[i].name))
			return false;
	return true;
}

/* The vendor's */

/* When a metric does not apply, by the lines after "Limits:": its name, without the unit, its formula where only one of
   several is meant, a colon, and words. */
static void find_limits(const char *text, const struct fm_group_metric *metric, char *limits, size_t size)
{
	size_t length = strcspn(metric->name, "["), own = strlen(metric->formula);
	const char *at = strstr(text, "\nLimits:\n");

	while (length && metric->name[length - 1] == ' ')
		length--;
	for (at = at ? strchr(at + 1, '\n') : NULL; at; at = strchr(at, '\n')) {
		const char *end = ++at + length;

		if (strncmp(at, metric->name, length) != 0)
			continue;
		if (*end == ' ' && !strncmp(end + 1, metric->formula, own))
			end += 1 + own;
		if (*end != ':')
			continue;
		end += 1 + strspn(end + 1, " ");
		snprintf(limits, size, "%.*s", (int)strcspn(end, "\n"), end);
		return;
	}
}

static int read_vendor(struct fm_recipe *recipe, const char *text, const char *path, struct fm_recipe_item *candidates,
                       unsigned *count, struct fm_error *error)
{
	struct fm_group *group = &recipe->groups[VENDOR];
	int r = fm_group_parse(text, path, group, error);

	for (unsigned i = 0; !r && i < group->metric_count && *count < FM_RECIPE_ITEMS_MAX; i++) {
		struct fm_recipe_item *item = &candidates[*count];
		struct mentioned mentioned;

		memset(item, 0, sizeof(*item));
		item->error = NAN;
		item->metric = i;
		if (!parse_name(group->metrics[i].name, item))
			return fm_error_set(error, EBADMSG, "%s: \"%s\" is not a known quantity", path,
			                    group->metrics[i].name);
		if (!find_mentioned(group, i, &mentioned))
			return fm_error_set(error, EBADMSG, "%s: \"%s\" is not a formula", path,
			                    group->metrics[i].formula);
		find_limits(text, &group->metrics[i], item->limits, sizeof(item->limits));
		for (unsigned k = 0; k < group->event_count; k++)
			item->socket |= mentioned.events[k] && (strstr(group->events[k].name, "UNC_") ||
			                                        !strncmp(group->events[k].name, "uncore_", 7));
		++*count;
	}
	return r;
}

/* Validated sums of events with factors, as formulas. The file is not trusted. */

static int counter_for(struct fm_group *group, const char *event)
{
	for (unsigned i = 0; i < group->event_count; i++)
		if (!strcmp(group->events[i].name, event))
			return (int)i;
	if (group->event_count == FM_GROUP_EVENTS_MAX)
		return -1;
	snprintf(group->events[group->event_count].counter, sizeof(group->events[0].counter), "E%u",
	         group->event_count);
	snprintf(group->events[group->event_count].name, sizeof(group->events[0].name), "%s", event);
	return (int)group->event_count++;
}

/* Their sum, or the largest of them. */
static bool write_formula(struct fm_group *group, const json_t *events, double bytes, bool largest, char *text,
                          size_t size)
{
	size_t index, used = 0, most = largest && json_array_size(events) > 1 ? json_array_size(events) - 1 : 0;
	json_t *entry;

	for (size_t i = 0; i < most && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "max(");

	json_array_foreach(events, index, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "name"));
		const json_t *factor = json_object_get(entry, "factor");
		int counter = name && strlen(name) < sizeof(group->events[0].name) ? counter_for(group, name) : -1;

		if (counter < 0 || !json_is_number(factor) || !(fabs(json_number_value(factor)) < 1e9) || used >= size)
			return false;
		used += (size_t)snprintf(text + used, size - used, "%s(%.9g)*E%d%s",
		                         !index ? ""
		                         : most ? ","
		                                : "+",
		                         bytes * json_number_value(factor), counter, most && index ? ")" : "");
	}
	return used > 0 && used < size;
}

static void read_validated(struct fm_recipe *recipe, const json_t *metrics, struct fm_recipe_item *candidates,
                           unsigned *count)
{
	struct fm_group *group = &recipe->groups[VALIDATED];
	size_t index;
	json_t *entry;

	json_array_foreach(metrics, index, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "name")),
		           *scope = json_string_value(json_object_get(entry, "scope"));
		const json_t *bytes = json_object_get(entry, "bytes"), *error = json_object_get(entry, "error_max");
		const char *combine = json_string_value(json_object_get(entry, "combine"));
		struct fm_recipe_item *item = &candidates[*count];
		struct fm_group_metric *metric = &group->metrics[group->metric_count];

		if (!name || *count == FM_RECIPE_ITEMS_MAX || group->metric_count == FM_GROUP_METRICS_MAX)
			continue;
		memset(item, 0, sizeof(*item));
		item->validated = true;
		item->socket = scope && !strcmp(scope, "socket");
		item->error = json_is_number(error) ? json_number_value(error) : NAN;
		item->peak_gbs = json_number_value(json_object_get(entry, "maximal_gbs"));
		item->metric = group->metric_count;
		if ((json_is_number(bytes) && !(json_number_value(bytes) > 0 && json_number_value(bytes) < 1e6)) ||
		    item->error < 0 || item->error > 1 || !parse_name(name, item) ||
		    !write_formula(group, json_object_get(entry, "events"),
		                   json_is_number(bytes) ? json_number_value(bytes) : 1,
		                   combine && !strcmp(combine, "max"), metric->formula, sizeof(metric->formula)))
			continue;
		snprintf(metric->name, sizeof(metric->name), "%s", name);
		group->metric_count++;
		++*count;
	}
}

/* Choosing */

/* Order of preference: validated, never far off, counting the program alone, smallest error; the first of equals. */
static bool is_better(const struct fm_recipe_item *a, const struct fm_recipe_item *b, bool whole_machine)
{
	bool a_far = a->error > reliable, b_far = b->error > reliable;

	if (a->validated != b->validated)
		return a->validated;
	if (a_far != b_far)
		return b_far;
	if (a->socket != b->socket)
		return a->socket == whole_machine;
	if (a->error < b->error || b->error < a->error)
		return a->error < b->error;
	return a < b;
}

static unsigned event_number(struct fm_recipe *recipe, const char *name)
{
	for (unsigned i = 0; i < recipe->event_count; i++)
		if (!strcmp(recipe->events[i], name))
			return i;
	if (recipe->event_count < FM_EVENTS_MAX)
		snprintf(recipe->events[recipe->event_count++], sizeof(recipe->events[0]), "%s", name);
	return recipe->event_count - 1;
}

static void take(struct fm_recipe *recipe, const struct fm_recipe_item *item)
{
	const struct fm_group *group = &recipe->groups[item->validated];
	struct mentioned mentioned;

	find_mentioned(group, item->metric, &mentioned);
	for (unsigned i = 0; i < group->event_count; i++)
		if (mentioned.events[i])
			recipe->event_of[item->validated][i] = event_number(recipe, group->events[i].name);
	recipe->items[recipe->item_count++] = *item;
}

int fm_recipe_create(const struct fm_recipe_wishes *wishes, struct fm_recipe **ret_recipe, struct fm_error *error)
{
	struct fm_recipe *recipe = calloc(1, sizeof(*recipe));
	struct fm_recipe_item *candidates = calloc(FM_RECIPE_ITEMS_MAX, sizeof(*candidates));
	unsigned count = 0;
	int r = recipe && candidates ? 0 : fm_error_set(error, ENOMEM, "out of memory");

	if (!r && wishes->metrics)
		read_validated(recipe, wishes->metrics, candidates, &count);
	if (!r && wishes->vendor_text)
		r = read_vendor(recipe, wishes->vendor_text,
		                wishes->vendor_name ? wishes->vendor_name : "the vendor's group", candidates, &count,
		                error);
	for (unsigned i = 0; !r && i < count; i++) {
		bool best = can_be_counted(recipe, &candidates[i], wishes);

		for (unsigned k = 0; k < count && best; k++)
			best = k == i || candidates[k].quantity != candidates[i].quantity ||
			       strcmp(candidates[k].level, candidates[i].level) != 0 ||
			       !can_be_counted(recipe, &candidates[k], wishes) ||
			       is_better(&candidates[i], &candidates[k], wishes->whole_machine);
		if (best)
			take(recipe, &candidates[i]);
	}
	free(candidates);
	if (!r && !recipe->item_count)
		r = fm_error_set(error, ENOTSUP,
		                 "no known event here counts the traffic of levels: run 'fathom validate' to test the "
		                 "events");
	if (r) {
		free(recipe);
		return r;
	}
	*ret_recipe = recipe;
	return 0;
}

void fm_recipe_free(struct fm_recipe *recipe)
{
	free(recipe);
}

const struct fm_recipe_item *fm_recipe_find(const struct fm_recipe *recipe, enum fm_recipe_quantity quantity,
                                            const char *level)
{
	for (unsigned i = 0; i < recipe->item_count; i++)
		if (recipe->items[i].quantity == quantity && !strcmp(recipe->items[i].level, level ? level : ""))
			return &recipe->items[i];
	return NULL;
}

/* Evaluating: the counts of the group's own events, one of them perhaps at an end of its interval. */
struct evaluation {
	const struct fm_recipe *recipe;
	const struct fm_recipe_item *item;
	const struct fm_figure *counts;
	double seconds, hertz;
};

static int evaluate(const struct evaluation *evaluation, int moved, bool up, double *ret_value, struct fm_error *error)
{
	const struct fm_group *group = &evaluation->recipe->groups[evaluation->item->validated];
	double counts[FM_GROUP_EVENTS_MAX];

	for (unsigned i = 0; i < group->event_count; i++) {
		const struct fm_figure *count =
		    &evaluation->counts[evaluation->recipe->event_of[evaluation->item->validated][i]];

		counts[i] = !count->available ? NAN : (int)i != moved ? count->value : up ? count->high : count->low;
	}
	return fm_group_metric(group, evaluation->item->metric, counts, evaluation->seconds, evaluation->hertz,
	                       ret_value, error);
}

struct fm_figure fm_recipe_value(const struct fm_recipe *recipe, const struct fm_recipe_item *item,
                                 const struct fm_figure *counts, double seconds, double hertz, const char *unit)
{
	const struct evaluation evaluation = {recipe, item, counts, seconds, hertz};
	const struct fm_group *group = &recipe->groups[item->validated];
	const struct fm_figure *origin = NULL;
	struct mentioned mentioned;
	struct fm_error error;
	double value, above = 0, below = 0, off;

	find_mentioned(group, item->metric, &mentioned);
	for (unsigned i = 0; i < group->event_count; i++) {
		const struct fm_figure *count = &counts[recipe->event_of[item->validated][i]];

		if (!mentioned.events[i])
			continue;
		if (!count->available)
			return fm_figure_unavailable("%.40s: %.100s", group->events[i].name, count->why);
		origin = count;
	}
	if (!origin || evaluate(&evaluation, -1, false, &value, &error) || !isfinite(value))
		return fm_figure_unavailable("its formula has no value");
	if (value < 0)
		return fm_figure_unavailable("its formula gives a negative value");
	for (unsigned i = 0; i < group->event_count; i++)
		for (int up = 0; up < 2 && mentioned.events[i]; up++) {
			double moved;

			if (evaluate(&evaluation, (int)i, up, &moved, &error) || !isfinite(moved))
				continue;
			if (moved > value)
				above += (moved - value) * (moved - value);
			else
				below += (moved - value) * (moved - value);
		}
	/* the error is a share of the larger of estimate and truth */
	off = isfinite(item->error) ? fmin(item->error, 0.99) : 0;
	return fm_figure_make(value, fmax(0, value - hypot(sqrt(below), off * fabs(value))),
	                      value + hypot(sqrt(above), off / (1 - off) * fabs(value)), unit, origin->origin,
	                      origin->backend, origin->trials);
}

const char *fm_recipe_describe(const struct fm_recipe *recipe, const struct fm_recipe_item *item, char *text,
                               size_t size)
{
	const struct fm_group *group = &recipe->groups[item->validated];
	const char *at = group->metrics[item->metric].formula;
	const char *words = !isfinite(item->error) ? "validated: "
	                    : item->error <= right ? "validated within %.2g %%: "
	                                           : "wrong by up to %.2g %% in validation: ";
	size_t used = item->validated ? (size_t)snprintf(text, size, words, 100 * item->error)
	                              : (size_t)snprintf(text, size, "the vendor's formula: ");

	/* counters by the names of their events */
	while (*at && used < size) {
		size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
		const char *name = NULL;

		for (unsigned i = 0; i < group->event_count; i++)
			if (strlen(group->events[i].counter) == length &&
			    !strncmp(group->events[i].counter, at, length))
				name = group->events[i].name;
		length = length ? length : 1;
		used += (size_t)snprintf(text + used, size - used, "%.*s", name ? (int)strlen(name) : (int)length,
		                         name ? name : at);
		at += length;
	}
	if (*item->limits && used < size)
		snprintf(text + used, size - used, "; %s", item->limits);
	return text;
}
