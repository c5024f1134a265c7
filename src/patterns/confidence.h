/* How often verdicts like this one were right, on generated programs whose cause is known: calibration.def. */
#ifndef FATHOM_PATTERNS_CONFIDENCE_H
#define FATHOM_PATTERNS_CONFIDENCE_H

#include "patterns/patterns.h"

/* How a picture was made, of one thread or of several: these wait for each other, which cycles do not show. */
enum fm_way {
	FM_WAY_exact,
	FM_WAY_windows,
	FM_WAY_counters,
	FM_WAY_exact_threads,
	FM_WAY_windows_threads,
	FM_WAY_counters_threads,
	FM_WAYS
};

enum fm_way fm_way_of(const struct fm_picture *picture);

/* What the frequency rests on. */
struct fm_confidence {
	/* (right + 1) / (all + 2): never certain, and the less so the fewer there were. Where there were none it grows
	   with the distance, which is no frequency. */
	double value;
	unsigned right, all;
	bool own; /* of this very pattern; else of all patterns */
};

/* What nobody has counted is not stated with more: patterns that no generated program has, doubt in a way of measuring
   in which no generated program was doubtful, predictions that could not be checked. */
#define FM_CONFIDENCE_UNKNOWN 0.8

/* Of a pattern's verdict, present or absent, whose metric is so far from the threshold, relative to it. The name is
   that of patterns.def, without a level. */
struct fm_confidence fm_confidence_of(const char *pattern, enum fm_way way, enum fm_verdict verdict, double distance);

/* The same where predicted and measured time do not fit: how often verdicts were right that were as doubtful. Of the
   pattern, if there were enough; else of all patterns, and then not above the same verdict without doubt, since these
   do not know the pattern. */
struct fm_confidence fm_confidence_in_doubt(const char *pattern, enum fm_way way, enum fm_verdict verdict,
                                            double distance);

#endif
