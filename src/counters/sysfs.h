/* The PMUs of the kernel in sysfs: their numbers, fields of events, and named events. */
#ifndef FATHOM_COUNTERS_SYSFS_H
#define FATHOM_COUNTERS_SYSFS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/sysfs.h"

/* True if a PMU of that name exists. */
bool fm_sysfs_has_pmu(const char *pmu);

/* Parses "event=0x3c,umask=0x1" or a name of the PMU into type and config fields. -EINVAL for unknown terms, with the
   known ones. */
int fm_sysfs_encode(const char *pmu, const char *terms, struct perf_event_attr *attributes, struct fm_error *error);

/* Scale and unit of a named event; 1 and "" by default. */
void fm_sysfs_unit(const char *pmu, const char *event, double *ret_scale, char *ret_unit, unsigned size);

/* The number of the PMU, -1 without one. */
int fm_sysfs_type(const char *pmu);

/* The CPUs of its mask, one per socket. Returns their number; 0 without a mask. */
unsigned fm_sysfs_cpus(const char *pmu, int *ret_cpus, unsigned room);

/* The first CPU of the PMU's mask if its events are counted per CPU, else -1. */
int fm_sysfs_first_cpu(const char *pmu);

/* The kernel's interval of multiplexing in ms. */
double fm_sysfs_turn_ms(const char *pmu);

/* Calls back for each PMU, and for each named event of a PMU, sorted; false ends the loop. */
void fm_sysfs_each_pmu(bool (*callback)(const char *pmu, void *context), void *context);
void fm_sysfs_each_event(const char *pmu, bool (*callback)(const char *pmu, const char *event, void *context),
                         void *context);

#endif
