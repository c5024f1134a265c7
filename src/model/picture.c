#include "model/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact/numbers.h"

/* A thread that did less than this share of what the busiest did was not there to work. */
#define IDLE 0.001

/* Bytes that a kernel really moves at a level below the first cache, for each that it loads and stores. */
static double traffic_factor(enum fm_stream_kernel_index index, unsigned level)
{
	const struct fm_stream_kernel *kernel = &fm_stream_kernels[index];
	double own = kernel->loaded_bytes + kernel->stored_bytes;

	return level && own > 0 ? (own + kernel->write_allocate_bytes) / own : 1;
}

struct fm_figure fm_picture_measured_peak(const struct fm_machine *profile, const char *name, unsigned threads)
{
	struct fm_figure best = fm_figure_unavailable("the profile has no bandwidth of this level");
	unsigned most = 1;

	/* one thread, or as many as were measured */
	for (unsigned i = 0; i < profile->bandwidth_count; i++)
		if (profile->bandwidths[i].threads > most)
			most = profile->bandwidths[i].threads;
	for (unsigned i = 0; i < profile->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &profile->bandwidths[i];
		struct fm_figure traffic;

		if (point->level >= profile->level_count || strcmp(profile->levels[point->level].name, name) ||
		    !point->gbs.available || point->threads != (threads > 1 ? most : 1))
			continue;
		traffic = fm_figure_scaled(&point->gbs, traffic_factor(point->kernel, point->level), "GB/s");
		if (!best.available || traffic.value > best.value)
			best = traffic;
	}
	return best;
}

/* `written` is the share of writes in what is moved: a line written takes another time than one read. */
static struct fm_figure described_peak(const struct fm_machine_description *machine, unsigned level, unsigned threads,
                                       double written)
{
	double gbs = 0, one;

	if (threads > machine->cores * machine->sockets)
		threads = machine->cores * machine->sockets;
	if (!level) {
		gbs = threads * (machine->core.load_ports + machine->core.store_ports) * 32 * machine->frequency_ghz;
	} else if (level < machine->cache_count) {
		if (!machine->caches[level].interval)
			return fm_figure_unavailable("the machine's description does not limit it");
		gbs = threads * machine->line_bytes * machine->frequency_ghz * 100 / machine->caches[level].interval;
	} else {
		one = machine->memory_core_gbs > 0 ? machine->memory_core_gbs : machine->memory_gbs;
		gbs = fmin(threads * one, machine->memory_gbs * (threads > machine->cores ? machine->sockets : 1)) /
		      fmax(0.01, 1 - written + written * machine->memory_write_percent / 100.0);
	}
	return fm_figure_make(gbs, gbs, gbs, "GB/s", FM_ORIGIN_modelled, machine->name, 1);
}

struct fm_figure fm_picture_peak(const struct fm_machine_description *machine, const struct fm_machine *profile,
                                 const struct fm_picture_level *moved, unsigned level, unsigned threads)
{
	const char *name = level < machine->cache_count ? machine->caches[level].name : "memory";
	double read = (moved->read_bytes.available ? moved->read_bytes.value : 0) +
	              (moved->allocate_bytes.available ? moved->allocate_bytes.value : 0),
	       written = moved->write_bytes.available ? moved->write_bytes.value : 0;

	return profile ? fm_picture_measured_peak(profile, name, threads)
	               : described_peak(machine, level, threads, written > 0 ? written / (read + written) : 0);
}

struct fm_figure fm_picture_share(const struct fm_figure *part, const struct fm_figure *whole)
{
	if (!part->available)
		return *part;
	if (!whole->available)
		return *whole;
	return fm_figure_make(part->value / whole->value, part->low / whole->high, part->high / fmax(whole->low, 1e-9),
	                      "", part->origin, part->backend, part->trials);
}

static struct fm_figure simulated(double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_simulated, "exact", 1);
}

static void fill_traffic(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                         unsigned level, struct fm_picture_level *ret)
{
	double line = machine->line_bytes, read, allocated = 0, written;

	if (!level) {
		read = (double)counts->load_bytes;
		written = (double)counts->store_bytes;
	} else if (level < machine->cache_count) {
		const struct fm_cache_counts *above = &counts->caches[level - 1];

		read = line * (double)(above->lines_demand + above->lines_prefetch - above->lines_prefetch_ownership);
		allocated = line * (double)(above->lines_ownership + above->lines_prefetch_ownership);
		written = line * (double)above->lines_written;
	} else {
		const struct fm_cache_counts *last = &counts->caches[machine->cache_count - 1];

		allocated = fmin((double)(last->lines_ownership + last->lines_prefetch_ownership),
		                 (double)counts->memory_reads);
		read = line * ((double)counts->memory_reads - allocated);
		allocated *= line;
		written = line * (double)counts->memory_writes;
	}
	ret->read_bytes = simulated(read, "B");
	ret->allocate_bytes = simulated(allocated, "B");
	ret->write_bytes = simulated(written, "B");
}

/* Bytes over time: simulated counts over measured time are combined, over simulated time simulated. `off` is how far
   the counts may be off, as kernels on this machine showed. */
static struct fm_figure rate(double bytes, const struct fm_figure *seconds, double off)
{
	double gb = bytes * 1e-9;

	if (!seconds->available)
		return *seconds;
	if (!(seconds->low > 0))
		return fm_figure_unavailable("there is no time to divide by");
	return fm_figure_make(gb / seconds->value, gb / seconds->high * fmax(0, 1 - off), gb / seconds->low * (1 + off),
	                      "GB/s", seconds->origin == FM_ORIGIN_measured ? FM_ORIGIN_combined : FM_ORIGIN_simulated,
	                      "exact", seconds->trials);
}

static void fill_cycles(const struct fm_timing_counts *timing, struct fm_picture *picture)
{
	static const enum fm_stall latencies[] = {FM_STALL_latency_second, FM_STALL_latency_third,
	                                          FM_STALL_latency_memory, FM_STALL_latency_remote,
	                                          FM_STALL_latency_core,   FM_STALL_translation},
	                           bandwidths[] = {FM_STALL_bandwidth_second, FM_STALL_bandwidth_third,
	                                           FM_STALL_bandwidth_memory, FM_STALL_stores};
	double latency = 0, bandwidth = 0, active = (double)timing->cycles, stall = (double)timing->no_execute;

	for (size_t i = 0; i < sizeof(latencies) / sizeof(latencies[0]); i++)
		latency += (double)timing->stalls[latencies[i]];
	for (size_t i = 0; i < sizeof(bandwidths) / sizeof(bandwidths[0]); i++)
		bandwidth += (double)timing->stalls[bandwidths[i]];
	picture->active = simulated(active, "cycles");
	picture->stall = simulated(stall, "cycles");
	picture->productive = simulated(active - stall, "cycles");
	picture->latency_bound = simulated(latency, "cycles");
	picture->bandwidth_bound = simulated(bandwidth, "cycles");
	picture->memory_bound = simulated(latency + bandwidth, "cycles");
	picture->other_stall = simulated(stall - latency - bandwidth, "cycles");
}

/* The level whose bandwidth full store buffers wait for: the one that is used most of what it can do. */
static unsigned busiest(const struct fm_picture *picture)
{
	unsigned best = 1;

	for (unsigned i = 2; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available &&
		    picture->levels[i].utilisation.value >= picture->levels[best].utilisation.value)
			best = i;
	return best;
}

/* What was waited for, level by level. */
static void fill_waiting(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_picture *picture)
{
	const uint64_t *stalls = timing->stalls;
	double active = (double)timing->cycles;
	unsigned stored = busiest(picture);

	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		bool memory = i >= machine->cache_count;
		double bandwidth = (double)(memory   ? stalls[FM_STALL_bandwidth_memory]
		                            : i == 0 ? 0
		                            : i == 1 ? stalls[FM_STALL_bandwidth_second]
		                                     : stalls[FM_STALL_bandwidth_third]),
		       latency = (double)(memory   ? stalls[FM_STALL_latency_memory] + stalls[FM_STALL_latency_remote]
		                          : i == 0 ? stalls[FM_STALL_first]
		                          : i == 1 ? stalls[FM_STALL_latency_second]
		                                   : stalls[FM_STALL_latency_third]);

		if (i == stored)
			bandwidth += (double)stalls[FM_STALL_stores];
		level->bandwidth_share = simulated(bandwidth / active, "");
		level->latency_share = simulated(latency / active, "");
	}
	picture->translation = simulated((double)stalls[FM_STALL_translation] / active, "");
	picture->throughput = simulated((double)timing->instructions / (active * machine->core.width), "");
}

static void without_cycles(struct fm_picture *picture)
{
	struct fm_figure why = fm_figure_unavailable("there was no core timing (--timing)");

	picture->active = picture->stall = picture->productive = picture->latency_bound = why;
	picture->bandwidth_bound = picture->memory_bound = picture->other_stall = why;
	picture->translation = picture->throughput = why;
	for (unsigned i = 0; i < picture->level_count; i++)
		picture->levels[i].bandwidth_share = picture->levels[i].latency_share = why;
}

/* How much of the lines that came into the first cache was used: bytes accessed over bytes brought; reuse makes it more
   than one. Of the lines that were wanted from below the second, those that a prefetcher had brought. Arithmetic: a
   program that hardly computes is not composed badly. */
static void fill_signs(const struct fm_machine_description *machine, const struct fm_part_sums *sums,
                       struct fm_picture *picture)
{
	const struct fm_core_counts *counts = &sums->counts;
	const struct fm_cache_counts *first = &counts->caches[0],
	                             *second = &counts->caches[machine->cache_count > 1 ? 1 : 0];
	double brought = (double)machine->line_bytes *
	                 (double)(first->lines_demand + first->lines_ownership + first->lines_prefetch),
	       used = (double)(counts->load_bytes + counts->store_bytes),
	       wanted = (double)(second->lines_demand + second->lines_ownership + second->prefetch_hits),
	       flops = (double)sums->work.flops, wide = 4 * (double)sums->work.vector_calculations;

	picture->unused = simulated(brought > 0 ? fmax(0, 1 - used / brought) : 0, "");
	picture->foreseen = simulated(wanted > 0 ? (double)second->prefetch_hits / wanted : 0, "");
	picture->remote = simulated(machine->sockets > 1 && counts->memory_reads
	                                ? (double)counts->memory_reads_remote / (double)counts->memory_reads
	                                : 0,
	                            "");
	picture->narrow = simulated(flops < 0.05 * (double)sums->work.instructions ? 0 : fmax(0, 1 - wide / flops), "");
}

/* In the engine threads take turns: a line that is fought for moves at each of them. */
static void fill_false_sharing(const struct fm_results *results, struct fm_picture *picture)
{
	uint64_t most = 0;

	if (picture->part.region || picture->part.thread >= 0) {
		picture->false_sharing = fm_figure_unavailable("shared lines are known for the whole program only");
		return;
	}
	for (unsigned i = 0; i < results->line_count && i < FM_RESULT_LINES_MAX; i++) {
		const struct fm_line_users *users = &results->line_users[i];

		if (users->false_transfers > users->true_transfers && users->false_transfers > most)
			most = users->false_transfers;
	}
	if (picture->threads < 2 || most < 20)
		picture->false_sharing = simulated(0, "");
	else if (!results->turns)
		picture->false_sharing = fm_figure_unavailable("the threads ran freely: turns were not counted");
	else
		picture->false_sharing = simulated(fmin(1, (double)most / (double)results->turns), "");
}

struct building {
	struct fm_picture *picture;
	struct fm_part_sums sums;
};

static void add(void *context, const struct fm_part_entry *entry)
{
	struct building *building = context;
	struct fm_picture *picture = building->picture;

	fm_part_add(&building->sums, entry);
	/* a forked process is none of the team */
	if (picture->thread_count == FM_RESULT_THREADS_MAX || entry->forked)
		return;
	picture->per_thread[picture->thread_count++] =
	    (struct fm_picture_thread){.thread = entry->thread,
	                               .instructions = entry->work->instructions,
	                               .flops = entry->work->flops,
	                               .stores = entry->counts.stores,
	                               .cycles = (double)entry->timing.cycles};
}

static void count_threads(struct fm_picture *picture, const struct fm_part_sums *sums)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].instructions > most)
			most = picture->per_thread[i].instructions;
	for (unsigned i = 0; i < picture->thread_count; i++) {
		struct fm_picture_thread *thread = &picture->per_thread[i];

		thread->useful = 2 * sums->work.flops > sums->counts.stores ? thread->flops : thread->stores;
		picture->threads += (double)thread->instructions > IDLE * (double)most;
	}
	if (!picture->threads)
		picture->threads = 1;
}

/* Which of the threads that ran the region this one is: both runs make them in the same order. */
static unsigned ordinal_of(const struct fm_results *results, const struct fm_part *part)
{
	unsigned before = 0;

	for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++)
		before += (int)results->regions[i].thread < part->thread && results->regions[i].instances &&
		          !strncmp(results->regions[i].name, part->region, sizeof(results->regions[i].name));
	return before;
}

/* How long the part took natively: a region as long as the thread that was in it longest. */
static struct fm_figure native_seconds(const struct fm_native *native, const struct fm_results *results,
                                       const struct fm_part *part)
{
	struct fm_figure longest = fm_figure_unavailable("the native run did not note this region");
	unsigned ordinal = part->region && part->thread >= 0 ? ordinal_of(results, part) : 0;

	if (native->differs)
		return fm_figure_unavailable("the two runs did not do the same: %.100s", native->difference);
	if (!part->region)
		return native->seconds;
	if (native->regions_lost)
		return fm_figure_unavailable("%llu instances of regions had no room: too many, or too deep",
		                             (unsigned long long)native->regions_lost);
	for (unsigned i = 0; i < native->region_count; i++) {
		const struct fm_native_region *region = &native->regions[i];

		if (strcmp(region->name, part->region) || (part->thread >= 0 && region->ordinal != ordinal))
			continue;
		if (!longest.available || region->seconds.value > longest.value)
			longest = region->seconds;
	}
	return longest;
}

/* Levels, cycles and signs, once it is known what was done, by how many threads, in what time. */
static void fill(const struct fm_picture_source *source, const struct fm_part_sums *sums, struct fm_picture *picture)
{
	const struct fm_machine_description *machine = source->machine;

	picture->level_count = machine->cache_count + 1;
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];

		snprintf(level->name, sizeof(level->name), "%s",
		         i < machine->cache_count ? machine->caches[i].name : "memory");
		fill_traffic(machine, &sums->counts, i, level);
		level->gbs = rate(level->read_bytes.value + level->allocate_bytes.value + level->write_bytes.value,
		                  &picture->seconds, source->profile ? source->profile->combination.count_most : 0);
		level->peak_gbs = fm_picture_peak(machine, source->profile, level, i, picture->threads);
		level->utilisation = fm_picture_share(&level->gbs, &level->peak_gbs);
	}
	if (sums->timing.cycles) {
		fill_cycles(&sums->timing, picture);
		fill_waiting(machine, &sums->timing, picture);
	} else {
		without_cycles(picture);
	}
	fill_signs(machine, sums, picture);
}

void fm_picture_build(const struct fm_picture_source *source, const struct fm_part *part,
                      struct fm_picture *ret_picture)
{
	const struct fm_machine_description *machine = source->machine;
	const struct fm_native *native = source->native;
	struct fm_picture *picture = ret_picture;
	struct building building = {.picture = picture};
	const struct fm_part_sums *sums = &building.sums;

	memset(picture, 0, sizeof(*picture));
	picture->machine = machine->name;
	picture->part = *part;
	fm_part_each(source->run, part, add, &building);
	picture->instances = sums->instances;
	count_threads(picture, sums);
	picture->predicted_seconds = sums->longest > 0 ? simulated(sums->longest / machine->frequency_ghz * 1e-9, "s")
	                                               : fm_figure_unavailable("there was no core timing");
	if (native)
		picture->native = *native;
	if (source->profile)
		picture->combination = source->profile->combination;
	picture->seconds =
	    native && native->runs ? native_seconds(native, source->run->results, part) : picture->predicted_seconds;
	fill(source, sums, picture);
	fill_false_sharing(source->run->results, picture);
}

bool fm_picture_moment(const struct fm_picture_source *source, unsigned index, struct fm_picture *ret_picture,
                       double *ret_at)
{
	const struct fm_results *results = source->run->results;
	unsigned count = results->moment_count < FM_RESULT_MOMENTS_MAX ? results->moment_count : FM_RESULT_MOMENTS_MAX;
	const struct fm_result_moment *before = index ? &results->moments[index - 1] : NULL;
	double hertz = source->machine->frequency_ghz * 1e9, cycles;
	struct fm_part_sums sums;

	if (!count || index > count)
		return false;
	/* moments are of the first process, and of its cores */
	fm_part_sum(&(struct fm_engine_run){.results = results}, &(struct fm_part){.thread = -1}, &sums);
	cycles = sums.longest;
	memset(&sums.counts, 0, sizeof(sums.counts));
	memset(&sums.timing, 0, sizeof(sums.timing));
	for (unsigned i = 0; i < results->core_count && i < FM_SIMULATED_CORES_MAX; i++) {
		fm_core_counts_add(&sums.counts, &results->cores[i].counts);
		fm_numbers_add(&sums.timing, &results->timings[i], sizeof(sums.timing));
	}
	memset(ret_picture, 0, sizeof(*ret_picture));
	ret_picture->machine = source->machine->name;
	ret_picture->part.thread = -1;
	ret_picture->threads = 1;
	if (index < count) {
		sums.counts = results->moments[index].counts;
		sums.timing = results->moments[index].timing;
		cycles = (double)results->moments[index].cycle;
		if (results->moments[index].running > 1)
			ret_picture->threads = (unsigned)results->moments[index].running;
	}
	*ret_at = cycles / hertz;
	if (before) {
		fm_numbers_subtract(&sums.counts, &before->counts, sizeof(sums.counts));
		fm_numbers_subtract(&sums.timing, &before->timing, sizeof(sums.timing));
		cycles -= (double)before->cycle;
	}
	if (!(cycles > 0))
		return false;
	ret_picture->seconds = simulated(cycles / hertz, "s");
	ret_picture->predicted_seconds = ret_picture->seconds;
	fill(source, &sums, ret_picture);
	return true;
}

static uint64_t engine_instances(const struct fm_engine_run *run, const char *name, unsigned *ret_threads)
{
	uint64_t instances = 0;

	*ret_threads = 0;
	for (unsigned p = 0; p <= run->forked_count; p++) {
		const struct fm_results *results = p ? run->forked[p - 1] : run->results;

		for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++)
			if (!strncmp(results->regions[i].name, name, sizeof(results->regions[i].name)) &&
			    results->regions[i].instances) {
				instances += results->regions[i].instances;
				++*ret_threads;
			}
	}
	return instances;
}

static void compare_region(struct fm_native *native, const struct fm_engine_run *run, const char *name)
{
	uint64_t own = 0, engine;
	unsigned threads = 0, engine_threads;

	for (unsigned i = 0; i < native->region_count; i++)
		if (!strcmp(native->regions[i].name, name)) {
			own += native->regions[i].instances;
			threads++;
		}
	engine = engine_instances(run, name, &engine_threads);
	if (native->differs || (own == engine && threads == engine_threads))
		return;
	native->differs = true;
	snprintf(native->difference, sizeof(native->difference),
	         "region %.60s was passed %llu times by %u thread%s by itself, %llu times by %u in the engine", name,
	         (unsigned long long)own, threads, threads == 1 ? "" : "s", (unsigned long long)engine, engine_threads);
}

void fm_native_compare_regions(struct fm_native *native, const struct fm_engine_run *run)
{
	char name[FM_RESULT_NAME];

	if (native->regions_lost)
		return;
	for (unsigned i = 0; i < native->region_count; i++)
		if (!i || strcmp(native->regions[i - 1].name, native->regions[i].name) != 0)
			compare_region(native, run, native->regions[i].name);
	for (unsigned i = 0; fm_part_region_name(run, i, name); i++)
		compare_region(native, run, name);
}

void fm_native_free(struct fm_native *native)
{
	free(native->regions);
	native->regions = NULL;
	native->region_count = 0;
}
