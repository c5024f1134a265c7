/* How fast the levels of the simulated host are: from the bandwidths of the profile's kernels, of which not all are to
   be believed. */
#ifndef FATHOM_MACHINE_HOST_BANDWIDTH_H
#define FATHOM_MACHINE_HOST_BANDWIDTH_H

#include <stdbool.h>

#include "machine/machine.h"

/* GB/s of a kernel at a level: on one thread what is sure, or on the most threads. 0: not measured. */
double fm_host_gbs(const struct fm_machine *profile, enum fm_stream_kernel_index kernel, unsigned level, bool all);

/* ns that a level takes to deliver a line to one core, and to accept a dirty one from above. 0: not measured. */
struct fm_line_times {
	double read, written;
};

struct fm_line_times fm_host_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes);

/* The same by kernels that also load; where there are none, by all. Where stores alone take longer than that, it is
   not for writing lines back: they have fewer lines on their way at a time than loads have. */
struct fm_line_times fm_host_mixed_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes);

#endif
