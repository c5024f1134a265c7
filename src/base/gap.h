/* Two windows of a program and the gap between them: how much of what was executed there was like the first window, how
   much like the second. */
#ifndef FATHOM_BASE_GAP_H
#define FATHOM_BASE_GAP_H

#include <stdbool.h>

struct fm_gap {
	double instructions, seconds;
	/* instructions for each second on the far sides of the two windows; 0: not known */
	double before, after;
};

double fm_gap_pace(const struct fm_gap *gap);

/* Do the two windows belong to phases of different pace? */
bool fm_gap_changes(const struct fm_gap *gap);

/* The part of the instructions that was like the first window: half. But where a slow phase meets a fast one, the gap's
   own pace tells when the change came, and the slow one has executed little of it. */
double fm_gap_share(const struct fm_gap *gap);

#endif
