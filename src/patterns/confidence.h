/* How often verdicts like this one were right, on generated programs whose cause is known: calibration.def. */
#ifndef FATHOM_PATTERNS_CONFIDENCE_H
#define FATHOM_PATTERNS_CONFIDENCE_H

#include "patterns/patterns.h"

/* How a picture was made. */
enum fm_way { FM_WAY_exact, FM_WAY_windows, FM_WAY_counters };

enum fm_way fm_way_of(const struct fm_picture *picture);

/* What the frequency rests on. */
struct fm_confidence {
	/* (right + 1) / (all + 2): never certain, and the less so the fewer there were. Where there were none it grows
	   with the distance, which is no frequency. */
	double value;
	unsigned right, all;
	bool own; /* of this very pattern; else of all patterns, and the value is not above FM_CONFIDENCE_UNKNOWN */
};

#define FM_CONFIDENCE_UNKNOWN 0.8

/* Of a pattern's verdict, present or absent, whose metric is so far from the threshold, relative to it. The name is
   that of patterns.def, without a level. */
struct fm_confidence fm_confidence_of(const char *pattern, enum fm_way way, enum fm_verdict verdict, double distance);

#endif
