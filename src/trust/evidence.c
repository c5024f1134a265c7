#include "trust/evidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "trust/judging.h"

/* Mean and variance between repetitions, without outliers. */
static unsigned summarise(const double *counts, unsigned repeats, double *scratch, double *ret_mean,
                          double *ret_variance)
{
	double sum = 0, squares = 0, middle, spread;
	unsigned n = 0, kept = 0;

	for (unsigned k = 0; k < repeats; k++)
		if (isfinite(counts[k]))
			scratch[n++] = counts[k];
	if (!n)
		return 0;
	if (n >= FM_OUTLIER_REPEATS) {
		double *deviations = scratch + repeats;

		fm_statistics_sort(scratch, n);
		middle = n % 2 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2;
		for (unsigned k = 0; k < n; k++)
			deviations[k] = fabs(scratch[k] - middle);
		fm_statistics_sort(deviations, n);
		spread = 1.4826 * deviations[n / 2] + FM_OUTLIER_SLACK * middle + 1;
		for (unsigned k = 0; k < n; k++)
			if (fabs(scratch[k] - middle) <= FM_OUTLIER * spread)
				scratch[kept++] = scratch[k];
		n = kept;
	}
	for (unsigned k = 0; k < n; k++)
		sum += scratch[k];
	*ret_mean = sum / n;
	for (unsigned k = 0; k < n; k++)
		squares += (scratch[k] - sum / n) * (scratch[k] - sum / n);
	*ret_variance = n > 1 ? squares / (n - 1) : 0;
	return n;
}

/* Half of all that is counted is counted in runs that count at least this. */
static double middle_of_all(const struct fm_evidence *evidence, unsigned runs, double *scratch)
{
	double sum = 0, below = 0;
	unsigned n = 0;

	for (unsigned r = 0; r < runs; r++)
		if (evidence->mean[r] > 0) {
			scratch[n++] = evidence->mean[r];
			sum += evidence->mean[r];
		}
	fm_statistics_sort(scratch, n);
	for (unsigned i = 0; i < n; i++) {
		below += scratch[i];
		if (2 * below >= sum)
			return scratch[i];
	}
	return 0;
}

static double median_above(const struct fm_evidence *evidence, unsigned runs, double least, double *scratch)
{
	unsigned n = 0;

	for (unsigned r = 0; r < runs; r++)
		if (evidence->mean[r] > least)
			scratch[n++] = evidence->mean[r];
	fm_statistics_sort(scratch, n);
	return n ? scratch[n / 2] : 0;
}

/* Runs with next to no counts, which differ each time and need no explanation. */
static double find_irregular(const struct fm_evidence *evidence, unsigned runs, double most, const double *variance)
{
	double floor = 0;

	for (unsigned r = 0; r < runs; r++)
		if (evidence->mean[r] > floor && evidence->mean[r] < most &&
		    variance[r] > FM_IRREGULAR * FM_IRREGULAR * evidence->mean[r] * evidence->mean[r])
			floor = evidence->mean[r];
	return floor;
}

/* The largest count in runs without a quantity, if it is small beside the counts of runs with it: the largest such
   floor of all quantities. One run whose repetitions disagree proves nothing. */
static double find_floor(const struct fm_columns *columns, const struct fm_evidence *evidence, const double *variance)
{
	double floor = 0;

	for (unsigned q = 0; q < columns->matrix->quantities.quantity_count; q++) {
		double most = 0, second = 0, sum = 0, all = 0;
		unsigned nothing = 0, something = 0, at = 0;
		const double *truth;
		const unsigned char *known;

		if (columns->quantity[q] < 0)
			continue;
		truth = columns->values[columns->quantity[q]];
		known = columns->known[columns->pattern[columns->quantity[q]]];
		for (unsigned r = 0; r < columns->runs; r++) {
			if (!known[r] || !isfinite(evidence->mean[r]))
				continue;
			if (truth[r] > 0) {
				sum += evidence->mean[r];
				something++;
			} else {
				nothing++;
				all += evidence->mean[r];
				if (evidence->mean[r] > most) {
					second = most;
					most = evidence->mean[r];
					at = r;
				} else if (evidence->mean[r] > second) {
					second = evidence->mean[r];
				}
			}
		}
		if (nothing < 2 || something < 2)
			continue;
		if (nothing > 3 && most > FM_LONE_FLOOR * second && variance[at] > FM_LONE_VARIANCE * most * most)
			most = second;
		/* a count that repeats, and far exceeds that of similar runs, has a cause */
		if (evidence->repeats >= FM_REGULAR_REPEATS && variance[at] < FM_REGULAR * FM_REGULAR * most * most &&
		    most * (nothing - 1) > 3 * (all - most))
			continue;
		if (most <= FM_FLOOR_MOST * sum / something)
			floor = fmax(floor, most);
	}
	return floor;
}

/* Relative noise where there is much to count: by the median of variances, or, of few runs, by their mean; without the
   largest tenth if some were disturbed, and by the median if more of them were. */
static double find_noise(const struct fm_evidence *evidence, unsigned runs, const double *variance, double *scratch)
{
	double sum = 0, middle, dof = evidence->repeats > 1 ? evidence->repeats - 1 : 1;
	unsigned n = 0, kept;

	for (unsigned r = 0; r < runs; r++)
		if (evidence->mean[r] > fmax(FM_LITTLE_COUNTED * evidence->typical, FM_ABOVE_FLOOR * evidence->floor))
			scratch[n++] = variance[r] / (evidence->mean[r] * evidence->mean[r]);
	if (!n)
		return 0;
	fm_statistics_sort(scratch, n);
	/* median of chi squared, by Wilson and Hilferty */
	middle = scratch[n / 2] / pow(1 - 2 / (9 * dof), 3);
	if (n >= FM_NOISE_RUNS)
		return sqrt(middle);
	for (unsigned i = 0; i < n; i++)
		sum += scratch[i];
	if (sum / n <= 2 * middle)
		return sqrt(sum / n);
	for (kept = n; kept > n - n / 10; kept--)
		sum -= scratch[kept - 1];
	return sqrt(fmax(sum, 0) / kept > 4 * middle ? middle : fmax(sum, 0) / kept);
}

int fm_evidence_create(const struct fm_matrix *matrix, unsigned event, const struct fm_columns *columns,
                       struct fm_evidence *ret_evidence)
{
	struct fm_evidence evidence = {.socket = matrix->events[event].socket};
	unsigned runs = matrix->run_count;
	double middle, *variance = calloc(runs + 1, sizeof(double)),
	               *scratch = calloc((size_t)runs + 2 * matrix->repeats + 1, sizeof(double));

	evidence.mean = calloc(runs + 1, sizeof(double));
	evidence.weight = calloc(runs + 1, sizeof(double));
	if (!variance || !scratch || !evidence.mean || !evidence.weight) {
		free(variance);
		free(scratch);
		fm_evidence_free(&evidence);
		return -ENOMEM;
	}
	for (unsigned r = 0; r < runs; r++) {
		unsigned n = 0;

		evidence.mean[r] = NAN;
		/* runs without known truth are no evidence */
		if (evidence.socket ? matrix->runs[r].known_socket : matrix->runs[r].known)
			n = summarise(fm_matrix_counts(matrix, event, r), matrix->repeats, scratch, &evidence.mean[r],
			              &variance[r]);
		evidence.counted += n > 0;
		if (n > evidence.repeats)
			evidence.repeats = n;
	}
	middle = middle_of_all(&evidence, runs, scratch);
	evidence.floor = fmax(find_floor(columns, &evidence, variance),
	                      find_irregular(&evidence, runs, FM_LITTLE_COUNTED * middle, variance));
	evidence.typical = median_above(&evidence, runs, fmax(3 * evidence.floor, FM_LITTLE_COUNTED * middle), scratch);
	evidence.noise = find_noise(&evidence, runs, variance, scratch);
	evidence.tolerance = sqrt(evidence.noise * evidence.noise / (evidence.repeats ? evidence.repeats : 1) +
	                          FM_UNKNOWN_EFFECTS * FM_UNKNOWN_EFFECTS);
	for (unsigned r = 0; r < runs; r++) {
		double relative, absolute = FM_UNCERTAIN_COUNT * evidence.typical + evidence.floor + 1, usual, expected;

		if (!isfinite(evidence.mean[r]))
			continue;
		relative = evidence.tolerance * evidence.mean[r];
		expected = relative * relative + absolute * absolute;
		usual = evidence.noise * evidence.mean[r];
		if (variance[r] > FM_DISTURBED * FM_DISTURBED * (usual * usual + absolute * absolute))
			expected += variance[r] / evidence.repeats;
		evidence.weight[r] = 1 / expected;
	}
	free(variance);
	free(scratch);
	*ret_evidence = evidence;
	return 0;
}

void fm_evidence_free(struct fm_evidence *evidence)
{
	free(evidence->mean);
	free(evidence->weight);
}

bool fm_evidence_is_disturbed(const struct fm_evidence *evidence, unsigned run)
{
	double relative = evidence->tolerance * evidence->mean[run],
	       absolute = FM_UNCERTAIN_COUNT * evidence->typical + evidence->floor + 1;

	return evidence->weight[run] * (relative * relative + absolute * absolute) < FM_DISTURBED_WEIGHT;
}

bool fm_evidence_is_unchanged(const struct fm_matrix *matrix, const struct fm_evidence *evidence)
{
	double low = INFINITY, high = 0, sum = 0, squares = 0, expected;

	for (unsigned r = 0; r < matrix->run_count; r++)
		if (isfinite(evidence->mean[r])) {
			low = fmin(low, evidence->mean[r]);
			high = fmax(high, evidence->mean[r]);
			sum += evidence->mean[r];
			squares += evidence->mean[r] * evidence->mean[r];
		}
	if (high - low <= FM_UNCHANGED * high)
		return true;
	/* or the runs differ no more than repetitions of one do */
	sum /= evidence->counted;
	squares = squares / evidence->counted - sum * sum;
	expected = evidence->noise * sum * evidence->noise * sum / (evidence->repeats ? evidence->repeats : 1);
	/* or the counts vary by no more than a floor on top of a constant */
	return squares <= 3 * expected || squares <= FM_UNCHANGED * FM_UNCHANGED / 4 * sum * sum;
}
