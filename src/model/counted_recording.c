#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/counted.h"
#include "model/doubt.h"
#include "profile/profile.h"

/* Recordings of this machine's counters */

struct fm_counted_view {
	const struct fm_recording *recording;
	struct fm_recipe *recipe;
	int clock;                 /* the event for the number of running threads; -1: none */
	struct fm_figure *counts;  /* of the recipe's events, for the part under way */
	struct fm_figure *figures; /* of the recorded events */
};

static bool was_counted(void *context, const char *name)
{
	const struct fm_recording *recording = context;

	for (size_t i = 0; i < recording->events_count; i++)
		if (!strcmp(recording->events[i].recipe, name))
			return true;
	return false;
}

int fm_counted_open(const struct fm_recording *recording, struct fm_counted_view **ret_view, struct fm_error *error)
{
	struct fm_counted_view *view = calloc(1, sizeof(*view));
	const char *profile = fm_recording_get(recording, "profile");
	json_t *root = profile ? json_loads(profile, 0, NULL) : NULL;
	int r;

	if (!view) {
		json_decref(root);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	view->recording = recording;
	view->clock = -1;
	for (size_t i = 0; i < recording->events_count; i++)
		if (!*recording->events[i].recipe && !strcmp(recording->events[i].name, "task-clock"))
			view->clock = (int)i;
	/* the recorded events are those of the formulas: the same are chosen again */
	r = fm_recipe_create(&(struct fm_recipe_wishes){.metrics = json_object_get(root, "metrics"),
	                                                .vendor_text = fm_recording_get(recording, "vendor group"),
	                                                .whole_machine = recording->asked.system_wide,
	                                                .exists = was_counted,
	                                                .context = (void *)recording},
	                     &view->recipe, error);
	json_decref(root);
	if (!r) {
		view->counts = calloc(view->recipe->event_count + 1, sizeof(*view->counts));
		view->figures = calloc(recording->events_count + 1, sizeof(*view->figures));
		if (!view->counts || !view->figures)
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	if (r) {
		fm_counted_close(view);
		return r;
	}
	*ret_view = view;
	return 0;
}

void fm_counted_close(struct fm_counted_view *view)
{
	if (!view)
		return;
	fm_recipe_free(view->recipe);
	free(view->counts);
	free(view->figures);
	free(view);
}

/* All boxes of an event together; if one is unavailable, so is the sum. */
static void add_boxes(struct fm_counted_view *view)
{
	const struct fm_recording *recording = view->recording;

	for (unsigned i = 0; i < view->recipe->event_count; i++) {
		struct fm_figure sum = fm_figure_unavailable("it was not counted");
		double below = 0, above = 0;
		bool first = true;

		for (size_t k = 0; k < recording->events_count; k++) {
			const struct fm_figure *box = &view->figures[k];

			if (strcmp(recording->events[k].recipe, view->recipe->events[i]) != 0)
				continue;
			if (!box->available) {
				sum = *box;
				break;
			}
			if (first)
				sum = *box;
			else
				sum.value += box->value;
			first = false;
			below += (box->value - box->low) * (box->value - box->low);
			above += (box->high - box->value) * (box->high - box->value);
		}
		if (sum.available) {
			sum.low = sum.value - sqrt(below);
			sum.high = sum.value + sqrt(above);
		}
		view->counts[i] = sum;
	}
}

/* Processor time over time: the number of threads that ran at once, most of the time. */
static unsigned threads_of(const struct fm_counted_view *view, const struct fm_figure *seconds)
{
	const struct fm_figure *clock = view->clock >= 0 ? &view->figures[view->clock] : NULL;

	if (view->recording->asked.system_wide)
		return view->recording->profile ? view->recording->profile->topology.cpus
		                                : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (clock && clock->available && seconds->available && seconds->value > 0)
		return (unsigned)fmax(1, ceil(clock->value * 1e-9 / seconds->value - FM_THREADS_ROUNDING));
	return 1;
}

/* Unused share of the processor time of a region's threads. The number of threads of the whole program is estimated
   from it. */
static struct fm_figure blocked(const struct fm_counted_view *view, const struct fm_figure *seconds, unsigned threads,
                                const struct fm_part *part)
{
	const struct fm_figure *busy = view->clock >= 0 && part->region ? &view->figures[view->clock] : NULL;
	double least, all;

	if (!busy || !busy->available || !seconds->available || !(seconds->low > 0))
		return fm_figure_unavailable("no counter measures it; exact counting does (--counters exact)");
	least = seconds->low * 1e9 * threads;
	all = seconds->value * 1e9 * threads;
	return fm_figure_make(fmax(0, 1 - busy->value / all), fmax(0, 1 - busy->high / least),
	                      fmax(0, 1 - busy->low / (seconds->high * 1e9 * threads)), "", busy->origin, busy->backend,
	                      busy->trials);
}

static void build(struct fm_counted_view *view, const struct fm_figure *seconds, unsigned threads,
                  const struct fm_part *part, uint64_t instances, struct fm_picture *ret_picture)
{
	add_boxes(view);
	fm_picture_from_counts(&(struct fm_counted){.recipe = view->recipe,
	                                            .recording = view->recording,
	                                            .profile = view->recording->profile,
	                                            .counts = view->counts,
	                                            .seconds = *seconds,
	                                            .blocked = blocked(view, seconds, threads, part),
	                                            .threads = threads,
	                                            .part = *part,
	                                            .instances = instances},
	                       ret_picture);
}

static void use_part(struct fm_counted_view *view, const struct fm_recorded_count *counts, size_t owner)
{
	for (size_t i = 0; i < view->recording->events_count; i++)
		view->figures[i] = counts[owner * view->recording->events_count + i].figure;
}

static void add_figure(struct fm_figure *sum, const struct fm_figure *other, bool first)
{
	if (first || (other->available && !sum->available)) {
		*sum = *other;
	} else if (other->available) {
		sum->value += other->value;
		sum->low += other->low;
		sum->high += other->high;
	}
}

struct fm_figure fm_counted_sum(const struct fm_recording *recording, unsigned event)
{
	struct fm_figure sum = fm_figure_unavailable("it was not counted");

	for (size_t i = 0; i < recording->parts_count; i++)
		/* a socket counts the same for each of its cores */
		if (!i || recording->events[event].cpu < 0)
			add_figure(&sum, &recording->event_counts[i * recording->events_count + event].figure, !i);
	return sum;
}

void fm_counted_whole(struct fm_counted_view *view, struct fm_picture *ret_picture)
{
	const struct fm_recording *recording = view->recording;

	for (unsigned i = 0; i < recording->events_count; i++)
		view->figures[i] = fm_counted_sum(recording, i);
	build(view, &recording->run.elapsed, threads_of(view, &recording->run.elapsed), &(struct fm_part){.thread = -1},
	      0, ret_picture);
	for (size_t i = 0; i < recording->parts_count && recording->parts[i].thread; i++) {
		use_part(view, recording->event_counts, i);
		add_boxes(view);
		fm_picture_add_thread(ret_picture, view->recipe, view->counts, (unsigned)recording->parts[i].thread);
	}
}

bool fm_counted_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture)
{
	const struct fm_recording *recording = view->recording;

	if (index >= recording->parts_count || !recording->parts[index].thread)
		return false;
	use_part(view, recording->event_counts, index);
	build(view, &recording->run.elapsed, 1, &(struct fm_part){.thread = (int)recording->parts[index].thread}, 0,
	      ret_picture);
	return true;
}

static struct fm_figure measured_seconds(double seconds)
{
	return fm_figure_make(seconds, seconds, seconds, "s", FM_ORIGIN_measured, "native", 1);
}

/* Threads are numbered in the order in which they were made. */
bool fm_counted_region_thread(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture)
{
	const struct fm_recording *recording = view->recording;
	const struct fm_recorded_marked *marked = &recording->marked[index];
	struct fm_figure seconds;

	if (index >= recording->marked_count)
		return false;
	use_part(view, recording->marked_counts, index);
	seconds = measured_seconds(marked->seconds);
	build(view, &seconds, 1, &(struct fm_part){.region = marked->name, .thread = (int)marked->ordinal},
	      marked->instances, ret_picture);
	return true;
}

/* Sum over the threads that ran it; its time is that of the longest. */
bool fm_counted_region(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture)
{
	const struct fm_recording *recording = view->recording;
	struct fm_figure seconds;
	size_t first = 0, last;
	uint64_t instances = 0;
	double longest = 0;

	for (;; first++) {
		if (first >= recording->marked_count)
			return false;
		if (!recording->marked[first].ordinal && !index--)
			break;
	}
	for (last = first; last < recording->marked_count && (last == first || recording->marked[last].ordinal);
	     last++) {
		instances += recording->marked[last].instances;
		longest = fmax(longest, recording->marked[last].seconds);
		for (size_t k = 0; k < recording->events_count; k++)
			add_figure(&view->figures[k],
			           &recording->marked_counts[last * recording->events_count + k].figure, last == first);
	}
	seconds = measured_seconds(longest);
	build(view, &seconds, (unsigned)(last - first),
	      &(struct fm_part){.region = recording->marked[first].name, .thread = -1}, instances, ret_picture);
	return true;
}

/* Intervals are rows of part after part, event after event, of which this is the first row. */
static bool begins_interval(const struct fm_recorded_interval *row)
{
	return !row->part && !row->event;
}

/* The first part is the whole. */
bool fm_counted_interval(struct fm_counted_view *view, unsigned index, struct fm_picture *ret_picture, double *ret_at)
{
	const struct fm_recording *recording = view->recording;
	struct fm_figure seconds;
	double before = 0;
	size_t first = 0;

	for (;; first++) {
		if (first >= recording->intervals_count)
			return false;
		if (!begins_interval(&recording->intervals[first]))
			continue;
		if (!index--)
			break;
		before = recording->intervals[first].at;
	}
	if (first + recording->events_count > recording->intervals_count)
		return false;
	*ret_at = recording->intervals[first].at;
	for (size_t i = 0; i < recording->events_count; i++)
		view->figures[i] = recording->intervals[first + i].figure;
	seconds = measured_seconds(*ret_at - before);
	build(view, &seconds, threads_of(view, &seconds), &(struct fm_part){.thread = -1}, 0, ret_picture);
	return true;
}
