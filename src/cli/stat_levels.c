#include "cli/stat_levels.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/chosen_machine.h"
#include "cli/group_file.h"
#include "cli/count_session.h"
#include "counters/boxes.h"
#include "json/figure.h"
#include "model/counted.h"
#include "report/picture_text.h"

/* Which events can be counted here is asked of the kernel, once each. */

enum { ASKED_MAX = 256 };

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

json_t *fm_levels_metrics(const char *path)
{
	struct fm_error ignored;
	json_t *root, *metrics;

	if (!path || access(path, R_OK) || fm_json_read(path, &root, &ignored))
		return NULL;
	metrics = json_incref(json_object_get(root, "metrics"));
	json_decref(root);
	return metrics;
}

int fm_levels_recipe(bool whole_machine, struct fm_recipe **ret_recipe, struct fm_error *error)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	char *profile = NULL, vendor[4096];
	bool has_vendor = fm_vendor_file(NULL, vendor, sizeof(vendor));
	struct fm_error ignored;
	json_t *metrics;
	int r;

	if (!asked)
		return fm_error_set(error, ENOMEM, "out of memory");
	asked->whole_machine = whole_machine;
	if (fm_profile_default_path(&profile, &ignored))
		profile = NULL;
	metrics = fm_levels_metrics(profile);
	r = fm_recipe_create(&(struct fm_recipe_wishes){.metrics = metrics,
	                                                .vendor_file = has_vendor ? vendor : NULL,
	                                                .whole_machine = whole_machine,
	                                                .exists = is_there,
	                                                .context = asked},
	                     ret_recipe, error);
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
	json_decref(metrics);
	free(profile);
	free(asked);
	return r;
}

/* What is counted, and where the counts of a recipe's event are among it. */
struct levels {
	const struct fm_recipe *recipe;
	struct fm_count_session *session;
	const struct fm_machine *profile;
	unsigned first[FM_EVENTS_MAX], boxes[FM_EVENTS_MAX];
	int clock; /* the event that tells how many threads ran; -1: none */
	json_t *intervals;
	FILE *output;
	double last_interval;
	/* a part under way */
	struct fm_figure *counts;
	char name[96];
};

static int choose_events(struct levels *levels, struct fm_error *error)
{
	struct fm_count_session *session = levels->session;

	for (unsigned i = 0; i < levels->recipe->event_count; i++) {
		struct fm_event event;
		int r = fm_event_resolve(levels->recipe->events[i], &event, error);

		if (r)
			return r;
		levels->first[i] = session->event_count;
		levels->boxes[i] = fm_event_boxes(&event, session->events + session->event_count,
		                                  FM_EVENTS_MAX - 1 - session->event_count);
		if (levels->boxes[i] > FM_EVENTS_MAX - 1 - session->event_count)
			return fm_error_set(error, ENOTSUP, "%s has %u boxes: more than can be counted at once",
			                    levels->recipe->events[i], levels->boxes[i]);
		session->event_count += levels->boxes[i];
	}
	levels->clock = fm_event_resolve("task-clock", &session->events[session->event_count], error)
	                    ? -1
	                    : (int)session->event_count++;
	return 0;
}

/* All boxes of an event together; one that cannot tell leaves nothing. */
static void add_boxes(const struct levels *levels, const struct fm_figure *figures, struct fm_figure *ret_counts)
{
	for (unsigned i = 0; i < levels->recipe->event_count; i++) {
		struct fm_figure sum = figures[levels->first[i]];
		double below = 0, above = 0;

		for (unsigned k = 0; k < levels->boxes[i] && sum.available; k++) {
			const struct fm_figure *box = &figures[levels->first[i] + k];

			if (!box->available) {
				sum = *box;
				break;
			}
			sum.value = k ? sum.value + box->value : box->value;
			below += (box->value - box->low) * (box->value - box->low);
			above += (box->high - box->value) * (box->high - box->value);
		}
		if (sum.available) {
			sum.low = sum.value - sqrt(below);
			sum.high = sum.value + sqrt(above);
		}
		ret_counts[i] = sum;
	}
}

/* Processor time over time: so many threads ran at once, most of the time. */
static unsigned threads_of(const struct levels *levels, const struct fm_figure *figures,
                           const struct fm_figure *seconds)
{
	if (levels->session->request->system_wide)
		return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (levels->clock >= 0 && figures[levels->clock].available && seconds->available && seconds->value > 0)
		return (unsigned)fmax(1, ceil(figures[levels->clock].value * 1e-9 / seconds->value - 0.25));
	return 1;
}

static void build(struct levels *levels, const struct fm_figure *figures, const struct fm_figure *seconds,
                  unsigned threads, const struct fm_part *part, uint64_t instances, struct fm_picture *ret_picture)
{
	add_boxes(levels, figures, levels->counts);
	fm_picture_from_counts(&(struct fm_counted){.recipe = levels->recipe,
	                                            .profile = levels->profile,
	                                            .counts = levels->counts,
	                                            .seconds = *seconds,
	                                            .threads = threads,
	                                            .part = *part,
	                                            .instances = instances},
	                       ret_picture);
}

/* Parts: threads of running processes, and regions of a program. */

static bool thread_part(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct levels *levels = context;
	const struct fm_count_session *session = levels->session;

	if (index >= session->part_count || !session->parts[index].thread)
		return false;
	build(levels, &session->figures[(size_t)index * session->event_count], &session->elapsed, 1,
	      &(struct fm_part){.thread = session->parts[index].thread}, 0, ret_picture);
	return true;
}

/* One region as one thread ran it; threads are numbered in the order in which they were made. */
static bool region_thread_part(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct levels *levels = context;
	const struct fm_count_session *session = levels->session;
	struct fm_figure figures[FM_EVENTS_MAX], seconds;
	const struct fm_marked *marked;

	if (index >= session->marked_count)
		return false;
	marked = &session->marked[index];
	for (unsigned k = 0; k < session->event_count; k++)
		figures[k] = marked->counts[k].figure;
	seconds =
	    fm_figure_make(marked->seconds, marked->seconds, marked->seconds, "s", FM_ORIGIN_measured, "native", 1);
	build(levels, figures, &seconds, 1, &(struct fm_part){.region = marked->name, .thread = (int)marked->ordinal},
	      marked->instances, ret_picture);
	return true;
}

/* Sum over the threads that ran it; its time is that of the longest. */
static bool region_part(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct levels *levels = context;
	const struct fm_count_session *session = levels->session;
	struct fm_figure figures[FM_EVENTS_MAX], seconds;
	unsigned first = 0, last;
	uint64_t instances = 0;
	double longest = 0;

	for (;; first++) {
		if (first >= session->marked_count)
			return false;
		if (!session->marked[first].ordinal && !index--)
			break;
	}
	for (last = first; last < session->marked_count && (last == first || session->marked[last].ordinal); last++) {
		const struct fm_marked *marked = &session->marked[last];

		instances += marked->instances;
		longest = fmax(longest, marked->seconds);
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_figure *own = &marked->counts[k].figure;

			if (last == first || !own->available) {
				figures[k] = *own;
			} else if (figures[k].available) {
				figures[k].value += own->value;
				figures[k].low += own->low;
				figures[k].high += own->high;
			}
		}
	}
	seconds = fm_figure_make(longest, longest, longest, "s", FM_ORIGIN_measured, "native", 1);
	snprintf(levels->name, sizeof(levels->name), "%s", session->marked[first].name);
	build(levels, figures, &seconds, last - first, &(struct fm_part){.region = levels->name, .thread = -1},
	      instances, ret_picture);
	return true;
}

/* Time series */

static void report_interval(struct fm_count_session *session, double at)
{
	struct levels *levels = session->context;
	struct fm_picture *picture = malloc(sizeof(*picture));
	struct fm_figure figures[FM_EVENTS_MAX], seconds;
	double spent = at - levels->last_interval;

	if (!picture)
		return;
	levels->last_interval = at;
	for (unsigned k = 0; k < session->event_count; k++)
		figures[k] = fm_count_session_spent(session, 0, k);
	seconds = fm_figure_make(spent, spent, spent, "s", FM_ORIGIN_measured, "native", 1);
	build(levels, figures, &seconds, threads_of(levels, figures, &seconds), &(struct fm_part){.thread = -1}, 0,
	      picture);
	if (levels->intervals) {
		json_t *entry = json_pack("{s:f}", "seconds", at);

		fm_picture_to_json(picture, entry);
		json_object_del(entry, "patterns");
		json_array_append_new(levels->intervals, entry);
	} else {
		fm_picture_print_moment(picture, at, levels->output);
		fflush(levels->output);
	}
	free(picture);
}

/* Output */

static const char *what(const struct fm_stat_request *request)
{
	return request->program ? request->program[0] : request->system_wide ? "the whole machine" : request->process;
}

static void print_json(const struct levels *levels, const struct fm_picture *picture, const struct fm_figure *figures,
                       const struct fm_picture_parts *parts)
{
	const struct fm_count_session *session = levels->session;
	json_t *root = fm_json_document("stat"), *events = json_array();

	json_object_set_new(root, "machine", json_null());
	json_object_set_new(root, "machine_why", json_string("the one Fathom runs on"));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("counts of the program itself, not times"));
	json_object_set_new(root, "program",
	                    session->request->program ? json_string(session->request->program[0]) : json_null());
	json_object_set_new(root, "exit_status", json_integer(session->exit_status));
	for (unsigned k = 0; k < session->event_count; k++) {
		json_t *entry = json_pack("{s:s, s:s}", "name", session->events[k].name, "pmu", session->events[k].pmu);

		fm_json_set_figure(entry, "count", &figures[k]);
		json_array_append_new(events, entry);
	}
	json_object_set_new(root, "events", events);
	fm_picture_to_json(picture, root);
	fm_picture_add_parts(picture, parts, root);
	json_object_set_new(root, "regions_lost", json_integer((json_int_t)session->marked_lost));
	if (levels->intervals)
		json_object_set(root, "intervals", levels->intervals);
	json_dumpf(root, levels->output, JSON_INDENT(1));
	fputc('\n', levels->output);
	json_decref(root);
}

/* With -p and --per-thread the parts are threads: all together is their sum. */
static void sum_parts(const struct fm_count_session *session, struct fm_figure *ret_figures)
{
	for (unsigned k = 0; k < session->event_count; k++)
		for (unsigned i = 0; i < session->part_count; i++) {
			const struct fm_figure *own = &session->figures[(size_t)i * session->event_count + k];

			/* what a socket counts is the same whoever asks */
			if (i && session->events[k].cpu >= 0)
				continue;
			if (!i) {
				ret_figures[k] = *own;
			} else if (own->available && ret_figures[k].available) {
				ret_figures[k].value += own->value;
				ret_figures[k].low += own->low;
				ret_figures[k].high += own->high;
			} else if (own->available) {
				ret_figures[k] = *own;
			}
		}
}

static void conclude(struct levels *levels, struct fm_picture *picture)
{
	const struct fm_count_session *session = levels->session;
	const struct fm_picture_parts parts = {
	    .context = levels, .thread = thread_part, .region = region_part, .region_thread = region_thread_part};
	struct fm_figure figures[FM_EVENTS_MAX];

	sum_parts(session, figures);
	build(levels, figures, &session->elapsed, threads_of(levels, figures, &session->elapsed),
	      &(struct fm_part){.thread = -1}, 0, picture);
	for (unsigned i = 0; i < session->part_count && session->parts[i].thread; i++) {
		add_boxes(levels, &session->figures[(size_t)i * session->event_count], levels->counts);
		fm_picture_add_thread(picture, levels->recipe, levels->counts, (unsigned)session->parts[i].thread);
	}
	if (session->request->common->json)
		print_json(levels, picture, figures, &parts);
	else
		fm_picture_print_counted(picture, &parts, what(session->request), levels->output, 100,
		                         session->request->common->verbosity);
	if (session->marked_lost && !session->request->common->json)
		fprintf(levels->output, "%llu instances of regions had no room and are missing.\n",
		        (unsigned long long)session->marked_lost);
}

int fm_stat_levels(const struct fm_stat_request *request, const struct fm_recipe *recipe)
{
	struct fm_count_session *session = calloc(1, sizeof(*session));
	struct levels levels = {.recipe = recipe, .session = session, .clock = -1};
	struct fm_picture *picture = malloc(sizeof(*picture));
	struct fm_machine *profile = NULL;
	struct fm_error error;
	int code = 125;

	levels.counts = calloc(recipe->event_count, sizeof(*levels.counts));
	if (!session || !picture || !levels.counts)
		goto out;
	session->request = request;
	/* without a profile there is traffic, and no share of what could be */
	if (fm_chosen_profile(NULL, &profile, &error))
		profile = NULL;
	levels.profile = profile;
	if (choose_events(&levels, &error)) {
		code = fm_count_session_refuse(session, &error);
		goto out;
	}
	levels.output = fm_common_open(request->common);
	if (!levels.output)
		goto out;
	if (request->common->json && request->interval_ms)
		levels.intervals = json_array();
	session->on_interval = report_interval;
	session->context = &levels;
	fflush(NULL);
	fm_interrupt_install();
	signal(SIGCHLD, SIG_DFL);
	if (fm_count_session_run(session, &error)) {
		code =
		    error.code == ENOTSUP ? fm_count_session_refuse(session, &error) : fm_report_error_of_run(&error);
		fm_common_close(request->common, levels.output);
	} else {
		conclude(&levels, picture);
		code = fm_common_close(request->common, levels.output) ? 125 : session->exit_status;
	}
out:
	json_decref(levels.intervals);
	fm_machine_free(profile);
	free(levels.counts);
	free(picture);
	if (session)
		fm_count_session_free(session);
	return code;
}
