/* From the name of an event to what the kernel is asked for.

   Understood, in this order: PMU terms as sysfs gives them (cpu/event=0x3c,umask=0/u), raw codes (r3c), breakpoints
   (mem:0x601040/8:rw), the names every kernel has (generic.def, cache events such as L1-dcache-load-misses), names a
   PMU gives in sysfs, tracepoints (sched:sched_switch), and everything libpfm4 knows
   (hsw_ep::L2_RQSTS:DEMAND_DATA_RD_HIT). */
#ifndef FATHOM_COUNTERS_EVENT_H
#define FATHOM_COUNTERS_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { FM_EVENT_NAME = 192, FM_EVENTS_MAX = 256 };

struct fm_event {
	char name[FM_EVENT_NAME]; /* as asked for */
	char pmu[64];             /* "cpu", "software", "uncore_imc_0", … */
	struct perf_event_attr attributes;
	int cpu;        /* counted on this CPU only (an uncore PMU), or -1 */
	double scale;   /* of one count, in `unit` */
	char unit[12];  /* "" for plain counts */
	double turn_ms; /* how often the kernel turns events over that share counters */
	unsigned group; /* events of one group, from 1 on, are counted at the same time; 0: on its own */
};

/* One event. Unknown names: -EINVAL with the nearest that are known; PMUs that are not here: -ENOTSUP. */
int fm_event_resolve(const char *name, struct fm_event *ret_event, struct fm_error *error);

/* What the kernel calls an event that vendors have another name for (aliases.def); NULL when there is none. */
const char *fm_event_alias(const char *name);

/* A list as -e takes it: "a,b,{c,d}", with groups in braces. Returns how many, or a negative error. */
int fm_events_parse(const char *list, struct fm_event *ret_events, unsigned room, struct fm_error *error);

/* Is it a hardware event, which needs a PMU? */
bool fm_event_needs_pmu(const struct fm_event *event);

/* The events every kernel has, one after the other; NULL after the last. */
const char *fm_generic_event(unsigned index, const char **ret_description);

/* All fields of what we would submit, in a fixed order, one line, for tests and -vv. */
void fm_event_describe(const struct fm_event *event, char *text, size_t size);

#endif
