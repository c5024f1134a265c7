/* Does a thread access an object in order, or at random? Samples are far apart, so strides are invisible. A thread in
   order at a steady speed advances in proportion to time: distances between samples match times between them. A clear
   mismatch means random order. */
#ifndef FATHOM_SAMPLES_PATTERN_H
#define FATHOM_SAMPLES_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum fm_pattern {
	FM_PATTERN_INCONCLUSIVE,
	FM_PATTERN_ADVANCES, /* in order, upwards or downwards, in repeated passes */
	FM_PATTERN_RANDOM,
	FM_PATTERN_LOCAL, /* consecutive references are close together; the order of the places is not visible */
	FM_PATTERN_FIXED, /* always the same cache line */
	FM_PATTERN_COUNT
};

/* One sample of one thread in one object. */
struct fm_pattern_point {
	double at;
	uint64_t address;
};

/* Additional knowledge of the object. */
struct fm_pattern_hints {
	double bytes_per_second;      /* upper limit of a thread's speed */
	double first_low, first_high; /* share of first-cache hits, as an interval; 0 … 1 if not known */
	double first_bytes;           /* its capacity */
};

struct fm_pattern_verdict {
	enum fm_pattern pattern;
	double confidence; /* 0 … 1 */
	double speed;      /* passes per second over the sampled range, negative: downwards; 0: not known */
	char reason[160];
};

/* Judges points in order of time, and changes them. 0 or -ENOMEM. */
int fm_pattern_judge(struct fm_pattern_point *points, size_t count, const struct fm_pattern_hints *hints,
                     struct fm_pattern_verdict *ret_verdict);

const char *fm_pattern_name(enum fm_pattern pattern);

#endif
