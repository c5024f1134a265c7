#include "interference/calibrate.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/text.h"
#include "counters/counting.h"
#include "interference/takers.h"
#include "interference/tuning.h"
#include "kernels/layout.h"

enum {
	STORAGE_STEPS = 5, /* of a fifth of the cache each, as in the study */
	TIMED = 32768,     /* accesses of a probe that count */
	ANCHORED = 4096,   /* accesses for the times of hits and misses */
	CHUNK = 16384,     /* … between two looks at the clock */
	GROUPS = 256,
	TRIES = 4,            /* of a trial that is disturbed */
	LEAST_BLOCKS = 24,    /* before it is enough */
	EFFECTIVE_ROUNDS = 2, /* each looks at a cache as large as the one before has found */
	EFFECTIVE_BLOCKS = 12,
	JUDGED_EVERY = 8,
	FEW_PAIRS = 14, /* of a check whether a calibration still holds */
};

static const unsigned additions[] = {1, 10, 100};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Who is slowed down. */
enum victim { VICTIM_PROBE, VICTIM_STORAGE, VICTIM_BANDWIDTH, VICTIMS };

/* An experiment: a victim beside the steps of an axis. */
enum experiment { OWN_CAPACITY, OTHER_CAPACITY, OWN_BANDWIDTH, OTHER_BANDWIDTH, EXPERIMENTS };
static const struct {
	enum victim victim;
	enum fm_taker_kind kind; /* of the takers */
	double share;            /* of the time */
} experiments[EXPERIMENTS] = {
    [OWN_CAPACITY] = {VICTIM_PROBE, FM_TAKER_STORAGE, 0.4},
    [OTHER_CAPACITY] = {VICTIM_BANDWIDTH, FM_TAKER_STORAGE, 0.25},
    [OWN_BANDWIDTH] = {VICTIM_BANDWIDTH, FM_TAKER_BANDWIDTH, 0.15},
    [OTHER_BANDWIDTH] = {VICTIM_STORAGE, FM_TAKER_BANDWIDTH, 0.2},
};

struct work {
	const struct fm_interference_options *options;
	struct fm_interference *result;
	struct fm_takers *takers; /* for each CPU one of each kind, in the order of kinds */
	struct fm_buffer buffer;
	struct fm_taker_memory storage, bandwidth; /* victims */
	struct fm_counting *counting;
	struct fm_event event;
	struct fm_random random;
	struct fm_disturbance_watch watch;
	struct fm_expected expected;
	double own; /* share of a probe's accesses that private caches answer */
	struct fm_interference_trials trials[EXPERIMENTS];
	double spent[EXPERIMENTS];
	double expectations[FM_INTERFERENCE_STEPS]; /* sums over blocks of the first experiment */
	unsigned only[EXPERIMENTS];                 /* of the steps, counted from 1; 0: all of them */
	struct fm_sample times[3];
	unsigned expectation_count;
	uint64_t began, deadline;
};

static double seconds_since(uint64_t begin)
{
	return (double)(fm_clock_now() - begin) * 1e-9;
}

static struct fm_interference_axis *axis_of(struct fm_interference *result, enum fm_taker_kind kind)
{
	return kind == FM_TAKER_STORAGE ? &result->capacity : &result->bandwidth;
}

/* Takers */

static unsigned index_of(unsigned cpu, enum fm_taker_kind kind)
{
	return FM_TAKER_KINDS * cpu + kind;
}

void fm_interference_set(const struct fm_interference *calibration, struct fm_takers *takers, enum fm_taker_kind kind,
                         const struct fm_interference_step *step)
{
	for (unsigned i = 0; i < calibration->taker_count; i++)
		for (unsigned k = 0; k < FM_TAKER_KINDS; k++) {
			bool on = step && k == kind && i < step->setting.takers;

			fm_takers_set(takers, index_of(i, k),
			              &(struct fm_taker_setting){.on = on,
			                                         .rate = on ? step->setting.rate : 0,
			                                         .bytes = on ? step->setting.bytes : 0});
		}
}

static uint64_t bandwidth_bytes(const struct fm_interference *calibration)
{
	return (uint64_t)(MORE_THAN_CACHE * (double)calibration->cache_bytes / FM_TAKER_BUFFERS);
}

/* The largest buffer of a storage taker. */
static uint64_t storage_bytes(const struct fm_interference *calibration)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < calibration->capacity.count; i++)
		most = calibration->capacity.steps[i].setting.bytes > most
		           ? calibration->capacity.steps[i].setting.bytes
		           : most;
	return most;
}

/* A program that depends on the shared cache: what its core has for itself must not suffice. */
static uint64_t victim_bytes(const struct fm_interference *calibration)
{
	uint64_t half = calibration->effective_bytes / 2, least = 2 * calibration->private_bytes;

	return half > least ? half : least;
}

int fm_interference_start(const struct fm_interference *calibration, struct fm_takers **ret_takers,
                          struct fm_error *error)
{
	struct fm_taker_wish wishes[FM_TAKER_KINDS * FM_INTERFERENCE_TAKERS];

	for (unsigned i = 0; i < calibration->taker_count; i++) {
		wishes[index_of(i, FM_TAKER_STORAGE)] =
		    (struct fm_taker_wish){FM_TAKER_STORAGE, calibration->taker_cpus[i], storage_bytes(calibration)};
		wishes[index_of(i, FM_TAKER_BANDWIDTH)] = (struct fm_taker_wish){
		    FM_TAKER_BANDWIDTH, calibration->taker_cpus[i], bandwidth_bytes(calibration)};
	}
	return fm_takers_start(wishes, FM_TAKER_KINDS * calibration->taker_count, ret_takers, error);
}

/* What takers do is compared before and after. */
static void read_work(const struct work *work, enum fm_taker_kind kind, const struct fm_interference_step *step,
                      struct fm_taker_work *sum)
{
	*sum = (struct fm_taker_work){0};
	for (unsigned i = 0; step && i < step->setting.takers; i++) {
		struct fm_taker_work did = fm_takers_work(work->takers, index_of(i, kind));

		sum->accesses += did.accesses;
		sum->lost_ns += did.lost_ns;
	}
}

/* Victims */

static double warm_ns(const struct work *work)
{
	return fmax(LEAST_WARM_NS, WARM_NS_PER_LINE * (double)work->result->cache_bytes / FM_LINE_BYTES);
}

static void warm(struct work *work, enum victim victim, struct fm_probe *probe)
{
	uint64_t until = fm_clock_now() + (uint64_t)warm_ns(work);

	while (fm_clock_now() < until) {
		if (victim == VICTIM_PROBE) {
			fm_probe_warm(probe, CHUNK);
			continue;
		}
		for (unsigned i = 0; i < CHUNK / FM_TAKER_BATCH; i++)
			fm_taker_step(victim == VICTIM_STORAGE ? &work->storage : &work->bandwidth);
	}
}

static double time_steps(struct fm_taker_memory *memory)
{
	uint64_t begin = fm_clock_now(), accesses = 0, now;

	do {
		fm_taker_step(memory);
		accesses += FM_TAKER_BATCH;
		now = fm_clock_now();
	} while ((double)(now - begin) < VICTIM_NS);
	return (double)(now - begin) / (double)accesses;
}

static uint64_t misses(struct work *work)
{
	struct fm_count count;

	if (!work->counting)
		return 0;
	fm_counting_read(work->counting, &count);
	return count.value;
}

/* A timed stretch of a probe, with its misses for each access. */
static double timed(struct work *work, struct fm_probe *probe, unsigned accesses, double *ret_misses)
{
	uint64_t before = misses(work);
	double ns = fm_probe_time(probe, accesses);

	*ret_misses = (double)(misses(work) - before) / accesses;
	return ns;
}

/* Uniformly within the first bytes of the buffer, all of them in a cache. */
static double anchor(struct work *work, uint64_t bytes, unsigned adds, double *ret_misses)
{
	static struct fm_probe probe;

	fm_probe_prepare(&probe, &work->buffer, &fm_distributions[FM_DISTRIBUTION_uni], bytes, adds,
	                 fm_random_next(&work->random));
	fm_probe_warm(&probe, 4 * bytes / FM_LINE_BYTES);
	return timed(work, &probe, ANCHORED, ret_misses);
}

/* How long hits and misses take at this moment, beside these takers; and how many misses are counted for each. */
static void take_anchors(struct work *work, struct fm_probe *probe, struct fm_probe_times *times,
                         struct fm_probe_times *counts)
{
	const uint64_t own = work->result->private_bytes;

	fm_probe_flush_next(probe, ANCHORED);
	times->far_ns = timed(work, probe, ANCHORED, &counts->far_ns);
	times->private_ns = anchor(work, own / 2, probe->additions, &counts->private_ns);
	/* of twice the private cache, half is answered by it */
	times->near_ns = 2 * anchor(work, 2 * own, probe->additions, &counts->near_ns) - times->private_ns;
	counts->near_ns = 2 * counts->near_ns - counts->private_ns;
}

/* The capacity by counted misses where they are right: of lines that were thrown out about every access is one, and of
   others hardly any. Otherwise by time. */
static double capacity_of(struct work *work, const struct fm_probe_times *times, const struct fm_probe_times *counts,
                          double ns, double missed)
{
	bool counted = counts->far_ns > MISS_COUNTED && counts->far_ns < MISS_COUNTED_MOST &&
	               fabs(counts->near_ns) < HIT_COUNTED_MOST;

	work->result->counted |= counted;
	return fm_probe_capacity(&work->expected, counted ? counts : times, work->own, counted ? missed : ns);
}

/* One condition of a block. */
static int measure(struct work *work, enum experiment experiment, unsigned at, struct fm_probe *probe,
                   struct fm_interference_block *block, struct fm_probe_times *ret_times, struct fm_error *error)
{
	const enum fm_taker_kind kind = experiments[experiment].kind;
	const enum victim victim = experiments[experiment].victim;
	const struct fm_interference_step *step = at ? &axis_of(work->result, kind)->steps[at - 1] : NULL;
	struct fm_probe_times counts = {0};
	struct fm_taker_work before, after;
	double missed = 0, elapsed = 1;
	uint64_t begin;
	bool settled;
	int status;

	fm_interference_set(work->result, work->takers, kind, step);
	status = fm_takers_settle(work->takers, 1);
	if (status == -ESRCH)
		return fm_error_set(error, EIO, "the load threads were ended by another process");
	block->set_aside[at] = status != 0;
	warm(work, victim, probe);
	settled = !block->set_aside[at];
	/* caches stay as they are: a disturbed trial is soon repeated */
	for (unsigned i = 0; i < TRIES && (!i || block->set_aside[at]); i++) {
		read_work(work, kind, step, &before);
		begin = fm_clock_now();
		fm_disturbance_begin(&work->watch);
		block->cost[at] = victim == VICTIM_PROBE     ? timed(work, probe, TIMED, &missed)
		                  : victim == VICTIM_STORAGE ? time_steps(&work->storage)
		                                             : time_steps(&work->bandwidth);
		block->set_aside[at] = fm_disturbance_end(&work->watch, false, NULL) || !settled;
		elapsed = (double)(fm_clock_now() - begin);
		read_work(work, kind, step, &after);
		if (step && (double)(after.lost_ns - before.lost_ns) > TAKER_LOST * elapsed * step->setting.takers)
			block->set_aside[at] = true;
	}
	block->amount[at] = (double)(after.accesses - before.accesses) * FM_LINE_BYTES / elapsed;
	if (victim == VICTIM_PROBE) {
		take_anchors(work, probe, ret_times, &counts);
		block->amount[at] = capacity_of(work, ret_times, &counts, block->cost[at], missed);
	}
	return 0;
}

/* The effect of a proportionally shared cache on a probe. */
static void expect(struct work *work, const struct fm_interference_block *block, const struct fm_probe_times *times)
{
	struct fm_interference_axis *axis = &work->result->capacity;
	double had = block->amount[0], without;

	if (!isfinite(had))
		return;
	without = fm_probe_expected(&work->expected, times, work->own, had);
	for (unsigned i = 0; i < axis->count; i++) {
		double taken = (double)axis->steps[i].setting.takers *
		               (double)(axis->steps[i].setting.bytes - work->result->private_bytes);

		work->expectations[i] +=
		    fm_probe_expected(&work->expected, times, work->own, had * had / (had + taken)) / without;
	}
	work->expectation_count++;
}

static void shuffle(unsigned *order, unsigned count, struct fm_random *random)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count; i > 1; i--) {
		unsigned j = (unsigned)fm_random_below(random, i), swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

/* The victim without takers and beside each step, in random order. */
static int run_block(struct work *work, enum experiment experiment, struct fm_error *error)
{
	struct fm_interference_trials *trials = &work->trials[experiment];
	struct fm_interference_block *block = fm_interference_add_block(trials);
	struct fm_probe_times times[FM_INTERFERENCE_STEPS + 1] = {{0}};
	unsigned order[FM_INTERFERENCE_STEPS + 1], conditions = trials->steps + 1;
	static struct fm_probe probe;
	int status = 0;

	if (!block)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (experiments[experiment].victim == VICTIM_PROBE) {
		const struct fm_distribution *distribution =
		    &fm_distributions[fm_random_below(&work->random, FM_DISTRIBUTION_COUNT)];
		uint64_t bytes = (uint64_t)(BUFFER_SIZES[fm_random_below(&work->random, COUNT(BUFFER_SIZES))] *
		                            (double)work->result->effective_bytes);

		bytes = bytes < work->buffer.bytes ? bytes : work->buffer.bytes;
		fm_probe_prepare(&probe, &work->buffer, distribution, bytes,
		                 additions[fm_random_below(&work->random, COUNT(additions))],
		                 fm_random_next(&work->random));
		fm_expected_prepare_coarsely(distribution, bytes / FM_LINE_BYTES, GROUPS, &work->expected);
		work->own = fm_probe_own(&work->expected, (double)work->result->private_bytes);
	}
	shuffle(order, conditions, &work->random);
	for (unsigned i = 0; i < conditions && !status; i++) {
		if (work->only[experiment] && order[i] && order[i] != work->only[experiment])
			continue;
		if (fm_watcher_stops(&work->options->watcher))
			status = fm_error_set(error, EINTR, "interrupted");
		else
			status = measure(work, experiment, order[i], &probe, block, &times[order[i]], error);
	}
	if (status)
		trials->count--;
	if (!status && experiments[experiment].victim == VICTIM_PROBE && !block->set_aside[0]) {
		expect(work, block, &times[0]);
		fm_sample_add(&work->times[0], times[0].private_ns);
		fm_sample_add(&work->times[1], times[0].near_ns);
		fm_sample_add(&work->times[2], times[0].far_ns);
	}
	return status;
}

/* Steps */

/* In fifths of the cache, as in the study. Private caches of a taker's core take nothing. */
static void plan_capacity(struct fm_interference *result)
{
	struct fm_interference_axis *axis = &result->capacity;

	axis->count = 0;
	for (unsigned i = 0; i < STORAGE_STEPS; i++) {
		unsigned takers = i + 1 < result->taker_count ? i + 1 : result->taker_count;
		uint64_t bytes = result->private_bytes + result->effective_bytes * (i + 1) / STORAGE_STEPS / takers;

		axis->steps[axis->count++].setting = (struct fm_interference_setting){.takers = takers, .bytes = bytes};
	}
}

static double middle(struct fm_sample *sample)
{
	if (!sample->count)
		return 0;
	fm_statistics_sort(sample->values, sample->count);
	return fm_statistics_quantile_sorted(sample->values, sample->count, 0.5);
}

/* The capacity of a program here without takers, in a virtual machine rarely the advertised one. Probes and steps
   depend on it: a buffer of many times the cache always misses, whatever takers do. */
static int find_effective(struct work *work, struct fm_error *error)
{
	struct fm_interference *result = work->result;
	struct fm_interference_trials *trials = &work->trials[OWN_CAPACITY];
	int status = 0;

	for (unsigned round = 0; round < EFFECTIVE_ROUNDS && !status; round++) {
		struct fm_sample had = {0};
		double bytes = 0;

		for (unsigned i = 0; i < EFFECTIVE_BLOCKS && !status; i++) {
			status = run_block(work, OWN_CAPACITY, error);
			if (!status && isfinite(trials->blocks[trials->count - 1].amount[0]) &&
			    fm_sample_add(&had, trials->blocks[trials->count - 1].amount[0]))
				status = fm_error_set(error, ENOMEM, "out of memory");
		}
		bytes = fmin(fmax(middle(&had), LEAST_EFFECTIVE * (double)result->private_bytes),
		             (double)result->cache_bytes);
		result->effective_bytes = (uint64_t)bytes;
		fm_sample_free(&had);
		trials->count = 0;
	}
	for (unsigned i = 0; i < COUNT(work->times); i++)
		work->times[i].count = 0;
	work->expectation_count = 0;
	fm_taker_resize(&work->storage, victim_bytes(result));
	return status;
}

/* The rate of one taker that nothing holds back. */
static double full_rate(struct work *work)
{
	const struct fm_interference_step free_running = {.setting = {.takers = 1}};
	struct fm_taker_work before, after;
	uint64_t begin;

	fm_interference_set(work->result, work->takers, FM_TAKER_BANDWIDTH, &free_running);
	if (fm_takers_settle(work->takers, 1))
		return 0;
	read_work(work, FM_TAKER_BANDWIDTH, &free_running, &before);
	begin = fm_clock_now();
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	read_work(work, FM_TAKER_BANDWIDTH, &free_running, &after);
	return (double)(after.accesses - before.accesses) / seconds_since(begin);
}

static void plan_bandwidth(struct work *work)
{
	struct fm_interference *result = work->result;
	struct fm_interference_axis *axis = &result->bandwidth;
	double rate = full_rate(work);

	axis->count = 0;
	if (!(rate > 0))
		return;
	for (unsigned i = 0; i < COUNT(SINGLE_RATES) && result->taker_count == 1; i++)
		axis->steps[axis->count++].setting = (struct fm_interference_setting){
		    .takers = 1, .rate = SINGLE_RATES[i] < 1 ? SINGLE_RATES[i] * rate : 0};
	if (result->taker_count > 1)
		axis->steps[axis->count++].setting = (struct fm_interference_setting){.takers = 1, .rate = rate / 2};
	for (unsigned i = 1; i <= result->taker_count && result->taker_count > 1 && i <= STORAGE_STEPS; i++)
		axis->steps[axis->count++].setting = (struct fm_interference_setting){.takers = i};
	for (unsigned i = 0; i < axis->count; i++)
		axis->steps[i].expected = INFINITY;
}

/* Judging */

static void judge(struct work *work)
{
	struct fm_interference *result = work->result;

	for (unsigned i = 0; i < result->capacity.count; i++)
		result->capacity.steps[i].expected =
		    work->expectation_count ? work->expectations[i] / work->expectation_count : 1;
	fm_interference_judge_capacity(&work->trials[OWN_CAPACITY], &work->trials[OTHER_CAPACITY], &result->capacity);
	fm_interference_judge_bandwidth(&work->trials[OWN_BANDWIDTH], &work->trials[OTHER_BANDWIDTH],
	                                &result->bandwidth);
}

static bool is_enough(const struct work *work)
{
	for (unsigned i = 0; i < EXPERIMENTS; i++)
		if (work->trials[i].count < LEAST_BLOCKS)
			return false;
	return fm_interference_is_decided(&work->result->capacity) &&
	       fm_interference_is_decided(&work->result->bandwidth);
}

static int run_all(struct work *work, struct fm_error *error)
{
	double budget = (double)(work->deadline - work->began) * 1e-9;
	double longest = 0;
	int status = 0;

	for (unsigned round = 1; !status; round++) {
		enum experiment next = 0;
		uint64_t begin = fm_clock_now();
		double left = (double)((int64_t)work->deadline - (int64_t)begin) * 1e-9;

		if (left < BLOCK_ROOM * longest)
			break;
		for (unsigned i = 1; i < EXPERIMENTS; i++)
			if (work->spent[i] / experiments[i].share < work->spent[next] / experiments[next].share)
				next = i;
		status = run_block(work, next, error);
		work->spent[next] += seconds_since(begin);
		longest = fmax(longest, seconds_since(begin));
		fm_watcher_tell(&work->options->watcher, "calibrating interference", 1 - left / budget, left);
		if (status || round % JUDGED_EVERY)
			continue;
		judge(work);
		if (is_enough(work))
			break;
	}
	if (!status)
		judge(work);
	return status;
}

/* Beginning and end */

static int know_machine(struct work *work, struct fm_error *error)
{
	struct fm_interference *result = work->result;
	struct fm_taker_places *places = calloc(1, sizeof(*places));
	struct fm_topology *topology = calloc(1, sizeof(*topology));
	const struct fm_cache *last = NULL;
	int status = places && topology ? 0 : fm_error_set(error, ENOMEM, "out of memory");

	if (!status)
		status =
		    fm_taker_places_find(&work->options->program, FM_INTERFERENCE_TAKERS, USE_WATCHED, places, error);
	if (!status)
		status = fm_topology_read_at(places->program.cpu[0], topology, error);
	if (!status && topology->cache_count < 2)
		status = fm_error_set(error, ENOTSUP,
		                      "this machine does not report its caches, so nothing can be limited; --machine "
		                      "NAME uses a simulated machine");
	if (!status) {
		last = &topology->caches[topology->cache_count - 1];
		result->program_cpu = places->program.cpu[0];
		result->taker_count = places->count;
		memcpy(result->taker_cpus, places->cpu, places->count * sizeof(places->cpu[0]));
		result->shares_cache = places->shares_cache && last->shared_by > 1;
		result->cache_bytes = last->bytes;
		result->private_bytes = last[-1].bytes;
		result->effective_bytes = last->bytes;
		snprintf(result->level, sizeof(result->level), "L%u", last->level);
		snprintf(result->processor, sizeof(result->processor), "%s", topology->processor);
		snprintf(result->remark, sizeof(result->remark), "%s", places->remark);
	}
	free(places);
	free(topology);
	return status;
}

static int prepare(struct work *work, struct fm_error *error)
{
	struct fm_interference *result = work->result;
	const struct fm_target us = {.task = 0};
	uint64_t buffer = (uint64_t)(BUFFER_SIZES[COUNT(BUFFER_SIZES) - 1] * (double)result->cache_bytes),
	         each = fm_taker_bytes(FM_TAKER_BANDWIDTH, bandwidth_bytes(result)) + storage_bytes(result);
	struct fm_error ignored;
	int status = fm_takers_check_memory(buffer + each * (result->taker_count + 1), error);

	if (!status)
		status = fm_interference_start(result, &work->takers, error);
	if (!status)
		status = fm_bind_to_cpu(result->program_cpu, error);
	if (!status)
		status = fm_buffer_allocate(buffer, FM_PAGES_HUGE, -1, &work->buffer, error);
	if (!status)
		status = fm_taker_allocate(FM_TAKER_STORAGE, victim_bytes(result), work->options->seed + 100,
		                           &work->storage, error);
	if (!status)
		status = fm_taker_allocate(FM_TAKER_BANDWIDTH, bandwidth_bytes(result), work->options->seed + 101,
		                           &work->bandwidth, error);
	if (status)
		return status;
	result->huge_pages = fm_buffer_huge_bytes(&work->buffer) >= (long long)(buffer / 2);
	fm_random_seed(&work->random, work->options->seed);
	fm_disturbance_open(&work->watch);
	/* without counters, the times decide */
	if (!fm_event_resolve("cache-misses", &work->event, &ignored) && fm_event_needs_pmu(&work->event)) {
		work->event.attributes.exclude_kernel = 1;
		if (fm_counting_open(&work->event, 1, &us, &work->counting, &ignored))
			work->counting = NULL;
		else
			fm_counting_start(work->counting);
	}
	return 0;
}

static void finish(struct work *work)
{
	fm_takers_stop(work->takers);
	fm_buffer_free(&work->buffer);
	fm_taker_free(&work->storage);
	fm_taker_free(&work->bandwidth);
	if (work->counting)
		fm_counting_close(work->counting);
	for (unsigned i = 0; i < EXPERIMENTS; i++)
		fm_interference_free_trials(&work->trials[i]);
	for (unsigned i = 0; i < COUNT(work->times); i++)
		fm_sample_free(&work->times[i]);
}

static void conclude(struct work *work)
{
	struct fm_interference *result = work->result;
	time_t now = time(NULL);
	struct tm broken;

	result->times =
	    (struct fm_probe_times){middle(&work->times[0]), middle(&work->times[1]), middle(&work->times[2])};
	result->seconds = seconds_since(work->began);
	result->disturbance = work->watch.total;
	for (unsigned i = 0; i < EXPERIMENTS; i++)
		result->blocks += work->trials[i].count;
	strftime(result->taken, sizeof(result->taken), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &broken));
	fm_interference_state(&result->capacity, FM_TAKER_STORAGE, result->level, result->capacity_statement,
	                      sizeof(result->capacity_statement));
	fm_interference_state(&result->bandwidth, FM_TAKER_BANDWIDTH, "memory", result->bandwidth_statement,
	                      sizeof(result->bandwidth_statement));
}

int fm_interference_calibrate(const struct fm_interference_options *options, struct fm_interference **ret_calibration,
                              struct fm_error *error)
{
	struct work *work = calloc(1, sizeof(*work));
	cpu_set_t allowed;
	bool bound = !sched_getaffinity(0, sizeof(allowed), &allowed);
	int status;

	if (!work || !(work->result = calloc(1, sizeof(*work->result)))) {
		free(work);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	work->options = options;
	work->began = fm_clock_now();
	work->deadline = work->began + (uint64_t)((options->seconds > 0 ? options->seconds : CALIBRATION_USUAL) * 1e9);
	work->watch.schedstat = work->watch.stat = -1;
	status = know_machine(work, error);
	if (!status) {
		plan_capacity(work->result);
		status = prepare(work, error);
	}
	if (!status)
		status = find_effective(work, error);
	if (!status) {
		plan_capacity(work->result);
		plan_bandwidth(work);
		for (unsigned i = 0; i < EXPERIMENTS; i++)
			work->trials[i].steps = axis_of(work->result, experiments[i].kind)->count;
		status = run_all(work, error);
	}
	if (!status)
		conclude(work);
	fm_disturbance_close(&work->watch);
	finish(work);
	if (bound)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	if (status)
		free(work->result);
	else
		*ret_calibration = work->result;
	free(work);
	return status;
}

/* The same machine, takers where they were: the largest step of each axis again. */
static int look_again(struct work *work, struct fm_error *error)
{
	static const enum experiment looked_at[] = {OWN_CAPACITY, OWN_BANDWIDTH};
	int status = prepare(work, error);

	for (unsigned i = 0; i < COUNT(looked_at) && !status; i++) {
		enum experiment experiment = looked_at[i];
		struct fm_interference_axis *axis = axis_of(work->result, experiments[experiment].kind);

		work->trials[experiment].steps = work->only[experiment] = axis->count;
		for (unsigned k = 0; k < FEW_PAIRS && axis->count && !status; k++)
			status = run_block(work, experiment, error);
	}
	return status;
}

static bool is_same(const struct fm_interference_trials *trials, const struct fm_interference_axis *kept,
                    struct fm_interference_axis *again)
{
	const struct fm_interference_step *before, *now;

	if (!kept->count)
		return true;
	fm_interference_judge_bandwidth(trials, trials, again);
	before = &kept->steps[kept->count - 1];
	now = &again->steps[again->count - 1];
	return kept->effect != FM_EFFECT_UNCLEAR && before->slower.available && now->slower.available &&
	       fm_figure_agrees(&before->slower, &now->slower) &&
	       (now->effect == FM_EFFECT_UNCLEAR || now->effect == kept->effect);
}

bool fm_interference_holds(const struct fm_interference *calibration, const struct fm_interference_options *options,
                           char *why, size_t size)
{
	struct work *work = calloc(1, sizeof(*work));
	struct fm_interference *here = calloc(1, sizeof(*here));
	struct fm_error error = {.message = "out of memory"};
	cpu_set_t allowed;
	bool bound = !sched_getaffinity(0, sizeof(allowed), &allowed), holds = false;

	*why = 0;
	if (work && here) {
		work->options = options;
		work->result = here;
		work->watch.schedstat = work->watch.stat = -1;
		if (know_machine(work, &error)) {
			snprintf(why, size, "%s", error.message);
		} else if (strcmp(here->processor, calibration->processor) != 0 ||
		           here->cache_bytes != calibration->cache_bytes ||
		           here->private_bytes != calibration->private_bytes ||
		           here->taker_count != calibration->taker_count) {
			snprintf(why, size, "the calibration is for another machine, or for other CPUs");
		} else {
			/* those that will be used, not those that happen to be quiet now */
			here->program_cpu = calibration->program_cpu;
			memcpy(here->taker_cpus, calibration->taker_cpus, sizeof(here->taker_cpus));
			here->effective_bytes = calibration->effective_bytes;
			here->capacity = calibration->capacity;
			here->bandwidth = calibration->bandwidth;
			if (look_again(work, &error))
				snprintf(why, size, "%s", error.message);
			else if (!is_same(&work->trials[OWN_CAPACITY], &calibration->capacity, &here->capacity))
				snprintf(why, size, "the effect of load threads on %s has changed, or is inconclusive",
				         calibration->level);
			else if (!is_same(&work->trials[OWN_BANDWIDTH], &calibration->bandwidth, &here->bandwidth))
				snprintf(why, size,
				         "the effect of load threads on memory bandwidth has changed, or is "
				         "inconclusive");
			else
				holds = true;
			fm_disturbance_close(&work->watch);
			finish(work);
		}
	} else {
		snprintf(why, size, "%s", error.message);
	}
	if (bound)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	free(here);
	free(work);
	return holds;
}

bool fm_interference_is_useful(const struct fm_interference *calibration)
{
	return fm_interference_offered(&calibration->capacity) || fm_interference_offered(&calibration->bandwidth);
}
