#include "profile/simulated_host.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/family.h"
#include "profile/host_bandwidth.h"
#include "profile/tuning.h"

/* Any will do; a fixed one makes runs repeatable. */
enum { PHYSICAL_SEED = 1 };

/* GB/s of memory when nothing at all was measured. */
enum { DEFAULT_GBS = 10 };

/* On a climb some accesses already miss, which the simulated cache reproduces. The latency is therefore that of its
   beginning, whose first sizes still hit the cache above. No last cache is less than three times as far as the one
   above. */
static double latency_of(const struct fm_level *level, const struct fm_cache_description *above)
{
	const double farther = 3;
	const struct fm_figure *latency = &level->latency_cycles;

	if (!level->no_plateau)
		return latency->value;
	return fmin(latency->high, fmax(latency->low, above ? farther * above->latency : 0));
}

/* Of memory. If a disturbed measurement lacks it: the bandwidth of other kernels, or of the misses in flight at that
   latency (Little's law). */
static double memory_gbs(const struct fm_machine *profile, const struct fm_level *memory, bool all)
{
	static const enum fm_stream_kernel_index kernels[] = {FM_STREAM_load, FM_STREAM_stream_triad, FM_STREAM_copy,
	                                                      FM_STREAM_store};
	unsigned level = (unsigned)(memory - profile->levels);

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct fm_stream_kernel *kernel = &fm_streams[kernels[i]];
		double gbs = fm_host_gbs(profile, kernels[i], level, all);

		/* lines that are written are read first */
		if (gbs > 0)
			return gbs * (1 + (double)kernel->write_allocate_bytes /
			                      (kernel->loaded_bytes + kernel->stored_bytes));
	}
	return profile->outstanding_misses.available && memory->latency_ns.available && memory->latency_ns.value > 0
	           ? profile->outstanding_misses.value * 64 / memory->latency_ns.value
	           : DEFAULT_GBS;
}

static unsigned hundredths_of_cycles(const struct fm_machine_description *description, double ns)
{
	return (unsigned)fmax(0, fmin(100000, round(100 * description->frequency_ghz * ns)));
}

/* A profile is a file: a number that no machine has stays too large, and is refused in the end. */
static unsigned cycles(double value)
{
	return (unsigned)fmax(1, fmin(1e9, round(value)));
}

/* Remarks at the end of the title: differences between the simulated machine and the measured one. */
struct remarks {
	char text[72];
};

static void remark(struct remarks *remarks, const char *format, const char *name)
{
	size_t used = strlen(remarks->text);

	used += (size_t)snprintf(remarks->text + used, sizeof(remarks->text) - used, "; ");
	if (used < sizeof(remarks->text))
		snprintf(remarks->text + used, sizeof(remarks->text) - used, format, name);
}

/* Nodes with processors; nodes of memory alone do not count. Profiles of earlier versions distinguish them by
   measurements only. */
static unsigned count_nodes(const struct fm_machine *profile)
{
	unsigned count = 0;

	if (profile->topology.cpu_nodes)
		return profile->topology.cpu_nodes;

	for (unsigned i = 0; i < profile->numa_count; i++) {
		bool seen = false;

		for (unsigned k = 0; k < i; k++)
			seen |= profile->numa[k].cpu_node == profile->numa[i].cpu_node;
		count += !seen;
	}
	return count ? count : profile->topology.nodes;
}

static unsigned between(unsigned least, unsigned value, unsigned most)
{
	value = value > most ? most : value;
	return value < least ? least : value;
}

/* Sockets, cores and hardware threads. Their product is at least the number of CPUs, if possible. With an uneven
   division there are more, and with hybrid cores all have the threads of the first: threads take whole cores first, so
   that the surplus is used last. */
static void set_shape(const struct fm_machine *profile, struct fm_machine_description *description,
                      struct remarks *remarks)
{
	const struct fm_topology *topology = &profile->topology;
	unsigned cpus = between(1, topology->cpus, UINT_MAX), nodes = count_nodes(profile);
	unsigned first_shared = profile->level_count ? profile->levels[0].shared_by : 1;
	unsigned threads = topology->cores ? (cpus + topology->cores - 1) / topology->cores : 1;
	unsigned cores;

	/* CPUs with one first cache are threads of one core, whatever else is said of them */
	if (first_shared > threads)
		threads = first_shared;
	if (threads > FM_SIMULATED_THREADS_MAX)
		threads = 1;
	cores = (cpus + threads - 1) / threads;
	if (topology->cores < cpus && topology->cores * threads > cpus) {
		cores = topology->cores;
		remark(remarks, "all cores %s", "like the first");
	}
	if (nodes > FM_SIMULATED_SOCKETS_MAX)
		nodes = between(1, topology->packages, FM_SIMULATED_SOCKETS_MAX);
	description->threads = threads;
	description->sockets = between(1, nodes, cores);
	cores = (cores + description->sockets - 1) / description->sockets;
	description->cores = between(1, cores, FM_SIMULATED_CORES_MAX / (description->sockets * threads));
	if (description->cores < cores) {
		char counts[32];

		snprintf(counts, sizeof(counts), "%u of %u", fm_description_cpus(description), cpus);
		remark(remarks, "%s CPUs", counts);
	}
}

/* The cache of a level in the topology: that number, else that size. */
static const struct fm_cache *find_cache(const struct fm_topology *topology, const struct fm_level *level)
{
	unsigned number;

	if (sscanf(level->name, "L%u", &number) == 1)
		for (unsigned i = 0; i < topology->cache_count; i++)
			if (topology->caches[i].level == number && topology->caches[i].bytes == level->advertised_bytes)
				return &topology->caches[i];
	for (unsigned i = 0; i < topology->cache_count; i++)
		if (topology->caches[i].bytes == level->advertised_bytes)
			return &topology->caches[i];
	return NULL;
}

/* Sets and ways as advertised; what neighbours take of them shows in the measured capacity. */
static void set_geometry(const struct fm_machine *profile, unsigned line_bytes, const struct fm_level *level,
                         struct fm_cache_description *cache)
{
	const struct fm_cache *advertised = find_cache(&profile->topology, level);
	uint64_t lines = (level->advertised_bytes ? level->advertised_bytes
	                                          : (uint64_t)fmin(1e15, fmax(0, level->effective_bytes.value))) /
	                 line_bytes,
	         effective = (uint64_t)(fmin(1e15, fmax(0, level->effective_bytes.value)) / line_bytes);

	cache->ways = between(1, advertised && advertised->ways ? advertised->ways : 8, 64);
	lines = lines ? lines : 1;
	/* hypervisors make up sizes that their ways do not divide */
	while (lines % cache->ways)
		cache->ways--;
	cache->bytes = lines * line_bytes;
	if (effective && effective < lines)
		cache->available = effective * line_bytes;
}

/* Cores that share a cache. Only the last of several caches can be shared; the first is private. */
static unsigned shared_by_cores(const struct fm_machine *profile, const struct fm_machine_description *description,
                                const struct fm_level *level)
{
	/* a cache of all CPUs is one of all cores, also where some of these have fewer threads */
	if (level->shared_by > 1 && (uint64_t)level->shared_by * description->sockets >= profile->topology.cpus)
		return description->cores;
	return between(1, (level->shared_by + description->threads - 1) / description->threads, description->cores);
}

/* A cache under several nodes (sub-NUMA clusters): each simulated socket has its part of it. */
static void split_cache(const struct fm_machine *profile, unsigned sockets, const struct fm_level *level,
                        struct fm_cache_description *cache, unsigned line_bytes, struct remarks *remarks)
{
	unsigned cpus = profile->topology.cpus, parts = cpus ? (level->shared_by * sockets + cpus / 2) / cpus : 0;
	uint64_t lines;

	if (sockets == 1 || parts < 2)
		return;
	lines = cache->bytes / line_bytes / parts;
	lines = lines ? lines : 1;
	while (lines % cache->ways)
		cache->ways--;
	cache->bytes = lines * line_bytes;
	if (cache->available >= cache->bytes)
		cache->available = 0;
	remark(remarks, "%s in parts", cache->name);
}

/* A figure as a whole number; `usual` where it was not measured. */
static unsigned whole_or(const struct fm_figure *figure, unsigned usual, unsigned most)
{
	return figure->available ? between(1, (unsigned)fmin(1e6, fmax(0, round(figure->value))), most) : usual;
}

static bool mostly(const struct fm_figure *share, bool usual)
{
	return share->available ? share->value > 0.5 : usual;
}

/* Prefetchers of the second cache. Unmeasured parameters are those of a common core of today. */
static void set_prefetchers(const struct fm_machine *profile, struct fm_cache_description *cache)
{
	const struct fm_figure *found = profile->prefetch, *streams = &found[FM_PREFETCH_prefetch_streams],
	                       *distance = &found[FM_PREFETCH_prefetch_distance],
	                       *strides = &found[FM_PREFETCH_prefetch_strides],
	                       *gaps = &found[FM_PREFETCH_prefetch_gaps], *jumps = &found[FM_PREFETCH_prefetch_jumps],
	                       *pages = &found[FM_PREFETCH_prefetch_pages];

	cache->streams = 32;
	cache->crosses = 1;
	if (!profile->prefetch_measured)
		return;
	if (mostly(&found[FM_PREFETCH_prefetch_next], false))
		cache->adjacent = FM_ADJACENT_NEXT;
	if (mostly(&found[FM_PREFETCH_prefetch_adjacent], false))
		cache->adjacent = FM_ADJACENT_PAIR;
	cache->crosses = mostly(&found[FM_PREFETCH_prefetch_crosses], cache->crosses);
	if (streams->available)
		cache->streams = streams->value < 1 ? 0 : whole_or(streams, 32, 64);
	if (distance->available && distance->value >= 1)
		cache->distance = whole_or(distance, 32, 64);
	cache->beyond = found[FM_PREFETCH_prefetch_beyond].available && found[FM_PREFETCH_prefetch_beyond].value >= 1
	                    ? whole_or(&found[FM_PREFETCH_prefetch_beyond], 1, 64)
	                    : 0;
	/* strides of a single instruction are not used: those prefetchers run a few steps ahead, the simulated one as
	   far as for streams */
	if (strides->available && strides->value >= 1)
		cache->strides = whole_or(strides, 1, 32);
	if (gaps->available && gaps->value >= 1)
		cache->gaps = whole_or(gaps, 1, 32);
	cache->back = found[FM_PREFETCH_prefetch_back].available && found[FM_PREFETCH_prefetch_back].value > BACK_FOUND;
	if (jumps->available && jumps->value >= 1)
		cache->jumps = whole_or(jumps, 1, 2);
	/* the simulated one follows streams in as many pages as jumps */
	if (cache->jumps && cache->streams && pages->available)
		cache->streams = between(cache->streams, whole_or(pages, 1, 64), 64);
}

static void set_caches(const struct fm_machine *profile, struct fm_machine_description *description,
                       struct remarks *remarks)
{
	for (unsigned i = 0; i < profile->level_count && description->cache_count < FM_SIMULATED_CACHES_MAX; i++) {
		const struct fm_level *level = &profile->levels[i];
		struct fm_cache_description *cache = &description->caches[description->cache_count];
		struct fm_cache_description *above = description->cache_count ? cache - 1 : NULL;
		struct fm_line_times times;

		if (!strcmp(level->name, "memory"))
			continue;
		if (!level->effective_bytes.available || !level->latency_cycles.available) {
			remark(remarks, "%s not seen", level->name);
			continue;
		}
		snprintf(cache->name, sizeof(cache->name), "%.11s", level->name);
		set_geometry(profile, description->line_bytes, level, cache);
		/* a first-level cache has its advertised size; the curve crosses half-way a little beyond */
		if (!above)
			cache->available = 0;
		cache->latency = cycles(fmax(above ? above->latency + 1.0 : 1, latency_of(level, above)));
		times = fm_host_line_times(profile, i, description->line_bytes);
		cache->interval = hundredths_of_cycles(description, times.read);
		cache->write_interval = hundredths_of_cycles(description, times.written);
		cache->distance = 32;
		cache->shared_by = above ? shared_by_cores(profile, description, level) : 1;
		split_cache(profile, description->sockets, level, cache, description->line_bytes, remarks);
		if (above && above->shared_by > 1) {
			remark(remarks, "%s as if private", above->name);
			above->shared_by = 1;
		}
		if (description->cache_count == 1)
			set_prefetchers(profile, cache);
		if (level->life_ns.available)
			cache->life = (unsigned)fmax(1, fmin(1e9, round(level->life_ns.value / 1e3)));
		description->cache_count++;
	}
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

enum pair_figure { PAIR_LATENCY, PAIR_BANDWIDTH };

/* The median over the pairs of nodes, of memory that is the CPUs' own or not; 0: not measured. */
static double median_of_pairs(const struct fm_machine *profile, bool remote, enum pair_figure which)
{
	double values[FM_NODES_MAX * FM_NODES_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < profile->numa_count && count < FM_NODES_MAX * FM_NODES_MAX; i++) {
		const struct fm_numa_pair *pair = &profile->numa[i];
		const struct fm_figure *figure = which == PAIR_LATENCY ? &pair->latency_ns : &pair->gbs;

		if ((pair->cpu_node != pair->memory_node) == remote && figure->available && figure->value > 0)
			values[count++] = figure->value;
	}
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* In cycles. Memory is measured far beyond all caches, where its latency includes translation, which is simulated
   separately. On huge pages, at a few times the effective size of the last cache, translation hardly counts. */
static double memory_latency(const struct fm_machine *profile, const struct fm_level *memory)
{
	enum { POINTS = 128 };
	const struct fm_level *last = memory > profile->levels ? memory - 1 : NULL;
	const struct fm_latency_curve *curve = &profile->curves[FM_PAGES_HUGE];
	struct fm_curve_point points[POINTS];
	unsigned count = 0;
	double ns;

	if (!last || !last->effective_bytes.available || !last->latency_ns.available)
		return memory->latency_cycles.value;
	for (unsigned i = 0; i < curve->count && count < POINTS; i++)
		if (curve->points[i].ns.available && curve->points[i].ns.value > 0)
			points[count++] = (struct fm_curve_point){.bytes = (double)curve->points[i].bytes,
			                                          .ns = curve->points[i].ns.value};
	if (!count || points[count - 1].bytes < MEMORY_BEYOND * last->effective_bytes.value)
		return memory->latency_cycles.value;
	ns = fm_levels_ns_at(points, count, MEMORY_BEYOND * last->effective_bytes.value);
	/* never as little as a part of the last cache's hits would make it */
	return fmin(memory->latency_cycles.value,
	            profile->frequency_ghz.value * fmax(ns, MEMORY_ABOVE_LAST * last->latency_ns.value));
}

/* Writing a line back as a share of the time of reading one. What stores take beyond both is for asking. */
static void set_memory_writes(const struct fm_machine *profile, unsigned level, double store_gbs,
                              struct fm_machine_description *description)
{
	struct fm_line_times times = fm_host_mixed_line_times(profile, level, description->line_bytes);
	double share = times.read > 0 && times.written > 0 ? times.written / times.read : 0;

	if (!(store_gbs > 0))
		return;
	share = fmin(share, fmax(0, description->memory_core_gbs / store_gbs - 1));
	description->memory_write_percent = (unsigned)fmin(1000, round(100 * share));
	/* by less than a tenth: writing takes that long */
	if (description->memory_core_gbs > STORES_SLOWER * (1 + share) * store_gbs)
		description->store_core_gbs = fmax(LEAST_GBS, store_gbs);
	else
		description->memory_write_percent =
		    (unsigned)fmin(1000, fmax(0, 100 * (description->memory_core_gbs / store_gbs - 1)));
}

static void set_memory(const struct fm_machine *profile, const struct fm_level *memory,
                       struct fm_machine_description *description, struct remarks *remarks)
{
	unsigned level = (unsigned)(memory - profile->levels), sockets = description->sockets;
	double own_latency = median_of_pairs(profile, false, PAIR_LATENCY),
	       remote_latency = median_of_pairs(profile, true, PAIR_LATENCY),
	       own_gbs = median_of_pairs(profile, false, PAIR_BANDWIDTH),
	       remote_gbs = median_of_pairs(profile, true, PAIR_BANDWIDTH),
	       store_gbs = fm_host_gbs(profile, FM_STREAM_store, level, false), ratio;

	description->memory_latency = cycles(
	    fmax(memory_latency(profile, memory), description->caches[description->cache_count - 1].latency + 1.0));
	description->memory_remote_latency = description->memory_latency;
	description->memory_core_gbs = fmax(LEAST_GBS, memory_gbs(profile, memory, false));
	/* programs have small pages unless they ask for others, or everybody is given them */
	if (!profile->huge_always && profile->small_pages[FM_SMALL_PAGES_LOAD].available)
		description->memory_core_gbs = profile->small_pages[FM_SMALL_PAGES_LOAD].value;
	if (!profile->huge_always && profile->small_pages[FM_SMALL_PAGES_STORE].available)
		store_gbs = profile->small_pages[FM_SMALL_PAGES_STORE].value;
	/* all threads together have the memory of all sockets */
	description->memory_gbs =
	    fmax(LEAST_GBS, sockets > 1 && own_gbs > 0 ? own_gbs : memory_gbs(profile, memory, true) / sockets);
	set_memory_writes(profile, level, store_gbs, description);
	if (sockets == 1)
		return;
	if (!(remote_latency > 0) || !(remote_gbs > 0))
		remark(remarks, "%s memory assumed", "remote");
	ratio = remote_latency > 0
	            ? fmax(1, remote_latency / (own_latency > 0 ? own_latency : memory->latency_ns.value))
	            : ASSUMED_REMOTE_LATENCY;
	description->memory_remote_latency = cycles(ratio * description->memory_latency);
	description->remote_gbs =
	    fmax(LEAST_GBS, remote_gbs > 0 ? remote_gbs : ASSUMED_REMOTE_BANDWIDTH * description->memory_gbs);
	/* one core has as many requests on their way as to its own memory, and waits longer for each */
	description->remote_core_gbs =
	    fmax(LEAST_GBS, fmin(description->remote_gbs, description->memory_core_gbs / ratio));
}

/* A number per cycle, from the upper end: disturbance only lowers it. */
static unsigned rate_or(const struct fm_figure *figure, unsigned usual, unsigned most)
{
	return figure->available ? between(1, (unsigned)fmin(1e6, fmax(0, round(figure->high))), most) : usual;
}

/* … in hundredths; 0: not known. */
static unsigned hundredths_of(const struct fm_figure *figure, unsigned least)
{
	return figure->available ? between(least, (unsigned)round(100 * fmin(8, fmax(0, figure->high))), 800) : 0;
}

/* Whole cycles; 0: none, or not known. */
static unsigned waits_of(const struct fm_figure *figure)
{
	return figure->available ? (unsigned)fmin(255, fmax(0, round(figure->value))) : 0;
}

static void set_core(const struct fm_machine *profile, struct fm_core_description *core)
{
	const struct fm_figure *found = profile->core;

	core->width = rate_or(&found[FM_CORE_width], core->width, 16);
	core->window = whole_or(&found[FM_CORE_window], core->window, 1024);
	core->load_buffers = whole_or(&found[FM_CORE_load_buffers], core->load_buffers, 512);
	core->store_buffers = whole_or(&found[FM_CORE_store_buffers], core->store_buffers, 512);
	core->load_ports = rate_or(&found[FM_CORE_loads_8], core->load_ports, 8);
	core->store_ports = rate_or(&found[FM_CORE_stores_8], core->store_ports, 8);
	for (unsigned i = 0; i < FM_ACCESS_WIDTHS - 1; i++) {
		core->wide_loads[i] = hundredths_of(&found[FM_CORE_loads_16 + i], 100);
		core->wide_stores[i] = hundredths_of(&found[FM_CORE_stores_16 + i], 10);
	}
	if (found[FM_CORE_misprediction].available && found[FM_CORE_misprediction].value >= 1)
		core->misprediction = whole_or(&found[FM_CORE_misprediction], 0, 255);
	if (found[FM_CORE_forward].available)
		core->forward = whole_or(&found[FM_CORE_forward], FM_FORWARD_LATENCY, 255);
	if (found[FM_CORE_reload].available)
		core->reload = whole_or(&found[FM_CORE_reload], FM_FORWARD_LATENCY, 255);
	if (found[FM_CORE_blocked].available)
		core->blocked = whole_or(&found[FM_CORE_blocked], FM_FORWARD_LATENCY, 255);
	if (found[FM_CORE_taken].available && found[FM_CORE_taken_wait].available) {
		/* the kernel's branches are a line apart, which makes some that are kept by their addresses collide */
		core->taken = between(4, (unsigned)fmin(1e6, fmax(0, found[FM_CORE_taken].high)), 1 << 20);
		core->taken_wait = whole_or(&found[FM_CORE_taken_wait], 1, 255);
	}
	core->return_wait = waits_of(&found[FM_CORE_return_wait]);
	core->indirect_wait = waits_of(&found[FM_CORE_indirect_wait]);
	/* if it takes longer than what eight instructions, which a line of the kernel is, take anyway */
	if (found[FM_CORE_code_bytes].available && found[FM_CORE_code_interval].available &&
	    found[FM_CORE_code_interval].value > 8.0 / core->width) {
		/* a step of the kernel has whole sets of any line */
		core->code_bytes =
		    between(1, (unsigned)fmin(128, found[FM_CORE_code_bytes].low / FM_CORE_CODE_STEP), 128) *
		    FM_CORE_CODE_STEP;
		core->code_ways = FM_CODE_WAYS;
		core->code_interval =
		    between(1, (unsigned)round(100 * fmin(255, found[FM_CORE_code_interval].value)), 25500);
	}
	/* whatever takes a cycle has as many units as additions have */
	if (found[FM_CORE_additions].available && found[FM_CORE_additions].high >= 1)
		core->operations[FM_OPERATION_simple] = (struct fm_operation_description){
		    .latency = 1,
		    .interval = (unsigned)round(100 / fmin(16, found[FM_CORE_additions].high)),
		    .given = true};
	if (found[FM_CORE_shifts].available && found[FM_CORE_shifts].high >= 1)
		core->operations[FM_OPERATION_shift] = (struct fm_operation_description){
		    .latency = 1,
		    .interval = (unsigned)round(100 / fmin(16, found[FM_CORE_shifts].high)),
		    .given = true};
	for (unsigned i = 0; i < FM_CORE_OPERATIONS; i++) {
		const struct fm_figure *latency = &found[fm_core_operations[i].latency],
		                       *interval = &found[fm_core_operations[i].interval];
		unsigned most = fm_operation_unit(fm_core_operations[i].operation) == FM_UNIT_SERIAL
		                    ? FM_OPERATION_CYCLES_MAX
		                    : 255;

		if (latency->available && interval->available)
			core->operations[fm_core_operations[i].operation] = (struct fm_operation_description){
			    .latency = between(1, (unsigned)round(fmin(most, fmax(0, latency->value))), most),
			    .interval =
			        between(0, (unsigned)round(100 * fmin(most, fmax(0, interval->value))), 100 * most),
			    .given = true};
	}
	if (found[FM_CORE_multiply_interval].available && found[FM_CORE_multiply_interval].value > 0)
		core->multiply_ports =
		    between(1, (unsigned)round(fmin(8, 1 / found[FM_CORE_multiply_interval].value)), 8);
}

/* One after the other on a line that no other core wants: each waits for the one before. */
static void set_atomic(const struct fm_machine *profile, struct fm_machine_description *description)
{
	for (unsigned i = 0; i < profile->contention_count; i++) {
		const struct fm_contention_point *point = &profile->contentions[i];
		double cycles;

		if (point->threads != 1 || point->kind != FM_CONTENTION_ATOMIC || !point->ns.available)
			continue;
		cycles = fmin(255, fmax(1, description->frequency_ghz * point->ns.value));
		description->core.operations[FM_OPERATION_atomic] = (struct fm_operation_description){
		    .latency = between(1, (unsigned)fmax(1, round(cycles - description->caches[0].latency)), 255),
		    .interval = (unsigned)round(100 * cycles),
		    .given = true};
	}
}

/* Lines that neighbours bring along are none that loads wait for: these were chased without them. */
static void set_buffers(const struct fm_machine *profile, struct fm_core_description *core)
{
	const struct fm_figure *fill_buffers = &profile->prefetch[FM_PREFETCH_fill_buffers],
	                       *queue = &profile->prefetch[FM_PREFETCH_queue];

	if (fill_buffers->available)
		core->fill_buffers = between(2, whole_or(fill_buffers, core->fill_buffers, 64), 64);
	if (queue->available && queue->value > core->super_queue)
		core->super_queue = whole_or(queue, core->super_queue, 256);
}

/* As many pages as were seen to fit: a number that its ways divide. */
static void set_translation(const struct fm_machine *profile, struct fm_tlb_description *tlbs)
{
	static const struct {
		enum fm_translation_parameter entries, penalty;
	} measured[] = {{FM_TRANSLATION_tlb1_entries, FM_TRANSLATION_tlb1_penalty},
	                {FM_TRANSLATION_tlb2_entries, FM_TRANSLATION_walk}};

	for (unsigned i = 0; i < 2; i++) {
		const struct fm_figure *entries = &profile->translation[measured[i].entries],
		                       *penalty = &profile->translation[measured[i].penalty];

		if (entries->available)
			tlbs[i].entries = between(tlbs[i].ways, (unsigned)fmin(65536, fmax(0, entries->low)), 65536) /
			                  tlbs[i].ways * tlbs[i].ways;
		if (penalty->available)
			tlbs[i].penalty = (unsigned)fmin(10000, fmax(0, round(penalty->value)));
	}
}

/* Unmeasured parameters, as published of the family. */
static void fill_in(const struct fm_family *family, struct fm_machine *profile)
{
	for (unsigned i = 0; i < fm_machine_core_figures(profile); i++) {
		struct fm_core_figure core = fm_machine_core_figure(profile, i);
		struct fm_figure figure = fm_family_or_published(core.figure, family, core.name);

		if (i < FM_CORE_PARAMETERS)
			profile->core[i] = figure;
		else if (i < FM_CORE_PARAMETERS + FM_TRANSLATION_PARAMETERS)
			profile->translation[i - FM_CORE_PARAMETERS] = figure;
	}
	profile->core_measured = true;
}

/* Core and translation: measured, else published of the family, else of a common core of today. */
static int set_core_and_translation(const struct fm_machine *profile, struct fm_machine_description *description,
                                    struct fm_error *error)
{
	const struct fm_family *family = fm_family_of(&profile->topology);
	struct fm_figure fill_buffers = fm_family_or_published(&profile->outstanding_misses, family, "fill_buffers"),
	                 queue = fm_family_figure(family, "queue");
	struct fm_machine *filled = malloc(sizeof(*filled));

	if (!filled)
		return fm_error_set(error, ENOMEM, "out of memory");
	*filled = *profile;
	if (family)
		fill_in(family, filled);
	if (filled->core_measured) {
		set_core(filled, &description->core);
		set_translation(filled, description->tlbs);
	}
	free(filled);
	/* without a penalty, branches would be free */
	if (!description->core.misprediction)
		description->core.misprediction = ASSUMED_MISPREDICTION;
	if (fill_buffers.available)
		description->core.fill_buffers = (unsigned)fmin(64, fmax(2, round(fill_buffers.value)));
	if (queue.available)
		description->core.super_queue = (unsigned)queue.value;
	return 0;
}

int fm_description_from_profile(const struct fm_machine *profile, struct fm_machine_description *ret_description,
                                struct fm_error *error)
{
	const struct fm_level *memory = fm_machine_level(profile, "memory");
	struct fm_machine_description description = {.line_bytes = 64,
	                                             .page_bytes = 4096,
	                                             .physical = PHYSICAL_SEED,
	                                             .memory_write_percent = 100,
	                                             .string_allocates = 1};
	struct fm_error range = {0};
	struct remarks remarks = {""};
	int room, status;

	if (!memory || !memory->latency_cycles.available || !profile->frequency_ghz.available)
		return fm_error_set(error, ENOTSUP,
		                    "the machine profile has no memory latency: run 'fathom machine' again");
	snprintf(description.name, sizeof(description.name), "host");
	snprintf(description.source, sizeof(description.source), "host");
	description.frequency_ghz = profile->frequency_ghz.value;
	if (profile->topology.cache_count) {
		unsigned line = profile->topology.caches[0].line_bytes;

		if (line >= 16 && line <= 1024 && !(line & (line - 1)))
			description.line_bytes = line;
	}
	if (profile->profiled_ghz > 0) {
		char clocks[48];

		snprintf(clocks, sizeof(clocks), "%.2f GHz now, %.2f then", profile->frequency_ghz.value,
		         profile->profiled_ghz);
		remark(&remarks, "%s", clocks);
	}
	set_shape(profile, &description, &remarks);
	set_caches(profile, &description, &remarks);
	if (!description.cache_count)
		return fm_error_set(error, ENOTSUP, "the machine profile shows no cache: run 'fathom machine' again");
	set_memory(profile, memory, &description, &remarks);
	/* what neither the profile nor the table of families has is taken from a common core of today */
	description.tlbs[0] = (struct fm_tlb_description){64, 4, 7};
	description.tlbs[1] = (struct fm_tlb_description){2048, 16, 35};
	description.tlb_count = 2;
	description.core = (struct fm_core_description){.width = 4,
	                                                .window = 224,
	                                                .load_buffers = 72,
	                                                .store_buffers = 56,
	                                                .fill_buffers = 12,
	                                                .super_queue = 32,
	                                                .load_ports = 2,
	                                                .store_ports = 1,
	                                                .multiply_ports = 1,
	                                                .ports = 8,
	                                                .walkers = 2};
	status = set_core_and_translation(profile, &description, error);
	if (status)
		return status;
	/* as many lines on their way as one core's bandwidth shows there are, and some to spare */
	description.core.super_queue = (unsigned)fmin(
	    256, fmax(description.core.super_queue, ceil(QUEUE_SPARE * description.memory_core_gbs *
	                                                 memory->latency_ns.value / description.line_bytes)));
	/* whether string instructions read the lines they overwrite; unless it was measured, they do as other stores do
	 */
	if (profile->string_stores.clear_allocates.available)
		description.string_allocates = profile->string_stores.clear_allocates.value > 0.5;
	if (profile->prefetch_measured)
		set_buffers(profile, &description.core);
	set_atomic(profile, &description);
	/* the processor's name gives way to the remarks */
	room =
	    (int)(sizeof(description.title) - sizeof(", as profiled ") - strlen(profile->taken) - strlen(remarks.text));
	snprintf(description.title, sizeof(description.title), "%.*s, as profiled %s%s", room > 8 ? room : 8,
	         profile->topology.processor, profile->taken, remarks.text);
	if (fm_description_check(&description, &range))
		return fm_error_set(error, ENOTSUP,
		                    "the machine profile is not usable (%s): run 'fathom machine' again",
		                    range.message);
	*ret_description = description;
	return 0;
}
