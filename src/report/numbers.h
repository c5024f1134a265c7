/* What the engine counts, by the names that scripts see: in one place for JSON and for spreadsheets. */
#ifndef FATHOM_REPORT_NUMBERS_H
#define FATHOM_REPORT_NUMBERS_H

#include "simulator/core.h"
#include "simulator/work.h"

struct fm_named {
	char name[40];
	const char *unit;
	uint64_t value;
};

enum { FM_NAMED_MAX = 64 };

/* Each returns how many it wrote. */
unsigned fm_named_work(const struct fm_work *work, struct fm_named *ret);
unsigned fm_named_counts(const struct fm_core_counts *counts, struct fm_named *ret);
unsigned fm_named_cache(const struct fm_cache_counts *cache, struct fm_named *ret);
unsigned fm_named_cycles(const struct fm_timing_counts *timing, struct fm_named *ret);
unsigned fm_named_stalls(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                         struct fm_named *ret);

/* Lines that the last cache had, for loads, stores and prefetchers; false: cores do not share it. */
bool fm_lines_from_shared(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                          uint64_t *ret_lines);

#endif
