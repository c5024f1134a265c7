/* Coverage of a native run, and figures of the whole run from windows. */
#ifndef FATHOM_REPORT_COVERAGE_H
#define FATHOM_REPORT_COVERAGE_H

#include <jansson.h>
#include <stdio.h>

#include "recording/recording.h"
#include "report/numbers.h"

/* Is the coverage of the processor time low enough to report? The second function writes that line. */
bool fm_coverage_is_partial(const struct fm_recording *recording);
void fm_coverage_print_share(const struct fm_recording *recording, FILE *output);

/* Prints the coverage in one to three lines; nothing for the emulator. */
void fm_coverage_print(const struct fm_recording *recording, FILE *output);

/* The coverage as JSON; NULL for the emulator. */
json_t *fm_coverage_json(const struct fm_recording *recording);

/* Draws the miss-ratio curve; nothing if unknown. */
void fm_coverage_draw(const struct fm_recording *recording, unsigned width, FILE *output);

/* The curve as JSON; NULL if unknown. */
json_t *fm_coverage_curve_json(const struct fm_recording *recording);

/* A number of the run or of a part, with its interval; exact without sampling. `estimates`: of the whole run; NULL: out
 * of memory. */
struct fm_figure fm_coverage_figure(const struct fm_recording *recording, const struct fm_estimates *estimates,
                                    const struct fm_named_number *named);

#endif
