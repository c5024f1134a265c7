/* Does a thread go through an object in order, or at random? Samples are far apart, so strides cannot be seen. But who
   goes through memory at a steady speed is, after a given time, a given way further on: the addresses of two samples
   and the time between them fit together. Where they do not, and they would have to, the order is random. */
#ifndef FATHOM_SAMPLES_PATTERN_H
#define FATHOM_SAMPLES_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum fm_pattern {
	FM_PATTERN_INCONCLUSIVE,
	FM_PATTERN_ADVANCES, /* in order, upwards or downwards, pass after pass */
	FM_PATTERN_RANDOM,
	FM_PATTERN_LOCAL, /* references that follow each other lie close together; the order of the places is not seen
	                   */
	FM_PATTERN_FIXED, /* always the same cache line */
	FM_PATTERN_COUNT
};

/* One sample of one thread in one object. */
struct fm_pattern_point {
	double at;
	uint64_t address;
};

/* What else is known of it. */
struct fm_pattern_hints {
	double bytes_per_second;      /* the most that a thread can go through */
	double first_low, first_high; /* share of the first cache, as an interval; 0 … 1 when not known */
	double first_bytes;           /* its capacity */
};

struct fm_pattern_verdict {
	enum fm_pattern pattern;
	double confidence; /* 0 … 1 */
	double speed; /* of what advances: passes a second through what was seen, negative: downwards; 0: not known */
	char reason[160];
};

/* Points in the order of time; they are changed. 0 or -ENOMEM. */
int fm_pattern_judge(struct fm_pattern_point *points, size_t count, const struct fm_pattern_hints *hints,
                     struct fm_pattern_verdict *ret_verdict);

const char *fm_pattern_name(enum fm_pattern pattern);

#endif
