#include "measure/bandwidth_curve.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/buffer.h"
#include "measure/tuning.h"
#include "profile/peak.h"

enum {
	CHUNK_BYTES = 64 << 10, /* moved at a time: short against a trial */
	TRIALS_LEAST = 3,
	STEPS = 8192, /* of the chain in a trial: about a millisecond */
	ARENA_LEAST = 32 << 20,
	PAGE_BYTES = 4096,
	GAP_PAGES = 5, /* off the length of a stream, so that they do not lie a power of two apart */
	/* A longer gap between two readings of the clock: the thread lost its CPU. */
	GAP_NS = 300000,
};

/* Plan */

static unsigned next_threads(unsigned threads, unsigned cpus)
{
	return 2 * threads < cpus ? 2 * threads : cpus;
}

static unsigned fewest_threads(unsigned cpus, enum fm_effort effort)
{
	return effort == FM_EFFORT_QUICK ? cpus : 2;
}

unsigned fm_bandwidth_curve_plan(unsigned cpus, enum fm_effort effort, struct fm_bandwidth_curve_point *points)
{
	bool quick = effort == FM_EFFORT_QUICK;
	unsigned count = 0;

	if (cpus < 2)
		return 0;
	points[count++] = (struct fm_bandwidth_curve_point){.threads = 1, .kernel = FM_STREAM_load};
	for (unsigned mix = 0; mix < FM_MIXES; mix++) {
		if (quick && mix && mix != FM_MIXES - 1)
			continue;
		for (unsigned threads = fewest_threads(cpus, effort);; threads = next_threads(threads, cpus)) {
			bool all = threads == cpus && !quick;
			unsigned rates = all ? sizeof(ALL_THREADS_RATES) / sizeof(double)
			                     : (unsigned)(sizeof(FEWER_THREADS_RATES) / sizeof(double));

			for (unsigned i = 0; i < rates && count < FM_BANDWIDTH_CURVE_MAX; i++)
				points[count++] = (struct fm_bandwidth_curve_point){
				    .threads = threads,
				    .kernel = fm_mixes[mix].kernel,
				    .rate = all ? ALL_THREADS_RATES[i] : FEWER_THREADS_RATES[i]};
			if (threads == cpus)
				break;
		}
	}
	return count;
}

/* One who moves data. */
struct mover {
	struct fm_buffer arena;
	size_t position; /* in each stream */
	_Atomic uint64_t bytes;
	atomic_bool interrupted;
};

/* What all trials share. */
struct ground {
	struct fm_machine_session *session;
	/* as in fm_team_run: the first CPU, which chases, and all that are not on its core, of which its other threads
	   would take half */
	unsigned *who, cpus;
	struct mover *movers; /* by index among these; the first is not used */
	struct fm_team_time *times;
	struct fm_kernel_arguments chase; /* every trial goes on where the one before ended, on cold lines */
	atomic_bool over;
	enum fm_stream_kernel_index kernel; /* of the walk before */
};

struct trial {
	struct ground *ground;
	const struct fm_bandwidth_curve_point *point;
	struct fm_sample traffic_gbs;
};

/* The next chunk of a mover's streams; returns the bytes that go to and from memory. */
static uint64_t move_chunk(struct mover *mover, enum fm_stream_kernel_index index)
{
	const struct fm_stream_kernel *kernel = &fm_streams[index];
	unsigned moved = kernel->loaded_bytes + kernel->stored_bytes + kernel->write_allocate_bytes;
	size_t length = (mover->arena.bytes / kernel->streams / PAGE_BYTES - GAP_PAGES) * PAGE_BYTES;
	/* elements have 8 bytes in each stream */
	uint64_t blocks = (uint64_t)CHUNK_BYTES * 8 / moved / FM_BLOCK_BYTES;
	struct fm_kernel_arguments arguments = {.passes = 1, .scalar = 1.0, .count = blocks};

	if (mover->position + blocks * FM_BLOCK_BYTES > length)
		mover->position = 0;
	for (unsigned i = 0; i < kernel->streams; i++)
		arguments.stream[i] = mover->arena.memory + i * length + mover->position;
	mover->position += blocks * FM_BLOCK_BYTES;
	fm_stream_functions[index][fm_isa_widest()](&arguments);
	return blocks * FM_BLOCK_BYTES / 8 * moved;
}

static void member(void *context, unsigned index)
{
	const struct trial *trial = context;
	struct ground *ground = trial->ground;
	struct mover *mover = &ground->movers[index];
	uint64_t last;

	if (!index) {
		ground->chase.count = STEPS;
		fm_kernel_chase(&ground->chase);
		atomic_store(&ground->over, true);
		return;
	}
	last = fm_clock_now();
	while (!atomic_load_explicit(&ground->over, memory_order_relaxed)) {
		uint64_t begin = fm_clock_now(), rest, now;
		uint64_t moved = move_chunk(mover, trial->point->kernel);

		now = fm_clock_now();
		atomic_fetch_add_explicit(&mover->bytes, moved, memory_order_relaxed);
		rest = begin + (uint64_t)((double)(now - begin) / trial->point->rate);
		if (now - last > GAP_NS)
			atomic_store(&mover->interrupted, true);
		/* in proportion, in one piece */
		while (now < rest && !atomic_load_explicit(&ground->over, memory_order_relaxed)) {
			last = now;
			now = fm_clock_now();
			if (now - last > GAP_NS)
				atomic_store(&mover->interrupted, true);
		}
		last = now;
	}
}

static int run_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct trial *trial = context;
	struct ground *ground = trial->ground;
	unsigned members = trial->point->rate > 0 ? trial->point->threads : 1;
	/* the chain's own */
	double bytes = (double)STEPS * FM_LINE_BYTES, ns;
	bool disturbed = false;

	(void)error;
	atomic_store(&ground->over, false);
	for (unsigned i = 1; i < members; i++) {
		atomic_store(&ground->movers[i].bytes, 0);
		atomic_store(&ground->movers[i].interrupted, false);
	}
	fm_team_run(ground->session->team, ground->who, members, NULL, member, trial, ground->times);
	ns = (double)(ground->times[0].end_ns - ground->times[0].begin_ns);
	for (unsigned i = 0; i < members; i++) {
		disturbed |= ground->times[i].lost_ns > FM_TEAM_TOLERATED_NS;
		if (!i)
			continue;
		bytes += (double)atomic_load(&ground->movers[i].bytes);
		disturbed |= atomic_load(&ground->movers[i].interrupted) || !atomic_load(&ground->movers[i].bytes);
	}
	*ret_cost = ns / STEPS;
	return disturbed ? FM_TRIAL_DISTURBED : fm_sample_add(&trial->traffic_gbs, bytes / ns);
}

/* Once through the arena, so that lines of the mixture before are no longer in a cache: those that are written back
   later would be traffic of this one. */
static void walk(void *context, unsigned index)
{
	struct ground *ground = context;
	struct mover *mover = &ground->movers[index];
	size_t before;

	if (!index)
		return;
	mover->position = 0;
	do {
		before = mover->position;
		move_chunk(mover, ground->kernel);
	} while (mover->position > before);
}

/* Arenas: what moves data at the same time is together more than the caches hold, however few they are. */

struct arenas {
	struct mover *movers;
	unsigned cpus;
	unsigned fewest; /* threads that are measured */
	enum fm_pages pages;
	size_t bytes; /* together */
	_Atomic int status;
};

static size_t arena_bytes(const struct arenas *arenas, unsigned index)
{
	unsigned threads = arenas->fewest;
	size_t bytes;

	while (threads <= index)
		threads = next_threads(threads, arenas->cpus);
	bytes = arenas->bytes / (threads - 1);
	return bytes > ARENA_LEAST ? bytes : ARENA_LEAST;
}

static void allocate(void *context, unsigned index)
{
	struct arenas *arenas = context;
	int status = index ? fm_buffer_allocate(arena_bytes(arenas, index), arenas->pages, -1,
	                                        &arenas->movers[index].arena, NULL)
	                   : 0;

	if (status)
		atomic_store(&arenas->status, status);
}

static int arenas_create(struct ground *ground, size_t bytes, struct fm_error *error)
{
	struct fm_machine_session *session = ground->session;
	struct arenas arenas = {.movers = ground->movers,
	                        .cpus = ground->cpus,
	                        .fewest = fewest_threads(ground->cpus, session->effort),
	                        .pages = session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL,
	                        .bytes = bytes};
	size_t all = bytes;

	for (unsigned i = 1; i < arenas.cpus; i++)
		all += arena_bytes(&arenas, i);
	if (all > session->memory_limit)
		return fm_error_set(error, ENOTSUP, "not enough memory for the traffic of %u CPUs", arenas.cpus - 1);
	fm_team_run(session->team, ground->who, arenas.cpus, NULL, allocate, &arenas, ground->times);
	return arenas.status
	           ? fm_error_set(error, ENOTSUP, "not enough memory for the traffic of %u CPUs", arenas.cpus - 1)
	           : 0;
}

/* The points of one mixture, interleaved. */
static int measure_mix(struct ground *ground, enum fm_stream_kernel_index kernel, struct trial *trials,
                       struct fm_measurement *measurements, unsigned count, double seconds, struct fm_error *error)
{
	struct fm_machine_session *session = ground->session;
	uint64_t begin = fm_clock_now();

	ground->kernel = kernel;
	fm_team_run(session->team, ground->who, ground->cpus, NULL, walk, ground, ground->times);
	for (unsigned i = 0; i < count; i++) {
		measurements[i].trial = run_trial;
		measurements[i].context = &trials[i];
		measurements[i].elsewhere = true;
		measurements[i].wanted_width = BANDWIDTH_CURVE_WIDTH;
	}
	return fm_machine_session_measure(session, measurements, count, BANDWIDTH_CURVE_LEAST, BANDWIDTH_CURVE_MOST,
	                                  seconds - (double)(fm_clock_now() - begin) / 1e9, error);
}

static struct fm_figure traffic_figure(const struct trial *trial)
{
	struct fm_location location;

	/* two or fewer have no spread to speak of */
	if (trial->traffic_gbs.count < TRIALS_LEAST ||
	    fm_statistics_median(trial->traffic_gbs.values, trial->traffic_gbs.count, &location))
		return fm_figure_unavailable("fewer than %d undisturbed trials", TRIALS_LEAST);
	return fm_figure_make(location.value, location.low, location.high, "GB/s", FM_ORIGIN_measured, "kernels",
	                      trial->traffic_gbs.count);
}

/* The end of the points that have the mixture of `first`. */
static unsigned mix_end(const struct fm_bandwidth_curve_point *points, unsigned count, unsigned first)
{
	unsigned end = first;

	while (end < count && points[end].kernel == points[first].kernel)
		end++;
	return end;
}

static int measure_all(struct ground *ground, struct fm_bandwidth_curve_point *points, unsigned count, double seconds,
                       struct fm_error *error)
{
	struct trial *trials = calloc(count, sizeof(*trials));
	struct fm_measurement *measurements = calloc(count, sizeof(*measurements));
	int status = trials && measurements ? 0 : fm_error_set(error, ENOMEM, "out of memory");

	for (unsigned first = 0, end; first < count && !status; first = end) {
		end = mix_end(points, count, first);
		for (unsigned i = first; i < end; i++)
			trials[i] = (struct trial){.ground = ground, .point = &points[i]};
		status = measure_mix(ground, points[end - 1].kernel, &trials[first], &measurements[first], end - first,
		                     seconds * (end - first) / count, error);
	}
	for (unsigned i = 0; i < count && !status; i++) {
		points[i].latency_ns = fm_measurement_figure(&measurements[i], "ns");
		points[i].traffic_gbs = traffic_figure(&trials[i]);
	}
	for (unsigned i = 0; trials && measurements && i < count; i++) {
		fm_measurement_free(&measurements[i]);
		fm_sample_free(&trials[i].traffic_gbs);
	}
	free(trials);
	free(measurements);
	return status;
}

int fm_bandwidth_curve_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                               struct fm_bandwidth_curve *curve, struct fm_error *error)
{
	unsigned *who = calloc(session->cpus.count, sizeof(*who)), count = 0;
	unsigned cpus =
	    who ? fm_cpu_places_beside_first(session->places, session->cpus.count, who) : session->cpus.count;
	struct fm_bandwidth_curve_point *points = calloc(FM_BANDWIDTH_CURVE_MAX, sizeof(*points));
	struct fm_buffer chain = {0};
	struct ground ground = {.session = session,
	                        .who = who,
	                        .cpus = cpus,
	                        .movers = calloc(cpus, sizeof(*ground.movers)),
	                        .times = calloc(cpus, sizeof(*ground.times))};
	uint64_t begin = fm_clock_now();
	int status;

	if (cpus < 2) {
		status = fm_error_set(error, ENOTSUP, "latency under load needs a second core");
		goto out;
	}
	if (!who || !points || !ground.movers || !ground.times) {
		status = fm_error_set(error, ENOMEM, "out of memory");
		goto out;
	}
	count = fm_bandwidth_curve_plan(cpus, session->effort, points);
	status = arenas_create(&ground, bytes, error);
	if (!status)
		status =
		    fm_buffer_allocate(bytes, session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, -1, &chain, error);
	if (!status)
		status = fm_chain_build(&chain, &session->random, ground.chase.chain, 1, error);
	if (!status)
		status = measure_all(&ground, points, count, seconds - (double)(fm_clock_now() - begin) / 1e9, error);
	if (!status) {
		curve->points = points;
		curve->count = count;
		points = NULL;
	}
out:
	for (unsigned i = 0; ground.movers && i < cpus; i++)
		fm_buffer_free(&ground.movers[i].arena);
	fm_buffer_free(&chain);
	free(ground.movers);
	free(ground.times);
	free(points);
	free(who);
	return status;
}
