/* Recordings of a program that goes through four kernels again and again, whose truth is known. */
#ifndef FATHOM_TESTS_FOLD_SYNTHETIC_H
#define FATHOM_TESTS_FOLD_SYNTHETIC_H

#include "recording/recording.h"

enum { FOLDED_ELEMENTS = 1 << 22 };

/* Objects, in this order */
enum { FOLDED_A, FOLDED_B, FOLDED_C, FOLDED_OBJECTS };

struct folded_recipe {
	unsigned instances;
	double samples;  /* in each instance, on average */
	double length;   /* of an instance, seconds */
	double jitter;   /* of its length, relative standard deviation */
	double second;   /* share of instances that take 1.6 times as long */
	double outliers; /* share of instances that take up to 5 times as long */
	double slower;   /* scale takes so many times as long; 0 is 1 */
	double off;      /* seconds in each third instance that the thread is off the processor */
	unsigned processes;
	bool unmarked, simulated, copy_down;
	uint64_t seed;
};

/* Ends of copy, scale, add and triad in an instance. */
void folded_phases(const struct folded_recipe *recipe, double ends[4]);

/* Settled. */
struct fm_recording *folded_recording(const struct folded_recipe *recipe);

#endif
