#include "report/curve.h"

#include <stdlib.h>

/* Six digits, like other figures. */
static json_t *real(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	return json_real(strtod(text, NULL));
}

json_t *fm_curve_json(const struct fm_miss_curve *curve)
{
	enum { PER_OCTAVE = 4, KNEES_MAX = 16 };
	json_t *sizes = json_array(), *ratios = json_array(), *sets = json_array();
	struct fm_miss_knee knees[KNEES_MAX];
	unsigned count = fm_miss_knees(curve, knees, KNEES_MAX);

	for (unsigned i = 0; i < FM_MISS_POINTS; i += FM_MISS_PER_OCTAVE / PER_OCTAVE) {
		const struct fm_miss_point *point = &curve->points[i];

		json_array_append_new(sizes, json_integer((json_int_t)llround(fm_miss_bytes(i))));
		json_array_append_new(ratios, json_pack("{s:o, s:o, s:o}", "value", real(point->value), "low",
		                                        real(point->low), "high", real(point->high)));
	}
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(sets, json_pack("{s:I, s:I, s:o, s:o}", "from_bytes",
		                                      (json_int_t)llround(knees[i].from_bytes), "to_bytes",
		                                      (json_int_t)llround(knees[i].to_bytes), "miss_ratio_before",
		                                      real(knees[i].above), "miss_ratio_after", real(knees[i].below)));
	return json_pack(
	    "{s:o, s:o, s:s, s:i, s:o, s:i, s:o, s:o, s:o}", "sizes_bytes", sizes, "miss_ratio", ratios, "origin",
	    fm_origin_name(curve->origin), "windows", (int)curve->clusters, "samples", real(curve->samples), "phases",
	    (int)curve->phases, "clock_error", real(curve->clock_error), "observed_to_bytes",
	    isfinite(curve->largest_bytes) ? json_integer((json_int_t)fmin(curve->largest_bytes, 1e18)) : json_null(),
	    "working_sets", sets);
}
