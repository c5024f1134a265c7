/* What is left for this process. */
#ifndef FATHOM_BASE_LIMITS_H
#define FATHOM_BASE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* A line of /proc/meminfo ("MemTotal: %llu") in bytes, 0 when it is not there. */
uint64_t fm_memory_information(const char *format);

/* Bytes we may still allocate: what the system says is available and what the control group leaves. */
uint64_t fm_memory_available(void);

/* Page faults so far that made a huge page, of all processes; 0 when the kernel does not say. */
uint64_t fm_memory_huge_faults(void);

/* Does the kernel give huge pages to those who do not ask for them? */
bool fm_memory_huge_always(void);

/* Processors we may use at a time, at least 1: by our mask, and by the control group's quota. */
unsigned fm_processors_available(void);

#endif
