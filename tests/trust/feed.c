/* The address streams that validation simulates against the real kernels in the emulator: the same machine, the
   same data, the same counts. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "trust/feed.h"
#include "trust/simulate.h"

/* Enough that what the program does around its kernels is little: blocks of each stream, about. */
enum { ENTRIES_MAX = 160, BLOCKS = 2048 };

static struct fm_machine_description machine;
static struct fm_plan *plan;

static int set_up(void **state)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2, .unit = 4096, .triangle = 64};
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error) ||
	    fm_plan_scale_machine(&machine, 8, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	/* as in the simulation of the plan */
	machine.page_bytes = 2 << 20;
	return fm_plan_build(&machine, &options, &plan, &error);
}

static const struct fm_result_region *find(const struct fm_engine_run *run, const char *name)
{
	for (unsigned i = 0; i < run->results->region_count; i++)
		if (!strcmp(run->results->regions[i].name, name))
			return &run->results->regions[i];
	fail_msg("%s did not run", name);
	return NULL;
}

static unsigned passes_of(const struct fm_plan_entry *entry)
{
	uint64_t blocks = entry->bytes / entry->kernel->streams / FM_BLOCK_BYTES;

	return blocks < BLOCKS ? (unsigned)(BLOCKS / blocks) : 1;
}

static bool is_compared(const struct fm_plan_entry *entry)
{
	return entry->run.kind == FM_RUN_stream && entry->run.cores == 1 && !entry->run.remote;
}

static uint64_t lines_in(const struct fm_cache_counts *cache)
{
	return cache->lines_demand + cache->lines_ownership + cache->lines_prefetch;
}

static void streams_are_the_kernels(void **state)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0", .timing = true};
	static char texts[ENTRIES_MAX][4][32];
	char *arguments[4 * ENTRIES_MAX + 2] = {PROGRAMS "streams"};
	struct fm_engine_run run;
	struct fm_error error;
	unsigned count = 0, cycles_compared = 0;
	double worst_cycles = 0;

	(void)state;
	for (unsigned i = 0; i < plan->count && count < ENTRIES_MAX; i++) {
		const struct fm_plan_entry *entry = &plan->entries[i];

		if (!is_compared(entry))
			continue;
		snprintf(texts[count][0], 32, "%s", entry->run.kernel);
		snprintf(texts[count][1], 32, "%d", entry->isa);
		snprintf(texts[count][2], 32, "%lu", (unsigned long)entry->bytes);
		snprintf(texts[count][3], 32, "%u", passes_of(entry));
		for (unsigned k = 0; k < 4; k++)
			arguments[1 + 4 * count + k] = texts[count][k];
		count++;
	}
	assert_true(count > 90);
	if (fm_engine_execute(&options, arguments, &run, &error))
		fail_msg("%s", error.message);
	assert_int_equal(run.exit_status, 0);
	count = 0;
	for (unsigned i = 0; i < plan->count; i++) {
		struct fm_plan_entry entry = plan->entries[i];
		const struct fm_result_region *one, *two;
		struct fm_simulated_run simulated;
		uint64_t streams_blocks = entry.kernel ? entry.bytes / entry.kernel->streams / FM_BLOCK_BYTES : 0;
		unsigned passes;
		char name[96];

		if (!is_compared(&entry))
			continue;
		passes = passes_of(&entry);
		snprintf(name, sizeof(name), "%s %s %s/1", texts[count][0], texts[count][1], texts[count][2]);
		one = find(&run, name);
		snprintf(name, sizeof(name), "%s %s %s/2", texts[count][0], texts[count][1], texts[count][2]);
		two = find(&run, name);
		count++;
		entry.blocks = passes * streams_blocks;
		assert_int_equal(fm_simulate_run(&machine, plan, &entry, &simulated, &error), 0);
#define DIFFERENCE(member) (double)(int64_t)(two->member - one->member)
		const struct {
			const char *what;
			double real, fed, limit, least;
		} pairs[] = {
		    /* the loop around the passes reads its arguments again: streams and count */
		    {"loads", DIFFERENCE(counts.loads) - passes * (entry.kernel->streams + 1.0),
		     (double)simulated.own.loads, 0, 0},
		    {"stores", DIFFERENCE(counts.stores), (double)simulated.own.stores, 0, 0},
		    {"lines into L1",
		     (double)(int64_t)(lines_in(&two->counts.caches[0]) - lines_in(&one->counts.caches[0])),
		     (double)lines_in(&simulated.own.caches[0]), 0.02, 40},
		    {"lines into L2",
		     (double)(int64_t)(lines_in(&two->counts.caches[1]) - lines_in(&one->counts.caches[1])),
		     (double)lines_in(&simulated.own.caches[1]), 0.02, 40},
		    {"lines from memory", DIFFERENCE(counts.memory_reads), (double)simulated.own.memory_reads, 0.02,
		     40},
		    {"written back from L1", DIFFERENCE(counts.caches[0].lines_written),
		     (double)simulated.own.caches[0].lines_written, 0.02, 40},
		    {"written to memory", DIFFERENCE(counts.memory_writes), (double)simulated.own.memory_writes, 0.02,
		     40},
		    {"instructions", DIFFERENCE(work.instructions) - passes * (entry.kernel->streams + 3.0),
		     (double)passes * streams_blocks * fm_feed_block_instructions(entry.kernel, entry.isa), 0,
		     8.0 * passes /* the loop is aligned with instructions that do nothing */},
		    {"operations", DIFFERENCE(work.flops), (double)entry.blocks * 64 * entry.kernel->flops, 0, 0},
		};

		for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
			if (fabs(pairs[k].real - pairs[k].fed) > pairs[k].limit * pairs[k].fed + pairs[k].least)
				fail_msg("%s: %s %.0f in the engine, %.0f as a stream", entry.run.name, pairs[k].what,
				         pairs[k].real, pairs[k].fed);
		if (simulated.own_timing.cycles > 2000) {
			double off = DIFFERENCE(timing.cycles) / (double)simulated.own_timing.cycles - 1;

			cycles_compared++;
			worst_cycles = entry.level ? fmax(worst_cycles, fabs(off)) : worst_cycles;
			/* a pass over a first cache that was made small is a few blocks: its loop shows */
			if (fabs(off) > (entry.level ? 0.05 : 0.15))
				fail_msg("%s: %.0f cycles in the engine, %lu as a stream", entry.run.name,
				         DIFFERENCE(timing.cycles), (unsigned long)simulated.own_timing.cycles);
		}
	}
	print_message("%u kernels in levels compared; cycles differ by at most %.1f %% (%u compared)\n", count,
	              100 * worst_cycles, cycles_compared);
	fm_engine_run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_are_the_kernels),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
