/* Miss-ratio curves as text and JSON. */
#ifndef FATHOM_REPORT_CURVE_H
#define FATHOM_REPORT_CURVE_H

#include <jansson.h>
#include <stdio.h>

#include "recording/recording.h"
#include "reuse/curve.h"

/* A cache of the machine, from the smallest to the largest. */
struct fm_curve_level {
	const char *name;
	double bytes;
};

/* Prints the curve from 32 KiB to 64 MiB with its interval as a shaded band and the levels as vertical lines, then an
   explanation. Within `width` columns, at most 100. */
void fm_curve_print(const struct fm_miss_curve *curve, const char *title, const struct fm_curve_level *levels,
                    unsigned level_count, unsigned width, FILE *output);

/* Writes only the explanation. Returns `buffer`. */
const char *fm_curve_words(char *buffer, size_t size, const struct fm_miss_curve *curve,
                           const struct fm_curve_level *levels, unsigned level_count);

/* {"sizes_bytes": […], "miss_ratio": [{"value", "low", "high"}, …], "origin", "windows", "samples", "phases",
   "clock_error", "observed_to_bytes" (null: everything), "working_sets": […]}: a new reference, NULL when out of
   memory. The sizes go from 16 KiB to 256 MiB, four per octave. */
json_t *fm_curve_json(const struct fm_miss_curve *curve);

/* Prints a recorded curve: the drawing with the machine's caches, its data, its limits. */
void fm_curve_print_recorded(const struct fm_recording *recording, size_t index, unsigned width, FILE *output);

/* fm_curve_json() of it with "caches", "references" and "remark" beside; from windows also "pace" (references per ns),
   "watched" and "reused", from followed lines "one_line_in", "groups" and "parts": the curves of regions, objects and
   source lines, with "kind", "name" and "own_references", as shares of all references. */
json_t *fm_curve_recorded_json(const struct fm_recording *recording, size_t index);

#endif
