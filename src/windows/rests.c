#include "windows/rests.h"

#include <math.h>

#include "windows/tuning.h"

/* Of random accesses to `bytes` of data, this share misses a full cache. A sweep in order misses more. */
static double least_misses(double bytes, double capacity)
{
	return bytes > capacity ? 1 - capacity / bytes : 0;
}

struct fm_rest_factor fm_rests_factor(const struct fm_after_rests *after)
{
	double unknown = after->hits + after->misses, known = fmax(0, after->reads - after->misses),
	       most = fmax(after->resident > 0 ? after->resident : INFINITY, after->seen), low, high, cold;
	struct fm_rest_factor factor = {after->rested, after->rested, after->rested};

	if (!(unknown > 0) || !(after->reads > 0))
		return factor;
	low = least_misses(FITS * after->seen, after->capacity);
	high = most > FITS * after->capacity || after->life > 0 ? 1 : 0;
	/* data that the cache holds completely come from memory once, also those first touched in a rest */
	cold = after->seen > 0 ? fmin(after->cold, after->reads) : 0;
	if (high > 0) {
		factor.low = (known + low * unknown) * after->rested;
		factor.high = (known + high * unknown) * after->rested;
		factor.value = (factor.low + factor.high) / 2;
	} else {
		factor.low = factor.value = cold + fmax(0, known - cold) * after->rested;
		factor.high = factor.value + cold * fmax(0, most / after->seen - 1);
	}
	factor.low = fmax(factor.low, cold) / after->reads;
	factor.value = fmax(factor.value / after->reads, factor.low);
	factor.high = fmax(factor.high / after->reads, factor.value);
	return factor;
}
