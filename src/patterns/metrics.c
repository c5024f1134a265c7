#include <math.h>

#include "patterns/patterns.h"

/* Below this, beginning and ending a process is much of its time. */
#define SHORT 0.02

static struct fm_figure simulated(double value)
{
	return fm_figure_make(value, value, value, "", FM_ORIGIN_simulated, "exact", 1);
}

static struct fm_figure no_cycles(void)
{
	return fm_figure_unavailable("there was no core timing (--timing)");
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

/* How much of the level's bandwidth was used over the whole time; or, since a program does not do the same all the
   time, the share of its cycles that waited for that bandwidth. */
static struct fm_figure saturation(const struct fm_picture *picture, unsigned level)
{
	const uint64_t *stalls = picture->timing.stalls;
	struct fm_figure used = picture->levels[level].utilisation, waited;
	double cycles = (double)stalls[level >= picture->machine->cache_count ? FM_STALL_bandwidth_memory
	                               : level == 1                           ? FM_STALL_bandwidth_second
	                                                                      : FM_STALL_bandwidth_third];

	if (!(picture->active > 0))
		return used;
	if (level == busiest(picture))
		cycles += (double)stalls[FM_STALL_stores];
	waited = simulated(cycles / picture->active);
	if (!used.available)
		return waited;
	/* the larger of two: also of their bounds */
	return fm_figure_make(fmax(used.value, waited.value), fmax(used.low, waited.low), fmax(used.high, waited.high),
	                      "", used.origin, used.backend, used.trials);
}

static struct fm_figure latency_share(const struct fm_picture *picture, unsigned level)
{
	const uint64_t *stalls = picture->timing.stalls;
	double cycles;

	if (!(picture->active > 0))
		return no_cycles();
	if (level >= picture->machine->cache_count)
		cycles = (double)(stalls[FM_STALL_latency_memory] + stalls[FM_STALL_latency_remote]);
	else
		cycles = (double)stalls[!level       ? FM_STALL_first
		                        : level == 1 ? FM_STALL_latency_second
		                                     : FM_STALL_latency_third];
	return simulated(cycles / picture->active);
}

static struct fm_figure imbalance(const struct fm_picture *picture, unsigned level)
{
	double most = 0, sum = 0;

	(void)level;
	if (picture->threads < 2)
		return simulated(1);
	for (unsigned i = 0; i < picture->thread_count; i++) {
		most = fmax(most, (double)picture->per_thread[i].useful);
		sum += (double)picture->per_thread[i].useful;
	}
	return sum > 0 ? simulated(most / sum * picture->threads)
	               : fm_figure_unavailable("no thread stored or computed");
}

/* In the engine threads take turns: a line that is fought for moves at each of them. */
static struct fm_figure false_sharing(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	if (picture->threads < 2 || picture->false_transfers < 20)
		return simulated(0);
	return picture->turns ? simulated(fmin(1, (double)picture->false_transfers / (double)picture->turns))
	                      : fm_figure_unavailable("the threads ran freely: turns were not counted");
}

/* How much of the lines that came into the first cache was used: bytes accessed over bytes brought. Reuse makes it more
   than one. */
static double unused(const struct fm_picture *picture)
{
	const struct fm_cache_counts *first = &picture->counts.caches[0];
	double brought = (double)picture->machine->line_bytes *
	                 (double)(first->lines_demand + first->lines_ownership + first->lines_prefetch);
	double used = (double)(picture->counts.load_bytes + picture->counts.store_bytes);

	return brought > 0 ? fmax(0, 1 - used / brought) : 0;
}

/* Of the lines that were wanted from below the first cache's neighbour, those that a prefetcher had brought. */
static double foreseen(const struct fm_picture *picture)
{
	const struct fm_cache_counts *second = &picture->counts.caches[picture->machine->cache_count > 1 ? 1 : 0];
	double all = (double)(second->lines_demand + second->lines_ownership + second->prefetch_hits);

	return all > 0 ? (double)second->prefetch_hits / all : 0;
}

static struct fm_figure strided(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return simulated(unused(picture) * foreseen(picture));
}

static struct fm_figure erratic(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return simulated(unused(picture) * (1 - foreseen(picture)));
}

static struct fm_figure remote_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	if (picture->machine->sockets < 2 || !picture->counts.memory_reads)
		return simulated(0);
	return simulated((double)picture->counts.memory_reads_remote / (double)picture->counts.memory_reads);
}

static struct fm_figure translation_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->active > 0 ? simulated((double)picture->timing.stalls[FM_STALL_translation] / picture->active)
	                           : no_cycles();
}

static struct fm_figure waiting_share(const struct fm_picture *picture, unsigned level)
{
	const struct fm_native *native = &picture->native;
	double waited;

	(void)level;
	if (!native->runs)
		return fm_figure_unavailable("only a native run tells how long threads wait");
	if (picture->threads < 2)
		return simulated(0);
	if (native->seconds.value < SHORT)
		return fm_figure_unavailable("it ran too briefly: most of its time was its beginning and end");
	waited = fmax(0, 1 - native->cpu_seconds / (native->seconds.value * picture->threads));
	return fm_figure_make(waited, waited, waited, "", FM_ORIGIN_measured, "native", native->runs);
}

static struct fm_figure throughput(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->active > 0
	           ? simulated((double)picture->timing.instructions / (picture->active * picture->machine->core.width))
	           : no_cycles();
}

/* A program that hardly computes is not composed badly. */
static struct fm_figure narrow_arithmetic(const struct fm_picture *picture, unsigned level)
{
	double flops = (double)picture->work.flops, wide = 4 * (double)picture->work.vector_calculations;

	(void)level;
	if (flops < 0.05 * (double)picture->work.instructions)
		return simulated(0);
	return simulated(fmax(0, 1 - wide / flops));
}

static const struct {
	struct fm_figure (*compute)(const struct fm_picture *picture, unsigned level);
	bool per_level;
	const char *words;
} metrics[] = {
#define METRIC(identifier, level, words) {identifier, level, words},
#include "patterns/metrics.def"
#undef METRIC
};

struct fm_figure fm_metric_compute(const struct fm_picture *picture, enum fm_metric metric, unsigned level)
{
	return metrics[metric].compute(picture, level);
}

bool fm_metric_has_level(enum fm_metric metric)
{
	return metrics[metric].per_level;
}

const char *fm_metric_words(enum fm_metric metric)
{
	return metrics[metric].words;
}
