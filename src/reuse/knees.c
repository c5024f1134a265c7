/* Working sets in a miss-ratio curve. */
#include "reuse/curve.h"

#define STEEP 0.05 /* per octave */
#define CLOSE 0.01
#define MOST 0.9

unsigned fm_miss_knees(const struct fm_miss_curve *curve, struct fm_miss_knee *ret_knees, unsigned room)
{
	const struct fm_miss_point *points = curve->points;
	unsigned count = 0;

	for (unsigned i = 0; i < FM_MISS_POINTS - 1 && count < room;) {
		unsigned end,
		    last = i + FM_MISS_PER_OCTAVE < FM_MISS_POINTS ? i + FM_MISS_PER_OCTAVE : FM_MISS_POINTS - 1;

		if (points[i].value - points[last].value < STEEP) {
			i++;
			continue;
		}
		/* it begins where it falls at all, and goes on while it falls by more than a point per octave */
		while (points[i].value - points[i + 1].value < CLOSE / FM_MISS_PER_OCTAVE)
			i++;
		for (end = i + 1; end < FM_MISS_POINTS - 1; end++) {
			last = end + FM_MISS_PER_OCTAVE / 2 < FM_MISS_POINTS ? end + FM_MISS_PER_OCTAVE / 2
			                                                     : FM_MISS_POINTS - 1;
			if (points[end].value - points[last].value < CLOSE / 2)
				break;
		}
		if (points[i].value - points[end].value >= STEEP)
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
		double enough = knees[i].below + fmin(CLOSE, 0.1 * (fit.now - knees[i].below));

		/* already within it */
		if (knees[i].to_bytes <= bytes || fit.now - knees[i].below <= CLOSE)
			continue;
		for (int percent = 1; percent <= 100 * MOST; percent++) {
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
