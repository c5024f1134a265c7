/* Where CPUs are: which of them are hardware threads of one core, share a last cache, or are on one NUMA node; and in
   which order a measurement uses them. */
#ifndef FATHOM_MACHINE_CPU_PLACES_H
#define FATHOM_MACHINE_CPU_PLACES_H

#include "machine/topology.h"

/* Groups are named by the lowest CPU in them. */
struct fm_cpu_place {
	unsigned cpu;
	unsigned core;
	unsigned cache; /* the last one */
	unsigned node;
	unsigned kib; /* of all its caches: cores of another kind have others */
};

/* One for each CPU of the list, from sysfs; a CPU of which nothing is said is alone. */
void fm_cpu_places_read(const struct fm_cpu_list *cpus, struct fm_cpu_place *ret_places);

/* One CPU of every core first, then the second of every core, and so on; of these one node after the other, beginning
   with that of the first CPU, which stays the first. Other than that the order stays. `places` belong to `cpus` and are
   ordered with them. */
void fm_cpu_places_order(struct fm_cpu_list *cpus, struct fm_cpu_place *places);

/* Positions of the first CPU and of all that are not on its core. Returns how many. */
unsigned fm_cpu_places_beside_first(const struct fm_cpu_place *places, unsigned count, unsigned *ret_who);

/* How many last caches the first `count` have. */
unsigned fm_cpu_places_caches(const struct fm_cpu_place *places, unsigned count);

/* Which share of the time each CPU of the machine was busy. */
struct fm_busy {
	unsigned count;
	struct {
		unsigned cpu, core;
		double share;
	} cpus[FM_CPUS_MAX];
};

/* Between two readings of /proc/stat. Shares are of the second against the first; 0 when they cannot be compared. */
struct fm_busy_clock {
	unsigned count;
	unsigned cpu[FM_CPUS_MAX];
	unsigned long long busy[FM_CPUS_MAX], all[FM_CPUS_MAX];
};

/* The text of /proc/stat. */
void fm_busy_read(const char *text, struct fm_busy_clock *ret_clock);
void fm_busy_between(const struct fm_busy_clock *before, const struct fm_busy_clock *after, struct fm_busy *ret_busy);

/* In the next seconds. 0 or -errno. */
int fm_busy_measure(double seconds, struct fm_busy *ret_busy);

/* Position of the first CPU of the list whose core does nothing else, siblings that are not in the list included; of
   the one whose core does least when there is none. Only cores of the same kind as the first's. */
unsigned fm_cpu_places_quietest(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy);

/* Make the CPU at that position the first; the others keep their order. */
void fm_cpu_places_to_front(struct fm_cpu_list *cpus, struct fm_cpu_place *places, unsigned position);

#endif
