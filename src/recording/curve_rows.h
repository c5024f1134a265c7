/* Miss-ratio curves as rows of a recording. */
#ifndef FATHOM_RECORDING_CURVE_ROWS_H
#define FATHOM_RECORDING_CURVE_ROWS_H

#include "recording/recording.h"
#include "reuse/curve.h"

/* A curve, every so many of its points; described by what is known of it besides. -ENOMEM. */
int fm_curve_write(const struct fm_miss_curve *curve, const struct fm_recorded_curve *described, unsigned every,
                   struct fm_recording *recording);

/* The curve of a row. */
void fm_curve_read(const struct fm_recording *recording, size_t index, struct fm_miss_curve *ret_curve);

/* The row of the whole program's; NULL: there is none. */
const struct fm_recorded_curve *fm_curve_of_program(const struct fm_recording *recording);

/* The exact one, from the distances of every access. False: none were recorded. */
bool fm_curve_from_distances(const struct fm_recording *recording, struct fm_miss_curve *ret_curve);

#endif
