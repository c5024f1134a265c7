/* How much of its time a program waits for cache lines, from the laboratory's rounds (trace/laboratory.h): stretches of
   the program that were timed with all lines in a cache, and the same code as it usually runs. Only times of the real
   processor are compared. */
#ifndef FATHOM_WINDOWS_LABORATORY_H
#define FATHOM_WINDOWS_LABORATORY_H

#include "recording/recording.h"

enum { FM_LABORATORY_EVERYWHERE = -1 };

/* Shares of the user time. */
struct fm_waiting_share {
	bool known;
	double value, low, high;
	unsigned rounds;
};

struct fm_laboratory {
	unsigned rounds;                /* that tried to place lines */
	unsigned compared;              /* … and succeeded, with natural time to compare with */
	double covered;                 /* the latter over the former: rounds come at random moments */
	struct fm_waiting_share first;  /* waits for lines that are not in the first cache */
	struct fm_waiting_share second; /* … that are in neither of the first two */
	const char *problem;            /* most frequent reason of the rest; "": none */
};

/* `running`: index of a source line, or FM_LABORATORY_EVERYWHERE. Only the latter has unknown parts, where nothing
   could be placed: its intervals reach over all that these may do. */
void fm_laboratory_estimate(const struct fm_recording *recording, int64_t running, struct fm_laboratory *ret);

#endif
