/* CPUs for takers: beside the program's, with the same last cache, never on its cores. Busy CPUs are avoided or named
   in the remark. */
#ifndef FATHOM_INTERFERENCE_TAKER_PLACES_H
#define FATHOM_INTERFERENCE_TAKER_PLACES_H

#include "profile/cpu_places.h"

struct fm_taker_places {
	unsigned count;
	unsigned cpu[FM_CPUS_MAX]; /* the quietest first */
	bool shares_cache;         /* the last cache, with the program */
	struct fm_cpu_list program;
	char remark[240]; /* other programs on these CPUs; "" if none */
};

/* Chooses at most `wanted` places from the allowed CPUs. `program`: CPUs of the program; if empty, the quietest CPU is
   assigned to it. -ENOTSUP with a remedy if no CPU is free. */
int fm_taker_places_choose(const struct fm_cpu_place *places, unsigned count, const struct fm_busy *busy,
                           const struct fm_cpu_list *program, unsigned wanted, struct fm_taker_places *ret_places,
                           struct fm_error *error);

/* fm_taker_places_choose() for this machine, after watching the CPUs for `seconds`. */
int fm_taker_places_find(const struct fm_cpu_list *program, unsigned wanted, double seconds,
                         struct fm_taker_places *ret_places, struct fm_error *error);

#endif
