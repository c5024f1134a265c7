#include "windows/late_writes.h"

#include <math.h>

/* Cycles that one core's way to memory takes for a line. */
static double memory_interval(const struct fm_machine_description *machine)
{
	return fm_description_line_cycles(machine, fm_description_core_gbs(machine));
}

/* The share of memory in the waiting of stores: by the time that reading and writing their lines takes at each
   level. */
static double memory_share_of_stores(const struct fm_machine_description *machine, const struct fm_memory_use *use)
{
	double memory = use->written_to_memory * memory_interval(machine) * (1 + machine->memory_write_percent / 100.0),
	       caches = 0;

	for (unsigned k = 1; k < machine->cache_count; k++)
		caches += fmax(0, use->written[k - 1] - use->written[k]) *
		          (machine->caches[k].interval + machine->caches[k].write_interval) / 100.0;
	return memory > 0 ? memory / (memory + caches) : 0;
}

/* The way to memory was idle in part of the time in which the core waited for memory: as much of the writes finds room
   there. The rest takes longer. */
double fm_late_writes_cost(const struct fm_machine_description *machine, const struct fm_memory_use *use,
                           double *ret_stores)
{
	double interval = memory_interval(machine), write_interval = interval * machine->memory_write_percent / 100,
	       busy = use->reads * interval + use->writes * write_interval,
	       stores = use->store_stalls * memory_share_of_stores(machine, use),
	       waited = use->bandwidth_stalls + stores, cost;

	*ret_stores = 0;
	if (!(use->written_to_memory > use->writes) || !(waited > 0))
		return 0;
	cost = busy + (use->written_to_memory - use->writes) * write_interval - fmax(busy, waited);
	if (!(cost > 0))
		return 0;
	*ret_stores = cost * stores / waited;
	return cost;
}
