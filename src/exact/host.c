#include "exact/host.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* GB/s of a kernel at a level: the widest instruction set measured, on one thread or on the most. 0: not measured. */
static double kernel_gbs(const struct fm_machine *profile, enum fm_stream_kernel_index kernel, unsigned level, bool all)
{
	const struct fm_bandwidth *best = NULL;

	for (unsigned i = 0; i < profile->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &profile->bandwidths[i];

		if (point->level != level || point->kernel != kernel || !point->gbs.available)
			continue;
		if (!best || point->isa > best->isa ||
		    (all && point->isa == best->isa && point->threads > best->threads))
			if (all || point->threads == 1)
				best = point;
	}
	return best ? best->gbs.value : 0;
}

static double load_gbs(const struct fm_machine *profile, unsigned level, bool all)
{
	return kernel_gbs(profile, FM_STREAM_load, level, all);
}

static unsigned hundredths_per_line(double frequency, double gbs)
{
	return gbs > 0 ? (unsigned)fmin(100000, round(100 * 64 * frequency / gbs)) : 0;
}

int fm_description_from_profile(const struct fm_machine *profile, struct fm_machine_description *ret_description,
                                struct fm_error *error)
{
	const struct fm_level *memory = fm_machine_level(profile, "memory");
	struct fm_machine_description description = {
	    .sockets = 1, .line_bytes = 64, .page_bytes = 4096, .memory_write_percent = 100};
	unsigned cpus = profile->topology.cpus;

	if (!memory || !memory->latency_cycles.available || !profile->frequency_ghz.available)
		return fm_error_set(error, ENOTSUP,
		                    "the machine profile has no memory latency: run 'fathom machine' again");
	snprintf(description.name, sizeof(description.name), "host");
	snprintf(description.source, sizeof(description.source), "host");
	snprintf(description.title, sizeof(description.title), "%.60s, as profiled %s", profile->topology.processor,
	         profile->taken);
	description.frequency_ghz = profile->frequency_ghz.value;
	description.cores = cpus < 1 ? 1 : cpus > FM_SIMULATED_CORES_MAX ? FM_SIMULATED_CORES_MAX : cpus;
	for (unsigned i = 0; i < profile->level_count && description.cache_count < FM_SIMULATED_CACHES_MAX; i++) {
		const struct fm_level *level = &profile->levels[i];
		struct fm_cache_description *cache = &description.caches[description.cache_count];
		const struct fm_cache_description *above = description.cache_count ? cache - 1 : NULL;
		unsigned ways = 8;
		uint64_t sets;

		if (!level->effective_bytes.available || !level->latency_cycles.available)
			continue;
		for (unsigned k = 0; k < profile->topology.cache_count; k++)
			if (profile->topology.caches[k].bytes == level->advertised_bytes &&
			    profile->topology.caches[k].ways)
				ways = profile->topology.caches[k].ways;
		if (ways > 64)
			ways = 64;
		snprintf(cache->name, sizeof(cache->name), "%.11s", level->name);
		cache->ways = ways;
		/* A first-level cache is what it says; the curve crosses half-way a little beyond. Others are what they
		 * show. */
		sets =
		    (uint64_t)(fmin(level->effective_bytes.value, (double)level->advertised_bytes) / 64 / ways + 0.5);
		cache->bytes = (sets ? sets : 1) * 64 * ways;
		cache->latency = (unsigned)fmax(1, round(level->latency_cycles.value));
		cache->interval = hundredths_per_line(description.frequency_ghz, load_gbs(profile, i, false));
		/* a stored line is read first; what is left of its time is for writing it back */
		if (kernel_gbs(profile, FM_STREAM_store, i, false) > 0) {
			unsigned stored = hundredths_per_line(description.frequency_ghz,
			                                      kernel_gbs(profile, FM_STREAM_store, i, false));

			cache->write_interval = stored > cache->interval ? stored - cache->interval : 0;
		}
		cache->distance = 32;
		cache->shared_by = 1;
		/* only the last may be shared, and only by what divides the cores */
		if (level->shared_by > 1 && description.cores % level->shared_by == 0)
			cache->shared_by = level->shared_by;
		if (above && (cache->latency <= above->latency || cache->bytes <= above->bytes || above->shared_by > 1))
			continue;
		if (description.cache_count == 1) {
			cache->streams = 32;
			cache->crosses = 1;
		}
		description.cache_count++;
	}
	if (!description.cache_count)
		return fm_error_set(error, ENOTSUP, "the machine profile shows no cache: run 'fathom machine' again");
	memset(&description.caches[description.cache_count], 0,
	       sizeof(description.caches[0]) * (FM_SIMULATED_CACHES_MAX - description.cache_count));
	description.memory_latency = (unsigned)fmax(round(memory->latency_cycles.value),
	                                            description.caches[description.cache_count - 1].latency + 1);
	description.memory_remote_latency = description.memory_latency;
	description.memory_gbs = fmax(0.1, load_gbs(profile, profile->level_count - 1, true));
	description.memory_core_gbs = fmax(0.1, load_gbs(profile, profile->level_count - 1, false));
	description.tlbs[0] = (struct fm_tlb_description){64, 4, 7};
	description.tlbs[1] = (struct fm_tlb_description){2048, 16, 35};
	description.tlb_count = 2;
	/* what a profile cannot see is taken from a common core of today */
	description.core = (struct fm_core_description){.width = 4,
	                                                .window = 224,
	                                                .load_buffers = 72,
	                                                .store_buffers = 56,
	                                                .fill_buffers = 12,
	                                                .super_queue = 32,
	                                                .load_ports = 2,
	                                                .store_ports = 1,
	                                                .multiply_ports = 1,
	                                                .ports = 8};
	/* the same for memory, as a share of the time of reading a line */
	if (kernel_gbs(profile, FM_STREAM_store, profile->level_count - 1, false) > 0)
		description.memory_write_percent = (unsigned)fmin(
		    1000, fmax(0, 100 * (description.memory_core_gbs /
		                             kernel_gbs(profile, FM_STREAM_store, profile->level_count - 1, false) -
		                         1)));
	/* as many lines on their way as one core's bandwidth shows there are, and some to spare */
	description.core.super_queue =
	    (unsigned)fmin(256, fmax(description.core.super_queue,
	                             ceil(1.25 * description.memory_core_gbs * memory->latency_ns.value / 64)));
	if (profile->outstanding_misses.available)
		description.core.fill_buffers = (unsigned)fmin(64, fmax(2, round(profile->outstanding_misses.value)));
	*ret_description = description;
	return 0;
}
