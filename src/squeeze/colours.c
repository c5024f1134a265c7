/* The program gets memory of k of N page colours, and with it k / N of the second cache of each core. Nothing runs
   beside it, and no bandwidth is taken. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>

#include "base/installed.h"
#include "base/limits.h"
#include "base/preloadable.h"
#include "base/statistics.h"
#include "base/text.h"
#include "colours/pool.h"
#include "observe/machines.h"
#include "observe/parts.h"
#include "squeeze/backend.h"
#include "squeeze/colours_kept.h"
#include "squeeze/tuning.h"

enum { MOST_PAGES = 16384, STACK_PAGES = 32, SPARE_PAGES = 64, UNKNOWN_PAGES = 4096, ATTEMPTS = 3, PATH = 4096 };

struct state {
	struct fm_colours_pool *pool;
	char library[PATH];
	char *preload;
	unsigned retaken; /* runs that were made again */
	char found[300];  /* in words */
	struct fm_sample near_ns, beyond_ns;
};

static int probe(const struct fm_squeeze_wishes *wishes, struct fm_error *why)
{
	struct fm_colours_geometry geometry;
	char path[PATH];
	int r;

	if (wishes->observation.machine)
		return fm_error_set(why, ENOTSUP, "colours uses this machine: omit --machine");
	if (wishes->level && strcasecmp(wishes->level, "L2") != 0)
		return fm_error_set(why, EINVAL,
		                    "--level: colours limits L2, not %s; --machine host limits any level of a "
		                    "simulation of this machine",
		                    wishes->level);
	r = fm_colours_geometry_read(0, &geometry, why);
	if (!r)
		r = fm_program_resolve(wishes->observation.program[0], path, sizeof(path), why);
	if (!r)
		r = fm_preloadable_check(path, NULL, why);
	if (!r && fm_installed_find(FM_INSTALLED_library, "libfathom-colours.so", path, sizeof(path)))
		return fm_error_set(why, ENOTSUP, "libfathom-colours.so is missing: reinstall Fathom completely");
	if (r && why->code == ENOTSUP)
		fm_error_prefix(
		    why, "colours cannot limit this program here (--machine host uses a simulation of this machine)");
	return r;
}

/* Calibration */

/* Uses the kept colours first; discovers them again if they fail. */
static int calibrate(struct state *state, struct fm_error *error)
{
	struct fm_colours_pool *pool = state->pool;
	const struct fm_colours_geometry *geometry = &pool->colours.geometry;
	struct fm_colours_kept kept;
	char bits[64] = "";
	bool known = !fm_colours_kept_load(geometry, &kept);
	int r;

	if (known && !fm_colours_pool_discover(pool, kept.hash, error)) {
		pool->near_ns = kept.near_ns;
		pool->beyond_ns = kept.beyond_ns;
	} else {
		known = false;
		r = fm_colours_pool_discover(pool, 0, error);
		if (r)
			return r;
		kept = (struct fm_colours_kept){
		    .hash = pool->colours.hash, .near_ns = pool->near_ns, .beyond_ns = pool->beyond_ns};
		fm_colours_kept_save(geometry, &kept);
	}
	for (unsigned i = 0; i < 6; i++)
		if (pool->colours.hash >> (1u << i) & 1)
			snprintf(bits + strlen(bits), sizeof(bits) - strlen(bits), "%s%u", *bits ? ", " : "", i + 6);
	snprintf(
	    state->found, sizeof(state->found),
	    "L2 of %u ways and %u sets, %u colours, %s%s%s; found by timing in %.2f s%s%s, %.1f %% of pages differed "
	    "when tested again",
	    geometry->ways, geometry->sets, geometry->colours,
	    pool->colours.hash == 1 ? "a plain index"
	    : *bits                 ? "address bits "
	                            : "a hashed index",
	    bits, *bits ? " folded into the index" : "", pool->seconds, known ? ", index known since " : "",
	    known ? kept.taken : "", 100 * pool->disagreement);
	return 0;
}

static void set_axes(struct fm_squeeze_session *session, const struct fm_colours_geometry *geometry)
{
	struct fm_squeeze_axis *capacity = &session->capacity;
	double each = fm_colours_bytes(geometry) / geometry->colours;
	unsigned least = 1;

	/* the first cache must stay smaller: many second caches include it */
	while (least < geometry->colours && least * each < 2.0 * geometry->first_bytes)
		least++;
	for (unsigned k = least; k <= geometry->colours; k++) {
		unsigned power = geometry->colours;

		/* all, three quarters, half, … of it */
		while (power > k)
			power /= 2;
		if (k == power || (2 * k == 3 * power && power > 1))
			capacity->amounts[capacity->count++] = k * each;
	}
	if (capacity->amounts[0] > least * each) {
		memmove(capacity->amounts + 1, capacity->amounts, capacity->count++ * sizeof(*capacity->amounts));
		capacity->amounts[0] = least * each;
	}
	capacity->least = capacity->amounts[0];
	capacity->full = fm_colours_bytes(geometry);
	snprintf(session->bandwidth.why_not, sizeof(session->bandwidth.why_not),
	         "page colours limit cache, not bandwidth");
}

/* Running */

static void prepare(void *context)
{
	const struct state *state = context;

	setenv("LD_PRELOAD", state->preload, 1);
	setenv(FM_COLOURS_VARIABLE, state->pool->path, 1);
}

/* The reports of the processes, which are not trusted. */
struct findings {
	unsigned ready, count, off;
	double setup_seconds;
	struct fm_colours_process main; /* the one with the most memory */
	double left_bytes;
	char why[128];
};

/* The time in which at least one of them was being set up: processes may run side by side. */
static double setup_seconds(const struct fm_colours_shared *shared, unsigned count)
{
	uint64_t sum = 0, until = 0;

	for (;;) {
		const struct fm_colours_process *next = NULL;

		/* the first step whose end is beyond the limit */
		for (unsigned i = 0; i < count; i++)
			if (shared->processes[i].ready_ns > until &&
			    shared->processes[i].ready_ns > shared->processes[i].begun_ns &&
			    (!next || shared->processes[i].begun_ns < next->begun_ns))
				next = &shared->processes[i];
		if (!next)
			return (double)sum * 1e-9;
		sum += next->ready_ns - (next->begun_ns > until ? next->begun_ns : until);
		until = next->ready_ns;
	}
}

static void read_processes(const struct fm_colours_shared *shared, struct findings *found)
{
	unsigned count = __atomic_load_n(&shared->process_count, __ATOMIC_ACQUIRE),
	         known = count < FM_COLOURS_PROCESSES ? count : FM_COLOURS_PROCESSES;

	*found = (struct findings){.count = count, .setup_seconds = setup_seconds(shared, known)};
	for (unsigned i = 0; i < known; i++) {
		struct fm_colours_process process = shared->processes[i];

		process.why[sizeof(process.why) - 1] = 0;
		if (process.state != FM_COLOURS_READY) {
			if (fm_text_is_clean(process.why))
				memcpy(found->why, process.why, sizeof(found->why));
			found->off += process.state == FM_COLOURS_OFF;
			continue;
		}
		found->left_bytes += (double)process.left_bytes;
		if (!found->ready || process.anonymous_bytes > found->main.anonymous_bytes)
			found->main = process;
		found->ready++;
	}
}

static int execute(struct fm_squeeze_session *session, struct fm_live_end *ret_end, struct findings *ret_found,
                   struct fm_error *error)
{
	struct state *state = session->state;
	struct fm_colours_shared *shared = state->pool->shared;
	const struct fm_live_run run = {.prepare = prepare, .context = state};
	int r;

	shared->seed = fm_random_next(&session->random);
	shared->free_bytes = fm_memory_available();
	shared->process_count = 0;
	memset(shared->processes, 0, sizeof(shared->processes));
	r = fm_live_execute(&session->live, &session->wishes->observation, &run, ret_end, error);
	if (r == -EINTR)
		return fm_error_set(error, ECANCELED, "it was interrupted");
	if (r)
		return r;
	read_processes(shared, ret_found);
	/* the time of the runtime is not the program's */
	ret_end->end.seconds = fmax(ret_end->end.seconds - ret_found->setup_seconds, 1e-9);
	return 0;
}

static int add_step(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes,
                    const struct fm_live_end *end, const struct findings *found, struct fm_error *error)
{
	struct fm_recorded_squeeze_step *step = fm_recording_add(session->recording, squeeze_steps);

	if (!step)
		return fm_error_set(error, ENOMEM, "out of memory");
	*step = (struct fm_recorded_squeeze_step){.bytes = bytes,
	                                          .seconds = end->end.seconds,
	                                          .role = role,
	                                          .disturbed = end->disturbed,
	                                          .near_ns = found->main.near_ns,
	                                          .beyond_ns = found->main.beyond_ns,
	                                          .left_bytes = found->left_bytes};
	return 0;
}

/* How much memory each of the next runs needs. */
static void plan_memory(struct fm_squeeze_session *session, const struct findings *found)
{
	struct state *state = session->state;
	struct fm_colours_shared *shared = state->pool->shared;
	struct fm_recorded_squeeze *how = &session->recording->squeezes[0];
	double heap = UNKNOWN_PAGES, others = SPARE_PAGES, data = UNKNOWN_PAGES;

	if (found->main.ended) {
		heap = (double)found->main.heap_bytes / FM_PAGE_BYTES + SPARE_PAGES;
		data = (double)found->main.data_bytes / FM_PAGE_BYTES;
		others = fmax((double)found->main.anonymous_bytes - (double)found->main.heap_bytes -
		                  (double)found->main.data_bytes,
		              0) /
		             FM_PAGE_BYTES +
		         SPARE_PAGES;
		how->footprint_bytes = (double)found->main.anonymous_bytes;
	}
	if (heap + others + data + STACK_PAGES > MOST_PAGES) {
		char size[32];

		snprintf(how->stopped, sizeof(how->stopped),
		         "the program uses %s of memory, but pages can be chosen for at most %s; --machine host uses a "
		         "simulation",
		         fm_text_bytes(size, sizeof(size), how->footprint_bytes), "64 MiB");
		return;
	}
	shared->heap_pages = (uint32_t)heap;
	shared->data_pages = (uint32_t)data;
	shared->other_pages = (uint32_t)others;
	shared->stack_pages = STACK_PAGES;
	shared->most_pages = MOST_PAGES + MOST_PAGES / 4;
	shared->survey = 0;
}

static int open_state(struct fm_squeeze_session *session, struct fm_error *error)
{
	struct state *state = calloc(1, sizeof(*state));
	const char *others = getenv("LD_PRELOAD");
	int r;

	if (!state)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->state = state;
	if (fm_installed_find(FM_INSTALLED_library, "libfathom-colours.so", state->library, sizeof(state->library)))
		return fm_error_set(error, ENOTSUP, "libfathom-colours.so is missing: reinstall Fathom completely");
	/* separators of the dynamic linker */
	if (strpbrk(state->library, " :"))
		return fm_error_set(error, ENOTSUP, "%s: a library whose path has blanks or colons cannot be preloaded",
		                    state->library);
	if (asprintf(&state->preload, "%s%s%s", state->library, others && *others ? ":" : "", others ? others : "") <
	    0) {
		state->preload = NULL;
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	r = fm_colours_pool_open(&state->pool, error);
	return r ? r : calibrate(state, error);
}

static int begin(struct fm_squeeze_session *session, struct fm_error *error)
{
	struct fm_recorded_squeeze *how;
	struct fm_colours_shared *shared;
	struct fm_live_end end;
	struct findings found;
	struct state *state;
	char *profile;
	int r = open_state(session, error);

	if (r) {
		if (error->code == ENOTSUP)
			fm_error_prefix(error, "colours cannot limit this program here (--machine host uses a "
			                       "simulation of this machine)");
		return r;
	}
	state = session->state;
	session->recording = fm_recording_create();
	if (!session->recording)
		return fm_error_set(error, ENOMEM, "out of memory");
	how = fm_recording_add(session->recording, squeezes);
	if (!how)
		return fm_error_set(error, ENOMEM, "out of memory");
	fm_observe_note_run(&session->wishes->observation, session->recording);
	snprintf(session->recording->run.verb, sizeof(session->recording->run.verb), "squeeze");
	/* nothing here depends on it */
	if (!fm_profile_text(NULL, &profile, &(struct fm_error){0})) {
		fm_recording_set(session->recording, "profile", profile);
		free(profile);
	}
	*how = (struct fm_recorded_squeeze){
	    .cache = 1, .bytes = fm_colours_bytes(&state->pool->colours.geometry), .noticeable = NOTICEABLE_LIVE};
	how->near_ns = how->beyond_ns = fm_figure_unavailable("no pointer chase was run");
	snprintf(how->backend, sizeof(how->backend), "colours");
	snprintf(how->level, sizeof(how->level), "L2");
	snprintf(how->calibration, sizeof(how->calibration), "%s", state->found);
	set_axes(session, &state->pool->colours.geometry);
	shared = state->pool->shared;
	shared->filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
	shared->survey = 1;
	shared->keep = state->pool->colours.count;
	r = execute(session, &end, &found, error);
	if (r) {
		fm_recording_free(session->recording);
		session->recording = NULL;
		return r;
	}
	session->recording->run.exit_status = end.end.status;
	session->recording->run.signal = end.end.signal;
	r = add_step(session, FM_SQUEEZE_WHOLE, how->bytes, &end, &found, error);
	if (!r && !found.ready)
		snprintf(how->stopped, sizeof(how->stopped), "%s",
		         *found.why ? found.why : "the runtime library was not loaded into the program");
	else if (!r)
		plan_memory(session, &found);
	return r;
}

/* All chases so far: their median and their range. */
static struct fm_figure figure_of(const struct fm_sample *sample)
{
	struct fm_location location;

	if (!sample->count || fm_statistics_median(sample->values, sample->count, &location))
		return fm_figure_unavailable("no pointer chase was run");
	return fm_figure_make(location.value, location.low, location.high, "ns", FM_ORIGIN_measured, "colours",
	                      sample->count);
}

static void note_chases(struct fm_squeeze_session *session, const struct fm_colours_process *process)
{
	struct fm_recorded_squeeze *how = &session->recording->squeezes[0];
	struct state *state = session->state;

	if (fm_sample_add(&state->near_ns, process->near_ns) || fm_sample_add(&state->beyond_ns, process->beyond_ns))
		return;
	how->near_ns = figure_of(&state->near_ns);
	how->beyond_ns = figure_of(&state->beyond_ns);
	snprintf(
	    how->calibration, sizeof(how->calibration),
	    "%s; pointer chase in each run: over 3/4 of its share %.1f ns, over 3/2 of it %.1f ns (medians); %u runs "
	    "repeated",
	    state->found, how->near_ns.value, how->beyond_ns.value, state->retaken);
}

/* The reason if the program did not have the intended colours; "" if it did. */
static const char *doubt(enum fm_squeeze_role role, const struct findings *found)
{
	const struct fm_colours_process *process = &found->main;

	if (!found->ready)
		return *found->why ? found->why : "the runtime library was not loaded into the program";
	if (role != FM_SQUEEZE_WHOLE) {
		if (found->count > FM_COLOURS_PROCESSES || found->off)
			return *found->why ? found->why : "not every process of the program could be confined";
		if (process->forks)
			return "the program forks, and memory written after a fork has other colours";
		if ((double)process->left_bytes > UNCONFINED_MOST * (double)process->anonymous_bytes &&
		    process->filtered)
			return "the program installs a filter of system calls, and memory allocated later cannot be "
			       "confined";
		if ((double)process->left_bytes > UNCONFINED_MOST * (double)process->anonymous_bytes)
			return "too much of the program's memory could not be confined";
	}
	if (role == FM_SQUEEZE_CONTROL || process->near_ns <= 0 || process->beyond_ns <= 0)
		return "";
	return process->near_ns < CHASE_FITS * process->beyond_ns
	           ? ""
	           : "a pointer chase over a size that fits the L2 share is as slow as one over twice that size";
}

static int run(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
               struct fm_error *error)
{
	struct state *state = session->state;
	struct fm_colours_shared *shared = state->pool->shared;
	const struct fm_colours_geometry *geometry = &state->pool->colours.geometry;
	struct fm_live_end end;
	struct findings found;
	int r;

	(void)gbs;
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		r = fm_colours_pool_recheck(state->pool, error);
		if (r) {
			error->code = ECANCELED;
			return -ECANCELED;
		}
		fm_colours_scrub(&session->random);
		shared->keep = (uint32_t)lround(bytes / fm_colours_bytes(geometry) * geometry->colours);
		shared->shuffled = role == FM_SQUEEZE_CONTROL;
		r = execute(session, &end, &found, error);
		if (r)
			return r;
		if (!*doubt(role, &found)) {
			if (role != FM_SQUEEZE_CONTROL && found.main.near_ns > 0 && found.main.beyond_ns > 0)
				note_chases(session, &found.main);
			return add_step(session, role, bytes, &end, &found, error);
		}
		state->retaken++;
	}
	return fm_error_set(error, ECANCELED, "%s", doubt(role, &found));
}

static void end(struct fm_squeeze_session *session)
{
	struct state *state = session->state;

	if (!state)
		return;
	fm_colours_pool_close(state->pool);
	fm_sample_free(&state->near_ns);
	fm_sample_free(&state->beyond_ns);
	free(state->preload);
	free(state);
	session->state = NULL;
}

const struct fm_squeeze_backend fm_squeeze_colours = {
    .name = "colours",
    .takes = "page colours, which limit the sets of each core's L2; the L3 shrinks too, less than in proportion",
    .live = true,
    .has_control = true,
    .probe = probe,
    .begin = begin,
    .run = run,
    .end = end,
};
