/* Working sets in a miss-ratio curve. */
#include "reuse/curve.h"

#include "reuse/tuning.h"

unsigned fm_miss_knees(const struct fm_miss_curve *curve, struct fm_miss_knee *ret_knees, unsigned room)
{
	const struct fm_miss_point *points = curve->points;
	unsigned count = 0;

	for (unsigned i = 0; i < FM_MISS_POINTS - 1 && count < room;) {
		unsigned end,
		    last = i + FM_MISS_PER_OCTAVE < FM_MISS_POINTS ? i + FM_MISS_PER_OCTAVE : FM_MISS_POINTS - 1;

		if (points[i].value - points[last].value < KNEE_STEEP) {
			i++;
			continue;
		}
		/* from the first fall, while the curve is steeper than flat */
		while (points[i].value - points[i + 1].value < KNEE_FLAT / FM_MISS_PER_OCTAVE)
			i++;
		for (end = i + 1; end < FM_MISS_POINTS - 1; end++) {
			last = end + FM_MISS_PER_OCTAVE / 2 < FM_MISS_POINTS ? end + FM_MISS_PER_OCTAVE / 2
			                                                     : FM_MISS_POINTS - 1;
			if (points[end].value - points[last].value < KNEE_FLAT / 2)
				break;
		}
		if (points[i].value - points[end].value >= KNEE_STEEP)
			ret_knees[count++] = (struct fm_miss_knee){.from_bytes = fm_miss_bytes(i),
			                                           .to_bytes = fm_miss_bytes(end),
			                                           .above = points[i].value,
			                                           .below = points[end].value};
		i = end;
	}
	return count;
}

struct fm_miss_fit fm_miss_fit(const struct fm_miss_curve *curve, double bytes)
{
	struct fm_miss_knee knees[FM_MISS_POINTS];
	unsigned count = fm_miss_knees(curve, knees, FM_MISS_POINTS);
	struct fm_miss_fit fit = {.now = fm_miss_at(curve, bytes).value};

	for (unsigned i = 0; i < count; i++) {
		double enough = knees[i].below + fmin(KNEE_FLAT, KNEE_COMPLETE * (fit.now - knees[i].below));

		/* already within it */
		if (knees[i].to_bytes <= bytes || fit.now - knees[i].below <= KNEE_FLAT)
			continue;
		for (int percent = 1; percent <= 100 * SHRINK_MOST; percent++) {
			double then = fm_miss_at(curve, bytes / (1 - percent / 100.0)).value;

			if (then > enough)
				continue;
			fit.found = true;
			fit.shrink = percent / 100.0;
			fit.then = then;
			return fit;
		}
		break;
	}
	return fit;
}
