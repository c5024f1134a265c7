/* Counts of the engine, with their names for JSON and separated values. */
#ifndef FATHOM_REPORT_NUMBERS_H
#define FATHOM_REPORT_NUMBERS_H

#include "windows/estimate.h"

struct fm_named_number {
	char name[40];
	const char *unit;
	uint64_t value;
	unsigned number; /* of struct fm_estimates; FM_ESTIMATES: no estimate */
};

enum { FM_NAMED_MAX = 64 };

/* Fill an array with named numbers. Return the number of entries. */
unsigned fm_named_work(const struct fm_work *work, struct fm_named_number *ret);
unsigned fm_named_counts(const struct fm_core_counts *counts, struct fm_named_number *ret);
unsigned fm_named_cache(const struct fm_core_counts *counts, unsigned cache, struct fm_named_number *ret);
unsigned fm_named_cycles(const struct fm_timing_counts *timing, struct fm_named_number *ret);
unsigned fm_named_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_named_number *ret);

/* Counts lines served by the last cache, for loads, stores and prefetchers. False: the cache is not shared. */
bool fm_lines_from_shared(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                          uint64_t *ret_lines);

#endif
