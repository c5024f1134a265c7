/* The decomposition of cycles by events against what the simulator knows, on the simulated Haswell-EP. */
#include "unit/check.h"

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
	return (struct shares){
	    (double)(t->cycles - t->no_execute) / active, (double)bandwidth / active, (double)latency / active,
	    (double)(t->stalls[FM_STALL_none] + t->stalls[FM_STALL_compute] + t->latency_stalls[0]) / active};
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

static unsigned wrong_dominant, wrong_corrected, far_off, cases;
static double worst_formula, worst_corrected;

static void compare(const char *name, const struct fm_core_counts *counts, const struct fm_timing_counts *timing)
{
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
	};
	struct fm_decomposition by_formula, corrected;
	struct shares truth = truth_of(timing), formula, ours;

	fm_decompose(&events, &by_formula);
	fm_decompose_corrected(&events, &corrected);
	formula = shares_of(&by_formula);
	ours = shares_of(&corrected);
	print_message(
	    "%-28s true %3.0f %3.0f %3.0f %3.0f   formula %3.0f %3.0f %3.0f %3.0f (%2.0f off)   corrected %3.0f %3.0f "
	    "%3.0f %3.0f (%2.0f off)%s\n",
	    name, truth.productive, truth.bandwidth, truth.latency, truth.other, formula.productive, formula.bandwidth,
	    formula.latency, formula.other, worst(&truth, &formula), ours.productive, ours.bandwidth, ours.latency,
	    ours.other, worst(&truth, &ours), by_formula.clamped ? "  clamped" : "");
	cases++;
	worst_formula = fmax(worst_formula, worst(&truth, &formula));
	worst_corrected = fmax(worst_corrected, worst(&truth, &ours));
	wrong_dominant += dominant(&truth) != dominant(&formula);
	wrong_corrected += dominant(&truth) != dominant(&ours);
	far_off += worst(&truth, &formula) > 10;
	/* where the formula is off, ours is near */
	if (worst(&truth, &ours) > 10)
		fail_msg("%s: even the corrected estimate is %.0f points off", name, worst(&truth, &ours));
}

/* Programs that are no kernels of the plan: fed by a function, twice, and the second half counted. */
static void compare_fed(const char *name, void (*feed)(struct fm_core_timing *timing, unsigned index), unsigned count)
{
	struct fm_machine_description large = machine;
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_core_counts before = {0}, after;
	struct fm_timing_counts timing_before = {0}, timing_after;
	struct fm_error error;

	large.page_bytes = 2 << 20;
	assert_int_equal(fm_hierarchy_create(&large, &hierarchy, &error), 0);
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
	for (unsigned i = 0; i < 2 * count; i++) {
		if (i == count) {
			before = fm_hierarchy_core(hierarchy, 0)->counts;
			timing_before = *fm_core_timing_counts(timing);
		}
		feed(timing, i);
	}
	after = fm_hierarchy_core(hierarchy, 0)->counts;
	timing_after = *fm_core_timing_counts(timing);
	for (size_t i = 0; i < sizeof(after) / 8; i++)
		((uint64_t *)&after)[i] -= ((uint64_t *)&before)[i];
	for (size_t i = 0; i < sizeof(timing_after) / 8; i++)
		((uint64_t *)&timing_after)[i] -= ((uint64_t *)&timing_before)[i];
	compare(name, &after, &timing_after);
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
}

static void random_read(struct fm_core_timing *timing, unsigned index)
{
	static struct fm_random random;

	if (!index)
		fm_random_seed(&random, 1);
	fm_feed_access(timing, (1ull << 36) + fm_random_below(&random, 1 << 20) * 64, 8, FM_ACCESS_LOAD);
}

/* Blocks of 16 x 16 elements that stay in the first cache. */
static void block_product(struct fm_core_timing *timing, unsigned index)
{
	unsigned i = index / 64 % 16, k = index / 4 % 16, j = index % 4;

	fm_feed_product(timing, (1ull << 36) + (k * 16 + 4 * j) * 8, (1ull << 36) + 4096 - 2048 + i % 8 * 32, index);
}

static void division(struct fm_core_timing *timing, unsigned index)
{
	static const struct fm_instruction divide = {.reads = 1, .writes = 1, .operation = FM_OPERATION_divide};

	(void)index;
	fm_core_execute(timing, &divide, NULL, 0);
}

static void the_dominant_cause_is_right(void **state)
{
	(void)state;
	print_message("%% of the active cycles: productive, bandwidth, latency, other\n");
	for (unsigned i = 0; i < plan->count; i++) {
		const struct fm_plan_entry *entry = &plan->entries[i];
		bool stream = entry->run.kind == FM_RUN_stream &&
		              (!strcmp(entry->run.kernel, "load") || !strcmp(entry->run.kernel, "store")),
		     chase = entry->run.kind == FM_RUN_latency || entry->run.kind == FM_RUN_latency_independent ||
		             entry->run.kind == FM_RUN_latency_dependent;
		struct fm_simulated_run run;
		struct fm_error error;

		if (entry->run.cores > 1 || entry->run.remote || !(stream || chase) || (chase && !entry->level))
			continue;
		assert_int_equal(fm_simulate_run(&machine, plan, entry, &run, &error), 0);
		compare(entry->run.name, &run.own, &run.own_timing);
	}
	compare_fed("random reads", random_read, 20000);
	compare_fed("blocked product", block_product, 40000);
	compare_fed("divisions", division, 5000);
	print_message(
	    "%u cases: dominant cause wrong in %u by the formula, %u corrected; worst %.0f and %.0f points off\n",
	    cases, wrong_dominant, wrong_corrected, worst_formula, worst_corrected);
	assert_true(cases >= 18);
	assert_int_equal(wrong_corrected, 0);
	/* what the literature expects of the formula: bandwidth-bound loads are underestimated */
	assert_true(far_off >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_dominant_cause_is_right),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
