/* Lines of code, variables and regions count in every window, but windows stand for different numbers of instructions:
   for those around them up to the next ones (base/gap.h, as in recording/windows.h). What is in the results after a
   window is taken out of them and comes back at the end, each window's as often as it stands for.

   String instructions count once for each line. Windows of mostly string instructions are added up apart from the
   others, so that at the end both kinds have as much weight as was counted of each. */
#ifndef FATHOM_ENGINE_NATIVE_WEIGHTS_H
#define FATHOM_ENGINE_NATIVE_WEIGHTS_H

#include <stdint.h>

#include "base/gap.h"
#include "engine/results.h"

/* Kinds of windows: of mostly plain instructions, of mostly string instructions. */
enum { FM_WEIGHED_KINDS = 2 };

struct fm_weighted {
	/* of each record: sums of each kind, then what the latest window had for each of its instructions, then the one
	   before */
	double *numbers;
	unsigned records;
};

/* The latest window, and the gap between it and the one before, which is not added up before the next pace is known. */
struct fm_weighing {
	double strings[2]; /* share of string lines in the latest, and in the one before */
	double executed;   /* up to its end */
	double ended;      /* seconds */
	struct fm_gap gap;
};

struct fm_weights {
	struct fm_weighted places, objects, regions, whole;
	struct fm_weighing latest;
	struct {
		double plain, strings;
	} sums[FM_WEIGHED_KINDS]; /* what they stand for */
	unsigned windows;
};

/* When it was, and all that the process had executed at its end; so many instructions are in the part that counts, and
   so many of them are string lines. */
struct fm_weighed {
	double ended; /* seconds */
	double instructions, executed;
	double string_lines;
};

/* All that was counted since the last call is of this window, or of several that are taken as one. Without memory for
   it, what is there stays, as if each window stood for as much. */
void fm_weights_take(struct fm_weights *weights, struct fm_results *results, const struct fm_weighed *window);

/* After the last window, and when all that was executed is known: string lines included, and these alone. */
void fm_weights_return(struct fm_weights *weights, struct fm_results *results, double executed, double string_lines);

void fm_weights_destroy(struct fm_weights *weights);

#endif
