/* Weights of windows. Source lines, variables and regions count in every window, but windows represent different
   numbers of instructions (base/gap.h, as in windows/totals.h). After a window its counts are moved out of the results;
   at the end they return, scaled to the represented instructions.
   String instructions count once per line. Windows of mostly string instructions are summed separately, so that finally
   both kinds have their counted weight. */
#ifndef FATHOM_ENGINE_TRACE_WEIGHTS_H
#define FATHOM_ENGINE_TRACE_WEIGHTS_H

#include <stdint.h>

#include "base/gap.h"
#include "engine/results.h"

/* Kinds of windows: of mostly plain instructions, of mostly string instructions. */
enum { FM_WEIGHED_KINDS = 2 };

struct fm_account;

struct fm_weighted {
	/* per record: a sum for each kind, then the counts per instruction of the latest and of the previous window */
	double *numbers;
	unsigned records;
};

/* The latest window, and the gap before it. The gap is added once the pace of the next gap is known. */
struct fm_weighing {
	double strings[2]; /* share of string lines in the latest and in the previous window */
	double executed;   /* instructions up to its end */
	double ended;      /* seconds */
	struct fm_gap gap;
};

struct fm_weights {
	struct fm_weighted places, objects, regions, whole;
	struct fm_weighing latest;
	struct {
		double plain, strings;
	} sums[FM_WEIGHED_KINDS]; /* represented instructions */
	unsigned windows;
};

/* A window: its end, the instructions of the process up to its end, and its counted `instructions`, of which
   `string_lines` are lines of string instructions. */
struct fm_weighed {
	double ended; /* seconds */
	double instructions, executed;
	double string_lines;
};

/* Moves the counts since the last call out of the results, as those of one window. Without memory they stay, and
   windows have equal weights. */
void fm_weights_take(struct fm_weights *weights, struct fm_account *account, const struct fm_weighed *window);

/* After the last window: returns the scaled counts. `executed`: instructions of the process including string lines;
   `string_lines`: these alone. */
void fm_weights_return(struct fm_weights *weights, struct fm_results *results, double executed, double string_lines);

void fm_weights_destroy(struct fm_weights *weights);

#endif
