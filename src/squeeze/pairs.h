/* Paired runs: how many times as long a program takes with less, from runs that each had an undisturbed one beside
   them. A slow phase of the machine hits both of a pair and leaves their ratio alone.

   Few pairs at each amount do not tell how much ratios vary, all of them together do: the spread is taken to be the
   same at all amounts, unless that of one amount is clearly wider. Whoever looks again after every pair and stops when
   he likes what he sees is wrong more often than one look says: so intervals are made for 99.5 %, to hold in 95 % of
   sweeps. */
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
		double logs[FM_PAIRS_MOST]; /* of ratios */
	} groups[FM_DESIGN_POINTS];
};

/* False: there is no room, or the ratio is none. */
bool fm_pairs_add(struct fm_pairs *pairs, double amount, double ratio);

/* The ratio at this amount and its interval; a single pair has no limits. False: nothing was run with
   this amount. */
bool fm_pairs_ratio(const struct fm_pairs *pairs, double amount, struct fm_location *ret_ratio);

/* All of them as points of a design, with times as multiples of `whole`, that with the full amount. Intervals of all
   amounts change with each pair: how much ratios vary is known better. */
void fm_pairs_fill(const struct fm_pairs *pairs, double full, double whole, struct fm_design *design);

#endif
