/* Chooses the stretch to be timed from a log of the program's next instructions. Progress is measured in visits:
   executions of one branch, the mark. A run-up, in which branch predictors learn again, comes first. Then the lines of
   the stretch are placed. A run-in follows, and the timed stretch. It ends where its lines no longer fit. */
#ifndef FATHOM_TRACE_PLAN_H
#define FATHOM_TRACE_PLAN_H

#include "trace/shared.h"
#include "translate/translate.h"

enum {
	FM_PLAN_LINES = 1024,
	FM_PLAN_RUN_UP = 20000, /* instructions */
	FM_PLAN_LENGTH = 32000, /* instructions in all */
	FM_PLAN_STRETCH = 8000, /* of natural time, to be compared with: instructions */
	FM_PLAN_LEAST = 48,     /* instructions that are timed */
	FM_PLAN_LEAST_VISITS = 2,
	FM_PLAN_COPIES = 8, /* of a loop of one piece, where each pass is a visit */
};

/* The first cache, and how many pages the processor translates without delay. */
struct fm_plan_limits {
	uint32_t line, sets, ways, pages;
};

struct fm_plan_log {
	const struct fm_translate_entry *entries;
	size_t count;
	const struct fm_trace_piece *pieces;
	uint32_t piece_count;
	const struct fm_trace_site *sites;
	uint32_t site_count;
};

/* In visits from the beginning of the log, from 1. */
struct fm_plan {
	uint32_t place_at, from, until;
	uint32_t step;         /* visits that are counted at once */
	uint32_t instructions; /* from `from` to `until` */
	uint32_t apart;        /* visits of FM_PLAN_STRETCH instructions, at least 1 */
	uint32_t line_count, page_count;
	uint64_t lines[FM_PLAN_LINES]; /* addresses, in the order of their first use */
};

/* Instructions in the log. */
uint64_t fm_plan_instructions(const struct fm_plan_log *log);

/* The address behind the branch that serves best: often enough, and seldom enough to cost nothing. 0: none. */
uint64_t fm_plan_choose(const struct fm_plan_log *log);

/* FM_TIMING_DONE, or why nothing can be timed. */
enum fm_timing_problem fm_plan_make(const struct fm_plan_log *log, uint64_t mark, const struct fm_plan_limits *limits,
                                    struct fm_plan *ret_plan);

/* Halves the timed stretch, if enough remains. Rounds of both lengths show the cost of reading the clock and of the
   instructions that begin and end the stretch alone. */
void fm_plan_halve(const struct fm_plan_log *log, uint64_t mark, struct fm_plan *plan);

/* Restores what the stores of the log have overwritten. */
void fm_plan_undo(const struct fm_plan_log *log);

/* True if all references are outside of [start, end). */
bool fm_plan_avoids(const struct fm_plan_log *log, uint64_t start, uint64_t end);

#endif
