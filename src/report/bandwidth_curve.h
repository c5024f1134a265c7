/* The bandwidth–latency curve of a machine as text, and the position of a program on it. */
#ifndef FATHOM_REPORT_BANDWIDTH_CURVE_H
#define FATHOM_REPORT_BANDWIDTH_CURVE_H

#include <stdio.h>

#include "profile/profile.h"
#include "model/picture.h"

/* Prints peaks of memory by threads and mixture with their latency, and the curve of all threads; nothing without
   measurements. */
void fm_bandwidth_curve_print(const struct fm_machine *machine, FILE *output, unsigned width);

/* Prints the curve with the position of the program, as a picture and in words; without a curve, the reason. */
void fm_bandwidth_curve_place(const struct fm_machine *machine, const struct fm_picture_level *memory, FILE *output,
                              unsigned width);

/* Prints the peak to which a level is compared: "Peak of memory: 2 threads, 25 % of the traffic written". */
void fm_bandwidth_curve_print_peak(const struct fm_picture_level *level, FILE *output);

#endif
