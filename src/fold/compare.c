#include "fold/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/names.h"

/* Total costs in cycles where references are simulated, else processor time. */
static struct fm_figure time_of(const struct fm_fold *fold, const struct fm_served *served)
{
	const struct fm_recording *recording = fold->samples->recording;

	if (fold->samples->model->simulated) {
		double references = (double)served->samples * fmax((double)recording->sampling.every, 1);

		return fm_figure_scaled(&served->mean_cost_cycles, references, "cycles");
	}
	return fm_figure_scaled(&served->share, recording->sampling.cpu_seconds, "s");
}

static const struct fm_figure *level_of(const struct fm_fold *fold, const struct fm_served *served, const char *name)
{
	const struct fm_served_model *model = fold->samples->model;

	for (unsigned i = 0; i < model->classes; i++)
		if (!strcmp(model->class_names[i], name))
			return &served->levels[i];
	return NULL;
}

static void compare_served(const struct fm_comparison *comparison, const struct fm_served *first,
                           const struct fm_served *second, struct fm_compared_row *row)
{
	row->share = fm_compared_make(&first->share, &second->share);
	row->mean_cost = fm_compared_make(&first->mean_cost_cycles, &second->mean_cost_cycles);
	for (unsigned i = 0; i < comparison->classes; i++)
		row->levels[i] = fm_compared_make(level_of(comparison->first, first, comparison->class_names[i]),
		                                  level_of(comparison->second, second, comparison->class_names[i]));
}

/* Entries of one recording only. */
static void set_alone(const struct fm_comparison *comparison, const struct fm_fold *fold,
                      const struct fm_served *served, const struct fm_figure *time, struct fm_compared_row *row)
{
	bool first = fold == comparison->first;
	struct fm_figure none = fm_figure_unavailable("absent from the %s recording", first ? "second" : "first");
	struct fm_compared *compared[] = {&row->time, &row->share, &row->mean_cost};
	const struct fm_figure *figures[] = {time, &served->share, &served->mean_cost_cycles};

	for (unsigned i = 0; i < 3; i++) {
		*compared[i] = first ? fm_compared_make(figures[i], &none) : fm_compared_make(&none, figures[i]);
		compared[i]->change = first ? FM_CHANGE_ONLY_FIRST : FM_CHANGE_ONLY_SECOND;
	}
	for (unsigned i = 0; i < comparison->classes; i++) {
		const struct fm_figure *level = level_of(fold, served, comparison->class_names[i]);

		row->levels[i] = first ? fm_compared_make(level, &none) : fm_compared_make(&none, level);
		row->levels[i].change = row->time.change;
	}
}

/* Rows of one of the tables, for all three alike. */
struct view {
	const char *name;
	const struct fm_served *served;
	struct fm_figure time;
};
typedef struct view view_function(const struct fm_fold *fold, size_t row);

static struct view view_object(const struct fm_fold *fold, size_t row)
{
	const struct fm_sampled_object *object = &fold->samples->objects[row];

	return (struct view){object->name, &object->served, time_of(fold, &object->served)};
}

static struct view view_routine(const struct fm_fold *fold, size_t row)
{
	const struct fm_sampled_routine *routine = &fold->samples->routines[row];

	return (struct view){routine->function, &routine->self, time_of(fold, &routine->self)};
}

/* One instance. */
static struct view view_region(const struct fm_fold *fold, size_t row)
{
	const struct fm_fold_region *region = &fold->regions[row];
	static const struct fm_served none;
	struct view view = {region->name, region->mode_count ? &region->modes[0].served : &none, region->length};

	if (fold->clock == FM_FOLD_REFERENCES && region->mode_count)
		view.time = fm_figure_product(&region->length, &region->modes[0].served.mean_cost_cycles, "cycles");
	return view;
}

static int by_difference(const void *first, const void *second)
{
	const struct fm_compared_row *a = first, *b = second;
	bool shown_a = a->time.change != FM_CHANGE_NONE, shown_b = b->time.change != FM_CHANGE_NONE;
	double size_a = fabs((a->time.second.available ? a->time.second.value : 0) -
	                     (a->time.first.available ? a->time.first.value : 0)),
	       size_b = fabs((b->time.second.available ? b->time.second.value : 0) -
	                     (b->time.first.available ? b->time.first.value : 0));

	if (shown_a != shown_b)
		return shown_a ? -1 : 1;
	if (size_a != size_b)
		return size_a > size_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_rows(const struct fm_comparison *comparison, view_function *view, size_t first_count,
                        size_t second_count, struct fm_compared_row **ret_rows, size_t *ret_count)
{
	struct fm_compared_row *rows = calloc(first_count + second_count + 1, sizeof(*rows));
	struct fm_names names = {0};
	bool *met = calloc(first_count + 1, sizeof(*met));
	size_t count = 0;
	int r = rows && met ? 0 : -ENOMEM;

	/* names of the first are its rows, unless one comes twice: then the heavier one, which comes first */
	uint32_t *row_of = calloc(first_count + second_count + 1, sizeof(*row_of)), number;

	for (size_t i = 0; !r && i < first_count; i++) {
		r = row_of ? fm_names_find(&names, view(comparison->first, i).name, &number) : -ENOMEM;
		if (!r && number == count)
			row_of[count++] = (uint32_t)i;
		else
			met[i] = true;
	}
	count = 0;
	for (size_t i = 0, known = names.count; !r && i < second_count; i++) {
		struct view second = view(comparison->second, i), first;
		struct fm_compared_row *row = &rows[count];
		size_t before = names.count;

		r = fm_names_find(&names, second.name, &number);
		if (r || (number >= known && names.count == before))
			continue;
		snprintf(row->name, sizeof(row->name), "%s", second.name);
		if (number >= known) {
			set_alone(comparison, comparison->second, second.served, &second.time, row);
			count++;
		} else if (!met[row_of[number]]) {
			met[row_of[number]] = true;
			first = view(comparison->first, row_of[number]);
			row->time = fm_compared_make(&first.time, &second.time);
			compare_served(comparison, first.served, second.served, row);
			count++;
		}
	}
	for (size_t i = 0; !r && i < first_count; i++) {
		struct view first;

		if (met[i])
			continue;
		first = view(comparison->first, i);
		snprintf(rows[count].name, sizeof(rows[count].name), "%s", first.name);
		set_alone(comparison, comparison->first, first.served, &first.time, &rows[count]);
		count++;
	}
	if (!r && count)
		qsort(rows, count, sizeof(*rows), by_difference);
	fm_names_free(&names);
	free(met);
	free(row_of);
	if (r) {
		free(rows);
		return r;
	}
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}

static void compare_whole(struct fm_comparison *comparison)
{
	const struct fm_fold *folds[] = {comparison->first, comparison->second};
	struct fm_figure times[2];

	compare_served(comparison, &comparison->first->samples->whole, &comparison->second->samples->whole,
	               &comparison->whole);
	for (unsigned i = 0; i < 2; i++)
		times[i] = time_of(folds[i], &folds[i]->samples->whole);
	comparison->whole.time = fm_compared_make(&times[0], &times[1]);
	if (!comparison->first->samples->model->simulated) {
		/* the spread between runs of one program is unknown */
		comparison->whole.time.change = FM_CHANGE_INCOMPARABLE;
		comparison->whole.time.difference = fm_figure_unavailable("one run per recording has no interval");
		comparison->whole.time.ratio = comparison->whole.time.difference;
	}
}

int fm_compare(const struct fm_fold *first, const struct fm_fold *second, struct fm_comparison **ret_comparison,
               struct fm_error *error)
{
	const struct fm_served_model *model = first->samples->model;
	struct fm_comparison *comparison;
	int r;

	if (model->simulated != second->samples->model->simulated)
		return fm_error_set(error, EINVAL,
		                    "costs cannot be compared: one recording is simulated, the other is not");
	comparison = calloc(1, sizeof(*comparison));
	if (!comparison)
		return fm_error_set(error, ENOMEM, "out of memory");
	comparison->first = first;
	comparison->second = second;
	snprintf(comparison->unit, sizeof(comparison->unit), "%s", model->simulated ? "cycles" : "s");
	for (unsigned i = 0; !*model->why && i + 1 < model->classes; i++)
		if (level_of(second, &second->samples->whole, model->class_names[i]) && !*second->samples->model->why)
			snprintf(comparison->class_names[comparison->classes++], FM_SERVED_NAME, "%s",
			         model->class_names[i]);
	if (!comparison->classes)
		snprintf(comparison->why, sizeof(comparison->why), "levels cannot be compared: %s",
		         *model->why                    ? model->why
		         : *second->samples->model->why ? second->samples->model->why
		                                        : "the recordings distinguish different levels");
	compare_whole(comparison);
	r = compare_rows(comparison, view_region, first->region_count, second->region_count, &comparison->regions,
	                 &comparison->region_count);
	if (!r)
		r = compare_rows(comparison, view_object, first->samples->object_count, second->samples->object_count,
		                 &comparison->objects, &comparison->object_count);
	if (!r)
		r = compare_rows(comparison, view_routine, first->samples->routine_count,
		                 second->samples->routine_count, &comparison->routines, &comparison->routine_count);
	if (r) {
		fm_comparison_free(comparison);
		return fm_error_set(error, -r, "cannot compare: %s", strerror(-r));
	}
	*ret_comparison = comparison;
	return 0;
}

void fm_comparison_free(struct fm_comparison *comparison)
{
	if (!comparison)
		return;
	free(comparison->regions);
	free(comparison->objects);
	free(comparison->routines);
	free(comparison);
}
