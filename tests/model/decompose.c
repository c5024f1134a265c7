/* The decomposition of cycles by events, the literature's and the corrected one, against what the simulator knows, on
   the simulated Haswell-EP. What is true of a run comes from two places that are no input of either: the cause that the
   simulator has for each stalled cycle, and what becomes of the time on machines without limits of bandwidth, without
   latencies, and without both. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/decompose.h"
#include "trust/feed.h"
#include "trust/simulate.h"

static struct fm_machine_description machine;
static struct fm_plan *plan;

static int set_up(void **state)
{
	const struct fm_plan_options options = {.isas = 1u << FM_ISA_avx2, .unit = 16384, .triangle = 64};
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error) ||
	    fm_plan_scale_machine(&machine, 8, &error) || fm_plan_build(&machine, &options, &plan, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	return 0;
}

/* Where cycles went, in percent of the active ones. */
struct shares {
	double productive, bandwidth, latency, other;
};

static struct shares truth_of(const struct fm_timing_counts *t)
{
	double active = (double)t->cycles / 100;
	uint64_t bandwidth = t->stalls[FM_STALL_stores], latency = t->stalls[FM_STALL_translation];

	for (unsigned i = 1; i < FM_SERVED_COUNT; i++) {
		bandwidth += t->bandwidth_stalls[i];
		latency += t->latency_stalls[i];
	}
	return (struct shares){(double)(t->cycles - t->no_execute) / active, (double)bandwidth / active,
	                       (double)latency / active,
	                       (double)(t->stalls[FM_STALL_none] + t->stalls[FM_STALL_compute] +
	                                t->stalls[FM_STALL_branches] + t->latency_stalls[0] + t->bandwidth_stalls[0]) /
	                           active};
}

static struct shares shares_of(const struct fm_decomposition *d)
{
	return (struct shares){100 * d->productive / d->active, 100 * d->bandwidth_bound / d->active,
	                       100 * d->latency_bound / d->active, 100 * d->other_stall / d->active};
}

static double worst(const struct shares *a, const struct shares *b)
{
	return fmax(fmax(fabs(a->productive - b->productive), fabs(a->bandwidth - b->bandwidth)),
	            fmax(fabs(a->latency - b->latency), fabs(a->other - b->other)));
}

static int dominant(const struct shares *s)
{
	double values[] = {s->productive, s->bandwidth, s->latency, s->other};
	int best = 0;

	for (int i = 1; i < 4; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

/* A line takes so long from the place that most lines come from. */
static double line_cycles(const struct fm_core_counts *counts)
{
	double second = machine.caches[1].interval / 100.0, third = machine.caches[2].interval / 100.0,
	       memory = machine.line_bytes * machine.frequency_ghz / machine.memory_core_gbs;
	double lines = (double)(counts->caches[0].lines_demand + counts->caches[0].lines_ownership +
	                        counts->caches[0].lines_prefetch);
	double from_third = (double)(counts->caches[1].lines_demand + counts->caches[1].lines_ownership +
	                             counts->caches[1].lines_prefetch),
	       from_memory = (double)counts->memory_reads;

	if (!(lines > 0))
		return 0;
	return fmax(second, fmax(from_third / lines * third, from_memory / lines * memory));
}

/* A machine that has what the other one lacks: lines as fast as they are asked for, and as many at a time as the window
   allows; or lines that come as soon as those of the first cache. */
static struct fm_machine_description without(bool bandwidth, bool latency)
{
	struct fm_machine_description ideal = machine;

	ideal.page_bytes = 2 << 20;
	for (unsigned i = 1; i < ideal.cache_count; i++) {
		if (bandwidth)
			ideal.caches[i].interval = ideal.caches[i].write_interval = ideal.caches[i].shared_interval = 0;
		if (latency)
			ideal.caches[i].latency = ideal.caches[0].latency;
	}
	if (bandwidth) {
		ideal.memory_gbs = ideal.memory_core_gbs = ideal.remote_gbs = ideal.remote_core_gbs = 1e9;
		ideal.store_core_gbs = 0;
		ideal.core.fill_buffers = ideal.core.super_queue = 256;
		ideal.core.store_buffers = 4096;
	}
	if (latency) {
		ideal.memory_latency = ideal.memory_remote_latency = ideal.caches[0].latency;
		for (unsigned i = 0; i < ideal.tlb_count; i++)
			ideal.tlbs[i].penalty = 0;
	}
	return ideal;
}

struct counted {
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* Programs are functions that feed one step of theirs; they are run twice, and the second half is counted. */
struct program {
	void (*feed)(struct fm_core_timing *timing, const struct program *program, unsigned index);
	unsigned steps;
	unsigned chains, gap; /* chases at once, multiplications after each step */
	uint64_t bytes, stride;
	const struct program *then; /* every other turn of so many steps */
	unsigned turn;
};

static struct counted run_on(const struct fm_machine_description *description, const struct program *program)
{
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_core_counts before = {0};
	struct fm_timing_counts timing_before = {0};
	struct counted counted;
	struct fm_error error;

	assert_int_equal(fm_hierarchy_create(description, &hierarchy, &error), 0);
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
	for (unsigned i = 0; i < 2 * program->steps; i++) {
		if (i == program->steps) {
			/* else the accounting lags behind the clock */
			fm_core_drain(timing);
			before = fm_hierarchy_core(hierarchy, 0)->counts;
			timing_before = *fm_core_timing_counts(timing);
		}
		program->feed(timing, program, i);
	}
	fm_core_drain(timing);
	counted.counts = fm_hierarchy_core(hierarchy, 0)->counts;
	counted.timing = *fm_core_timing_counts(timing);
	for (size_t i = 0; i < sizeof(before) / 8; i++)
		((uint64_t *)&counted.counts)[i] -= ((uint64_t *)&before)[i];
	for (size_t i = 0; i < sizeof(timing_before) / 8; i++)
		((uint64_t *)&counted.timing)[i] -= ((uint64_t *)&timing_before)[i];
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	return counted;
}

/* What removing a limit gains, in percent of the time: by itself, and after the other one was removed. Where these
   differ, either would do. */
struct bounds {
	double bandwidth[2], latency[2];
};

static struct bounds bounds_of(const struct program *program, double time)
{
	struct fm_machine_description machines[] = {without(true, false), without(false, true), without(true, true)};
	double times[3];
	struct bounds bounds;

	for (unsigned i = 0; i < 3; i++)
		times[i] = (double)run_on(&machines[i], program).timing.cycles;
	bounds.bandwidth[0] = 100 * (time - times[0]) / time;
	bounds.bandwidth[1] = 100 * (times[1] - times[2]) / time;
	bounds.latency[0] = 100 * (time - times[1]) / time;
	bounds.latency[1] = 100 * (times[0] - times[2]) / time;
	return bounds;
}

/* What is true of a run. The simulator's causes say how many of the stalled cycles are memory's; how these divide into
   bandwidth and latency is between the two orders in which the limits can be removed. */
struct truth {
	struct shares low, high;
};

static struct truth truth_between(const struct shares *causes, const struct bounds *bounds)
{
	struct truth truth = {*causes, *causes};
	double memory = causes->bandwidth + causes->latency, shares[2];

	for (unsigned i = 0; bounds && i < 2; i++) {
		/* what bandwidth gains first, what latency leaves; and the other way round */
		double bandwidth = fmax(0, bounds->bandwidth[i]), latency = fmax(0, bounds->latency[!i]);

		shares[i] =
		    bandwidth + latency > 1 ? bandwidth / (bandwidth + latency) : causes->bandwidth / fmax(memory, 1);
	}
	if (bounds && memory > 0) {
		truth.low.bandwidth = memory * fmin(shares[0], shares[1]);
		truth.high.bandwidth = memory * fmax(shares[0], shares[1]);
		truth.low.latency = memory - truth.high.bandwidth;
		truth.high.latency = memory - truth.low.bandwidth;
	}
	return truth;
}

static double outside(double value, double low, double high)
{
	return value < low ? low - value : value > high ? value - high : 0;
}

static double off(const struct truth *truth, const struct shares *told)
{
	return fmax(fmax(outside(told->productive, truth->low.productive, truth->high.productive),
	                 outside(told->bandwidth, truth->low.bandwidth, truth->high.bandwidth)),
	            fmax(outside(told->latency, truth->low.latency, truth->high.latency),
	                 outside(told->other, truth->low.other, truth->high.other)));
}

/* Is what is told to be the most less than another cause is for certain? */
static bool is_wrong(const struct truth *truth, const struct shares *told)
{
	const double low[] = {truth->low.productive, truth->low.bandwidth, truth->low.latency, truth->low.other},
	             high[] = {truth->high.productive, truth->high.bandwidth, truth->high.latency, truth->high.other};
	int cause = dominant(told);

	for (int i = 0; i < 4; i++)
		if (low[i] > high[cause])
			return true;
	return false;
}

/* How the cases came out, of one of the two ways. Strictly: by the simulator's causes alone. */
struct score {
	unsigned wrong, far, strictly_wrong, strictly_far;
	double worst;
};

struct tally {
	unsigned cases;
	struct score formula, corrected;
};

static void note(struct score *score, const struct shares *causes, const struct truth *truth, const struct shares *told)
{
	score->wrong += is_wrong(truth, told);
	score->far += off(truth, told) > 10;
	score->worst = fmax(score->worst, off(truth, told));
	score->strictly_wrong += dominant(causes) != dominant(told);
	score->strictly_far += worst(causes, told) > 10;
}

static void compare(struct tally *tally, const char *name, const struct counted *counted, const struct bounds *bounds)
{
	const struct fm_core_counts *counts = &counted->counts;
	const struct fm_timing_counts *timing = &counted->timing;
	const struct fm_stall_events events = {
	    .active = (double)timing->cycles,
	    .no_execute = (double)timing->no_execute,
	    .load_pending = (double)timing->miss_pending_stall,
	    .stores_full = (double)timing->store_buffer_full,
	    .fill_full = (double)timing->fill_buffers_full,
	    .queue_full = (double)timing->super_queue_full,
	    .lines = (double)(counts->caches[0].lines_demand + counts->caches[0].lines_ownership +
	                      counts->caches[0].lines_prefetch),
	    .line_cycles = line_cycles(counts),
	    .lookups = (double)counts->caches[0].load_misses * machine.caches[0].latency,
	    .misses_pending = (double)timing->miss_pending,
	    .walks = (double)counts->tlb_misses[1] * machine.tlbs[1].penalty,
	};
	struct fm_decomposition by_formula, corrected;
	struct shares causes = truth_of(timing), formula, ours;
	struct truth truth = truth_between(&causes, bounds);

	fm_decompose(&events, &by_formula);
	fm_decompose_corrected(&events, &corrected);
	formula = shares_of(&by_formula);
	ours = shares_of(&corrected);
	print_message(
	    "%-34s causes %3.0f %3.0f %3.0f %3.0f  bandwidth %3.0f … %3.0f  formula %3.0f %3.0f %3.0f (%2.0f)%s  "
	    "corrected %3.0f %3.0f %3.0f (%2.0f)%s\n",
	    name, causes.productive, causes.bandwidth, causes.latency, causes.other, truth.low.bandwidth,
	    truth.high.bandwidth, formula.bandwidth, formula.latency, formula.other, off(&truth, &formula),
	    is_wrong(&truth, &formula) ? " wrong" : "", ours.bandwidth, ours.latency, ours.other, off(&truth, &ours),
	    is_wrong(&truth, &ours) ? " wrong" : "");
	tally->cases++;
	note(&tally->formula, &causes, &truth, &formula);
	note(&tally->corrected, &causes, &truth, &ours);
}

static void print_score(const char *name, const struct score *score)
{
	print_message(
	    "%-10s dominant cause wrong in %u, more than 10 points off in %u, worst %.0f; by the simulator's causes "
	    "alone %u and %u\n",
	    name, score->wrong, score->far, score->worst, score->strictly_wrong, score->strictly_far);
}

static void print_tally(const struct tally *tally)
{
	print_message("%u cases\n", tally->cases);
	print_score("formula", &tally->formula);
	print_score("corrected", &tally->corrected);
}

static void compare_program(struct tally *tally, const char *name, const struct program *program)
{
	struct fm_machine_description large = machine;
	struct counted counted;
	struct bounds bounds;

	large.page_bytes = 2 << 20;
	counted = run_on(&large, program);
	bounds = bounds_of(program, (double)counted.timing.cycles);
	compare(tally, name, &counted, &bounds);
}

enum { POINTERS = 8, VALUES = 40 };

static void multiply(struct fm_core_timing *timing, unsigned target, bool chained)
{
	const struct fm_instruction multiply = {.reads = 1ull << target | (chained ? 0 : 1ull << 5),
	                                        .writes = 1ull << target,
	                                        .operation = FM_OPERATION_multiply};

	fm_core_execute(timing, &multiply, NULL, 0);
}

/* A step of each of several chains, the lines of each at random in a part of the data. */
static void chase(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	uint64_t lines = program->bytes / 128 / program->chains;

	for (unsigned chain = 0; chain < program->chains; chain++) {
		const struct fm_instruction follow = {.reads = 1ull << (POINTERS + chain),
		                                      .writes = 1ull << (POINTERS + chain),
		                                      .address_reads = 1ull << (POINTERS + chain)};
		/* a permutation: as many lines as a power of two, steps of an odd number that no prefetcher follows */
		uint64_t place = (uint64_t)index * 0x9e3779b1u % lines + chain * lines;
		struct fm_memory_access access = {(1ull << 36) + place * 128, 8, FM_ACCESS_LOAD, 0};

		fm_core_execute(timing, &follow, &access, 1);
	}
	for (unsigned i = 0; i < program->gap; i++)
		multiply(timing, VALUES + i % 8, false);
}

/* Independent loads, a stride apart. */
static void strided(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	fm_feed_access(timing, (1ull << 37) + index * program->stride % program->bytes, 8, FM_ACCESS_LOAD);
	for (unsigned i = 0; i < program->gap; i++)
		multiply(timing, VALUES + i % 8, false);
}

static void written(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	fm_feed_access(timing, (1ull << 38) + index * program->stride % program->bytes, 8, FM_ACCESS_STORE);
}

/* Arithmetic in a chain. */
static void dependent(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	(void)program;
	(void)index;
	multiply(timing, VALUES, true);
}

/* Two programs in turn. */
static void alternate(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	const struct program *first = program->then, *one = index / program->turn % 2 ? first + 1 : first;
	unsigned rounds = index / program->turn / 2;

	one->feed(timing, one, rounds * program->turn + index % program->turn);
}

static void random_read(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	static struct fm_random random;

	(void)program;
	if (!index)
		fm_random_seed(&random, 1);
	fm_feed_access(timing, (1ull << 36) + fm_random_below(&random, 1 << 20) * 64, 8, FM_ACCESS_LOAD);
}

/* Blocks of 16 x 16 elements that stay in the first cache. */
static void block_product(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	unsigned i = index / 64 % 16, k = index / 4 % 16, j = index % 4;

	(void)program;
	fm_feed_product(timing, (1ull << 36) + (k * 16 + 4 * j) * 8, (1ull << 36) + 4096 - 2048 + i % 8 * 32, index);
}

static void division(struct fm_core_timing *timing, const struct program *program, unsigned index)
{
	static const struct fm_instruction divide = {.reads = 1, .writes = 1, .operation = FM_OPERATION_divide};

	(void)program;
	(void)index;
	fm_core_execute(timing, &divide, NULL, 0);
}

/* What the correction was made with. */
static void cases_of_the_correction(void **state)
{
	struct tally tally = {0};

	(void)state;
	print_message("%% of the active cycles: productive, bandwidth, latency, other\n");
	for (unsigned i = 0; i < plan->count; i++) {
		const struct fm_plan_entry *entry = &plan->entries[i];
		bool stream = entry->run.kind == FM_RUN_stream &&
		              (!strcmp(entry->run.kernel, "load") || !strcmp(entry->run.kernel, "store")),
		     chases = entry->run.kind == FM_RUN_latency || entry->run.kind == FM_RUN_latency_independent ||
		              entry->run.kind == FM_RUN_latency_dependent;
		struct fm_simulated_run run;
		struct counted counted;
		struct fm_error error;

		if (entry->run.cores > 1 || entry->run.remote || !(stream || chases) || (chases && !entry->level))
			continue;
		assert_int_equal(fm_simulate_run(&machine, plan, entry, &run, &error), 0);
		counted = (struct counted){run.own, run.own_timing};
		compare(&tally, entry->run.name, &counted, NULL);
	}
	compare_program(&tally, "random reads", &(struct program){.feed = random_read, .steps = 20000});
	compare_program(&tally, "blocked product", &(struct program){.feed = block_product, .steps = 40000});
	compare_program(&tally, "divisions", &(struct program){.feed = division, .steps = 5000});
	print_tally(&tally);
	assert_true(tally.cases >= 18);
	assert_int_equal(tally.corrected.wrong, 0);
	assert_int_equal(tally.corrected.far, 0);
	/* streams that stay in the second cache fill no buffer */
	assert_true(tally.formula.wrong >= 1);
}

static const char *const places[] = {"L2", "L3", "memory"};

static uint64_t bytes_of(unsigned place)
{
	/* well within a cache, and well beyond the one before; powers of two */
	return place == 0 ? machine.caches[1].bytes / 2 : place == 1 ? machine.caches[2].bytes / 4 : 1ull << 30;
}

/* What it was not made with. */
static void cases_it_has_not_met(void **state)
{
	struct tally tally = {0};
	char name[64];

	(void)state;
	for (unsigned place = 0; place < 3; place++) {
		uint64_t bytes = bytes_of(place);
		struct program phases[2];

		while (bytes & (bytes - 1))
			bytes &= bytes - 1;
		for (unsigned chains = 1; chains <= 10; chains++) {
			snprintf(name, sizeof(name), "%u chases in %s", chains, places[place]);
			compare_program(&tally, name,
			                &(struct program){
			                    .feed = chase, .steps = 12000 / chains, .chains = chains, .bytes = bytes});
		}
		for (unsigned gap = 2; gap <= 64; gap *= 2) {
			snprintf(name, sizeof(name), "2 chases in %s, %u products", places[place], gap);
			compare_program(
			    &tally, name,
			    &(struct program){.feed = chase, .steps = 4000, .chains = 2, .gap = gap, .bytes = bytes});
		}
		for (unsigned stride = 64; stride <= 2048; stride *= 2) {
			snprintf(name, sizeof(name), "stride of %u in %s", stride, places[place]);
			compare_program(&tally, name,
			                &(struct program){.feed = strided,
			                                  .steps = 12000,
			                                  .bytes = bytes,
			                                  .stride = stride + (stride > 64 ? 64 : 0)});
		}
		for (unsigned gap = 1; gap <= 32; gap *= 2) {
			snprintf(name, sizeof(name), "stride of 64 in %s, %u products", places[place], gap);
			compare_program(&tally, name,
			                &(struct program){
			                    .feed = strided, .steps = 8000, .bytes = bytes, .stride = 64, .gap = gap});
		}
		for (unsigned part = 1; part <= 8; part *= 2) {
			phases[0] = (struct program){.feed = chase, .chains = 1, .bytes = bytes};
			phases[1] = (struct program){.feed = strided, .bytes = bytes_of(2), .stride = 8};
			snprintf(name, sizeof(name), "chase in %s and stream, %u", places[place], part);
			compare_program(
			    &tally, name,
			    &(struct program){.feed = alternate, .steps = 24000, .then = phases, .turn = 200 * part});
			phases[1] = (struct program){.feed = dependent};
			snprintf(name, sizeof(name), "chase in %s and products, %u", places[place], part);
			compare_program(
			    &tally, name,
			    &(struct program){.feed = alternate, .steps = 12000, .then = phases, .turn = 100 * part});
		}
		phases[0] = (struct program){.feed = chase, .chains = 3, .bytes = bytes};
		phases[1] = (struct program){.feed = written, .bytes = bytes_of(2), .stride = 8};
		snprintf(name, sizeof(name), "chases in %s and stores", places[place]);
		compare_program(&tally, name,
		                &(struct program){.feed = alternate, .steps = 16000, .then = phases, .turn = 400});
	}
	print_tally(&tally);
	assert_true(tally.cases >= 100);
	assert_true(tally.corrected.wrong <= 0.02 * tally.cases);
	assert_true(tally.corrected.far <= 0.05 * tally.cases);
	assert_true(tally.corrected.far < tally.formula.far);
}

/* For bench/judge/decompose.py: what both ways say of events that were counted elsewhere, given in the order of the
   struct. Each line: productive, bandwidth, latency, other, in percent. */
static int decompose_arguments(char **arguments)
{
	struct fm_stall_events events;
	double *members = (double *)&events;
	struct fm_decomposition parts[2];

	for (size_t i = 0; i < sizeof(events) / sizeof(double); i++)
		members[i] = strtod(arguments[i], NULL);
	fm_decompose(&events, &parts[0]);
	fm_decompose_corrected(&events, &parts[1]);
	for (unsigned i = 0; i < 2; i++) {
		struct shares shares = shares_of(&parts[i]);

		printf("%.3f %.3f %.3f %.3f\n", shares.productive, shares.bandwidth, shares.latency, shares.other);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cases_of_the_correction),
	    cmocka_unit_test(cases_it_has_not_met),
	};

	if ((size_t)argc == 1 + sizeof(struct fm_stall_events) / sizeof(double))
		return decompose_arguments(argv + 1);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
