#include "model/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A thread that did less than this share of what the busiest did was not there to work. */
#define IDLE 0.001

/* Bytes that a kernel really moves at a level below the first cache, for each that it loads and stores. */
static double traffic_factor(enum fm_stream_kernel_index index, unsigned level)
{
	const struct fm_stream_kernel *kernel = &fm_stream_kernels[index];
	double own = kernel->loaded_bytes + kernel->stored_bytes;

	return level && own > 0 ? (own + kernel->write_allocate_bytes) / own : 1;
}

static struct fm_figure measured_peak(const struct fm_machine *profile, const char *name, unsigned threads)
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

static struct fm_figure described_peak(const struct fm_machine_description *machine, unsigned level, unsigned threads)
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
		gbs = fmin(threads * one, machine->memory_gbs * (threads > machine->cores ? machine->sockets : 1));
	}
	return fm_figure_make(gbs, gbs, gbs, "GB/s", FM_ORIGIN_modelled, machine->name, 1);
}

struct fm_figure fm_picture_peak(const struct fm_machine_description *machine, const struct fm_machine *profile,
                                 unsigned level, unsigned threads)
{
	const char *name = level < machine->cache_count ? machine->caches[level].name : "memory";

	return profile ? measured_peak(profile, name, threads) : described_peak(machine, level, threads);
}

static void fill_level(const struct fm_picture *picture, unsigned level, struct fm_picture_level *ret)
{
	const struct fm_machine_description *machine = picture->machine;
	const struct fm_core_counts *counts = &picture->counts;
	double line = machine->line_bytes;

	if (!level) {
		ret->read_bytes = (double)counts->load_bytes;
		ret->write_bytes = (double)counts->store_bytes;
	} else if (level < machine->cache_count) {
		const struct fm_cache_counts *above = &counts->caches[level - 1];

		ret->read_bytes =
		    line * (double)(above->lines_demand + above->lines_prefetch - above->lines_prefetch_ownership);
		ret->allocate_bytes = line * (double)(above->lines_ownership + above->lines_prefetch_ownership);
		ret->write_bytes = line * (double)above->lines_written;
	} else {
		const struct fm_cache_counts *last = &counts->caches[machine->cache_count - 1];
		double allocated = (double)(last->lines_ownership + last->lines_prefetch_ownership);

		allocated = fmin(allocated, (double)counts->memory_reads);
		ret->allocate_bytes = line * allocated;
		ret->read_bytes = line * ((double)counts->memory_reads - allocated);
		ret->write_bytes = line * (double)counts->memory_writes;
	}
}

/* Bytes over time: simulated counts over measured time are combined, over simulated time simulated. */
static struct fm_figure rate(double bytes, const struct fm_figure *seconds)
{
	struct fm_figure figure;

	if (!seconds->available || !(seconds->low > 0))
		return fm_figure_unavailable("there is no time to divide by");
	figure = fm_figure_make(
	    bytes / seconds->value * 1e-9, bytes / seconds->high * 1e-9, bytes / seconds->low * 1e-9, "GB/s",
	    seconds->origin == FM_ORIGIN_measured ? FM_ORIGIN_combined : FM_ORIGIN_simulated, "exact", seconds->trials);
	return figure;
}

static struct fm_figure share_of(const struct fm_figure *gbs, const struct fm_figure *peak)
{
	if (!gbs->available)
		return *gbs;
	if (!peak->available)
		return *peak;
	return fm_figure_make(gbs->value / peak->value, gbs->low / peak->high, gbs->high / fmax(peak->low, 1e-9), "",
	                      gbs->origin, gbs->backend, gbs->trials);
}

static void fill_cycles(struct fm_picture *picture)
{
	static const enum fm_stall latencies[] = {FM_STALL_latency_second, FM_STALL_latency_third,
	                                          FM_STALL_latency_memory, FM_STALL_latency_remote,
	                                          FM_STALL_latency_core,   FM_STALL_translation},
	                           bandwidths[] = {FM_STALL_bandwidth_second, FM_STALL_bandwidth_third,
	                                           FM_STALL_bandwidth_memory, FM_STALL_stores};
	const struct fm_timing_counts *timing = &picture->timing;

	picture->active = (double)timing->cycles;
	picture->stall = (double)timing->no_execute;
	picture->productive = picture->active - picture->stall;
	for (size_t i = 0; i < sizeof(latencies) / sizeof(latencies[0]); i++)
		picture->latency_bound += (double)timing->stalls[latencies[i]];
	for (size_t i = 0; i < sizeof(bandwidths) / sizeof(bandwidths[0]); i++)
		picture->bandwidth_bound += (double)timing->stalls[bandwidths[i]];
	picture->memory_bound = picture->latency_bound + picture->bandwidth_bound;
	picture->other_stall = picture->stall - picture->memory_bound;
}

static void add_process(struct fm_picture *picture, const struct fm_results *results, double *longest)
{
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;
		uint64_t *sums = (uint64_t *)&picture->timing;
		struct fm_picture_thread *thread;

		fm_result_thread_counts(results, i, &counts, &timing);
		fm_core_counts_add(&picture->counts, &counts);
		for (size_t k = 0; k < sizeof(timing) / sizeof(uint64_t); k++)
			sums[k] += ((const uint64_t *)&timing)[k];
		fm_work_add(&picture->work, &results->threads[i].work);
		if ((double)timing.cycles > *longest)
			*longest = (double)timing.cycles;
		if (picture->thread_count == FM_RESULT_THREADS_MAX)
			continue;
		thread = &picture->per_thread[picture->thread_count++];
		thread->instructions = results->threads[i].work.instructions;
		thread->flops = results->threads[i].work.flops;
		thread->stores = counts.stores;
		thread->cycles = (double)timing.cycles;
	}
}

static void count_threads(struct fm_picture *picture)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].instructions > most)
			most = picture->per_thread[i].instructions;
	for (unsigned i = 0; i < picture->thread_count; i++) {
		struct fm_picture_thread *thread = &picture->per_thread[i];

		thread->useful = 2 * picture->work.flops > picture->counts.stores ? thread->flops : thread->stores;
	}
	for (unsigned i = 0; i < picture->thread_count; i++)
		picture->threads += (double)picture->per_thread[i].instructions > IDLE * (double)most;
	if (!picture->threads)
		picture->threads = 1;
}

void fm_picture_build(const struct fm_machine_description *machine, const struct fm_machine *profile,
                      const struct fm_engine_run *run, const struct fm_native *native, struct fm_picture *ret_picture)
{
	struct fm_picture *picture = ret_picture;
	double longest = 0, seconds;

	memset(picture, 0, sizeof(*picture));
	picture->machine = machine;
	add_process(picture, run->results, &longest);
	for (unsigned i = 0; i < run->forked_count; i++)
		add_process(picture, run->forked[i], &longest);
	count_threads(picture);
	fill_cycles(picture);
	picture->turns = run->results->turns;
	for (unsigned i = 0; i < run->results->line_count && i < FM_RESULT_LINES_MAX; i++) {
		const struct fm_line_users *users = &run->results->line_users[i];

		if (users->false_transfers > users->true_transfers &&
		    users->false_transfers > picture->false_transfers) {
			picture->false_transfers = users->false_transfers;
			picture->false_line = run->results->lines[i].line;
		}
	}
	seconds = longest / machine->frequency_ghz * 1e-9;
	picture->predicted_seconds =
	    longest > 0 ? fm_figure_make(seconds, seconds, seconds, "s", FM_ORIGIN_simulated, "exact", 1)
	                : fm_figure_unavailable("there was no core timing");
	if (native)
		picture->native = *native;
	picture->seconds = native && native->runs ? native->seconds : picture->predicted_seconds;
	picture->level_count = machine->cache_count + 1;
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];

		snprintf(level->name, sizeof(level->name), "%s",
		         i < machine->cache_count ? machine->caches[i].name : "memory");
		fill_level(picture, i, level);
		level->gbs =
		    native && native->differs
		        ? fm_figure_unavailable("the two runs did not do the same: %.100s", native->difference)
		        : rate(level->read_bytes + level->allocate_bytes + level->write_bytes, &picture->seconds);
		level->peak_gbs = fm_picture_peak(machine, profile, i, picture->threads);
		level->utilisation = share_of(&level->gbs, &level->peak_gbs);
	}
}
