/* How much of a program was seen, where it was run natively; and what numbers are worth that windows stand for. */
#ifndef FATHOM_REPORT_COVERAGE_H
#define FATHOM_REPORT_COVERAGE_H

#include <jansson.h>
#include <stdio.h>

#include "recording/recording.h"
#include "report/numbers.h"

/* Whether less of the processor time was seen than may be left unsaid; and the line that says so. */
bool fm_coverage_is_partial(const struct fm_recording *recording);
void fm_coverage_print_share(const struct fm_recording *recording, FILE *output);

/* One to three lines; nothing where it was not run natively. */
void fm_coverage_print(const struct fm_recording *recording, FILE *output);

/* NULL where it was not run natively. */
json_t *fm_coverage_json(const struct fm_recording *recording);

/* The misses of a cache of any size, drawn; nothing where it is not known. */
void fm_coverage_draw(const struct fm_recording *recording, unsigned width, FILE *output);

/* NULL where it is not known. */
json_t *fm_coverage_curve_json(const struct fm_recording *recording);

/* Numbers of a window by name, as fm_named_… of its counts. */
typedef unsigned fm_window_namer(const struct fm_recording *recording, const struct fm_recorded_window *window,
                                 unsigned cache, struct fm_named *ret_list);

/* The number-th of such a list with its interval; `value` is that of a part of the run, or of all of it. Exact where
   nothing was sampled, or without a namer. */
struct fm_figure fm_coverage_figure(const struct fm_recording *recording, fm_window_namer *namer, unsigned cache,
                                    unsigned number, const struct fm_named *named);

fm_window_namer fm_window_named_work, fm_window_named_counts, fm_window_named_cache, fm_window_named_cycles,
    fm_window_named_stalls;

#endif
