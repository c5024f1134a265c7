/* The bandwidth–latency curve of a machine for people, and a program's place on it. */
#ifndef FATHOM_REPORT_BANDWIDTH_CURVE_H
#define FATHOM_REPORT_BANDWIDTH_CURVE_H

#include <stdio.h>

#include "machine/machine.h"
#include "model/picture.h"

/* Memory's peaks by threads and mixture with the latency beside them, and the curve of all threads. Nothing when
   neither was measured. */
void fm_bandwidth_curve_print(const struct fm_machine *machine, FILE *output, unsigned width);

/* The curve with the place of what was observed at memory, and in words. A reason when there is none. */
void fm_bandwidth_curve_place(const struct fm_machine *machine, const struct fm_picture_level *memory, FILE *output,
                              unsigned width);

/* "Peak of memory: 2 threads, 25 % of the traffic written": which of its peaks a level is compared with. */
void fm_bandwidth_curve_print_peak(const struct fm_picture_level *level, FILE *output);

#endif
