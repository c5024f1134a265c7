/* Paired runs: the slowdown under limits, from runs each paired with a run without limits. A slow phase of the machine
   affects both runs of a pair, not their ratio.

   The spread of the ratios comes from the pairs of all amounts, since single amounts have few. An amount with a clearly
   wider spread uses its own. Stopping after any pair lowers the coverage: intervals are made for 99.5 %, and contain
   the truth in 95 % of sweeps. */
#ifndef FATHOM_SQUEEZE_PAIRS_H
#define FATHOM_SQUEEZE_PAIRS_H

#include <stdbool.h>

#include "base/statistics.h"
#include "squeeze/design.h"

enum { FM_PAIRS_MOST = 64 };

struct fm_pairs {
	unsigned count;
	struct fm_pairs_group {
		double amount;
		unsigned count;
		double logs[FM_PAIRS_MOST]; /* logarithms of ratios */
	} groups[FM_DESIGN_POINTS];
};

/* Adds the ratio of a pair. False: no room, or an invalid ratio. */
bool fm_pairs_add(struct fm_pairs *pairs, double amount, double ratio);

/* The ratio at an amount and its interval, which is unbounded for a single pair. False without runs at the amount. */
bool fm_pairs_ratio(const struct fm_pairs *pairs, double amount, struct fm_location *ret_ratio);

/* Adds all amounts as points to a design. Times are multiples of `whole`, the time with the full amount. Each pair
   changes the intervals of all amounts. */
void fm_pairs_fill(const struct fm_pairs *pairs, double full, double whole, struct fm_design *design);

#endif
