#include "model/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/contention.h"
#include "model/doubt.h"

/* The threads of one simulated core: one after the other. */
struct worker {
	bool exists, works;
	double cycles, handed; /* of these, waited for lines of other cores in the engine */
	double entries;        /* in which the positions of accesses are counted */
	double represents;
	double spun;     /* cycles of loops that only look at a line, or loads */
	double spinning; /* share of its time in such loops, by windows */
	double blocked;  /* s, measured */
	double waits;    /* in an instrumented run: blocked time over running time */
	struct fm_line_cost lines;
	struct fm_bounds work, sharing, spin; /* s */
	struct fm_bounds own;                 /* work and spinning together: better known than each */
};

struct building {
	const struct fm_recording *recording;
	struct worker workers[FM_SIMULATED_CORES_MAX];
	double apart; /* cycles of other processes */
	bool windows; /* natively: shares of time are known, from windows or from all of it */
	double hertz;
	double turn;
};

static const struct fm_recorded_thread *thread_of(const struct fm_recording *recording, int64_t number)
{
	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process && !recording->threads[i].others &&
		    recording->threads[i].thread == number)
			return &recording->threads[i];
	return NULL;
}

static void add_threads(struct building *building)
{
	const struct fm_recording *recording = building->recording;
	struct fm_timing_counts all = {0};
	double entries = 0;

	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];
		struct worker *worker = &building->workers[thread->core % FM_SIMULATED_CORES_MAX];
		double own =
		    thread->entries ? (double)thread->entries : (double)(thread->counts.loads + thread->counts.stores);

		all.cycles += thread->timing.cycles;
		all.no_execute += thread->timing.no_execute;
		if (thread->process || thread->others) {
			building->apart += (double)thread->timing.cycles;
			continue;
		}
		building->windows |= thread->entries > 0;
		worker->exists = true;
		worker->cycles += (double)thread->timing.cycles;
		worker->handed += (double)thread->timing.latency_stalls[FM_SERVED_CORE];
		/* of a core's threads, the one that did most has most of the lines */
		if (own > worker->entries)
			worker->represents = thread->represents > 0 ? thread->represents : 1;
		if (worker->entries + own > 0)
			worker->spinning =
			    (worker->spinning * worker->entries + thread->spinning * own) / (worker->entries + own);
		worker->entries += own;
		worker->spun += (double)thread->spins * (thread->represents > 0 ? thread->represents : 1);
		entries += own;
	}
	building->hertz = fm_picture_hertz(&recording->machine, &all);
	if (recording->processes_count && recording->processes[0].turns)
		building->turn = entries / (double)recording->processes[0].turns;
}

/* Shared lines seen by windows represent at most all loads and stores of the thread. */
static void limit_lines(struct building *building)
{
	const struct fm_recording *recording = building->recording;
	double noted[FM_SIMULATED_CORES_MAX] = {0}, all[FM_SIMULATED_CORES_MAX] = {0};

	for (size_t i = 0; i < recording->users_count; i++) {
		const struct fm_recorded_thread *thread = thread_of(recording, recording->users[i].thread);

		if (thread)
			noted[thread->core % FM_SIMULATED_CORES_MAX] +=
			    (double)(recording->users[i].loads + recording->users[i].stores);
	}
	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process && !recording->threads[i].others)
			all[recording->threads[i].core % FM_SIMULATED_CORES_MAX] +=
			    (double)(recording->threads[i].counts.loads + recording->threads[i].counts.stores);
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		if (noted[i] * building->workers[i].represents > all[i] && noted[i] > 0)
			building->workers[i].represents = all[i] / noted[i];
}

/* Lines */

static struct fm_line_use use_of(const struct worker *worker, const struct fm_recorded_user *user,
                                 const struct building *building)
{
	double atomics = fmin((double)user->atomics, (double)user->stores),
	       loads = fmax(0, (double)user->loads - atomics - (double)user->looks),
	       stores = (double)user->stores - atomics, own = atomics + fmax(loads, stores),
	       busy = (worker->cycles - worker->handed) / building->hertz;
	struct fm_line_use use = {.atomics = atomics * worker->represents,
	                          .stores = stores * worker->represents,
	                          .loads = loads * worker->represents,
	                          .got = (double)user->got * worker->represents,
	                          .turn = building->turn};

	use.near = own > 0 ? fmin(1, (double)user->near / own) : 0;
	use.own_seconds = worker->entries > 0 ? fmin(1, (double)user->span / worker->entries) * busy : 0;
	use.distance = user->near ? (double)user->span / (double)user->near : own > 0 ? worker->entries / own : 0;
	return use;
}

/* Does another thread store to it? */
static bool others_store(const struct fm_recording *recording, const struct fm_recorded_user *user)
{
	for (size_t i = 0; i < recording->users_count; i++)
		if (&recording->users[i] != user && recording->users[i].shared == user->shared &&
		    recording->users[i].stores)
			return true;
	return false;
}

static double cycles_looked(const struct fm_recorded_user *user)
{
	return (double)(user->look_cycles ? user->look_cycles : user->looks);
}

double fm_threads_spun(const struct fm_recording *recording, unsigned thread)
{
	double spun = 0;

	for (size_t i = 0; i < recording->users_count; i++)
		if (recording->users[i].thread == (int64_t)thread && recording->users[i].looks &&
		    others_store(recording, &recording->users[i]))
			spun += cycles_looked(&recording->users[i]);
	return spun;
}

static void add_line(struct building *building, const struct fm_recorded_user *const *users, unsigned count)
{
	struct fm_line_use uses[FM_RECORDED_USERS];
	struct worker *owners[FM_RECORDED_USERS];
	const struct fm_recording *recording = building->recording;
	struct fm_contended_costs costs;
	unsigned known = 0;
	double threads;

	for (unsigned i = 0; i < count; i++) {
		const struct fm_recorded_thread *thread = thread_of(recording, users[i]->thread);

		if (!thread)
			continue;
		owners[known] = &building->workers[thread->core % FM_SIMULATED_CORES_MAX];
		if (!building->windows && users[i]->looks && others_store(recording, users[i]))
			owners[known]->spun += cycles_looked(users[i]);
		uses[known] = use_of(owners[known], users[i], building);
		known++;
	}
	threads = fm_line_threads(uses, known);
	if (recording->native.cpus)
		threads = fmin(threads, recording->native.cpus);
	if (threads > 1 && fm_contended_costs(recording->profile, threads, &costs))
		for (unsigned i = 0; i < known; i++) {
			struct fm_line_cost cost = fm_line_contention(uses, known, i, &costs);

			fm_contention_add(&owners[i]->lines, &cost);
		}
}

/* Users of a line are beside each other. */
static void add_lines(struct building *building)
{
	const struct fm_recording *recording = building->recording;
	const struct fm_recorded_user *users[FM_RECORDED_USERS];
	unsigned count = 0;

	for (size_t i = 0; i < recording->users_count; i++) {
		if (count && users[0]->shared != recording->users[i].shared) {
			add_line(building, users, count);
			count = 0;
		}
		if (count < FM_RECORDED_USERS)
			users[count++] = &recording->users[i];
	}
	if (count)
		add_line(building, users, count);
}

/* Waiting */

static double availability(const struct fm_recording *recording)
{
	double ran = 0, delayed = 0;

	for (size_t i = 0; i < recording->native_threads_count; i++) {
		ran += recording->native_threads[i].ran;
		delayed += recording->native_threads[i].delayed;
	}
	return ran > 0 ? ran / (ran + delayed) : -1;
}

/* The scheduler counts in nanoseconds; less than a microsecond is rounding. */
static double blocked_for(const struct fm_recorded_native_thread *native)
{
	double blocked = native->lived - native->ran - native->delayed;

	return blocked > 1e-6 ? blocked : 0;
}

/* Both runs create threads in the same order. False: their numbers differ, so waiting cannot be assigned. */
static bool add_waiting(struct building *building)
{
	const struct fm_recording *recording = building->recording;
	double ran[FM_SIMULATED_CORES_MAX] = {0};
	uint64_t most = 0;
	size_t threads = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process) {
			if (recording->threads[i].others)
				return false;
			if (recording->threads[i].work.instructions > most)
				most = recording->threads[i].work.instructions;
			threads++;
		}
	if (!threads || threads != recording->native_threads_count)
		return false;
	for (size_t i = 0; i < recording->native_threads_count; i++) {
		const struct fm_recorded_native_thread *native = &recording->native_threads[i];
		const struct fm_recorded_thread *thread = thread_of(recording, native->ordinal);
		struct worker *worker;

		if (!thread)
			return false;
		if ((double)thread->work.instructions < FM_WAITER_WORK_LEAST * (double)most)
			continue;
		worker = &building->workers[thread->core % FM_SIMULATED_CORES_MAX];
		worker->works = true;
		worker->blocked += blocked_for(native);
		ran[thread->core % FM_SIMULATED_CORES_MAX] += native->ran;
	}
	for (unsigned i = 0; recording->native.same_run && i < FM_SIMULATED_CORES_MAX; i++)
		if (ran[i] > 0)
			building->workers[i].waits = building->workers[i].blocked / ran[i];
	return true;
}

/* An instrumented run also slows down waiting for other threads. The ratio of waiting to running is known, and running
   takes its predicted time. */
static void scale_waiting(struct building *building)
{
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++) {
		struct worker *worker = &building->workers[i];

		worker->blocked = worker->waits * (worker->own.value + worker->sharing.value);
	}
}

/* Times */

static void multiply(struct fm_bounds *range, const struct fm_bounds *factor)
{
	range->value *= factor->value;
	range->low *= factor->low;
	range->high *= factor->high;
}

static void add(struct fm_bounds *sum, const struct fm_bounds *other)
{
	sum->value += other->value;
	sum->low += other->low;
	sum->high += other->high;
}

/* Each thread alone, plus its losses by others that run at the same time. Lines that moved in the engine are the lower
   bound. */
static void time_worker(struct worker *worker, const struct fm_bounds *together, const struct fm_bounds *exactness,
                        double hertz, bool windows)
{
	double handed = worker->handed / hertz, busy = worker->cycles / hertz - handed,
	       spun = fmin(busy, worker->spun * FM_SPIN_CYCLES / hertz);

	worker->spin = (struct fm_bounds){spun, fmin(busy, worker->spun * FM_SPIN_LEAST / hertz),
	                                  fmin(busy, worker->spun * FM_SPIN_MOST / hertz)};
	worker->work = (struct fm_bounds){busy - spun, busy - worker->spin.high, busy - worker->spin.low};
	multiply(&worker->work, exactness);
	worker->sharing = fm_contention_sum(&worker->lines);
	multiply(&worker->sharing, together);
	worker->sharing.value = fmax(worker->sharing.value, handed);
	worker->sharing.low = fmax(worker->sharing.low, fmin(handed, worker->sharing.value));
	worker->sharing.high = fmax(worker->sharing.high, handed);
	worker->own = (struct fm_bounds){busy, busy, busy};
	multiply(&worker->own, exactness);
	/* in the engine threads run at once; without a meeting there is no waiting */
	worker->spin.low *= together->low;
	worker->own.low -= spun * (1 - together->low) * exactness->low;
	if (windows) {
		worker->spin = (struct fm_bounds){0};
		worker->own = worker->work;
	}
}

static double odds(double share)
{
	share = fmin(share, FM_SPINS_ONLY);
	return share / (1 - share);
}

/* By windows: the share of the time that a thread spins is known, and the time of its work. A spinning thread waits for
   a working one, so it spins at most for the time that all others work. */
static void time_spinning(struct building *building)
{
	double longest = 0, all = 0;

	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++) {
		const struct worker *worker = &building->workers[i];
		double own = worker->work.value + worker->sharing.value;

		longest = fmax(longest, own * (1 + (worker->spinning < FM_SPINS_ONLY ? odds(worker->spinning) : 0)));
		all += own;
	}
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++) {
		struct worker *worker = &building->workers[i];
		double own = worker->work.value + worker->sharing.value, spin = worker->spinning < FM_SPINS_ONLY
		                                                                    ? own * odds(worker->spinning)
		                                                                    : longest * worker->spinning;

		spin = fmin(spin, all - own);
		if (!worker->exists || !(spin > 0))
			continue;
		worker->spin = (struct fm_bounds){spin, spin * (1 - FM_SPINNING_ERROR), spin * (1 + FM_SPINNING_ERROR)};
		add(&worker->own, &worker->spin);
	}
}

static struct fm_figure seconds(const struct fm_bounds *range, enum fm_origin origin)
{
	return fm_figure_make(range->value, fmin(range->low, range->value), fmax(range->high, range->value), "s",
	                      origin, "exact", 1);
}

static void unavailable(struct fm_picture_times *times, const char *why)
{
	times->work = times->sharing = times->spinning = times->user = times->waiting = times->wall = times->available =
	    fm_figure_unavailable("%s", why);
}

/* The thread with the longest time. Its waiting and its kernel time are measured. */
static void predict_wall(struct building *building, bool waits, struct fm_picture *picture)
{
	const struct fm_recorded_native *native = &building->recording->native;
	struct fm_picture_times *times = &picture->times;
	double kernel = native->kernel_share < 1 ? 1 / (1 - native->kernel_share) : 1, blocked = 0;
	struct fm_bounds wall = {0};

	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++) {
		struct worker *worker = &building->workers[i];
		struct fm_bounds own = worker->own;

		if (!worker->exists || (waits && !worker->works))
			continue;
		add(&own, &worker->sharing);
		multiply(&own, &(struct fm_bounds){kernel, kernel, kernel});
		add(&own, &(struct fm_bounds){worker->blocked, worker->blocked, worker->blocked});
		blocked += worker->blocked;
		if (own.value > wall.value)
			times->waiting_longest = worker->blocked;
		wall =
		    (struct fm_bounds){fmax(wall.value, own.value), fmax(wall.low, own.low), fmax(wall.high, own.high)};
	}
	/* The waiting time of each is unknown. The unused processor time of all is known, and divided evenly. */
	if (!waits) {
		unsigned running = native->cpus && picture->threads > native->cpus ? native->cpus : picture->threads;
		struct fm_bounds all = {times->user.value, times->user.low, times->user.high};

		if (!native->seconds.available) {
			times->waiting = times->wall = native->seconds;
			return;
		}
		blocked = fmax(0, native->seconds.value - native->cpu_seconds / running);
		multiply(&all, &(struct fm_bounds){kernel / running, kernel / running, kernel / running});
		add(&all, &(struct fm_bounds){blocked, 0, blocked});
		wall =
		    (struct fm_bounds){fmax(wall.value, all.value), fmax(wall.low, all.low), fmax(wall.high, all.high)};
		times->waiting_longest = wall.value > all.value ? 0 : blocked;
		blocked *= running;
		times->waiting = fm_figure_make(blocked, 0, blocked, "s", FM_ORIGIN_measured, "native", native->runs);
		times->wall = seconds(&wall, FM_ORIGIN_combined);
		return;
	}
	times->waiting = fm_figure_make(blocked, blocked, blocked, "s",
	                                native->same_run ? FM_ORIGIN_combined : FM_ORIGIN_measured, "native", 1);
	times->wall = seconds(&wall, FM_ORIGIN_combined);
}

void fm_threads_predict(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_picture_times *times = &picture->times;
	struct building *building = calloc(1, sizeof(*building));
	struct fm_bounds together = {1, 1, 1}, exactness = {1, 1, 1}, work, sharing = {0}, spinning = {0}, user;
	double available;
	bool waits;

	if (!building || picture->part.region || picture->part.thread >= 0 || recording->threads_count < 2 ||
	    !recording->native.runs || !picture->predicted_seconds.available) {
		unavailable(times, !building ? "out of memory"
		                   : picture->part.region || picture->part.thread >= 0
		                       ? "shared lines are known for the whole program only"
		                   : recording->threads_count < 2 ? "a single thread does not wait for others"
		                   : !recording->native.runs      ? "the program had no native run"
		                                                  : "there was no core timing");
		free(building);
		return;
	}
	building->recording = recording;
	add_threads(building);
	if (building->windows)
		limit_lines(building);
	add_lines(building);
	waits = add_waiting(building);
	available = availability(recording);
	if (available >= 0)
		together = fm_running_at_once(available);
	if (recording->native.cpus == 1)
		together = (struct fm_bounds){0};
	if (picture->predicted_seconds.value > 0)
		exactness = (struct fm_bounds){1, picture->predicted_seconds.low / picture->predicted_seconds.value,
		                               picture->predicted_seconds.high / picture->predicted_seconds.value};
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		if (building->workers[i].exists)
			time_worker(&building->workers[i], &together, &exactness, building->hertz, building->windows);
	if (building->windows)
		time_spinning(building);
	if (waits && recording->native.same_run)
		scale_waiting(building);
	work = (struct fm_bounds){building->apart / building->hertz, building->apart / building->hertz,
	                          building->apart / building->hertz};
	multiply(&work, &exactness);
	user = work;
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++) {
		add(&work, &building->workers[i].work);
		add(&sharing, &building->workers[i].sharing);
		add(&spinning, &building->workers[i].spin);
		add(&user, &building->workers[i].own);
		add(&user, &building->workers[i].sharing);
	}
	times->work = seconds(&work, picture->predicted_seconds.origin);
	times->sharing = seconds(&sharing, FM_ORIGIN_combined);
	times->spinning = seconds(&spinning, building->windows ? FM_ORIGIN_sampled : FM_ORIGIN_simulated);
	times->user = seconds(&user, FM_ORIGIN_combined);
	times->available = available >= 0
	                       ? fm_figure_make(available, available, available, "", FM_ORIGIN_measured, "native", 1)
	                       : fm_figure_unavailable("no thread of a native run was seen");
	predict_wall(building, waits, picture);
	free(building);
}
