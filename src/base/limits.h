/* Resources available to this process. */
#ifndef FATHOM_BASE_LIMITS_H
#define FATHOM_BASE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* The value of a line of /proc/meminfo ("MemTotal: %llu") in bytes; 0 if it is missing. */
uint64_t fm_memory_information(const char *format);

/* Available memory in bytes, within the limits of control groups. */
uint64_t fm_memory_available(void);

/* The smallest remainder of the memory limits of a control group and its parents, of either version; UINT64_MAX without
   a limit. `list` is a file like /proc/self/cgroup. */
uint64_t fm_memory_left_by_groups(const char *list);

/* Page faults of all processes that made a huge page; 0 if the kernel does not count them. */
uint64_t fm_memory_huge_faults(void);

/* True if the kernel uses huge pages without a request. */
bool fm_memory_huge_always(void);

/* Processors available at a time, at least 1: the smaller of the affinity mask and the quota of the control group. */
unsigned fm_processors_available(void);

#endif
