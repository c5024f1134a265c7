#include "reuse/lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "reuse/tuning.h"

/* The share of followed lines between two touches varies at most like that of pairs drawn at random. */
#define SPREAD M_SQRT2
/* An event that none of n touches shows is at most 3/n of them, at 95 %. */
#define UNSEEN 3.0

/* Sums from each bin on, so that a size is looked up. */
struct sums {
	const struct fm_lines_sample *sample;
	unsigned count;                                    /* of bins that have an end */
	double edges[FM_LINES_BINS(FM_DISTANCE_BITS) + 1]; /* where they begin */
	double *from;                                      /* groups × (count + 1) */
	double *all;                                       /* count + 1, of all groups */
};

static int add_up(const struct fm_lines_sample *sample, struct sums *ret_sums)
{
	const unsigned bins = FM_LINES_BINS(sample->bits), count = bins - 2;
	double *from = calloc((size_t)(sample->groups + 1) * (count + 1), sizeof(*from));

	if (!from)
		return -ENOMEM;
	*ret_sums =
	    (struct sums){.sample = sample, .count = count, .from = from, .all = from + sample->groups * (count + 1)};
	/* d others in the sample: between d - 1/2 and d + 1/2 times as many as are followed on average */
	for (unsigned bin = 0; bin <= count; bin++)
		ret_sums->edges[bin] = fm_bin_low(bin, sample->bits) - 0.5;
	for (unsigned group = 0; group < sample->groups; group++, from += count + 1) {
		const double *own = sample->bins + (size_t)group * bins;

		from[count] = own[bins - 1] + own[bins - 2];
		for (unsigned bin = count; bin-- > 0;)
			from[bin] = from[bin + 1] + own[bin];
		for (unsigned bin = 0; bin <= count; bin++)
			ret_sums->all[bin] += from[bin];
	}
	return 0;
}

/* Touches that miss a cache which holds `lines` followed lines, of one group or of all. */
static double missed(const struct sums *sums, const double *from, double lines)
{
	unsigned bin = lines > 0 ? fm_bin_of((uint64_t)(lines + 0.5), sums->sample->bits) : 0;
	double low, high;

	if (bin >= sums->count)
		return from[sums->count];
	low = sums->edges[bin];
	high = sums->edges[bin + 1];
	return from[bin + 1] + (from[bin] - from[bin + 1]) * fmin(1, (high - lines) / (high - low));
}

static double missed_of_all(const struct sums *sums, double lines)
{
	return missed(sums, sums->all, lines);
}

double fm_lines_long(const struct fm_lines_sample *sample)
{
	const unsigned bins = FM_LINES_BINS(sample->bits);
	double sum = 0;

	for (unsigned group = 0; group < sample->groups; group++)
		for (unsigned bin = fm_lines_bin(FM_LINES_LEAST, sample->bits); bin < bins; bin++)
			sum += sample->bins[(size_t)group * bins + bin];
	return sum;
}

/* Half of the 95 % interval of the sum over groups, by how they differ. */
static double half_width(const struct sums *sums, double lines)
{
	const struct fm_lines_sample *sample = sums->sample;
	double mean = missed_of_all(sums, lines) / sample->groups, squares = 0;

	if (sample->groups < 2)
		return INFINITY;
	for (unsigned group = 0; group < sample->groups; group++) {
		double off = missed(sums, sums->from + group * (sums->count + 1), lines) - mean;

		squares += off * off;
	}
	return fm_statistics_student(sample->groups - 1) *
	       sqrt(squares * sample->groups / (sample->groups - 1) * (1 - 1 / sample->one_in));
}

static double limited(double share)
{
	return fmin(fmax(share, 0), 1);
}

static struct fm_miss_point estimate(const struct sums *sums, double lines)
{
	const struct fm_lines_sample *sample = sums->sample;
	double scale = sample->one_in / sample->references, found = missed_of_all(sums, lines);
	double chance = hypot(half_width(sums, lines), sample->doubt),
	       shift = hypot(1.96 * SPREAD * sqrt(lines), SIZES * lines) + 1;
	double uneven = UNEVEN * sample->uncounted * found;
	double above = missed_of_all(sums, fmax(lines - shift - SLOW * sample->uncounted * lines, 0)) - found,
	       below = found - missed_of_all(sums, lines + shift);
	/* touches that seem closer: they are then at any distance below their own */
	double closer = fmin(missed_of_all(sums, lines / 4) - found, CLOSER * sample->uncounted * found);

	chance = hypot(chance, uneven);
	return (struct fm_miss_point){
	    .value = limited(scale * found),
	    .low = limited(scale * (found - hypot(chance, below)) - LINES_FLOOR),
	    .high = limited(scale * (found + fmax(hypot(chance, above) + closer, UNSEEN)) + LINES_FLOOR)};
}

int fm_miss_lines(const struct fm_lines_sample *sample, struct fm_miss_curve *ret_curve)
{
	double line_bytes = sample->line_bytes > 0 ? sample->line_bytes : 64;
	struct fm_miss_curve curve = {.origin = FM_ORIGIN_sampled,
	                              .clusters = sample->groups,
	                              .phases = 1,
	                              .largest_bytes = INFINITY,
	                              .bootstrapped = true};
	struct sums sums;
	int r = sample->references > 0 && sample->groups ? add_up(sample, &sums) : -ENODATA;

	if (r)
		return r;
	curve.samples = sums.all[0];
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		double lines = fm_miss_bytes(i) / line_bytes / sample->one_in;
		struct fm_miss_point *point = &curve.points[i];

		*point = estimate(&sums, fmax(lines, FM_LINES_LEAST));
		if (lines < FM_LINES_LEAST * 0.999)
			point->high = 1;
		if (i && point->high > point[-1].high)
			point->high = point[-1].high;
	}
	for (unsigned i = FM_MISS_POINTS - 1; i-- > 0;)
		curve.points[i].low = fmax(curve.points[i].low, curve.points[i + 1].low);
	free(sums.from);
	*ret_curve = curve;
	return 0;
}
