#include "windows/false_reads.h"

#include <math.h>

static double ratio(double part, double whole)
{
	return whole > 0 ? fmin(part / whole, 1) : 1;
}

struct fm_false_reads fm_false_reads(const struct fm_machine_description *machine, double seen, double truth,
                                     double from_cache)
{
	const struct fm_cache_description *last = &machine->caches[machine->cache_count - 1];
	double part = seen > 0 ? fmin(fmax(1 - truth / seen, 0), 1) : 0, gbs = fm_description_core_gbs(machine),
	       store = fm_description_line_cycles(machine, machine->store_core_gbs > 0 ? machine->store_core_gbs : gbs),
	       cache_store = (last->interval + last->write_interval) / 100.0,
	       /* the share of memory in the waiting of stores */
	    memory = ratio(seen * store, seen * store + fmax(from_cache, 0) * cache_store);

	return (struct fm_false_reads){
	    .memory = 1 - part,
	    .last_cache = part * ratio(last->interval / 100.0, fm_description_line_cycles(machine, gbs)),
	    .stores = 1 - part * memory * (1 - ratio(cache_store, store))};
}
