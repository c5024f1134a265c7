#include "patterns/analysis.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/counted.h"
#include "simulator/numbers.h"
#include "windows/totals.h"

void fm_judge_picture(struct fm_judged *judged)
{
	judged->finding_count = fm_patterns_find(&judged->picture, judged->findings);
}

/* One more, zeroed; NULL when there is no memory. */
static struct fm_judged *grow(struct fm_judged_list *list)
{
	return fm_recording_grow((void **)&list->parts, &list->count, sizeof(*list->parts));
}

static void drop_last(struct fm_judged_list *list)
{
	fm_picture_free(&list->parts[--list->count].picture);
}

/* Counts of the engine */

static void add_totals(struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;

	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];

		fm_core_counts_add(&analysis->total, &thread->counts);
		fm_numbers_add(&analysis->timing, &thread->timing, sizeof(analysis->timing));
		fm_work_add(&analysis->work, &thread->work);
		fm_core_counts_add(&analysis->processes[thread->process].counts, &thread->counts);
		fm_work_add(&analysis->processes[thread->process].work, &thread->work);
	}
	/* accesses were counted inside a chosen region only: so shall instructions be */
	if (!*recording->asked.region || recording->asked.last_instance)
		return;
	memset(&analysis->work, 0, sizeof(analysis->work));
	for (size_t i = 0; i < recording->regions_count; i++)
		if (!strcmp(recording->regions[i].name, recording->asked.region))
			fm_work_add(&analysis->work, &recording->regions[i].work);
}

/* Lines that came from far away weigh most; ties by accesses. */
static double weight(const uint64_t *moved, const uint64_t *misses, uint64_t accesses)
{
	double weight = (double)accesses, factor = 10;

	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++, factor *= 10)
		weight += factor * (double)(moved[i] > misses[i] ? moved[i] : misses[i]);
	return weight;
}

static int by_function(const void *left, const void *right)
{
	const struct fm_recorded_place *a = left, *b = right;
	int order = strcmp(a->function, b->function);

	return order ? order : strcmp(a->module, b->module);
}

static int heaviest_first(const void *left, const void *right)
{
	const struct fm_recorded_place *first = left, *second = right;
	double a = weight(first->moved, first->misses, first->loads + first->stores),
	       b = weight(second->moved, second->misses, second->loads + second->stores);
	int order = a < b ? 1 : a > b ? -1 : strcmp(first->file, second->file);

	if (!order)
		order = (first->line > second->line) - (first->line < second->line);
	return order ? order : by_function(left, right);
}

static int heaviest_object_first(const void *left, const void *right)
{
	const struct fm_recorded_object *first = left, *second = right;
	double a = weight(first->moved, first->misses, first->loads + first->stores),
	       b = weight(second->moved, second->misses, second->loads + second->stores);
	int order;

	if (first->rest != second->rest)
		return first->rest ? 1 : -1;
	order = a < b ? 1 : a > b ? -1 : strcmp(first->module, second->module);
	return order ? order : strcmp(first->name, second->name);
}

/* The same source line, whatever it was inlined into; without one, the same function. */
static int by_line(const void *left, const void *right)
{
	const struct fm_recorded_place *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	return order || *a->file ? order : by_function(left, right);
}

static size_t merge(struct fm_recorded_place *places, size_t count, int (*order)(const void *, const void *))
{
	size_t used = 0;

	qsort(places, count, sizeof(*places), order);
	for (size_t i = 0; i < count; i++) {
		struct fm_recorded_place *last = used ? &places[used - 1] : NULL;

		if (!last || order(last, &places[i])) {
			places[used++] = places[i];
			continue;
		}
		last->loads += places[i].loads;
		last->stores += places[i].stores;
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++) {
			last->misses[k] += places[i].misses[k];
			last->moved[k] += places[i].moved[k];
		}
	}
	return used;
}

static void *copy(const void *items, size_t count, size_t size)
{
	void *own = malloc((count + 1) * size);

	return own && count ? memcpy(own, items, count * size) : own;
}

static int list_places(struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;

	analysis->lines = copy(recording->lines, recording->lines_count, sizeof(*analysis->lines));
	analysis->functions = copy(recording->lines, recording->lines_count, sizeof(*analysis->functions));
	analysis->objects = copy(recording->objects, recording->objects_count, sizeof(*analysis->objects));
	if (!analysis->lines || !analysis->functions || !analysis->objects)
		return -ENOMEM;
	analysis->line_count = merge(analysis->lines, recording->lines_count, by_line);
	analysis->function_count = merge(analysis->functions, recording->lines_count, by_function);
	analysis->object_count = recording->objects_count;
	qsort(analysis->lines, analysis->line_count, sizeof(*analysis->lines), heaviest_first);
	qsort(analysis->functions, analysis->function_count, sizeof(*analysis->functions), heaviest_first);
	qsort(analysis->objects, analysis->object_count, sizeof(*analysis->objects), heaviest_object_first);
	return 0;
}

/* Pictures of parts of a run in the engine. The fit of the simulated machine is known best for the whole program. */

static int picture_parts(struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;
	const char *region = *recording->asked.region ? recording->asked.region : NULL, *name;
	struct fm_judged *part;

	fm_picture_build(recording, &(struct fm_part){.region = region, .thread = -1}, &analysis->whole.picture);
	for (unsigned i = 0; i < fm_part_thread_count(recording); i++) {
		part = grow(&analysis->threads);
		if (!part)
			return -ENOMEM;
		fm_picture_build(recording, &(struct fm_part){.region = region, .thread = (int)i}, &part->picture);
	}
	for (unsigned i = 0; (name = region ? (i ? NULL : region) : fm_part_region_name(recording, i)); i++) {
		part = grow(&analysis->regions);
		if (!part)
			return -ENOMEM;
		fm_picture_build(recording, &(struct fm_part){.region = name, .thread = -1}, &part->picture);
	}
	for (size_t i = 0; i < recording->regions_count; i++) {
		const struct fm_recorded_region *own = &recording->regions[i];

		if (own->process || (region && strcmp(own->name, region) != 0))
			continue;
		part = grow(&analysis->region_threads);
		if (!part)
			return -ENOMEM;
		fm_picture_build(recording, &(struct fm_part){.region = own->name, .thread = (int)own->thread},
		                 &part->picture);
	}
	for (unsigned i = 0; i < recording->moments_count; i++) {
		part = grow(&analysis->moments);
		if (!part)
			return -ENOMEM;
		if (!fm_picture_moment(recording, i, &part->picture, &part->at)) {
			drop_last(&analysis->moments);
			break;
		}
	}
	return 0;
}

/* … of counts by this machine's counters */

typedef bool next_picture(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture);

static int picture_list(struct fm_counted_view *view, next_picture *next, struct fm_judged_list *list)
{
	for (unsigned i = 0;; i++) {
		struct fm_judged *part = grow(list);

		if (!part)
			return -ENOMEM;
		if (!next(view, i, &part->picture)) {
			drop_last(list);
			return 0;
		}
	}
}

static int picture_counted(struct fm_analysis *analysis, struct fm_error *error)
{
	struct fm_counted_view *view;
	int r = fm_counted_open(analysis->recording, &view, error);

	if (r)
		return r;
	fm_counted_whole(view, &analysis->whole.picture);
	if (picture_list(view, fm_counted_thread, &analysis->threads) ||
	    picture_list(view, fm_counted_region, &analysis->regions) ||
	    picture_list(view, fm_counted_region_thread, &analysis->region_threads))
		r = fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 0; !r; i++) {
		struct fm_judged *part = grow(&analysis->moments);

		if (!part) {
			r = fm_error_set(error, ENOMEM, "out of memory");
		} else if (!fm_counted_interval(view, i, &part->picture, &part->at)) {
			drop_last(&analysis->moments);
			break;
		}
	}
	fm_counted_close(view);
	return r;
}

/* … as the simulated machine's counters would count it */

struct simulated {
	const struct fm_recipe *recipe;
	const struct fm_simulated_events *events;
	const struct fm_recording *recording;
	struct fm_figure counts[FM_EVENTS_MAX];
};

static bool is_simulated(void *context, const char *name)
{
	struct fm_error ignored;
	unsigned index;

	return !fm_simulated_find(context, name, &index, &ignored);
}

static void picture_part(struct simulated *simulated, const struct fm_part *part, struct fm_picture *ret_picture)
{
	fm_picture_from_simulated(simulated->recipe, simulated->events, simulated->recording, part, simulated->counts,
	                          ret_picture);
}

static int note_event(struct fm_analysis *analysis, const char *name, int thread, const struct fm_figure *figure)
{
	struct fm_event_value *value =
	    fm_recording_grow((void **)&analysis->events, &analysis->event_count, sizeof(*analysis->events));

	if (!value)
		return -ENOMEM;
	snprintf(value->name, sizeof(value->name), "%s", name);
	value->thread = thread;
	value->figure = *figure;
	return 0;
}

static int picture_all_simulated(struct fm_analysis *analysis, struct simulated *simulated)
{
	const struct fm_recording *recording = analysis->recording;
	struct fm_judged *part;
	const char *name;

	picture_part(simulated, &(struct fm_part){.thread = -1}, &analysis->whole.picture);
	for (unsigned i = 0; i < simulated->recipe->event_count; i++)
		if (note_event(analysis, simulated->recipe->events[i], -1, &simulated->counts[i]))
			return -ENOMEM;
	for (unsigned i = 0; i < fm_part_thread_count(recording); i++) {
		part = grow(&analysis->threads);
		if (!part)
			return -ENOMEM;
		picture_part(simulated, &(struct fm_part){.thread = (int)i}, &part->picture);
	}
	for (size_t i = 0; i < recording->regions_count; i++) {
		if (recording->regions[i].process)
			continue;
		part = grow(&analysis->region_threads);
		if (!part)
			return -ENOMEM;
		picture_part(simulated,
		             &(struct fm_part){.region = recording->regions[i].name,
		                               .thread = (int)recording->regions[i].thread},
		             &part->picture);
	}
	for (unsigned i = 0; (name = fm_part_region_name(recording, i)); i++) {
		part = grow(&analysis->regions);
		if (!part)
			return -ENOMEM;
		picture_part(simulated, &(struct fm_part){.region = name, .thread = -1}, &part->picture);
	}
	return 0;
}

static int open_events(const struct fm_recording *recording, struct fm_simulated_events **ret_events,
                       struct fm_error *error)
{
	const char *text = fm_recording_get(recording, "machine events");

	return text ? fm_simulated_parse(text, "the recorded events", &recording->machine, ret_events, error)
	            : fm_error_set(error, EBADMSG, "the recording has no events of the simulated machine");
}

static int picture_simulated(struct fm_analysis *analysis, struct fm_error *error)
{
	const struct fm_recording *recording = analysis->recording;
	const char *text = fm_recording_get(recording, "metrics");
	struct simulated *simulated = calloc(1, sizeof(*simulated));
	struct fm_simulated_events *events = NULL;
	struct fm_recipe *recipe = NULL;
	json_t *metrics = text ? json_loads(text, 0, NULL) : NULL;
	int r = simulated ? open_events(recording, &events, error) : fm_error_set(error, ENOMEM, "out of memory");

	if (!r)
		r = fm_recipe_create(
		    &(struct fm_recipe_wishes){.metrics = metrics,
		                               .vendor_text = fm_recording_get(recording, "vendor group"),
		                               .exists = is_simulated,
		                               .context = events},
		    &recipe, error);
	if (!r) {
		*simulated = (struct simulated){.recipe = recipe, .events = events, .recording = recording};
		if (picture_all_simulated(analysis, simulated))
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	fm_recipe_free(recipe);
	fm_simulated_free(events);
	json_decref(metrics);
	free(simulated);
	return r;
}

/* Events of the simulated machine, by name: all threads together, and each when there are several. */
static int evaluate_events(struct fm_analysis *analysis, struct fm_error *error)
{
	const struct fm_recording *recording = analysis->recording;
	struct fm_simulated_events *events = NULL;
	struct fm_truth truth = {0};
	unsigned threads = fm_part_thread_count(recording);
	int r = open_events(recording, &events, error);

	for (size_t i = 0; i < recording->threads_count; i++)
		truth.smt |= !recording->threads[i].process && recording->threads[i].shares_core;
	for (int thread = -1; !r && thread < (int)(threads > 1 ? threads : 0); thread++) {
		char list[sizeof(recording->asked.events)], *saved = NULL;
		const struct fm_recorded_thread *own = thread < 0 ? NULL : &recording->threads[thread];

		truth.work = own ? &own->work : &analysis->work;
		truth.counts = own ? &own->counts : &analysis->total;
		truth.timing = own ? &own->timing : &analysis->timing;
		snprintf(list, sizeof(list), "%s", recording->asked.events);
		for (char *name = strtok_r(list, ",{}", &saved); name && !r; name = strtok_r(NULL, ",{}", &saved)) {
			struct fm_figure figure;
			unsigned index;

			r = fm_simulated_find(events, name, &index, error);
			if (r)
				break;
			figure = fm_simulated_value(events, index, &truth);
			if (note_event(analysis, fm_simulated_name(events, index), thread, &figure))
				r = fm_error_set(error, ENOMEM, "out of memory");
		}
	}
	fm_simulated_free(events);
	return r;
}

/* Groups */

/* Counts of the group's events, in their order, and the time. */
static void group_counts(const struct fm_analysis *analysis, double *counts, double *ret_seconds, double *ret_hertz)
{
	const struct fm_recording *recording = analysis->recording;
	bool simulated = recording->asked.question == FM_QUESTION_SIMULATED_EVENTS;
	double longest = 0;

	for (unsigned i = 0; i < FM_GROUP_EVENTS_MAX; i++)
		counts[i] = NAN;
	*ret_hertz = *ret_seconds = NAN;
	if (!simulated) {
		for (size_t i = 0; i < recording->events_count && i < FM_GROUP_EVENTS_MAX; i++)
			if (recording->event_counts[i].figure.available)
				counts[i] = recording->event_counts[i].figure.value;
		*ret_seconds = recording->run.elapsed.available ? recording->run.elapsed.value : NAN;
		return;
	}
	for (size_t i = 0; i < analysis->event_count && i < FM_GROUP_EVENTS_MAX && analysis->events[i].thread < 0;
	     i++) {
		/* a group's event on several boxes is counted in each: here the boxes share the count */
		unsigned boxes = 0;

		for (size_t k = 0; k < analysis->event_count && analysis->events[k].thread < 0; k++)
			boxes += !strcmp(analysis->events[k].name, analysis->events[i].name);
		if (analysis->events[i].figure.available)
			counts[i] = analysis->events[i].figure.value / boxes;
	}
	/* the time is that of the thread that ended last */
	*ret_hertz = recording->machine.frequency_ghz * 1e9;
	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process)
			longest = fmax(longest, (double)recording->threads[i].clock);
	if (longest > 0)
		*ret_seconds = longest / *ret_hertz;
}

static int evaluate_group(struct fm_analysis *analysis, struct fm_error *error)
{
	const char *text = fm_recording_get(analysis->recording, "group");
	double counts[FM_GROUP_EVENTS_MAX], seconds, hertz;
	int r;

	if (!text)
		return 0;
	analysis->group = calloc(1, sizeof(*analysis->group));
	if (!analysis->group)
		return fm_error_set(error, ENOMEM, "out of memory");
	r = fm_group_parse(text, "the recorded group", analysis->group, error);
	if (r)
		return r;
	group_counts(analysis, counts, &seconds, &hertz);
	analysis->metrics = calloc(analysis->group->metric_count + 1, sizeof(*analysis->metrics));
	if (!analysis->metrics)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 0; i < analysis->group->metric_count; i++) {
		struct fm_metric_value *metric = &analysis->metrics[analysis->metric_count++];
		struct fm_error why;

		metric->name = analysis->group->metrics[i].name;
		metric->formula = analysis->group->metrics[i].formula;
		if (fm_group_metric(analysis->group, i, counts, seconds, hertz, &metric->value, &why)) {
			metric->value = NAN;
			snprintf(metric->why, sizeof(metric->why), "%.199s", why.message);
		} else if (!isfinite(metric->value)) {
			metric->value = NAN;
			snprintf(metric->why, sizeof(metric->why), "divided by nothing");
		}
	}
	return 0;
}

/* All */

static void judge_list(struct fm_judged_list *list, bool doubtful)
{
	for (size_t i = 0; i < list->count; i++) {
		list->parts[i].picture.doubtful |= doubtful;
		fm_judge_picture(&list->parts[i]);
	}
}

static int build_pictures(struct fm_analysis *analysis, struct fm_error *error)
{
	switch ((enum fm_question)analysis->recording->asked.question) {
	case FM_QUESTION_EXACT:
	case FM_QUESTION_COMBINED:
		analysis->has_picture = true;
		return picture_parts(analysis) ? fm_error_set(error, ENOMEM, "out of memory") : 0;
	case FM_QUESTION_COUNTED_LEVELS:
		analysis->has_picture = true;
		return picture_counted(analysis, error);
	case FM_QUESTION_SIMULATED_LEVELS:
		analysis->has_picture = true;
		return picture_simulated(analysis, error);
	case FM_QUESTION_SIMULATED_EVENTS:
		return evaluate_events(analysis, error);
	default:
		return 0;
	}
}

/* Questions to the engine need its processes. The recording is not trusted. */
static bool lacks_processes(const struct fm_recording *recording)
{
	enum fm_question question = (enum fm_question)recording->asked.question;

	return !recording->processes_count && question != FM_QUESTION_COUNTED_EVENTS &&
	       question != FM_QUESTION_COUNTED_LEVELS;
}

int fm_analyse(const struct fm_recording *recording, struct fm_analysis **ret_analysis, struct fm_error *error)
{
	struct fm_analysis *analysis = calloc(1, sizeof(*analysis));
	int r = 0;

	if (!analysis)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (lacks_processes(recording)) {
		free(analysis);
		return fm_error_set(error, EBADMSG, "the recording has no process of the engine: it is damaged");
	}
	analysis->recording = recording;
	analysis->processes = calloc(recording->processes_count + 1, sizeof(*analysis->processes));
	if (!analysis->processes || list_places(analysis))
		r = fm_error_set(error, ENOMEM, "out of memory");
	if (!r && fm_windows_used(recording)) {
		analysis->estimates = malloc(sizeof(*analysis->estimates));
		if (!analysis->estimates || !fm_estimates_of(recording, analysis->estimates))
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	if (!r)
		add_totals(analysis);
	if (!r)
		r = build_pictures(analysis, error);
	if (!r)
		r = evaluate_group(analysis, error);
	if (r) {
		fm_analysis_free(analysis);
		return r;
	}
	if (analysis->has_picture) {
		bool doubtful = analysis->whole.picture.doubtful;

		fm_judge_picture(&analysis->whole);
		judge_list(&analysis->threads, doubtful);
		judge_list(&analysis->regions, doubtful);
		judge_list(&analysis->region_threads, doubtful);
		fm_where_find(analysis, analysis->where);
		fm_verdict_find(analysis, &analysis->verdict);
	}
	*ret_analysis = analysis;
	return 0;
}

static void free_list(struct fm_judged_list *list)
{
	while (list->count)
		drop_last(list);
	free(list->parts);
}

void fm_analysis_free(struct fm_analysis *analysis)
{
	if (!analysis)
		return;
	fm_picture_free(&analysis->whole.picture);
	free_list(&analysis->threads);
	free_list(&analysis->regions);
	free_list(&analysis->region_threads);
	free_list(&analysis->moments);
	free(analysis->estimates);
	free(analysis->processes);
	free(analysis->functions);
	free(analysis->lines);
	free(analysis->objects);
	free(analysis->events);
	free(analysis->group);
	free(analysis->metrics);
	free(analysis);
}
