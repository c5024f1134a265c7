#include "report/numbers.h"

#include <stdio.h>
#include <string.h>

unsigned fm_named_work(const struct fm_work *work, struct fm_named *ret)
{
	const struct fm_named list[] = {
	    {"instructions", "instructions", work->instructions},
	    {"vector_calculations", "instructions", work->vector_calculations},
	    {"vector_inserts", "instructions", work->vector_inserts},
	    {"divisions", "instructions", work->divisions},
	    {"flops", "operations", work->flops},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_counts(const struct fm_core_counts *counts, struct fm_named *ret)
{
	const struct fm_named list[] = {
	    {"loads", "accesses", counts->loads},
	    {"stores", "accesses", counts->stores},
	    {"nontemporal_stores", "accesses", counts->nontemporal_stores},
	    {"load_bytes", "B", counts->load_bytes},
	    {"store_bytes", "B", counts->store_bytes},
	    {"splits", "accesses", counts->splits},
	    {"memory_reads", "lines", counts->memory_reads},
	    {"memory_reads_remote", "lines", counts->memory_reads_remote},
	    {"memory_writes", "lines", counts->memory_writes},
	    {"memory_writes_remote", "lines", counts->memory_writes_remote},
	    {"nontemporal_lines", "lines", counts->nontemporal_lines},
	    {"transfers_modified", "lines", counts->transfers_modified},
	    {"transfers_modified_remote", "lines", counts->transfers_modified_remote},
	    {"transfers_modified_loads", "lines", counts->transfers_modified_loads},
	    {"transfers_modified_loads_remote", "lines", counts->transfers_modified_loads_remote},
	    {"transfers_clean", "lines", counts->transfers_clean},
	    {"upgrades", "lines", counts->upgrades},
	    {"invalidations", "lines", counts->invalidations},
	    {"tlb_misses_1", "misses", counts->tlb_misses[0]},
	    {"tlb_misses_2", "misses", counts->tlb_misses[1]},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_cache(const struct fm_cache_counts *cache, struct fm_named *ret)
{
	const struct fm_named list[] = {
	    {"load_hits", "accesses", cache->load_hits},        {"load_misses", "accesses", cache->load_misses},
	    {"store_hits", "accesses", cache->store_hits},      {"store_misses", "accesses", cache->store_misses},
	    {"lines_demand", "lines", cache->lines_demand},     {"lines_ownership", "lines", cache->lines_ownership},
	    {"lines_prefetch", "lines", cache->lines_prefetch}, {"prefetch_hits", "lines", cache->prefetch_hits},
	    {"lines_written", "lines", cache->lines_written},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_cycles(const struct fm_timing_counts *timing, struct fm_named *ret)
{
	const struct fm_named list[] = {
	    {"active", "cycles", timing->cycles},
	    {"productive", "cycles", timing->cycles - timing->no_execute},
	    {"stall", "cycles", timing->no_execute},
	    {"miss_pending", "cycles", timing->miss_pending},
	    {"miss_pending_stall", "cycles", timing->miss_pending_stall},
	    {"load_pending_stall", "cycles", timing->load_pending_stall},
	    {"fill_buffers_full", "cycles", timing->fill_buffers_full},
	    {"super_queue_full", "cycles", timing->super_queue_full},
	    {"store_buffer_full", "cycles", timing->store_buffer_full},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

unsigned fm_named_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_named *ret)
{
	unsigned count = 0;

	for (int i = 0; i < FM_STALL_COUNT; i++, count++) {
		ret[count] = (struct fm_named){.unit = "cycles", .value = timing->stalls[i]};
		snprintf(ret[count].name, sizeof(ret[count].name), "%s", fm_stall_name((enum fm_stall)i));
	}
	for (unsigned bandwidth = 0; bandwidth < 2; bandwidth++)
		for (unsigned i = 0; i < FM_SERVED_COUNT; i++) {
			if (i >= machine->cache_count && i < FM_SERVED_MEMORY)
				continue;
			ret[count] = (struct fm_named){.unit = "cycles",
			                               .value = bandwidth ? timing->bandwidth_stalls[i]
			                                                  : timing->latency_stalls[i]};
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
