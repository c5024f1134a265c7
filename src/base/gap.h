/* The gap between two windows of a program, divided into the parts that resemble the first and the second window. */
#ifndef FATHOM_BASE_GAP_H
#define FATHOM_BASE_GAP_H

#include <stdbool.h>

struct fm_gap {
	double instructions, seconds;
	/* instructions per second before the first and after the second window; 0: unknown */
	double before, after;
};

double fm_gap_pace(const struct fm_gap *gap);

/* True if the two windows belong to phases of different pace. */
bool fm_gap_changes(const struct fm_gap *gap);

/* The part of the gap's instructions that resembles the first window, usually half. Between a slow and a fast phase,
   the pace of the gap gives the time of the change; the slow phase then has few of the instructions. */
double fm_gap_share(const struct fm_gap *gap);

#endif
