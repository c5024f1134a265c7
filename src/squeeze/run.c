#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "squeeze/map.h"
#include "squeeze/pairs.h"
#include "squeeze/regions.h"
#include "squeeze/second_opinion.h"
#include "squeeze/squeeze.h"
#include "squeeze/tuning.h"

/* Live: pairs of runs at most at an amount that stays undecided, and runs for the control at the end. */
enum { GRANULE = 4096, MOST_RUNS = 24, MOST_LIVE_RUNS = 400, REPEATS = 24, CONTROL_PAIRS = 3, MAP_PAIRS = 4 };
/* Of a region. */
enum { WINDOW_INSTANCES = 5, MOST_PAIRS = 400 };

const struct fm_squeeze_backend *const fm_squeeze_backends[] = {
#define BACKEND(identifier) &fm_squeeze_##identifier,
#include "squeeze/backends.def"
#undef BACKEND
    NULL};

const char *fm_squeeze_names(char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (unsigned i = 0; fm_squeeze_backends[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", fm_squeeze_backends[i]->name);
	return text;
}

/* Is something wanted that it can never do? */
static bool lacks(const struct fm_squeeze_wishes *wishes, const struct fm_squeeze_backend *backend,
                  struct fm_error *why)
{
	if (wishes->map && !backend->takes_both)
		fm_error_set(why, EINVAL, "--map: %s cannot limit cache and bandwidth at once; use exact or resctrl",
		             backend->name);
	else if (wishes->ranks && !backend->has_ranks)
		fm_error_set(why, EINVAL, "--ranks: %s has no ranks; use exact, with --machine NAME", backend->name);
	else
		return false;
	return true;
}

static int choose(const struct fm_squeeze_wishes *wishes, const struct fm_squeeze_backend **ret_backend,
                  struct fm_error *error)
{
	struct fm_error why;
	char names[100];
	bool rare = false;
	int r = 0;

	for (unsigned i = 0; fm_squeeze_backends[i]; i++) {
		const struct fm_squeeze_backend *backend = fm_squeeze_backends[i];

		if (wishes->backend && strcmp(wishes->backend, backend->name) != 0)
			continue;
		if (lacks(wishes, backend, &why)) {
			if (!wishes->backend)
				continue;
			*error = why;
			return -EINVAL;
		}
		if (!backend->probe(wishes, &why)) {
			*ret_backend = backend;
			return 0;
		}
		/* the first says why: it would have been the best */
		if (!r || rare)
			*error = why;
		rare = (!r || rare) && backend->rare;
		r = -error->code;
	}
	return r ? r
	         : fm_error_set(error, EINVAL, "--backend is %s, not \"%s\"", fm_squeeze_names(names, sizeof(names)),
	                        wishes->backend);
}

/* What each prediction wants must be understood before the program runs for long. */
static int check_predictions(const struct fm_recorded_squeeze *how, struct fm_error *error)
{
	char list[sizeof(how->predict)], *saved = NULL;
	struct fm_squeeze_prediction prediction;
	unsigned count = 0;
	int r = 0;

	snprintf(list, sizeof(list), "%s", how->predict);
	for (char *text = strtok_r(list, " ", &saved); text && !r; text = strtok_r(NULL, " ", &saved)) {
		r = fm_squeeze_parse(text, how->level, how->bytes, how->gbs, &prediction, error);
		if (!r && ++count > FM_SQUEEZE_PREDICTIONS)
			r = fm_error_set(error, EINVAL, "--predict may be given %d times", FM_SQUEEZE_PREDICTIONS);
	}
	return r;
}

struct sweep {
	struct fm_squeeze_session session;
	struct fm_design capacity, bandwidth;
	struct fm_pairs capacity_pairs, bandwidth_pairs;
	uint64_t began;
	double longest;            /* run, in seconds */
	unsigned runs, extra_runs; /* of the latter is no limit: the map, ranks that share a cache */
	uint64_t pairs;
};

static struct fm_recorded_squeeze *how_of(const struct sweep *sweep)
{
	return &sweep->session.recording->squeezes[0];
}

static double spent(const struct sweep *sweep)
{
	return (double)(fm_clock_now() - sweep->began) * 1e-9;
}

/* True if runs and seconds are left for that many more runs. */
static bool is_over(struct sweep *sweep, unsigned runs, double reserve)
{
	struct fm_recorded_squeeze *how = how_of(sweep);
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;
	const volatile bool *interrupted = wishes->observation.interrupted;
	unsigned most = (how->live ? MOST_LIVE_RUNS : MOST_RUNS) + sweep->extra_runs;

	if (interrupted && *interrupted)
		snprintf(how->stopped, sizeof(how->stopped), "it was interrupted");
	else if (spent(sweep) + runs * sweep->longest + reserve > wishes->budget)
		snprintf(how->stopped, sizeof(how->stopped), "the budget of %.3g s is spent", wishes->budget);
	else if (sweep->runs >= most)
		snprintf(how->stopped, sizeof(how->stopped), "%u runs were made", most);
	return *how->stopped != 0;
}

static void announce(const struct sweep *sweep, const char *what, double amount, const char *unit)
{
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;
	double budget = wishes->budget;
	char text[80];

	if (!wishes->progress)
		return;
	snprintf(text, sizeof(text), "run %u: %.3g %s of %s", sweep->runs + 1, amount, unit, what);
	wishes->progress(wishes->progress_context, text, fmin(spent(sweep) / budget, 1),
	                 fmax(budget - spent(sweep), 0));
}

/* One run; false: the sweep ends here. */
static bool run_once(struct sweep *sweep, enum fm_squeeze_role role, double bytes, double gbs)
{
	struct fm_recorded_squeeze *how = how_of(sweep);
	uint64_t begin = fm_clock_now();
	struct fm_error error;

	if (sweep->session.backend->run(&sweep->session, role, bytes, gbs, &error)) {
		snprintf(how->stopped, sizeof(how->stopped), "%s", error.message);
		return false;
	}
	sweep->runs++;
	sweep->longest = fmax(sweep->longest, (double)(fm_clock_now() - begin) * 1e-9);
	return true;
}

static struct fm_recorded_squeeze_step *last_step(const struct sweep *sweep)
{
	return &sweep->session.recording->squeeze_steps[sweep->session.recording->squeeze_steps_count - 1];
}

static double last_cycles(const struct sweep *sweep)
{
	const struct fm_recording *recording = sweep->session.recording;

	return (double)(sweep->session.ranks > 1 ? recording->rank_steps[recording->rank_steps_count - 1].cycles
	                                         : last_step(sweep)->cycles);
}

/* One run with everything and one with this, or for the control one after the other with nothing taken, in random
 *order. ret_ratio is 0 when the machine disturbed one of them. */
static bool run_pair(struct sweep *sweep, bool control, double bytes, double gbs, double *ret_ratio)
{
	const struct fm_recorded_squeeze *how = how_of(sweep);
	unsigned first = (unsigned)fm_random_below(&sweep->session.random, 2);
	double seconds[2] = {0, 0};
	bool disturbed = false;

	sweep->pairs++;
	for (unsigned i = 0; i < 2; i++) {
		bool less = i == first;
		struct fm_recorded_squeeze_step *step;

		if (!run_once(sweep,
		              control ? FM_SQUEEZE_CONTROL
		              : less  ? FM_SQUEEZE_LESS
		                      : FM_SQUEEZE_WHOLE,
		              less ? bytes : how->bytes, less ? gbs : how->gbs))
			return false;
		step = last_step(sweep);
		step->pair = sweep->pairs;
		seconds[less] = step->seconds;
		disturbed = disturbed || step->disturbed;
	}
	*ret_ratio = disturbed || !(seconds[0] > 0) ? 0 : seconds[1] / seconds[0];
	return true;
}

/* One more run or pair on this axis; false if it is complete or the sweep is over. */
static bool go_on(struct sweep *sweep, bool of_capacity, bool knee_only)
{
	struct fm_recorded_squeeze *how = how_of(sweep);
	struct fm_design *design = of_capacity ? &sweep->capacity : &sweep->bandwidth;
	struct fm_pairs *pairs = of_capacity ? &sweep->capacity_pairs : &sweep->bandwidth_pairs;
	const struct fm_squeeze_backend *backend = sweep->session.backend;
	double amount, bytes, gbs, ratio;

	if (!fm_design_next(design, knee_only, &amount))
		return false;
	if (of_capacity && !design->amount_count && amount < how->bytes)
		amount = fmax(floor(amount / GRANULE) * GRANULE, design->least);
	/* the control needs its runs too */
	if (is_over(sweep, how->live ? 2 : 1,
	            how->live && backend->has_control
	                ? fmin(2 * CONTROL_PAIRS * sweep->longest, CONTROL_SHARE * sweep->session.wishes->budget)
	                : 0)) {
		how->planned++;
		return false;
	}
	announce(sweep, of_capacity ? how->level : "memory", of_capacity ? amount / 1048576 : amount,
	         of_capacity ? "MiB" : "GB/s");
	bytes = of_capacity ? amount : how->bytes;
	gbs = of_capacity ? how->gbs : amount;
	if (!how->live) {
		if (!run_once(sweep, FM_SQUEEZE_LESS, bytes, gbs))
			return false;
		fm_design_add(design, amount, last_cycles(sweep));
		return true;
	}
	if (!run_pair(sweep, false, bytes, gbs, &ratio))
		return false;
	if (ratio > 0 && !fm_pairs_add(pairs, amount, ratio))
		return false;
	fm_pairs_fill(pairs, design->full, 1, design);
	return true;
}

/* Less of both, for the amounts around the knees. Live, round by round, so that a budget that is spent leaves all of
   them equally uncertain. */
static void run_map(struct sweep *sweep)
{
	struct fm_recorded_squeeze *how = how_of(sweep);
	double bytes[FM_SQUEEZE_MAP], gbs[FM_SQUEEZE_MAP], ratio;
	unsigned capacities = fm_map_amounts(&sweep->capacity, bytes),
	         bandwidths = fm_map_amounts(&sweep->bandwidth, gbs), rounds = how->live ? MAP_PAIRS : 1;

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 1; i < capacities; i++)
			for (unsigned k = 1; k < bandwidths; k++) {
				if (is_over(sweep, how->live ? 2 : 1, 0)) {
					how->planned++;
					return;
				}
				announce(sweep, "the map", bytes[i] / 1048576, "MiB");
				sweep->extra_runs += how->live ? 2 : 1;
				if (how->live ? !run_pair(sweep, false, bytes[i], gbs[k], &ratio)
				              : !run_once(sweep, FM_SQUEEZE_LESS, bytes[i], gbs[k]))
					return;
			}
}

/* Control with the decisive amount: the machinery alone must not slow the program down. */
static void run_controls(struct sweep *sweep)
{
	struct fm_recorded_squeeze *how = how_of(sweep);
	char stopped[sizeof(how->stopped)];
	struct fm_design_knee knee;
	double amount, ratio;

	/* nothing was found that it could confirm */
	if (!fm_design_knee(&sweep->capacity, &knee) || sweep->capacity.count < 2 || !knee.decided)
		return;
	amount = knee.sensitive ? knee.low : knee.high;
	/* the budget has room for these, unless runs became longer */
	snprintf(stopped, sizeof(stopped), "%s", how->stopped);
	*how->stopped = 0;
	for (unsigned i = 0; i < CONTROL_PAIRS && !is_over(sweep, 2, 0); i++) {
		announce(sweep, "the control", amount / 1048576, "MiB");
		if (!run_pair(sweep, true, amount, how->gbs, &ratio))
			break;
	}
	if (*stopped)
		snprintf(how->stopped, sizeof(how->stopped), "%s", stopped);
}

static struct fm_design design_of(const struct fm_squeeze_axis *axis, const struct fm_recorded_squeeze *how)
{
	struct fm_design design = {.least = axis->least,
	                           .full = axis->full,
	                           .noticeable = how->noticeable,
	                           .precision = KNEE_RATIO,
	                           .repeats = how->live ? REPEATS : 0,
	                           .amount_count = axis->count};

	memcpy(design.amounts, axis->amounts, axis->count * sizeof(*axis->amounts));
	return design;
}

static void search(struct sweep *sweep, bool knee_only)
{
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;

	while (!wishes->no_capacity && !*sweep->session.capacity.why_not && go_on(sweep, true, knee_only))
		;
	while (!wishes->no_bandwidth && !*sweep->session.bandwidth.why_not && go_on(sweep, false, knee_only))
		;
}

/* Ranks that share the cache: as one alone, for all of them together. */
static void sweep_ranks(struct sweep *sweep, unsigned ranks, double alone)
{
	const struct fm_squeeze_axis *capacity = &sweep->session.capacity, *bandwidth = &sweep->session.bandwidth;
	struct fm_recorded_squeeze *how = how_of(sweep);

	/* simulated ranks multiply the time of a run */
	sweep->longest *= (double)ranks / (sweep->session.ranks ? sweep->session.ranks : 1);
	sweep->session.ranks = ranks;
	sweep->extra_runs += MOST_RUNS;
	announce(sweep, "the cache, shared by several ranks", capacity->full / 1048576, "MiB");
	if (is_over(sweep, 1, 0)) {
		how->planned++;
		return;
	}
	if (!run_once(sweep, FM_SQUEEZE_WHOLE, capacity->full, bandwidth->full) ||
	    last_cycles(sweep) > (1 + how->noticeable) * alone)
		return;
	sweep->capacity = design_of(capacity, how);
	sweep->bandwidth = design_of(bandwidth, how);
	sweep->bandwidth.inverse = true;
	sweep->capacity.least = fmin(ranks * capacity->least, capacity->full / 2);
	fm_design_add(&sweep->capacity, capacity->full, last_cycles(sweep));
	fm_design_add(&sweep->bandwidth, bandwidth->full, last_cycles(sweep));
	search(sweep, true);
}

/* By the rate of a region */

struct region_sweep {
	struct sweep *sweep;
	struct fm_region_watch watch;
};

static bool next_pair(void *context, double *ret_bytes, double *ret_gbs)
{
	struct region_sweep *own = context;
	struct sweep *sweep = own->sweep;
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;
	const struct fm_recorded_squeeze *how = how_of(sweep);
	double amount;

	if (sweep->pairs >= MOST_PAIRS || (wishes->observation.interrupted && *wishes->observation.interrupted))
		return false;
	*ret_bytes = how->bytes;
	*ret_gbs = how->gbs;
	if (!wishes->no_capacity && !*how->capacity_why && fm_design_next(&sweep->capacity, true, &amount)) {
		announce(sweep, how->level, amount / 1048576, "MiB");
		*ret_bytes = amount;
		return true;
	}
	if (!wishes->no_bandwidth && !*how->bandwidth_why && fm_design_next(&sweep->bandwidth, true, &amount)) {
		announce(sweep, "memory", amount, "GB/s");
		*ret_gbs = amount;
		return true;
	}
	return false;
}

static bool toggle(void *context, bool less, double bytes, double gbs)
{
	struct region_sweep *own = context;
	struct fm_squeeze_session *session = &own->sweep->session;
	const struct fm_recorded_squeeze *how = how_of(own->sweep);

	return session->backend->toggle(session, less ? FM_SQUEEZE_LESS : FM_SQUEEZE_WHOLE, less ? bytes : how->bytes,
	                                less ? gbs : how->gbs);
}

static void note_pair(void *context, const struct fm_region_pair *pair)
{
	struct region_sweep *own = context;
	struct sweep *sweep = own->sweep;
	const struct fm_recorded_squeeze *how = how_of(sweep);
	bool of_capacity = pair->bytes < how->bytes;
	struct fm_pairs *pairs = of_capacity ? &sweep->capacity_pairs : &sweep->bandwidth_pairs;
	struct fm_design *design = of_capacity ? &sweep->capacity : &sweep->bandwidth;

	sweep->pairs++;
	for (unsigned i = 0; i < 2; i++) {
		bool less = (i == 0) == pair->less_first;
		struct fm_recorded_squeeze_step *step = fm_recording_add(sweep->session.recording, squeeze_steps);

		if (!step)
			return;
		how = how_of(sweep);
		*step = (struct fm_recorded_squeeze_step){.bytes = less ? pair->bytes : how->bytes,
		                                          .gbs = less ? pair->gbs : how->gbs,
		                                          .seconds = less ? pair->less : pair->whole,
		                                          .role = less ? FM_SQUEEZE_LESS : FM_SQUEEZE_WHOLE,
		                                          .pair = sweep->pairs,
		                                          .disturbed = pair->disturbed};
	}
	if (!pair->disturbed && pair->whole > 0)
		fm_pairs_add(pairs, of_capacity ? pair->bytes : pair->gbs, pair->less / pair->whole);
	fm_pairs_fill(pairs, design->full, 1, design);
}

static void watch(void *context)
{
	struct region_sweep *own = context;
	const struct fm_squeeze_session *session = &own->sweep->session;
	struct fm_region_count count;

	fm_markers_sum(session->live.markers, session->region, &count.instances, &count.seconds);
	fm_region_tick(&own->watch, fm_clock_now(), &count);
}

/* Interference is turned on and off inside runs, until the knees are located. */
static void sweep_regions(struct sweep *sweep)
{
	struct fm_squeeze_session *session = &sweep->session;
	struct region_sweep own = {.sweep = sweep};
	struct fm_recorded_squeeze *how = how_of(sweep);
	double bytes, gbs;

	snprintf(how->region, sizeof(how->region), "%s", session->region);
	while (next_pair(&own, &bytes, &gbs) && !is_over(sweep, 1, 0)) {
		uint64_t before = sweep->pairs;
		bool goes_on;

		own.watch = (struct fm_region_watch){.next = next_pair,
		                                     .toggle = toggle,
		                                     .done = note_pair,
		                                     .context = &own,
		                                     .random = &session->random,
		                                     .window_ns = WINDOW_NS,
		                                     .settle_ns = SETTLE_NS,
		                                     .least = WINDOW_INSTANCES};
		session->live.watch = watch;
		session->live.watch_context = &own;
		goes_on = run_once(sweep, FM_SQUEEZE_WHOLE, how->bytes, how->gbs);
		session->live.watch = NULL;
		how = how_of(sweep);
		if (!goes_on)
			return;
		if (sweep->pairs == before) {
			snprintf(how->stopped, sizeof(how->stopped),
			         "no pair of windows of region %.60s was complete at the end of the program",
			         how->region);
			return;
		}
	}
	if (*how->stopped)
		how->planned++;
}

/* First both knees, which are the answer, and the map around them; then what lies between the points. Live, a run costs
   its time and the knee is the answer. */
static void sweep_axes(struct sweep *sweep)
{
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;
	const struct fm_squeeze_axis *capacity = &sweep->session.capacity, *bandwidth = &sweep->session.bandwidth;
	const struct fm_recorded_squeeze *how = how_of(sweep);
	double whole = how->live ? 1 : (double)sweep->session.recording->squeeze_steps[0].cycles;

	sweep->capacity = design_of(capacity, how);
	sweep->bandwidth = design_of(bandwidth, how);
	sweep->bandwidth.inverse = true;
	fm_design_add(&sweep->capacity, capacity->full, whole);
	fm_design_add(&sweep->bandwidth, bandwidth->full, whole);
	if (how->live && !wishes->no_capacity && !*capacity->why_not) {
		announce(sweep, "full size: following lines for the miss-ratio curve", how->bytes / 1048576, "MiB");
		fm_second_opinion_take(&sweep->session, wishes->budget - spent(sweep));
	}
	if (*sweep->session.region && !wishes->map)
		sweep_regions(sweep);
	else
		search(sweep, true);
	if (wishes->map)
		run_map(sweep);
	if (!how->live)
		search(sweep, false);
	for (unsigned i = 0; i < sweep->session.mapping_count; i++)
		if (sweep->session.mappings[i] > 1)
			sweep_ranks(sweep, sweep->session.mappings[i], whole);
	if (how->live && sweep->session.backend->has_control && !wishes->no_capacity && !*capacity->why_not)
		run_controls(sweep);
}

/* Settings of the session for the analysis. */
static int note_session(struct sweep *sweep, struct fm_error *error)
{
	const struct fm_squeeze_wishes *wishes = sweep->session.wishes;
	struct fm_recorded_squeeze *how = how_of(sweep);

	how->live = sweep->session.backend->live;
	how->map = wishes->map;
	how->ranks = wishes->ranks;
	for (unsigned i = 0; i < sweep->session.mapping_count; i++)
		snprintf(how->mappings + strlen(how->mappings), sizeof(how->mappings) - strlen(how->mappings), "%s%u",
		         i ? " " : "", sweep->session.mappings[i]);
	snprintf(how->predict, sizeof(how->predict), "%s", wishes->predict ? wishes->predict : "");
	snprintf(how->capacity_why, sizeof(how->capacity_why), "%s", sweep->session.capacity.why_not);
	snprintf(how->bandwidth_why, sizeof(how->bandwidth_why), "%s", sweep->session.bandwidth.why_not);
	if (wishes->no_capacity && *how->bandwidth_why)
		return fm_error_set(error, EINVAL, "--only bandwidth: %s", how->bandwidth_why);
	if (wishes->no_bandwidth && *how->capacity_why)
		return fm_error_set(error, EINVAL, "--only capacity: %s", how->capacity_why);
	if (wishes->map && (*how->capacity_why || *how->bandwidth_why))
		return fm_error_set(error, EINVAL, "--map: %s",
		                    *how->capacity_why ? how->capacity_why : how->bandwidth_why);
	return check_predictions(how, error);
}

static int sweep_program(struct sweep *sweep, struct fm_error *error)
{
	struct fm_recorded_squeeze *how;
	int r = sweep->session.backend->begin(&sweep->session, error);

	if (r)
		return r;
	how = how_of(sweep);
	r = note_session(sweep, error);
	if (r) {
		fm_recording_free(sweep->session.recording);
		sweep->session.recording = NULL;
		return r;
	}
	if (sweep->session.recording->run.exit_status)
		return fm_error_set(error, ECANCELED, "the program ended with exit status %d, so it was not run again",
		                    (int)sweep->session.recording->run.exit_status);
	sweep->longest = (double)(fm_clock_now() - sweep->began) * 1e-9;
	sweep->runs = 1;
	/* not the calibration, which is over */
	if (how->live)
		sweep->longest = fmin(sweep->longest, sweep->session.recording->squeeze_steps[0].seconds);
	if (how->live && !*how->stopped && sweep->session.recording->squeeze_steps[0].seconds < SHORTEST_RUN)
		snprintf(how->stopped, sizeof(how->stopped),
		         "the run is too short: %.2g s. Give the program work for at least %.2g s",
		         sweep->session.recording->squeeze_steps[0].seconds, SHORTEST_RUN);
	else if (!*how->stopped)
		sweep_axes(sweep);
	return fm_recording_settle(sweep->session.recording, error);
}

int fm_squeeze_run(const struct fm_squeeze_wishes *wishes, struct fm_recording **ret_recording, struct fm_error *error)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int r;

	if (!sweep)
		return fm_error_set(error, ENOMEM, "out of memory");
	sweep->session.wishes = wishes;
	sweep->began = fm_clock_now();
	fm_random_seed(&sweep->session.random, sweep->began);
	r = choose(wishes, &sweep->session.backend, error);
	if (!r) {
		if (wishes->progress)
			wishes->progress(wishes->progress_context, "run 1: no limit", 0, wishes->budget);
		r = sweep_program(sweep, error);
		if (sweep->session.backend->end)
			sweep->session.backend->end(&sweep->session);
		fm_region_file_close(sweep->session.regions);
	}
	if (sweep->session.recording)
		*ret_recording = sweep->session.recording;
	free(sweep);
	return r;
}
