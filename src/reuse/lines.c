#include "reuse/lines.h"

#include <errno.h>

#include "base/statistics.h"

/* Touches that are not seen, or seen late, in windows and in the latest lines; of all references. */
#define FLOOR 0.001
/* Between two touches the share of lines that is followed varies like that of pairs drawn at random, or less: data that
   lies together is followed evenly. */
#define SPREAD M_SQRT2
/* How much more or fewer misses there may be, compared with the rest, where nothing was seen: such stretches are few,
   and favour slow code. */
#define UNEVEN 0.35
/* The share of touches across such stretches whose distance lacks something that matters. */
#define CLOSER 0.5
/* Slices of time have more lines in them, compared with references, where code waits for memory. */
#define SLOW 2.0
/* Sizes are known no better than this. */
#define SIZES 0.02
/* What none of n touches shows may still be 3/n of them, at 95 %. */
#define UNSEEN 3.0

/* Those of a group that miss a cache which holds so many followed lines. */
static double missed(const struct fm_lines_sample *sample, unsigned group, double lines)
{
	const unsigned count = FM_LINES_BINS(sample->bits);
	const double *bins = sample->bins + (size_t)group * count;
	double sum = bins[count - 1] + bins[count - 2];

	for (unsigned bin = count - 2; bin-- > 0;) {
		/* d others in the sample: between d - 1/2 and d + 1/2 times as many as are followed on average */
		double low = fm_bin_low(bin, sample->bits) - 0.5, high = fm_bin_low(bin + 1, sample->bits) - 0.5;

		if (high <= lines)
			break;
		sum += low >= lines ? bins[bin] : bins[bin] * (high - lines) / (high - low);
	}
	return sum;
}

static double missed_of_all(const struct fm_lines_sample *sample, double lines)
{
	double sum = 0;

	for (unsigned group = 0; group < sample->groups; group++)
		sum += missed(sample, group, lines);
	return sum;
}

double fm_lines_long(const struct fm_lines_sample *sample)
{
	return missed_of_all(sample, FM_LINES_LEAST);
}

/* Half of the 95 % interval of the sum over groups, by how they differ. */
static double half_width(const struct fm_lines_sample *sample, double lines)
{
	double mean = missed_of_all(sample, lines) / sample->groups, squares = 0;

	if (sample->groups < 2)
		return INFINITY;
	for (unsigned group = 0; group < sample->groups; group++) {
		double off = missed(sample, group, lines) - mean;

		squares += off * off;
	}
	return fm_statistics_student(sample->groups - 1) *
	       sqrt(squares * sample->groups / (sample->groups - 1) * (1 - 1 / sample->one_in));
}

static double limited(double share)
{
	return fmin(fmax(share, 0), 1);
}

static struct fm_miss_point estimate(const struct fm_lines_sample *sample, double lines)
{
	double scale = sample->one_in / sample->references, found = missed_of_all(sample, lines);
	double chance = hypot(half_width(sample, lines), sample->doubt),
	       shift = hypot(1.96 * SPREAD * sqrt(lines), SIZES * lines) + 1;
	double uneven = UNEVEN * sample->uncounted * found;
	double above = missed_of_all(sample, fmax(lines - shift - SLOW * sample->uncounted * lines, 0)) - found,
	       below = found - missed_of_all(sample, lines + shift);
	/* touches that seem closer: they are then at any distance below their own */
	double closer = fmin(missed_of_all(sample, lines / 4) - found, CLOSER * sample->uncounted * found);

	chance = hypot(chance, uneven);
	return (struct fm_miss_point){
	    .value = limited(scale * found),
	    .low = limited(scale * (found - hypot(chance, below)) - FLOOR),
	    .high = limited(scale * (found + fmax(hypot(chance, above) + closer, UNSEEN)) + FLOOR)};
}

int fm_miss_lines(const struct fm_lines_sample *sample, struct fm_miss_curve *ret_curve)
{
	double line_bytes = sample->line_bytes > 0 ? sample->line_bytes : 64;
	struct fm_miss_curve curve = {.origin = FM_ORIGIN_sampled,
	                              .clusters = sample->groups,
	                              .phases = 1,
	                              .samples = missed_of_all(sample, -1),
	                              .largest_bytes = INFINITY,
	                              .bootstrapped = true};

	if (!(sample->references > 0) || !sample->groups)
		return -ENODATA;
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		double lines = fm_miss_bytes(i) / line_bytes / sample->one_in;
		struct fm_miss_point *point = &curve.points[i];

		*point = estimate(sample, fmax(lines, FM_LINES_LEAST));
		if (lines < FM_LINES_LEAST * 0.999)
			point->high = 1;
		if (i && point->high > point[-1].high)
			point->high = point[-1].high;
	}
	for (unsigned i = FM_MISS_POINTS - 1; i-- > 0;)
		curve.points[i].low = fmax(curve.points[i].low, curve.points[i + 1].low);
	*ret_curve = curve;
	return 0;
}
