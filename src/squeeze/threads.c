/* Threads on other CPUs take cache or bandwidth away while the program runs (src/interference). How much they take here
   is measured before; only what leaves the other resource alone is offered. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "interference/calibrate.h"
#include "interference/takers.h"
#include "profile/cpu_places.h"
#include "squeeze/backend.h"
#include "squeeze/live_recording.h"
#include "squeeze/tuning.h"

struct state {
	struct fm_interference *calibration;
	struct fm_takers *takers;
	cpu_set_t cpus; /* of the program */
	/* of the next run */
	enum fm_taker_kind kind;
	const struct fm_interference_step *step; /* NULL: takers do nothing */
	uint64_t lost_before;
	uint64_t toggled; /* ns, when that was */
};

static int probe(const struct fm_squeeze_wishes *wishes, struct fm_error *why)
{
	struct fm_taker_places *places;
	const struct fm_cpu_list anywhere = {0};
	int r;

	if (wishes->observation.machine)
		return fm_error_set(why, ENOTSUP, "threads uses this machine: omit --machine");
	places = malloc(sizeof(*places));
	r = places ? fm_taker_places_find(&anywhere, 1, LOOK_SECONDS, places, why)
	           : fm_error_set(why, ENOMEM, "out of memory");
	free(places);
	return r;
}

static void remark(const struct fm_squeeze_wishes *wishes, const char *format, const char *text)
{
	char line[400];

	if (!wishes->observation.remark || !*text)
		return;
	snprintf(line, sizeof(line), format, text);
	wishes->observation.remark(wishes->observation.context, line);
}

/* The one that is kept, if it still holds; a new one otherwise. */
static int calibrate(const struct fm_squeeze_wishes *wishes, struct fm_interference **ret_calibration,
                     struct fm_error *error)
{
	struct fm_interference_options options = {
	    .seconds = fmin(fmax(CALIBRATION_SHARE * wishes->budget, CALIBRATION_LEAST), CALIBRATION_MOST),
	    .seed = (uint64_t)time(NULL),
	    .watcher = {wishes->observation.interrupted, wishes->progress, wishes->progress_context},
	};
	struct fm_interference *kept;
	char why[200];
	int r;

	if (!fm_interference_load(&kept, error)) {
		if (fm_interference_holds(kept, &options, why, sizeof(why))) {
			*ret_calibration = kept;
			return 0;
		}
		remark(wishes, "interference is calibrated again: %s", why);
		free(kept);
	}
	r = fm_interference_calibrate(&options, ret_calibration, error);
	if (r)
		return r;
	/* without a place to keep it, it is measured again */
	if (fm_interference_save(*ret_calibration, error))
		remark(wishes, "the calibration is not kept: %s", error->message);
	return 0;
}

static void set_axis(struct fm_squeeze_axis *axis, const struct fm_interference_axis *measured, const char *statement)
{
	if (!fm_interference_offered(measured)) {
		snprintf(axis->why_not, sizeof(axis->why_not), "%s", statement);
		return;
	}
	/* steps are sorted by the taken amount, amounts by the remaining one */
	for (unsigned i = measured->count; i-- > 0;)
		if (measured->steps[i].offered)
			axis->amounts[axis->count++] = measured->steps[i].left.value;
	axis->amounts[axis->count++] = measured->full.value;
	axis->least = axis->amounts[0];
	axis->full = measured->full.value;
}

static const struct fm_cpu_place *place_of(const struct fm_cpu_place *places, unsigned count, unsigned cpu)
{
	for (unsigned i = 0; i < count; i++)
		if (places[i].cpu == cpu)
			return &places[i];
	return NULL;
}

/* The program runs where takers take something, in their last cache or on their node, and never on their cores. */
static int choose_cpus(struct state *state, struct fm_error *error)
{
	static struct fm_cpu_list allowed;
	static struct fm_cpu_place places[FM_CPUS_MAX];
	const struct fm_interference *calibration = state->calibration;
	const struct fm_cpu_place *home;
	int r = fm_cpu_list_allowed(&allowed, error);

	if (r)
		return r;
	fm_cpu_places_read(&allowed, places);
	home = place_of(places, allowed.count, calibration->program_cpu);
	CPU_ZERO(&state->cpus);
	for (unsigned i = 0; i < allowed.count && home; i++) {
		bool apart = calibration->shares_cache ? places[i].cache != home->cache : places[i].node != home->node;

		for (unsigned k = 0; k < calibration->taker_count && !apart; k++) {
			const struct fm_cpu_place *taker = place_of(places, allowed.count, calibration->taker_cpus[k]);

			apart = places[i].cpu == calibration->taker_cpus[k] || (taker && taker->core == places[i].core);
		}
		if (!apart && places[i].cpu < CPU_SETSIZE)
			CPU_SET(places[i].cpu, &state->cpus);
	}
	return CPU_COUNT(&state->cpus) ? 0 : fm_error_set(error, ENOTSUP, "no CPU is left for the program");
}

static int open_state(struct fm_squeeze_session *session, struct fm_error *error)
{
	const struct fm_squeeze_wishes *wishes = session->wishes;
	struct state *state = calloc(1, sizeof(*state));
	struct fm_interference *calibration;
	int r;

	if (!state)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->state = state;
	r = calibrate(wishes, &state->calibration, error);
	if (r)
		return r;
	calibration = state->calibration;
	if (wishes->level && strcasecmp(wishes->level, calibration->level) != 0)
		return fm_error_set(error, EINVAL, "--level: threads on other CPUs limit %s, not %s",
		                    calibration->level, wishes->level);
	if (!fm_interference_is_useful(calibration))
		return fm_error_set(
		    error, ENOTSUP,
		    "threads cannot limit this program here (--machine host uses a simulation of this machine): %s; %s",
		    calibration->capacity_statement, calibration->bandwidth_statement);
	remark(wishes, "%s", calibration->remark);
	set_axis(&session->capacity, &calibration->capacity, calibration->capacity_statement);
	set_axis(&session->bandwidth, &calibration->bandwidth, calibration->bandwidth_statement);
	r = choose_cpus(state, error);
	return r ? r : fm_interference_start(calibration, &state->takers, error);
}

/* Running */

static void prepare(void *context)
{
	const struct state *state = context;

	sched_setaffinity(0, sizeof(state->cpus), &state->cpus);
}

static uint64_t lost(const struct state *state)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FM_TAKER_KINDS * state->calibration->taker_count; i++)
		sum += fm_takers_work(state->takers, i).lost_ns;
	return sum;
}

static int ready(void *context, pid_t process, struct fm_error *error)
{
	struct state *state = context;

	(void)process;
	fm_interference_set(state->calibration, state->takers, state->kind, state->step);
	if (fm_takers_settle(state->takers, 1) == -ESRCH)
		return fm_error_set(error, ECANCELED, "the load threads were ended by another process");
	if (state->step)
		nanosleep(&(struct timespec){.tv_nsec = HEAD_START_NS}, NULL);
	state->lost_before = lost(state);
	return 0;
}

static void over(void *context)
{
	struct state *state = context;

	state->lost_before = lost(state) - state->lost_before;
	fm_interference_set(state->calibration, state->takers, state->kind, NULL);
}

static const struct fm_interference_step *find_step(const struct fm_interference_axis *axis, double left)
{
	const struct fm_interference_step *best = NULL;

	for (unsigned i = 0; i < axis->count; i++)
		if (axis->steps[i].offered &&
		    (!best || fabs(axis->steps[i].left.value - left) < fabs(best->left.value - left)))
			best = &axis->steps[i];
	return best;
}

static void choose_step(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs)
{
	const struct fm_recorded_squeeze *how = &session->recording->squeezes[0];
	struct state *state = session->state;

	state->step = NULL;
	if (role != FM_SQUEEZE_LESS)
		return;
	state->kind = bytes < how->bytes ? FM_TAKER_STORAGE : FM_TAKER_BANDWIDTH;
	state->step = state->kind == FM_TAKER_STORAGE ? find_step(&state->calibration->capacity, bytes)
	              : gbs < how->gbs                ? find_step(&state->calibration->bandwidth, gbs)
	                                              : NULL;
}

/* Takers without their CPUs take less than they were calibrated to. */
static bool has_lost(const struct state *state, uint64_t lost_ns, double seconds)
{
	return state->step && (double)lost_ns * 1e-9 > RUN_LOST * seconds * state->step->setting.takers;
}

static bool toggle(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs)
{
	struct state *state = session->state;
	uint64_t now = fm_clock_now(), lost_now = lost(state);
	bool was_right = !has_lost(state, lost_now - state->lost_before, (double)(now - state->toggled) * 1e-9);

	/* those of the other kind end */
	fm_interference_set(state->calibration, state->takers, state->kind, NULL);
	choose_step(session, role, bytes, gbs);
	fm_interference_set(state->calibration, state->takers, state->kind, state->step);
	state->lost_before = lost_now;
	state->toggled = now;
	return was_right;
}

static int run(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
               struct fm_error *error)
{
	struct state *state = session->state;
	const struct fm_live_run live = {.prepare = prepare, .context = state, .ready = ready, .over = over};
	struct fm_recorded_squeeze_step *step;
	int r;

	choose_step(session, role, bytes, gbs);
	r = fm_live_step(session, role, bytes, gbs, &live, error);
	if (r)
		return r;
	if (session->live.watch)
		return 0;
	step = fm_live_last_step(session);
	if (has_lost(state, state->lost_before, step->seconds))
		step->disturbed = true;
	return 0;
}

static int begin(struct fm_squeeze_session *session, struct fm_error *error)
{
	struct fm_recorded_squeeze how = {.noticeable = NOTICEABLE_LIVE};
	const struct fm_interference *calibration;
	int r = open_state(session, error);

	if (r)
		return r;
	calibration = ((struct state *)session->state)->calibration;
	how.cache = (uint32_t)atoi(calibration->level + 1) - 1;
	how.bytes = session->capacity.full;
	how.gbs = session->bandwidth.full;
	how.near_ns = how.beyond_ns = fm_figure_unavailable("the calibration gives capacities, not latencies");
	snprintf(how.level, sizeof(how.level), "%s", calibration->level);
	snprintf(how.calibration, sizeof(how.calibration), "measured %s in %.0f s: %s; %s", calibration->taken,
	         calibration->seconds, calibration->capacity_statement, calibration->bandwidth_statement);
	r = fm_live_record(session, &how, error);
	if (!r)
		r = run(session, FM_SQUEEZE_WHOLE, how.bytes, how.gbs, error);
	return r ? fm_live_give_up(session, r) : 0;
}

static void end(struct fm_squeeze_session *session)
{
	struct state *state = session->state;

	if (!state)
		return;
	fm_takers_stop(state->takers);
	free(state->calibration);
	free(state);
	session->state = NULL;
}

const struct fm_squeeze_backend fm_squeeze_threads = {
    .name = "threads",
    .takes = "cache and bandwidth, by load threads on other CPUs",
    .live = true,
    .probe = probe,
    .begin = begin,
    .run = run,
    .toggle = toggle,
    .end = end,
};
