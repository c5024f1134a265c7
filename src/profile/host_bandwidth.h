/* Bandwidth of the levels of the simulated host, from the measured kernels, weighted by their uncertainty. */
#ifndef FATHOM_PROFILE_HOST_BANDWIDTH_H
#define FATHOM_PROFILE_HOST_BANDWIDTH_H

#include <stdbool.h>

#include "profile/profile.h"

/* GB/s of a kernel at a level, on one thread or on the most threads; 0 if not measured. */
double fm_host_gbs(const struct fm_machine *profile, enum fm_stream_kernel_index kernel, unsigned level, bool all);

/* Times per line of a level in ns: to deliver a line to one core, and to accept a dirty one; 0 if not measured. */
struct fm_line_times {
	double read, written;
};

struct fm_line_times fm_host_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes);

/* The same from kernels that also load; without these from all. Stores alone may take longer, since they have fewer
   lines in flight than loads; that time is no write-back time. */
struct fm_line_times fm_host_mixed_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes);

#endif
