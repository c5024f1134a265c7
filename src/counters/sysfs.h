/* The PMUs the kernel knows, from sysfs: their numbers, the fields of their events, and the events they name. */
#ifndef FATHOM_COUNTERS_SYSFS_H
#define FATHOM_COUNTERS_SYSFS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/sysfs.h"

/* Is there a PMU of that name? */
bool fm_sysfs_has_pmu(const char *pmu);

/* "event=0x3c,umask=0x1" or a name the PMU gives, into type and config fields. Terms unknown to the PMU: -EINVAL, with
   those it knows. */
int fm_sysfs_encode(const char *pmu, const char *terms, struct perf_event_attr *attributes, struct fm_error *error);

/* Scale and unit of a named event; 1 and "" when it has none. */
void fm_sysfs_unit(const char *pmu, const char *event, double *ret_scale, char *ret_unit, unsigned size);

/* Its number, -1 when it is not there. */
int fm_sysfs_type(const char *pmu);

/* The CPUs of its mask: one of each socket. Returns how many; 0 when it has no mask. */
unsigned fm_sysfs_cpus(const char *pmu, int *ret_cpus, unsigned room);

/* The first CPU of the PMU's mask when its events are counted per CPU and not per task, else -1. */
int fm_sysfs_first_cpu(const char *pmu);

/* How often the kernel turns events over that share counters, in ms. */
double fm_sysfs_turn_ms(const char *pmu);

/* Call back for every PMU, and for every event a PMU names; a callback that returns false ends it. Sorted. */
void fm_sysfs_each_pmu(bool (*callback)(const char *pmu, void *context), void *context);
void fm_sysfs_each_event(const char *pmu, bool (*callback)(const char *pmu, const char *event, void *context),
                         void *context);

#endif
