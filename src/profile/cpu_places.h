/* Places of CPUs: hardware threads of one core, CPUs with a common last cache or NUMA node, and the order of CPUs in a
   measurement. */
#ifndef FATHOM_PROFILE_CPU_PLACES_H
#define FATHOM_PROFILE_CPU_PLACES_H

#include "profile/topology.h"

/* Groups are numbered by their lowest CPU. */
struct fm_cpu_place {
	unsigned cpu;
	unsigned core;
	unsigned cache; /* the last one */
	unsigned node;
	unsigned kib; /* of all its caches: differs between kinds of cores */
};

/* Reads the place of each CPU of the list from sysfs. A CPU without data is alone in its groups. */
void fm_cpu_places_read(const struct fm_cpu_list *cpus, struct fm_cpu_place *ret_places);

/* Orders CPUs: one per core first, then the second of each core, and so on; within that node by node, from the node of
   the first CPU, which stays first. `places` belong to `cpus` and are ordered with them. */
void fm_cpu_places_order(struct fm_cpu_list *cpus, struct fm_cpu_place *places);

/* Positions of the first CPU and of all CPUs on other cores. Returns their number. */
unsigned fm_cpu_places_beside_first(const struct fm_cpu_place *places, unsigned count, unsigned *ret_who);

/* Number of last caches of the first `count` CPUs. */
unsigned fm_cpu_places_caches(const struct fm_cpu_place *places, unsigned count);

/* Busy share of each CPU of the machine. */
struct fm_busy {
	unsigned count;
	struct {
		unsigned cpu, core;
		double share;
	} cpus[FM_CPUS_MAX];
};

/* Shares between two readings of /proc/stat; 0 if not comparable. */
struct fm_busy_clock {
	unsigned count;
	unsigned cpu[FM_CPUS_MAX];
	unsigned long long busy[FM_CPUS_MAX], all[FM_CPUS_MAX];
};

/* Parses the text of /proc/stat. */
void fm_busy_read(const char *text, struct fm_busy_clock *ret_clock);
void fm_busy_between(const struct fm_busy_clock *before, const struct fm_busy_clock *after, struct fm_busy *ret_busy);

/* Measures the busy shares for `seconds`. 0 or -errno. */
int fm_busy_measure(double seconds, struct fm_busy *ret_busy);

/* Position of the first CPU in the list whose core is idle, siblings outside the list included; else of the least busy
   core. Only cores of the kind of the first CPU's. */
unsigned fm_cpu_places_quietest(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy);

/* Moves the CPU at `position` to the front. */
void fm_cpu_places_to_front(struct fm_cpu_list *cpus, struct fm_cpu_place *places, unsigned position);

#endif
