#include "measure/host_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/processor.h"
#include "base/random.h"
#include "base/statistics.h"
#include "kernels/layout.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

enum {
	ROUNDS_MAX = 64,
	LEAST_ROUNDS = 3,
	FILLS = 3,   /* lines are kept only after they were seen to come back */
	APART = 4,   /* lines from one that is looked at to the next: prefetchers bring those in between */
	GROUP = 8,   /* lines, one after the other, that are timed together: some clocks take large steps */
	GROUPS = 24, /* each time */
	STAGES = FM_LIFE_POINTS + 2, /* at once, after each wait, and lines that are in no cache */
};

/* ns. The last one is as long as the others together. */
const double fm_life_waits[FM_LIFE_POINTS] = {0.5e6, 1e6, 2e6, 4e6, 8e6, 16e6, 32e6};

static double least_squares(const double *shares, double life)
{
	double sum = 0;

	for (unsigned i = 0; i < FM_LIFE_POINTS; i++) {
		double difference = isnan(shares[i]) ? 0 : shares[i] - exp(-fm_life_waits[i] / life);

		sum += difference * difference;
	}
	return sum;
}

/* The life whose curve is nearest: by steps of some per cent, from a tenth of the first wait to twenty of the last. */
static double nearest(const double *shares)
{
	enum { TRIED = 478 };
	const double first = LIFE_FIRST * fm_life_waits[0];
	double best = first, least = INFINITY;

	for (unsigned i = 0; i < TRIED; i++) {
		double life = first * pow(LIFE_STEP, i), sum = least_squares(shares, life);

		if (sum < least) {
			least = sum;
			best = life;
		}
	}
	return best;
}

static void mean_without(const double (*shares)[FM_LIFE_POINTS], unsigned rounds, unsigned without, double *ret_means)
{
	for (unsigned i = 0; i < FM_LIFE_POINTS; i++) {
		double sum = 0;
		unsigned count = 0;

		for (unsigned k = 0; k < rounds; k++)
			if (k != without && !isnan(shares[k][i])) {
				sum += shares[k][i];
				count++;
			}
		ret_means[i] = count ? fmin(1, fmax(0, sum / count)) : NAN;
	}
}

struct fm_figure fm_life_find(const double (*shares)[FM_LIFE_POINTS], unsigned rounds)
{
	double means[FM_LIFE_POINTS], life, squares = 0, half;

	if (rounds < LEAST_ROUNDS)
		return fm_figure_unavailable("the machine was too busy");
	mean_without(shares, rounds, rounds, means);
	if (isnan(means[FM_LIFE_POINTS - 1]))
		return fm_figure_unavailable("the machine was too busy");
	if (means[FM_LIFE_POINTS - 1] > 1 - LIFE_LEAST_LOST)
		return fm_figure_unavailable("no eviction by others: data unused for %.0f ms stayed in the cache",
		                             fm_life_waits[FM_LIFE_POINTS - 1] / 1e6);
	life = nearest(means);
	/* each round left out once: of the logarithm, since neighbours come and go by factors */
	for (unsigned i = 0; i < rounds; i++) {
		mean_without(shares, rounds, i, means);
		squares += pow(log(nearest(means) / life), 2);
	}
	half = fm_statistics_student(rounds - 1) * sqrt(squares * (rounds - 1) / rounds);
	return fm_figure_make(life, life * exp(-half), life * exp(half), "ns", FM_ORIGIN_measured, "kernels", rounds);
}

/* A set that is looked at, and another one that drives it out of the caches of the core. */
struct sets {
	struct fm_buffer kept, other;
	void **next; /* of the chain through lines of the first */
};

static void read_all(const struct fm_buffer *buffer)
{
	for (size_t i = 0; i < buffer->bytes; i += FM_LINE_BYTES)
		(void)*(volatile const char *)(buffer->memory + i);
}

/* A chain through lines that are APART, in random order. */
static int link_lines(struct sets *sets, struct fm_random *random)
{
	size_t count = sets->kept.bytes / FM_LINE_BYTES / APART;
	void ***lines = calloc(count, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		lines[i] = (void **)(sets->kept.memory + i * APART * FM_LINE_BYTES);
	for (size_t i = count - 1; i; i--) {
		size_t other = fm_random_below(random, i + 1);
		void **line = lines[i];

		lines[i] = lines[other];
		lines[other] = line;
	}
	for (size_t i = 0; i < count; i++)
		*lines[i] = lines[(i + 1) % count];
	sets->next = lines[0];
	free(lines);
	return 0;
}

/* The next lines of the chain: ns of each group. */
static void look(struct sets *sets, double *ret_times)
{
	for (unsigned i = 0; i < GROUPS; i++) {
		uint64_t begin = fm_clock_now();

		for (unsigned k = 0; k < GROUP; k++)
			sets->next = (void **)*(void *volatile *)sets->next;
		ret_times[i] = (double)(fm_clock_now() - begin);
	}
}

/* Of the lines that are looked at next. */
static void flush(const struct sets *sets)
{
	void **lines[GROUPS * GROUP], **line = sets->next;

	for (unsigned i = 0; i < GROUPS * GROUP; i++) {
		lines[i] = line;
		line = (void **)*line;
	}
	for (unsigned i = 0; i < GROUPS * GROUP; i++)
		fm_flush_line(lines[i]);
	fm_flush_wait();
}

static double mean_below(const double *times, double limit)
{
	double sum = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < GROUPS; i++)
		if (times[i] < limit) {
			sum += times[i];
			count++;
		}
	return count ? sum / count : NAN;
}

/* Which share of the lines was still there after each wait. */
static void one_round(struct sets *sets, double *ret_shares)
{
	double times[STAGES][GROUPS], sorted[GROUPS], there, gone, limit;
	uint64_t begin;

	for (unsigned i = 0; i < FILLS; i++) {
		read_all(&sets->kept);
		read_all(&sets->other);
	}
	begin = fm_clock_now();
	look(sets, times[0]);
	for (unsigned i = 0; i < FM_LIFE_POINTS; i++) {
		while ((double)(fm_clock_now() - begin) < fm_life_waits[i])
			fm_pause();
		look(sets, times[i + 1]);
	}
	flush(sets);
	look(sets, times[STAGES - 1]);
	memcpy(sorted, times[STAGES - 1], sizeof(sorted));
	fm_statistics_sort(sorted, GROUPS);
	limit = LIFE_INTERRUPTED * fm_statistics_quantile_sorted(sorted, GROUPS, 0.5);
	there = mean_below(times[0], limit);
	gone = mean_below(times[STAGES - 1], limit);
	for (unsigned i = 0; i < FM_LIFE_POINTS; i++)
		ret_shares[i] =
		    gone > LIFE_APART * there ? (gone - mean_below(times[i + 1], limit)) / (gone - there) : NAN;
}

static const char *make_sets(const struct fm_topology *topology, struct sets *sets)
{
	const size_t least = 2ul * STAGES * GROUPS * GROUP * APART * FM_LINE_BYTES;
	struct fm_error error = {0};
	struct fm_random random;
	size_t core, last, kept;

	if (topology->cache_count < 3)
		return "this machine has no third cache";
	core = topology->caches[topology->cache_count - 2].bytes;
	last = topology->caches[topology->cache_count - 1].bytes;
	kept = core > least ? core : least;
	if (last < 2 * (kept + 2 * core))
		return "the last-level cache is hardly larger than the level before";
	fm_random_seed(&random, fm_clock_now());
	if (fm_buffer_allocate(kept, FM_PAGES_HUGE, -1, &sets->kept, &error) ||
	    fm_buffer_allocate(2 * core, FM_PAGES_HUGE, -1, &sets->other, &error) || link_lines(sets, &random))
		return "not enough memory";
	return NULL;
}

struct fm_figure fm_life_measure(const struct fm_topology *topology, double seconds)
{
	double shares[ROUNDS_MAX][FM_LIFE_POINTS];
	struct sets sets = {0};
	uint64_t begin = fm_clock_now();
	const char *why = make_sets(topology, &sets);
	unsigned rounds = 0;

	while (!why && rounds < ROUNDS_MAX &&
	       (rounds < LEAST_ROUNDS || (double)(fm_clock_now() - begin) < 1e9 * seconds))
		one_round(&sets, shares[rounds++]);
	fm_buffer_free(&sets.kept);
	fm_buffer_free(&sets.other);
	return why ? fm_figure_unavailable("%s", why) : fm_life_find((const double(*)[FM_LIFE_POINTS])shares, rounds);
}
