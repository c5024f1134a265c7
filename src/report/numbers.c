#include "report/numbers.h"

#include <stdio.h>
#include <string.h>

#define WORK(member, unit)                                                       \
	{                                                                        \
#member, unit, work->member, FM_ESTIMATE_WORK + FM_WORK_##member \
	}
#define COUNT(member, unit)                                       \
	{                                                         \
#member, unit, counts->member, FM_COUNTS_##member \
	}
#define CACHE(member, unit)                                                                                \
	{                                                                                                  \
#member, unit, counts->caches[cache].member, fm_counter_of_cache(cache, FM_CACHE_##member) \
	}
#define TIMING(member)                                                                     \
	{                                                                                  \
#member, "cycles", timing->member, FM_ESTIMATE_TIMING + FM_TIMING_##member \
	}

unsigned fm_named_work(const struct fm_work *work, struct fm_named_number *ret)
{
	const struct fm_named_number list[] = {
	    WORK(instructions, "instructions"),
	    WORK(vector_calculations, "instructions"),
	    WORK(vector_inserts, "instructions"),
	    WORK(divisions, "instructions"),
	    WORK(flops, "operations"),
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_counts(const struct fm_core_counts *counts, struct fm_named_number *ret)
{
	const struct fm_named_number list[] = {
	    COUNT(loads, "accesses"),
	    COUNT(stores, "accesses"),
	    COUNT(nontemporal_stores, "accesses"),
	    COUNT(load_bytes, "B"),
	    COUNT(store_bytes, "B"),
	    COUNT(splits, "accesses"),
	    COUNT(memory_reads, "lines"),
	    COUNT(memory_reads_remote, "lines"),
	    COUNT(memory_writes, "lines"),
	    COUNT(memory_writes_remote, "lines"),
	    COUNT(nontemporal_lines, "lines"),
	    COUNT(transfers_modified, "lines"),
	    COUNT(transfers_modified_remote, "lines"),
	    COUNT(transfers_modified_loads, "lines"),
	    COUNT(transfers_modified_loads_remote, "lines"),
	    COUNT(transfers_clean, "lines"),
	    COUNT(upgrades, "lines"),
	    COUNT(invalidations, "lines"),
	    {"tlb_misses_1", "misses", counts->tlb_misses[0], FM_COUNTS_tlb_misses},
	    {"tlb_misses_2", "misses", counts->tlb_misses[1], FM_COUNTS_tlb_misses + 1},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_cache(const struct fm_core_counts *counts, unsigned cache, struct fm_named_number *ret)
{
	const struct fm_named_number list[] = {
	    CACHE(load_hits, "accesses"),    CACHE(load_misses, "accesses"), CACHE(store_hits, "accesses"),
	    CACHE(store_misses, "accesses"), CACHE(lines_demand, "lines"),   CACHE(lines_ownership, "lines"),
	    CACHE(lines_prefetch, "lines"),  CACHE(prefetch_hits, "lines"),  CACHE(lines_written, "lines"),
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_cycles(const struct fm_timing_counts *timing, struct fm_named_number *ret)
{
	const struct fm_named_number list[] = {
	    {"active", "cycles", timing->cycles, FM_ESTIMATE_TIMING + FM_TIMING_cycles},
	    {"productive", "cycles", timing->cycles - timing->no_execute, FM_ESTIMATE_PRODUCTIVE},
	    {"stall", "cycles", timing->no_execute, FM_ESTIMATE_TIMING + FM_TIMING_no_execute},
	    TIMING(miss_pending),
	    TIMING(miss_pending_stall),
	    TIMING(load_pending_stall),
	    TIMING(fill_buffers_full),
	    TIMING(super_queue_full),
	    TIMING(store_buffer_full),
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_named_number *ret)
{
	unsigned count = 0;

	for (int i = 0; i < FM_STALL_COUNT; i++, count++) {
		ret[count] = (struct fm_named_number){.unit = "cycles",
		                                      .value = timing->stalls[i],
		                                      .number = FM_ESTIMATE_TIMING + FM_TIMING_stalls + (unsigned)i};
		snprintf(ret[count].name, sizeof(ret[count].name), "%s", fm_stall_name((enum fm_stall)i));
	}
	for (unsigned bandwidth = 0; bandwidth < 2; bandwidth++)
		for (unsigned i = 0; i < FM_SERVED_COUNT; i++) {
			if (i >= machine->cache_count && i < FM_SERVED_MEMORY)
				continue;
			ret[count] = (struct fm_named_number){
			    .unit = "cycles",
			    .value = bandwidth ? timing->bandwidth_stalls[i] : timing->latency_stalls[i],
			    .number = FM_ESTIMATE_TIMING + i +
			              (bandwidth ? FM_TIMING_bandwidth_stalls : FM_TIMING_latency_stalls)};
			fm_stall_level_name(machine, bandwidth, i, ret[count].name, sizeof(ret[count].name));
			count++;
		}
	return count;
}

bool fm_lines_from_shared(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                          uint64_t *ret_lines)
{
	unsigned last = machine->cache_count - 1;
	const struct fm_cache_counts *cache = &counts->caches[last];

	if (!last || machine->caches[last].shared_by < 2)
		return false;
	*ret_lines = cache->load_hits + cache->store_hits + cache->prefetches_answered;
	return true;
}
