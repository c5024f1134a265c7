/* Which CPUs takers run on: beside the program's, in the same last cache, never on its cores, and not where somebody
   else is at work, or with a remark that names them. */
#ifndef FATHOM_INTERFERENCE_TAKER_PLACES_H
#define FATHOM_INTERFERENCE_TAKER_PLACES_H

#include "machine/cpu_places.h"

struct fm_taker_places {
	unsigned count;
	unsigned cpu[FM_CPUS_MAX]; /* the quietest first */
	bool shares_cache;         /* with the program: the last one */
	struct fm_cpu_list program;
	char remark[240]; /* who else is at work on them; "": nobody */
};

/* Busier than this by others, a CPU is in use. */
#define FM_TAKER_PLACES_BUSY 0.2

/* From what is known of the CPUs we may use. `program`: those it is pinned to; without any, it gets the quietest one.
   At most `wanted` places. -ENOTSUP when no CPU is left, with what to do. */
int fm_taker_places_choose(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy,
                           const struct fm_cpu_list *program, unsigned wanted, struct fm_taker_places *ret_places,
                           struct fm_error *error);

/* The same of this machine, now: CPUs are watched for that many seconds. */
int fm_taker_places_find(const struct fm_cpu_list *program, unsigned wanted, double seconds,
                         struct fm_taker_places *ret_places, struct fm_error *error);

#endif
