/* Page colours on this machine, against the truth that chases and programs of known need tell.

   bench_colours discovery TIMES                        how long it takes, and how often it closes
   bench_colours chase REPETITIONS                      chases of 1/8 … 3/4 of the L2 with k of N colours, and shuffled
   bench_colours model REPETITIONS PROGRAM WORDS…       time at N/4 and N/8 from N and N/2, and measured
   Everything is interleaved; figures are medians. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "colours/pool.h"
#include "squeeze/backend.h"
#include "recording/curve_rows.h"
#include "squeeze/hit_share.h"
#include "squeeze/second_opinion.h"

enum { MOST_REPETITIONS = 100, POOL = 12288 };

static double median(double *values, unsigned count)
{
	fm_statistics_sort(values, count);
	return fm_statistics_quantile_sorted(values, count, 0.5);
}

static int fails(const struct fm_error *error)
{
	fprintf(stderr, "bench_colours: %s\n", error->message);
	return error->code == ENOTSUP ? 77 : 1;
}

static int discovery(unsigned times)
{
	double first[MOST_REPETITIONS], known[MOST_REPETITIONS], worst = 0;
	unsigned closed = 0;

	for (unsigned i = 0; i < times; i++) {
		struct fm_colours_pool *pool;
		struct fm_error error;

		if (fm_colours_pool_open(&pool, &error))
			return fails(&error);
		if (fm_colours_pool_discover(pool, 0, &error)) {
			fprintf(stderr, "%s\n", error.message);
		} else {
			first[closed] = pool->seconds;
			worst = fmax(worst, pool->disagreement);
			if (fm_colours_pool_discover(pool, pool->colours.hash, &error))
				fprintf(stderr, "with a known index: %s\n", error.message);
			known[closed++] = pool->seconds;
		}
		fm_colours_pool_close(pool);
	}
	printf("%u of %u discoveries closed", closed, times);
	if (closed)
		printf("; median %.2f s, index known %.2f s; at most %.1f %% of 200 pages differed when tested again",
		       median(first, closed), median(known, closed), 100 * worst);
	printf("\n");
	return 0;
}

static int chases(unsigned repetitions)
{
	static const double shares[] = {0.125, 0.25, 0.5, 0.75};
	enum { SHARES = 4, STEPS = 6 };
	static double times[2][SHARES][STEPS][MOST_REPETITIONS];
	struct fm_colours_pool *pool;
	struct fm_colours *colours;
	struct fm_error error;
	static char *found[FM_COLOURS_MOST][POOL], *all[POOL], *chosen[POOL];
	unsigned counts[FM_COLOURS_MOST] = {0}, total, steps = 0, k_of[STEPS];
	char *memory =
	         mmap(NULL, (size_t)POOL * FM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     **lines = calloc((size_t)POOL * FM_PAGE_LINES, sizeof(*lines));

	if (memory == MAP_FAILED || !lines)
		return 1;
	madvise(memory, (size_t)POOL * FM_PAGE_BYTES, MADV_NOHUGEPAGE);
	if (fm_colours_pool_open(&pool, &error) || fm_colours_pool_discover(pool, 0, &error))
		return fails(&error);
	colours = &pool->colours;
	total = colours->geometry.colours * colours->geometry.ways;
	for (unsigned i = 0; i < POOL; i++) {
		int colour;

		all[i] = memory + (size_t)i * FM_PAGE_BYTES;
		*all[i] = 0;
		colour = fm_colours_find(colours, all[i], i % colours->count, colours->count);
		if (colour >= 0)
			found[colour][counts[colour]++] = all[i];
	}
	for (unsigned k = colours->count; k >= 2 && steps < STEPS; k /= 2)
		k_of[steps++] = k;
	for (unsigned repetition = 0; repetition < repetitions; repetition++)
		for (unsigned i = 0; i < SHARES * STEPS * 2; i++) {
			unsigned share = i / 2 % SHARES, step = i / 2 / SHARES, shuffled = i % 2,
			         pages = (unsigned)(shares[share] * total), k = step < steps ? k_of[step] : 0;

			if (!k)
				continue;
			if (shuffled)
				fm_colours_shuffle(&colours->random, all, POOL);
			else
				for (unsigned c = 0; c < k; c++)
					fm_colours_shuffle(&colours->random, found[c], counts[c]);
			for (unsigned page = 0; page < pages; page++) {
				if (!shuffled && page / k >= counts[page % k])
					return 1;
				chosen[page] = shuffled ? all[page] : found[page % k][page / k];
			}
			times[shuffled][share][step][repetition] = fm_colours_chase(colours, chosen, pages, lines);
		}
	for (unsigned shuffled = 0; shuffled < 2; shuffled++) {
		printf("%s, median ns of %u\n  of L2", shuffled ? "shuffled labels" : "k of N colours", repetitions);
		for (unsigned step = 0; step < steps; step++)
			printf("  %3u/%u", k_of[step], colours->count);
		printf("\n");
		for (unsigned share = 0; share < SHARES; share++) {
			printf("  %5.3f", shares[share]);
			for (unsigned step = 0; step < steps; step++)
				printf("  %6.2f", median(times[shuffled][share][step], repetitions));
			printf("\n");
		}
	}
	fm_colours_pool_close(pool);
	free(lines);
	return 0;
}

static int model(unsigned repetitions, char **program)
{
	static const unsigned parts[] = {1, 2, 4, 8};
	enum { PARTS = 4 };
	static double times[PARTS][MOST_REPETITIONS];
	struct fm_squeeze_wishes wishes = {.observation.program = program, .budget = 1e9};
	struct fm_squeeze_session session = {.wishes = &wishes, .backend = &fm_squeeze_colours};
	struct fm_hit_share hit_share;
	struct fm_recorded_squeeze *how;
	double ratios[MOST_REPETITIONS], seconds[PARTS];
	const struct fm_recorded_curve *row;
	struct fm_miss_curve curve;
	struct fm_location half;
	struct fm_error error;

	fm_random_seed(&session.random, fm_clock_now());
	if (fm_squeeze_colours.probe(&wishes, &error) || fm_squeeze_colours.begin(&session, &error))
		return fails(&error);
	fm_second_opinion_take(&session, wishes.budget);
	row = fm_curve_of_program(session.recording);
	if (row)
		fm_curve_read(session.recording, (size_t)(row - session.recording->curves), &curve);
	how = &session.recording->squeezes[0];
	for (unsigned repetition = 0; repetition < repetitions; repetition++)
		for (unsigned i = 0; i < PARTS; i++) {
			unsigned part = (i + repetition) % PARTS;

			if (fm_squeeze_colours.run(&session, part ? FM_SQUEEZE_LESS : FM_SQUEEZE_WHOLE,
			                           how->bytes / parts[part], 0, &error))
				return fails(&error);
			times[part][repetition] =
			    session.recording->squeeze_steps[session.recording->squeeze_steps_count - 1].seconds;
		}
	for (unsigned i = 0; i < repetitions; i++)
		ratios[i] = times[1][i] / times[0][i];
	fm_statistics_median(ratios, repetitions, &half);
	for (unsigned i = 0; i < PARTS; i++)
		seconds[i] = median(times[i], repetitions);
	hit_share = (struct fm_hit_share){
	    .full_bytes = how->bytes,
	    .near_ns = how->near_ns,
	    .beyond_ns = how->beyond_ns,
	    .half = fm_figure_make(half.value, half.low, half.high, "times", FM_ORIGIN_measured, "", repetitions),
	    .curve = row ? &curve : NULL,
	    .references_per_ns = row ? (double)row->references * 1e-9 / seconds[0] : 0};
	printf("%s: near %.2f ns, beyond %.2f ns, half %.3f\n", program[1] ? program[2] : program[0],
	       how->near_ns.value, how->beyond_ns.value, half.value);
	for (unsigned with = 0; with < 2; with++, hit_share.curve = NULL)
		for (unsigned i = 2; i < PARTS; i++) {
			struct fm_figure predicted = fm_hit_share_predict(&hit_share, how->bytes / parts[i]);
			const char *by = hit_share.curve ? "with the curve" : "by hit shares";

			if (predicted.available)
				printf("  N/%u: measured %.3f, predicted %s %.3f (%.3f to %.3f), off by %+.1f %%\n",
				       parts[i], seconds[i] / seconds[0], by, predicted.value, predicted.low,
				       predicted.high, 100 * (predicted.value * seconds[0] / seconds[i] - 1));
			else
				printf("  N/%u: measured %.3f, predicted %s: n/a, %s\n", parts[i],
				       seconds[i] / seconds[0], by, predicted.why);
		}
	fm_squeeze_colours.end(&session);
	fm_recording_free(session.recording);
	return 0;
}

int main(int count, char **words)
{
	unsigned times = count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 0;

	if (!times || times > MOST_REPETITIONS)
		return 2;
	if (!strcmp(words[1], "discovery"))
		return discovery(times);
	if (!strcmp(words[1], "chase"))
		return chases(times);
	return !strcmp(words[1], "model") && count > 3 ? model(times, words + 3) : 2;
}
