/* Miss-ratio curves as rows of a recording. */
#ifndef FATHOM_RECORDING_CURVE_ROWS_H
#define FATHOM_RECORDING_CURVE_ROWS_H

#include "recording/recording.h"
#include "reuse/curve.h"

/* Adds every n-th point of a curve, with its description, to the recording. 0 or -ENOMEM. */
int fm_curve_write(const struct fm_miss_curve *curve, const struct fm_recorded_curve *described, unsigned every,
                   struct fm_recording *recording);

/* Reads the curve of a row. */
void fm_curve_read(const struct fm_recording *recording, size_t index, struct fm_miss_curve *ret_curve);

/* The row of the whole program's curve; NULL: none. */
const struct fm_recorded_curve *fm_curve_of_program(const struct fm_recording *recording);

/* The exact curve, from the stack distances of all accesses. False: none were recorded. */
bool fm_curve_from_distances(const struct fm_recording *recording, struct fm_miss_curve *ret_curve);

#endif
