/* Confidence of a verdict: how often the same verdict was right on generated programs of known cause
   (calibration.def). */
#ifndef FATHOM_PATTERNS_CONFIDENCE_H
#define FATHOM_PATTERNS_CONFIDENCE_H

#include "patterns/patterns.h"

/* How a picture was made, of one thread or of several. Simulated cycles do not show how threads wait for each other. */
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

/* A confidence and the number of verdicts behind it. */
struct fm_confidence {
	/* (right + 1) / (all + 2): below 1, the lower the fewer verdicts. Without verdicts a function of the distance,
	   not a frequency. */
	double value;
	unsigned right, all;
	bool own; /* verdicts of this pattern; false: of all patterns */
};

/* Confidence of a verdict that is present or absent. `pattern`: the name in patterns.def, without a level. `distance`:
   from the metric to its threshold, relative to the threshold. */
struct fm_confidence fm_confidence_of(const char *pattern, enum fm_way way, enum fm_verdict verdict, double distance);

/* The same where predicted and measured time disagree: frequency among verdicts with this doubt. With too few of the
   pattern: of all patterns, at most the frequency without doubt. */
struct fm_confidence fm_confidence_in_doubt(const char *pattern, enum fm_way way, enum fm_verdict verdict,
                                            double distance);

#endif
