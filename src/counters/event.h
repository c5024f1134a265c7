/* Parses names of events into arguments for the kernel.
   Names, in this order: PMU terms as in sysfs (cpu/event=0x3c,umask=0/u), raw codes (r3c), breakpoints
   (mem:0x601040/8:rw), names of every kernel (generic.def, cache events such as L1-dcache-load-misses), names of a PMU
   in sysfs, tracepoints (sched:sched_switch), and libpfm4 (hsw_ep::L2_RQSTS:DEMAND_DATA_RD_HIT). */
#ifndef FATHOM_COUNTERS_EVENT_H
#define FATHOM_COUNTERS_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { FM_EVENT_NAME = 192, FM_EVENTS_MAX = 256 };

struct fm_event {
	char name[FM_EVENT_NAME]; /* as requested */
	char pmu[64];             /* "cpu", "software", "uncore_imc_0", … */
	struct perf_event_attr attributes;
	int cpu;        /* the CPU of an uncore PMU, or -1 */
	double scale;   /* of one count, in `unit` */
	char unit[12];  /* "" for plain counts */
	double turn_ms; /* interval of multiplexing */
	unsigned group; /* events of a group, from 1 on, are counted together; 0: none */
};

/* Parses an event. Unknown names: -EINVAL with the nearest known ones; missing PMUs: -ENOTSUP. */
int fm_event_resolve(const char *name, struct fm_event *ret_event, struct fm_error *error);

/* The kernel's name for a vendor name (aliases.def); NULL: none. */
const char *fm_event_alias(const char *name);

/* Parses a list for -e: "a,b,{c,d}", with groups in braces. Returns the number of events, or a negative error. */
int fm_events_parse(const char *list, struct fm_event *ret_events, unsigned room, struct fm_error *error);

/* True for a hardware event, which needs a PMU. */
bool fm_event_needs_pmu(const struct fm_event *event);

/* The events of every kernel, by index; NULL after the last. */
const char *fm_generic_event(unsigned index, const char **ret_description);

/* Writes all fields passed to the kernel, in a fixed order, on one line, for tests and -vv. */
void fm_event_describe(const struct fm_event *event, char *text, size_t size);

#endif
