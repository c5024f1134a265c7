/* What is left for this process. */
#ifndef FATHOM_BASE_LIMITS_H
#define FATHOM_BASE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* A line of /proc/meminfo ("MemTotal: %llu") in bytes, 0 when it is not there. */
uint64_t fm_memory_information(const char *format);

/* Bytes we may still allocate: what the system says is available and what the control groups leave. */
uint64_t fm_memory_available(void);

/* What limits of control groups leave, of either version and of the groups around: the least; UINT64_MAX: none has a
   limit. The list is a file as /proc/self/cgroup. */
uint64_t fm_memory_left_by_groups(const char *list);

/* Page faults so far that made a huge page, of all processes; 0 when the kernel does not say. */
uint64_t fm_memory_huge_faults(void);

/* Does the kernel give huge pages to those who do not ask for them? */
bool fm_memory_huge_always(void);

/* Processors we may use at a time, at least 1: by our mask, and by the control group's quota. */
unsigned fm_processors_available(void);

#endif
