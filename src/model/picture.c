#include "model/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/agreement.h"
#include "model/doubt.h"
#include "model/kernel_time.h"
#include "model/irregular.h"
#include "model/measured_waiting.h"
#include "model/simulated_waiting.h"
#include "model/team.h"
#include "model/threads.h"
#include "model/uncertainty.h"
#include "profile/peak.h"
#include "profile/profile.h"
#include "windows/totals.h"
#include "simulator/numbers.h"

/* Written lines over all moved lines. If stores are not separate from loads, the lines that they read are among the
   reads. */
static void fill_write_share(struct fm_picture_level *level)
{
	const struct fm_figure *read = &level->read_bytes, *allocated = &level->allocate_bytes,
	                       *written = &level->write_bytes;
	double value, low, high;

	if (!written->available || !read->available) {
		level->write_share = written->available ? *read : *written;
		return;
	}
	value = read->value + (allocated->available ? allocated->value : 0);
	low = read->low + (allocated->available ? allocated->low : 0);
	high = read->high + (allocated->available ? allocated->high : 0);
	if (!(value + written->value > 0)) {
		level->write_share = fm_figure_unavailable("nothing was moved");
		return;
	}
	value = written->value / (value + written->value);
	level->write_share = fm_figure_make(value, fmin(value, fmax(0, written->low) / fmax(1, written->low + high)),
	                                    fmax(value, fmin(1, written->high / fmax(1, written->high + low))), "",
	                                    written->origin, written->backend, written->trials);
}

void fm_picture_measured_peak(const struct fm_machine *profile, struct fm_picture_level *level, unsigned threads)
{
	struct fm_peak peak;

	fill_write_share(level);
	peak = fm_peak_find(profile, level->name, threads, &level->write_share);
	level->peak_gbs = peak.gbs;
	level->peak_threads = peak.threads;
	level->peak_share = peak.write_share;
	if (!strcmp(level->name, "memory")) {
		struct fm_loaded_latency beside = fm_peak_latency(profile, threads, &level->write_share, &level->gbs);

		level->loaded_latency = beside.ns;
		level->loaded_at_least = beside.beyond ? beside.at_least_ns : 0;
	}
}

/* `written` is the share of writes in the traffic: writing a line takes another time than reading one. */
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

void fm_picture_described_peak(const struct fm_machine_description *machine, struct fm_picture_level *level,
                               unsigned index, unsigned threads)
{
	unsigned cores = machine->cores * machine->sockets;

	fill_write_share(level);
	level->peak_gbs =
	    described_peak(machine, index, threads, level->write_share.available ? level->write_share.value : 0);
	level->peak_threads = level->peak_gbs.available ? threads < cores ? threads : cores : 0;
	level->peak_share = level->write_share;
	if (index == machine->cache_count)
		level->loaded_latency = fm_figure_unavailable("a simulated machine has no measured curve");
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

void fm_picture_free(struct fm_picture *picture)
{
	free(picture->per_thread);
	picture->per_thread = NULL;
	picture->thread_count = 0;
}

bool fm_picture_grow(struct fm_picture *picture, const struct fm_picture_thread *thread)
{
	struct fm_picture_thread *larger = picture->per_thread;

	/* by doubling: room is a power of two */
	if (!(picture->thread_count & (picture->thread_count - 1)))
		larger =
		    realloc(larger, (picture->thread_count ? 2 * (size_t)picture->thread_count : 1) * sizeof(*larger));
	if (!larger)
		return false;
	picture->per_thread = larger;
	larger[picture->thread_count++] = *thread;
	return true;
}

/* Traffic */

struct fm_traffic fm_picture_traffic(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                                     unsigned level)
{
	double line = machine->line_bytes, read, allocated = 0, written;

	if (!level) {
		read = (double)counts->load_bytes;
		written = (double)counts->store_bytes;
	} else if (level < machine->cache_count) {
		const struct fm_cache_counts *above = &counts->caches[level - 1];

		read = line * fmax(0, (double)(above->lines_demand + above->lines_prefetch) -
		                          (double)above->lines_prefetch_ownership);
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
	return (struct fm_traffic){{read, allocated, written}};
}

static void fill_traffic(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                         unsigned level, struct fm_picture_level *ret)
{
	struct fm_traffic traffic = fm_picture_traffic(machine, counts, level);

	ret->read_bytes = simulated(traffic.bytes[FM_TRAFFIC_READ], "B");
	ret->allocate_bytes = simulated(traffic.bytes[FM_TRAFFIC_ALLOCATED], "B");
	ret->write_bytes = simulated(traffic.bytes[FM_TRAFFIC_WRITTEN], "B");
	ret->moved_bytes = simulated(traffic.bytes[FM_TRAFFIC_READ] + traffic.bytes[FM_TRAFFIC_ALLOCATED] +
	                                 traffic.bytes[FM_TRAFFIC_WRITTEN],
	                             "B");
}

/* Independent errors together. The same on all processors, unlike hypot(). */
static double together(double one, double other, double third)
{
	return sqrt(one * one + other * other + third * third);
}

/* Bytes over time: simulated counts over measured time are combined, over simulated time simulated. `off` is the count
   error that kernels on this machine showed. */
static struct fm_figure rate(const struct fm_picture_level *level, const struct fm_figure *seconds, double off)
{
	const struct fm_figure *moved = &level->moved_bytes;
	double value, below, above;

	if (!seconds->available)
		return *seconds;
	if (!moved->available)
		return *moved;
	if (!(seconds->low > 0))
		return fm_figure_unavailable("there is no time to divide by");
	value = moved->value * 1e-9 / seconds->value;
	if (!(moved->value > 0))
		return fm_figure_make(0, 0, moved->high * 1e-9 / seconds->low * (1 + off), "GB/s", moved->origin,
		                      moved->backend, seconds->trials);
	/* the errors do not know of each other */
	below = together(1 - moved->low / moved->value, 1 - seconds->value / seconds->high, off);
	above = together(moved->high / moved->value - 1, seconds->value / seconds->low - 1, off);
	return fm_figure_make(value, value * fmax(0, 1 - below), value * (1 + above), "GB/s",
	                      seconds->origin == FM_ORIGIN_measured ? FM_ORIGIN_combined : moved->origin,
	                      moved->backend, seconds->trials);
}

/* Cycles */

/* The index in the stalls of the source of a level: caches by number, then memory. */
static unsigned served_by(const struct fm_machine_description *machine, unsigned level)
{
	return level < machine->cache_count ? level : FM_SERVED_MEMORY;
}

/* Latency of another socket's memory is memory's. */
static double latency_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                             unsigned level)
{
	unsigned served = served_by(machine, level);

	return (double)(timing->latency_stalls[served] +
	                (served == FM_SERVED_MEMORY ? timing->latency_stalls[FM_SERVED_REMOTE] : 0));
}

static double bandwidth_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                               unsigned level)
{
	unsigned served = served_by(machine, level);

	return (double)(timing->bandwidth_stalls[served] +
	                (served == FM_SERVED_MEMORY ? timing->bandwidth_stalls[FM_SERVED_REMOTE] : 0));
}

void fm_picture_cycles(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                       struct fm_picture *picture)
{
	double active = (double)timing->cycles, stall = (double)timing->no_execute,
	       latency = (double)(timing->latency_stalls[FM_SERVED_CORE] + timing->stalls[FM_STALL_translation]),
	       bandwidth = (double)(timing->bandwidth_stalls[FM_SERVED_CORE] + timing->stalls[FM_STALL_stores]);

	/* the first cache's own latency is the core's business */
	for (unsigned i = 1; i <= machine->cache_count; i++) {
		latency += latency_stalls(machine, timing, i);
		bandwidth += bandwidth_stalls(machine, timing, i);
	}
	picture->active = simulated(active, "cycles");
	picture->stall = simulated(stall, "cycles");
	picture->productive = simulated(active - stall, "cycles");
	picture->latency_bound = simulated(latency, "cycles");
	picture->bandwidth_bound = simulated(bandwidth, "cycles");
	picture->memory_bound = simulated(latency + bandwidth, "cycles");
	/* totals from windows are rounded */
	picture->other_stall = simulated(fmax(0, stall - latency - bandwidth), "cycles");
}

/* The level whose bandwidth full store buffers wait for: the one with the largest share of its peak in use. */
static unsigned busiest(const struct fm_picture *picture)
{
	unsigned best = 1;

	for (unsigned i = 2; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available &&
		    picture->levels[i].utilisation.value >= picture->levels[best].utilisation.value)
			best = i;
	return best;
}

/* Causes of waiting, level by level. */
static void fill_waiting(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_picture *picture)
{
	double active = (double)timing->cycles;
	unsigned stored = busiest(picture);

	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		double bandwidth = i ? bandwidth_stalls(machine, timing, i) : 0;

		if (i == stored)
			bandwidth += (double)timing->stalls[FM_STALL_stores];
		level->bandwidth_share = simulated(bandwidth / active, "");
		level->latency_share = simulated(latency_stalls(machine, timing, i) / active, "");
	}
	picture->signs.translation = simulated((double)timing->stalls[FM_STALL_translation] / active, "");
	picture->signs.supply =
	    simulated((double)(timing->stalls[FM_STALL_branches] + timing->stalls[FM_STALL_none]) / active, "");
	picture->signs.throughput = simulated((double)timing->instructions / (active * machine->core.width), "");
}

static void without_cycles(struct fm_picture *picture)
{
	struct fm_figure why = fm_figure_unavailable("there was no core timing (--timing)");

	picture->active = picture->stall = picture->productive = picture->latency_bound = why;
	picture->bandwidth_bound = picture->memory_bound = picture->other_stall = why;
	picture->signs.translation = picture->signs.supply = picture->signs.throughput = why;
	for (unsigned i = 0; i < picture->level_count; i++)
		picture->levels[i].bandwidth_share = picture->levels[i].latency_share = why;
}

/* Signs */

/* Use of the lines in the first cache: bytes accessed over bytes brought; reuse makes it more than one. A program with
   little arithmetic has no composition to judge. */
static void fill_signs(const struct fm_machine_description *machine, const struct fm_part_sums *sums,
                       struct fm_picture *picture)
{
	const struct fm_core_counts *counts = &sums->counts;
	const struct fm_cache_counts *first = &counts->caches[0];
	double brought = (double)machine->line_bytes *
	                 (double)(first->lines_demand + first->lines_ownership + first->lines_prefetch),
	       used = (double)(counts->load_bytes + counts->store_bytes), flops = (double)sums->work.flops,
	       wide = 4 * (double)sums->work.vector_calculations;

	picture->signs.unused = simulated(brought > 0 ? fmax(0, 1 - used / brought) : 0, "");
	picture->signs.remote = simulated(machine->sockets > 1 && counts->memory_reads
	                                      ? (double)counts->memory_reads_remote / (double)counts->memory_reads
	                                      : 0,
	                                  "");
	picture->signs.narrow =
	    simulated(flops < FM_FLOPS_LEAST * (double)sums->work.instructions ? 0 : fmax(0, 1 - wide / flops), "");
}

/* Windows see parts of streams, and not every place in the code: two runs of one program differ by up to `most`, and by
   less where it is nearly all or nothing. */
static void doubt_share(const struct fm_recording *recording, double most, struct fm_figure *figure)
{
	double error = most * (FM_SHARE_ERROR_LEAST + 4 * figure->value * (1 - figure->value));

	if (!fm_windows_used(recording) || !figure->available)
		return;
	figure->low = fmax(0, figure->low - error);
	figure->high = fmin(1, figure->high + error);
}

/* The unused share of the lines that each function brought, by its own accesses. Accesses of other functions, which hit
   the first cache, are not considered. A function's accesses are taken to be as wide as the program's. */
static void fill_unused(const struct fm_recording *recording, const struct fm_core_counts *counts,
                        struct fm_picture *picture)
{
	double accesses = (double)(counts->loads + counts->stores), brought = 0, unused = 0,
	       width = accesses > 0 ? (double)(counts->load_bytes + counts->store_bytes) / accesses : 0;
	struct fm_function_use *functions;
	size_t count = fm_functions_use(recording, &functions);

	for (size_t i = 0; i < count; i++) {
		double lines = (double)functions[i].lines * recording->machine.line_bytes;

		brought += lines;
		unused += fmax(0, lines - width * (double)functions[i].accesses);
	}
	if (count)
		picture->signs.unused = simulated(brought > 0 ? unused / brought : 0, "");
	doubt_share(recording, FM_UNUSED_ERROR, &picture->signs.unused);
	free(functions);
}

static double first_misses(const struct fm_core_counts *counts)
{
	return (double)(counts->caches[0].load_misses + counts->caches[0].store_misses);
}

/* Address differences are judged per instruction, over the whole program. The regular share of a part's misses is
   bounded: the irregular misses may all be in the part, or all outside of it. */
static void fill_regularity(const struct fm_recording *recording, const struct fm_core_counts *counts,
                            struct fm_picture *picture)
{
	double regular = 0, all = 0, misses = 0, share, whole;

	for (size_t i = 0; i < recording->lines_count; i++) {
		regular += (double)recording->lines[i].regular;
		all += (double)(recording->lines[i].regular + recording->lines[i].irregular);
	}
	for (size_t i = 0; i < recording->threads_count; i++)
		misses += first_misses(&recording->threads[i].counts);
	whole = all > 0 ? regular / all : 1;
	picture->signs.regular = simulated(whole, "");
	doubt_share(recording, FM_REGULAR_ERROR, &picture->signs.regular);
	if (!picture->part.region && picture->part.thread < 0)
		return;
	share = misses > 0 ? fmin(1, first_misses(counts) / misses) : 0;
	picture->signs.regular.low = share > 0 ? fmax(0, (picture->signs.regular.low - (1 - share)) / share) : 0;
	picture->signs.regular.high = share > 0 ? fmin(1, picture->signs.regular.high / share) : 1;
}

/* In the engine threads take turns: a line that is fought for moves at each of them. */
static void fill_false_sharing(const struct fm_recording *recording, struct fm_picture *picture)
{
	uint64_t most = 0, turns = recording->processes[0].turns;

	if (picture->part.thread >= 0 || (picture->part.region && recording->processes[0].native)) {
		picture->signs.false_sharing =
		    fm_figure_unavailable("shared lines are known for the whole program only");
		return;
	}
	for (size_t i = 0; i < recording->shared_count; i++) {
		const struct fm_recorded_shared *shared = &recording->shared[i];

		if (shared->false_transfers > shared->true_transfers && shared->false_transfers > most)
			most = shared->false_transfers;
	}
	if (picture->threads < 2 || most < 20)
		picture->signs.false_sharing = simulated(0, "");
	else if (!turns)
		picture->signs.false_sharing = fm_figure_unavailable("the threads ran freely: turns were not counted");
	else if (picture->part.region)
		picture->signs.false_sharing =
		    fm_simulated_false_sharing(recording, picture, (double)most, (double)turns);
	else
		picture->signs.false_sharing = simulated(fmin(1, (double)most / (double)turns), "");
}

/* Threads */

struct building {
	struct fm_picture *picture;
	struct fm_part_sums sums;
};

static void add(void *context, const struct fm_part_thread *entry)
{
	struct building *building = context;

	fm_part_add(&building->sums, entry);
	/* a forked process is not a member of the team */
	if (entry->forked || entry->others)
		return;
	fm_picture_grow(building->picture, &(struct fm_picture_thread){.thread = entry->thread,
	                                                               .instructions = entry->work->instructions,
	                                                               .flops = entry->work->flops,
	                                                               .stores = entry->counts->stores,
	                                                               .cycles = (double)entry->timing->cycles});
}

/* Stores to data that several threads write are no work of its own: a thread that spins with an atomic exchange has
   many. Data that only shares a line with others' is its own. */
static uint64_t contended_stores(const struct fm_recording *recording, unsigned thread)
{
	uint64_t stores = 0;

	for (size_t i = 0; i < recording->users_count; i++)
		if (recording->users[i].thread == (int64_t)thread &&
		    strcmp(fm_sharing_kind(&recording->shared[recording->users[i].shared]), "false") != 0)
			stores += recording->users[i].stores;
	return stores;
}

static void count_threads(struct fm_picture *picture, const struct fm_part_sums *sums)
{
	bool arithmetic = 2 * sums->work.flops > sums->counts.stores;
	uint64_t most = 0;

	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].instructions > most)
			most = picture->per_thread[i].instructions;
	for (unsigned i = 0; i < picture->thread_count; i++) {
		struct fm_picture_thread *thread = &picture->per_thread[i];
		uint64_t contended = picture->part.region ? 0 : contended_stores(picture->recording, thread->thread);

		thread->arithmetic = arithmetic;
		thread->useful = arithmetic                   ? thread->flops
		                 : thread->stores > contended ? thread->stores - contended
		                                              : 0;
		picture->threads +=
		    (double)thread->instructions >
		    (thread->thread || picture->part.region ? FM_WORK_LEAST : FM_WORK_STARTING) * (double)most;
	}
	if (!picture->threads)
		picture->threads = 1;
}

/* The number of this thread among those that ran the region: both runs create them in the same order. */
static unsigned ordinal_of(const struct fm_recording *recording, const struct fm_part *part)
{
	unsigned before = 0;

	for (size_t i = 0; i < recording->regions_count; i++)
		before += (int)recording->regions[i].thread < part->thread && !recording->regions[i].process &&
		          recording->regions[i].instances && !strcmp(recording->regions[i].name, part->region);
	return before;
}

/* Native time of the part; for a region that of the thread with the longest time in it. */
static struct fm_figure native_seconds(const struct fm_recording *recording, const struct fm_picture *picture)
{
	const struct fm_part *part = &picture->part;
	struct fm_figure longest = fm_figure_unavailable("the native run did not note this region");
	unsigned ordinal = part->region && part->thread >= 0 ? ordinal_of(recording, part) : 0;

	if (*picture->differs)
		return fm_figure_unavailable("the two runs did not do the same: %.100s", picture->differs);
	if (!part->region)
		return recording->native.seconds;
	if (recording->native.regions_lost)
		return fm_figure_unavailable("%llu instances of regions had no room: too many, or too deep",
		                             (unsigned long long)recording->native.regions_lost);
	for (size_t i = 0; i < recording->native_regions_count; i++) {
		const struct fm_recorded_native_region *region = &recording->native_regions[i];

		if (strcmp(region->name, part->region) != 0 || (part->thread >= 0 && region->ordinal != ordinal))
			continue;
		if (!longest.available || region->seconds.value > longest.value)
			longest = region->seconds;
	}
	return longest;
}

static void reach_down(struct fm_figure *figure, double factor)
{
	if (figure->available)
		figure->low = fmin(figure->low, figure->value * factor);
}

/* `beyond` says by how much the traffic is too large. */
static void limit_to_one(struct fm_figure *share)
{
	share->value = fmin(share->value, 1);
	share->low = fmin(share->low, 1);
	share->high = fmin(share->high, 1);
}

/* No program exceeds the peak of a level. Beyond the peak and its error, either the counts are too large (a real last
   cache keeps a part of a swept array, the simulated one replaces all of it), or the peak is too low. The intervals
   then reach down to the peak. */
static void limit_to_peak(struct fm_picture_level *level)
{
	const struct fm_figure *peak = &level->peak_gbs;
	double factor;

	if (!peak->available || !level->gbs.available || !(peak->high > 0) || level->gbs.value <= peak->high)
		return;
	factor = peak->high / level->gbs.value;
	level->beyond = 1 / factor;
	reach_down(&level->read_bytes, factor);
	reach_down(&level->allocate_bytes, factor);
	reach_down(&level->write_bytes, factor);
	reach_down(&level->moved_bytes, factor);
	reach_down(&level->gbs, factor);
}

/* Levels, cycles and signs, from the work, the number of threads and the time. */
static void fill(const struct fm_recording *recording, const struct fm_part_sums *sums, struct fm_picture *picture)
{
	const struct fm_machine_description *machine = &recording->machine;
	const struct fm_machine *profile = recording->profile;

	picture->level_count = machine->cache_count + 1;
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];

		snprintf(level->name, sizeof(level->name), "%s",
		         i < machine->cache_count ? machine->caches[i].name : "memory");
		fill_traffic(machine, &sums->counts, i, level);
	}
	fm_uncertain_traffic(recording, picture);
	fm_uncertain_windows(recording, picture);
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];

		level->gbs = rate(level, &picture->seconds, profile ? profile->combination.count_most : 0);
		if (profile)
			fm_picture_measured_peak(profile, level, picture->threads);
		else
			fm_picture_described_peak(machine, level, i, picture->threads);
		if (profile && i && recording->native.runs)
			limit_to_peak(level);
		level->utilisation = fm_picture_share(&level->gbs, &level->peak_gbs);
		limit_to_one(&level->utilisation);
	}
	if (sums->timing.cycles) {
		fm_picture_cycles(machine, &sums->timing, picture);
		fill_waiting(machine, &sums->timing, picture);
		fm_uncertain_cycles(recording, picture);
		fm_uncertain_window_cycles(recording, picture);
		fm_uncertain_stretches(recording, picture);
	} else {
		without_cycles(picture);
	}
	fill_signs(machine, sums, picture);
}

double fm_picture_hertz(const struct fm_machine_description *machine, const struct fm_timing_counts *timing)
{
	double cycles = (double)timing->cycles,
	       executes = cycles > 0 ? fmax(0, 1 - (double)timing->no_execute / cycles) : 0;

	return machine->frequency_ghz * 1e9 / fm_description_longer(machine, executes);
}

void fm_picture_build(const struct fm_recording *recording, const struct fm_part *part, struct fm_picture *ret_picture)
{
	const struct fm_machine_description *machine = &recording->machine;
	struct fm_picture *picture = ret_picture;
	struct building building = {.picture = picture};
	const struct fm_part_sums *sums = &building.sums;

	memset(picture, 0, sizeof(*picture));
	picture->recording = recording;
	picture->machine = machine->name;
	picture->part = *part;
	fm_part_each(recording, part, add, &building);
	picture->instances = sums->instances;
	count_threads(picture, sums);
	fm_team_build(recording, picture);
	if (picture->team.workers)
		picture->threads = picture->team.workers;
	fm_agreement(recording, picture->differs, sizeof(picture->differs));
	picture->predicted_seconds = sums->longest > 0
	                                 ? simulated(sums->longest / fm_picture_hertz(machine, &sums->timing), "s")
	                                 : fm_figure_unavailable("there was no core timing");
	fm_uncertain_window_time(recording, &picture->predicted_seconds);
	picture->seconds = recording->native.runs ? native_seconds(recording, picture) : picture->predicted_seconds;
	fill(recording, sums, picture);
	fill_regularity(recording, &sums->counts, picture);
	if (!part->region && part->thread < 0)
		fill_unused(recording, &sums->counts, picture);
	fill_false_sharing(recording, picture);
	fm_threads_predict(recording, picture);
	if (picture->times.user.available)
		picture->predicted_seconds = picture->times.user;
	fm_uncertain_prediction(recording, picture);
	fm_uncertain_unseen(recording, picture);
	fm_kernel_time(recording, picture);
	fm_synchronisation(recording, &sums->counts, picture);
	fm_measured_waiting(recording, picture);
	if (fm_windows_used(recording))
		fm_irregular_waiting(picture);
	fm_uncertain_few_windows(recording, picture);
}

bool fm_picture_moment(const struct fm_recording *recording, unsigned index, struct fm_picture *ret_picture,
                       double *ret_at)
{
	const struct fm_recorded_moment *moment = &recording->moments[index], *before = index ? moment - 1 : NULL;
	double hertz = recording->machine.frequency_ghz * 1e9, cycles;
	struct fm_part_sums sums = {0};

	if (index >= recording->moments_count)
		return false;
	sums.counts = moment->counts;
	sums.timing = moment->timing;
	cycles = (double)moment->cycle;
	*ret_at = cycles / hertz;
	if (before) {
		fm_numbers_subtract(&sums.counts, &before->counts, sizeof(sums.counts));
		fm_numbers_subtract(&sums.timing, &before->timing, sizeof(sums.timing));
		cycles -= (double)before->cycle;
	}
	if (!(cycles > 0))
		return false;
	memset(ret_picture, 0, sizeof(*ret_picture));
	ret_picture->recording = recording;
	ret_picture->machine = recording->machine.name;
	ret_picture->part.thread = -1;
	ret_picture->threads = moment->running > 1 ? (unsigned)moment->running : 1;
	ret_picture->seconds = simulated(cycles / hertz, "s");
	if (fm_windows_used(recording))
		ret_picture->seconds.origin = FM_ORIGIN_sampled;
	ret_picture->predicted_seconds = ret_picture->seconds;
	fill(recording, &sums, ret_picture);
	return true;
}
