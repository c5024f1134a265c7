#include "reuse/stack.h"

void fm_distances_add(struct fm_distances *sum, const struct fm_distances *distances)
{
	for (unsigned bin = 0; bin < FM_DISTANCE_BINS; bin++)
		sum->bins[bin] += distances->bins[bin];
	sum->cold += distances->cold;
	sum->references += distances->references;
}

double fm_distances_miss_ratio(const struct fm_distances *distances, double lines)
{
	double missed = distances->cold;

	if (!(distances->references > 0))
		return NAN;
	for (unsigned bin = 0; bin < FM_DISTANCE_BINS; bin++) {
		double low = fm_bin_low(bin, FM_DISTANCE_BITS);
		double high = fm_bin_low(bin + 1, FM_DISTANCE_BITS);

		if (low >= lines)
			missed += distances->bins[bin];
		else if (high > lines)
			missed += distances->bins[bin] * (high - lines) / (high - low);
	}
	missed /= distances->references;
	return missed > 1 ? 1 : missed < 0 ? 0 : missed;
}
