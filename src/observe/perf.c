/* Counting with this machine's counters: a program from its first instruction, running processes, or everything. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/launch.h"
#include "base/statistics.h"
#include "counters/boxes.h"
#include "counters/counting.h"
#include "counters/markers.h"
#include "counters/recipe.h"
#include "observe/machines.h"
#include "observe/parts.h"

enum { THREADS_MAX = 4096, ASKED_MAX = 256 };

/* One thing that is counted on its own: everything together, or one thread. */
struct counted {
	pid_t thread; /* 0: all together */
	struct fm_counting *counting;
	struct fm_count *counts; /* the last reading */
	struct fm_count *before; /* the one at the last interval */
};

struct session {
	const struct fm_observation *wanted;
	struct fm_recording *recording;
	struct fm_event events[FM_EVENTS_MAX];
	char recipe[FM_EVENTS_MAX][96]; /* the recipe's name of it; "": none */
	unsigned event_count;
	struct counted *parts;
	unsigned part_count, part_room;
	struct fm_marked *marked; /* regions, of the last run */
	unsigned marked_count;
};

/* Parts */

static int add_part(struct session *session, pid_t thread, const struct fm_target *target, struct fm_error *error)
{
	struct counted *part;
	int status;

	if (!fm_array_grow(session->parts, session->part_count, session->part_room))
		return fm_error_set(error, ENOMEM, "out of memory");
	part = &session->parts[session->part_count];
	*part = (struct counted){.thread = thread};
	part->counts = calloc(session->event_count, sizeof(*part->counts));
	part->before = calloc(session->event_count, sizeof(*part->before));
	status = part->counts && part->before
	             ? fm_counting_open(session->events, session->event_count, target, &part->counting, error)
	             : fm_error_set(error, ENOMEM, "out of memory");
	if (status) {
		free(part->counts);
		free(part->before);
		return status;
	}
	session->part_count++;
	return 0;
}

static void free_parts(struct session *session)
{
	for (unsigned i = 0; i < session->part_count; i++) {
		fm_counting_close(session->parts[i].counting);
		free(session->parts[i].counts);
		free(session->parts[i].before);
	}
	free(session->parts);
	session->parts = NULL;
	session->part_count = session->part_room = 0;
}

/* The threads a process has now; those it makes later are inherited. */
static int add_process(struct session *session, long process, struct fm_error *error)
{
	char path[64];
	DIR *folder;
	int status = 0;
	unsigned found = 0;

	snprintf(path, sizeof(path), "/proc/%ld/task", process);
	folder = opendir(path);
	if (!folder)
		return fm_error_set(error, EINVAL, "there is no process %ld", process);
	for (struct dirent *entry; (entry = readdir(folder)) && !status && found < THREADS_MAX;) {
		struct fm_target target = {.inherit = true};

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		target.task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (session->wanted->per_thread || !session->part_count)
			status = add_part(session, session->wanted->per_thread ? target.task : 0, &target, error);
		else
			status = fm_counting_add(session->parts[0].counting, &target, error);
		/* threads come and go */
		if (status == -ESRCH)
			status = 0;
		found++;
	}
	closedir(folder);
	return status;
}

static int add_processes(struct session *session, struct fm_error *error)
{
	for (const char *at = session->wanted->processes; *at;) {
		char *end;
		long process = strtol(at, &end, 10);
		int status;

		if (end == at || process <= 0 || (*end && *end != ','))
			return fm_error_set(error, EINVAL, "-p takes numbers of processes, not \"%s\"",
			                    session->wanted->processes);
		status = add_process(session, process, error);
		if (status)
			return status;
		at = end + (*end == ',');
	}
	return session->part_count ? 0 : fm_error_set(error, EINVAL, "-p names no process that is there");
}

static void read_parts(struct session *session)
{
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_read(session->parts[i].counting, session->parts[i].counts);
}

static bool any_alive(const char *processes)
{
	while (*processes) {
		char path[64], *end;

		snprintf(path, sizeof(path), "/proc/%ld", strtol(processes, &end, 10));
		if (!access(path, F_OK))
			return true;
		processes = end + (*end == ',');
	}
	return false;
}

/* Counts since the interval before, for each part and event. */
static void note_interval(struct session *session, double at)
{
	size_t first = session->recording->intervals_count;

	for (unsigned i = 0; i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			struct counted *part = &session->parts[i];
			struct fm_recorded_interval *interval = fm_recording_add(session->recording, intervals);
			struct fm_count spent;

			if (!interval)
				return;
			fm_count_difference(&session->events[k], &part->counts[k], &part->before[k], &spent);
			part->before[k] = part->counts[k];
			*interval =
			    (struct fm_recorded_interval){.at = at, .part = i, .event = k, .figure = spent.figure};
		}
	if (session->wanted->interval)
		session->wanted->interval(session->wanted->context, session->recording, first);
}

static bool is_set(const volatile bool *flag)
{
	return flag && *flag;
}

/* Wait for the program, or for an interruption when there is none; note intervals on the way. */
static void wait_for_end(struct session *session, struct fm_launched *launched, uint64_t begin, double *ret_seconds)
{
	const struct fm_observation *wanted = session->wanted;
	uint64_t interval = wanted->interval_ms, next = interval;
	struct fm_launch_end end = {0};

	for (;;) {
		uint64_t now = (fm_clock_now() - begin) / 1000000;

		if (launched && fm_launch_wait(launched, !interval, &end))
			break;
		if (!launched && is_set(wanted->interrupted))
			break;
		if (!launched && wanted->processes && !any_alive(wanted->processes))
			break;
		if (interval && now >= next) {
			read_parts(session);
			note_interval(session, (double)now / 1e3);
			next += interval;
		}
		poll(NULL, 0, interval && next > now && next - now < 10 ? (int)(next - now) : 10);
	}
	*ret_seconds = (double)(fm_clock_now() - begin) / 1e9;
	session->recording->run.exit_status = end.status;
	session->recording->run.signal = end.signal;
}

/* Running */

static void announce(void *context)
{
	if (context)
		fm_markers_announce(context);
}

static int count_run(struct session *session, struct fm_markers *markers, double *ret_seconds, struct fm_error *error)
{
	const struct fm_observation *wanted = session->wanted;
	const struct fm_launch launch = {.program = wanted->program,
	                                 .output = -1,
	                                 .input = -1,
	                                 .outlives = true,
	                                 .prepare = announce,
	                                 .context = markers};
	struct fm_target target = {.task = -1, .every_cpu = true};
	struct fm_launched launched;
	uint64_t begin;
	int r = wanted->program ? fm_launch_begin(&launch, &launched, error) : 0;

	if (r)
		return r;
	if (wanted->processes) {
		r = add_processes(session, error);
	} else {
		if (!wanted->system_wide)
			target = (struct fm_target){.task = launched.process, .inherit = true, .enable_on_exec = true};
		r = add_part(session, 0, &target, error);
	}
	if (r) {
		if (wanted->program)
			fm_launch_abandon(&launched);
		return r;
	}
	/* counters of the program begin with its first instruction; those per CPU begin now */
	for (unsigned i = 0; i < session->part_count; i++) {
		bool per_cpu = wanted->processes || wanted->system_wide;

		for (unsigned k = 0; k < session->event_count; k++)
			per_cpu |= session->events[k].cpu >= 0;
		if (per_cpu)
			fm_counting_start(session->parts[i].counting);
	}
	begin = fm_clock_now();
	if (wanted->program)
		r = fm_launch_release(&launched, wanted->program[0], error);
	if (r)
		return r;
	wait_for_end(session, wanted->program ? &launched : NULL, begin, ret_seconds);
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_stop(session->parts[i].counting);
	read_parts(session);
	/* the rest of the last interval */
	if (wanted->interval_ms)
		note_interval(session, *ret_seconds);
	return 0;
}

/* With regions, when it is a program of our own. */
static int run_once(struct session *session, double *ret_seconds, struct fm_error *error)
{
	const struct fm_observation *wanted = session->wanted;
	struct fm_markers *markers = NULL;
	struct fm_error ignored;
	int r;

	if (wanted->program && !wanted->processes && !wanted->system_wide &&
	    fm_markers_create(session->events, session->event_count, &markers, &ignored))
		markers = NULL;
	r = count_run(session, markers, ret_seconds, error);
	fm_marked_free(session->marked, session->marked_count);
	session->marked = NULL;
	session->marked_count = 0;
	if (markers && !r &&
	    fm_markers_read(markers, &session->marked, &session->marked_count, &session->recording->run.regions_lost,
	                    &ignored))
		session->marked_count = 0;
	fm_markers_free(markers);
	return r;
}

/* Rows of the recording */

static int record_events(struct session *session)
{
	for (unsigned i = 0; i < session->event_count; i++) {
		const struct fm_event *event = &session->events[i];
		struct fm_recorded_event *row = fm_recording_add(session->recording, events);

		if (!row)
			return -ENOMEM;
		snprintf(row->name, sizeof(row->name), "%s", event->name);
		snprintf(row->recipe, sizeof(row->recipe), "%s", session->recipe[i]);
		snprintf(row->pmu, sizeof(row->pmu), "%s", event->pmu);
		snprintf(row->unit, sizeof(row->unit), "%s", event->unit);
		row->cpu = event->cpu;
		row->needs_pmu = fm_event_needs_pmu(event);
	}
	return 0;
}

static void fill_count(struct fm_recorded_count *row, unsigned owner, unsigned event, const struct fm_count *count)
{
	*row = (struct fm_recorded_count){.owner = owner,
	                                  .event = event,
	                                  .value = count->value,
	                                  .enabled = count->enabled,
	                                  .running = count->running,
	                                  .user_only = count->user_only,
	                                  .figure = count->figure};
}

/* Several runs: the median and its interval. An event that was not counted in one of them was not counted. */
static struct fm_figure median_of(const struct fm_sample *sample, unsigned runs, const struct fm_figure *last)
{
	struct fm_location location;

	if (runs == 1 || !last->available)
		return *last;
	if (sample->count < runs || fm_statistics_median(sample->values, sample->count, &location))
		return fm_figure_unavailable("it was counted in %u of %u runs only", sample->count, runs);
	return fm_figure_make(location.value, location.low, location.high, last->unit, FM_ORIGIN_counted, "perf",
	                      sample->count);
}

static int record_counts(struct session *session, const struct fm_sample *samples, unsigned runs)
{
	for (unsigned i = 0; i < session->part_count; i++) {
		struct fm_recorded_part *part = fm_recording_add(session->recording, parts);

		if (!part)
			return -ENOMEM;
		part->thread = session->parts[i].thread;
		for (unsigned k = 0; k < session->event_count; k++) {
			struct fm_recorded_count *row = fm_recording_add(session->recording, event_counts);

			if (!row)
				return -ENOMEM;
			fill_count(row, i, k, &session->parts[i].counts[k]);
			row->figure = median_of(&samples[k], runs, &row->figure);
		}
	}
	for (unsigned i = 0; i < session->marked_count; i++) {
		const struct fm_marked *marked = &session->marked[i];
		struct fm_recorded_marked *row = fm_recording_add(session->recording, marked);

		if (!row)
			return -ENOMEM;
		snprintf(row->name, sizeof(row->name), "%s", marked->name);
		row->ordinal = marked->ordinal;
		row->instances = marked->instances;
		row->seconds = marked->seconds;
		for (unsigned k = 0; k < session->event_count; k++) {
			struct fm_recorded_count *count = fm_recording_add(session->recording, marked_counts);

			if (!count)
				return -ENOMEM;
			fill_count(count, i, k, &marked->counts[k]);
		}
	}
	return 0;
}

static int count_all(struct session *session, struct fm_error *error)
{
	unsigned runs = session->wanted->repeats ? (unsigned)session->wanted->repeats : 1, done = 0;
	struct fm_sample samples[FM_EVENTS_MAX] = {{0}}, times = {0};
	struct fm_location location;
	double seconds = 0;
	int r = record_events(session) ? fm_error_set(error, ENOMEM, "out of memory") : 0;

	signal(SIGCHLD, SIG_DFL);
	for (; done < runs && !r && !is_set(session->wanted->interrupted); done++) {
		if (done)
			free_parts(session);
		r = run_once(session, &seconds, error);
		fm_sample_add(&times, seconds);
		for (unsigned k = 0; !r && runs > 1 && k < session->event_count; k++)
			if (session->parts[0].counts[k].figure.available)
				fm_sample_add(&samples[k], session->parts[0].counts[k].figure.value);
	}
	if (!r && record_counts(session, samples, runs))
		r = fm_error_set(error, ENOMEM, "out of memory");
	if (times.count < 2 || fm_statistics_median(times.values, times.count, &location))
		location = (struct fm_location){.value = seconds, .low = seconds, .high = seconds};
	session->recording->run.elapsed =
	    fm_figure_make(location.value, location.low, location.high, "s", FM_ORIGIN_measured, "native", times.count);
	fm_sample_free(&times);
	for (unsigned k = 0; k < FM_EVENTS_MAX; k++)
		fm_sample_free(&samples[k]);
	return r;
}

/* The kernel is asked once for each event whether it can be counted. */

struct asked {
	char names[ASKED_MAX][96];
	bool there[ASKED_MAX];
	unsigned count;
	bool whole_machine;
};

static bool opens(const char *name, bool whole_machine)
{
	struct fm_target target = {.task = whole_machine ? -1 : 0, .every_cpu = whole_machine};
	struct fm_counting *counting;
	struct fm_event event;
	struct fm_error ignored;

	if (fm_event_resolve(name, &event, &ignored) || fm_counting_open(&event, 1, &target, &counting, &ignored))
		return false;
	fm_counting_close(counting);
	return true;
}

static bool is_there(void *context, const char *name)
{
	struct asked *asked = context;

	for (unsigned i = 0; i < asked->count; i++)
		if (!strcmp(asked->names[i], name))
			return asked->there[i];
	if (asked->count == ASKED_MAX)
		return opens(name, asked->whole_machine);
	snprintf(asked->names[asked->count], sizeof(asked->names[0]), "%s", name);
	asked->there[asked->count] = opens(name, asked->whole_machine);
	return asked->there[asked->count++];
}

/* Formulas: first those validated on this machine, then the vendor's. Both go into the recording. */
static int find_recipe(const struct fm_observation *wanted, struct fm_recording *recording,
                       struct fm_recipe **ret_recipe, struct fm_error *error)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	char path[4096], *vendor = NULL, *profile = NULL;
	struct fm_error ignored;
	json_t *root = NULL;
	int r;

	if (!asked)
		return fm_error_set(error, ENOMEM, "out of memory");
	asked->whole_machine = wanted->system_wide;
	if (!fm_profile_text(NULL, &profile, &ignored))
		root = json_loads(profile, 0, NULL);
	if (fm_vendor_path(NULL, path, sizeof(path)))
		fm_file_text(path, &vendor, &ignored);
	r = fm_recipe_create(&(struct fm_recipe_wishes){.metrics = json_object_get(root, "metrics"),
	                                                .vendor_text = vendor,
	                                                .vendor_name = path,
	                                                .whole_machine = wanted->system_wide,
	                                                .exists = is_there,
	                                                .context = asked},
	                     ret_recipe, error);
	if (!r && ((profile && fm_recording_set(recording, "profile", profile)) ||
	           (vendor && fm_recording_set(recording, "vendor group", vendor))))
		r = fm_error_set(error, ENOMEM, "out of memory");
	/* without a PMU that is the reason, whatever formulas there are */
	if (r == -ENOTSUP) {
		struct fm_target self = {.task = 0};
		struct fm_counting *counting;
		struct fm_event event;
		struct fm_error why;

		if (fm_event_resolve("instructions", &event, &why) ||
		    fm_counting_open(&event, 1, &self, &counting, &why))
			*error = why;
		else
			fm_counting_close(counting);
		error->code = ENOTSUP;
	}
	json_decref(root);
	free(vendor);
	free(profile);
	free(asked);
	return r;
}

static int choose_events(struct session *session, struct fm_error *error)
{
	struct fm_recipe *recipe = NULL;
	int r = find_recipe(session->wanted, session->recording, &recipe, error);

	for (unsigned i = 0; !r && i < recipe->event_count; i++) {
		unsigned room = FM_EVENTS_MAX - 1 - session->event_count, boxes;
		struct fm_event event;

		r = fm_event_resolve(recipe->events[i], &event, error);
		if (r)
			break;
		boxes = fm_event_boxes(&event, session->events + session->event_count, room);
		if (boxes > room) {
			r = fm_error_set(error, ENOTSUP, "%s has %u boxes: more than can be counted at once",
			                 recipe->events[i], boxes);
			break;
		}
		for (unsigned k = 0; k < boxes; k++)
			snprintf(session->recipe[session->event_count + k], sizeof(session->recipe[0]), "%s",
			         recipe->events[i]);
		session->event_count += boxes;
	}
	/* it shows the number of threads that ran at once */
	if (!r && !fm_event_resolve("task-clock", &session->events[session->event_count], error))
		session->event_count++;
	fm_recipe_free(recipe);
	return r;
}

static int probe(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	struct fm_recipe *recipe;
	int r;

	if (wanted->events)
		return 0; /* each event says for itself why not */
	r = find_recipe(wanted, recording, &recipe, why);
	if (!r)
		fm_recipe_free(recipe);
	return r;
}

/* The alternatives. */
static void offer_engine(const struct session *session)
{
	const struct fm_observation *wanted = session->wanted;
	bool hardware = !session->event_count; /* a PMU that is not here has no event yet */

	for (unsigned i = 0; i < session->event_count; i++)
		hardware |= fm_event_needs_pmu(&session->events[i]);
	if (hardware && wanted->program && !wanted->processes && !wanted->system_wide)
		fm_observe_remark(wanted, "without counters there is exact counting: fathom stat --machine host -- %s",
		                  wanted->program[0]);
}

static int run(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	struct session *session = calloc(1, sizeof(*session));
	int r;

	if (!session)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->wanted = wanted;
	session->recording = recording;
	if (wanted->events) {
		r = fm_events_parse(wanted->events, session->events, FM_EVENTS_MAX, error);
		if (r > 0)
			session->event_count = (unsigned)r;
		r = r < 0 ? r : 0;
	} else {
		r = choose_events(session, error);
	}
	/* live intervals need the machine */
	if (!r)
		r = fm_recording_settle(recording, error);
	if (!r)
		r = count_all(session, error);
	if (r == -ENOTSUP)
		offer_engine(session);
	free_parts(session);
	fm_marked_free(session->marked, session->marked_count);
	free(session);
	return r;
}

const struct fm_observer fm_observer_perf = {
    .name = "perf", .kind = FM_OBSERVER_COUNTERS, .priority = 20, .probe = probe, .run = run};
