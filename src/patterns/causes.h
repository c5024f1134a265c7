/* Causes that limit a program (causes.def), each with its share of the same time: the run time, or the time of all
   processors that a team of threads has. */
#ifndef FATHOM_PATTERNS_CAUSES_H
#define FATHOM_PATTERNS_CAUSES_H

#include <stdbool.h>
#include <stddef.h>

#include "patterns/analysis.h"

enum { FM_CAUSE_NAME = 32 };

struct fm_cause {
	const char *name;
	bool per_level; /* its name is "latency:memory" */
	struct fm_figure (*time)(const struct fm_analysis *analysis, unsigned level);
	const char *pattern; /* with advice and places; NULL: none */
	bool decides, loses;
	const char *words;
};

extern const struct fm_cause fm_causes[];
extern const unsigned fm_causes_count;

/* One cause at one level. The share may be unavailable. */
struct fm_caused {
	const struct fm_cause *cause;
	unsigned level;
	struct fm_figure share;
};

void fm_causes_each(const struct fm_analysis *analysis, void (*each)(void *context, const struct fm_caused *caused),
                    void *context);

/* Writes "latency:memory". Returns `text`. */
const char *fm_caused_name(const struct fm_analysis *analysis, const struct fm_caused *caused, char *text, size_t size);

/* Is there such a cause? "latency" is any level. */
bool fm_causes_have(const char *name);

/* The share of a cause; without a level, the largest one. Unavailable if it is unknown. */
struct fm_figure fm_causes_share(const struct fm_analysis *analysis, const char *name);

/* The native runs; NULL without a time. */
const struct fm_recorded_native *fm_causes_native(const struct fm_analysis *analysis);

/* The share of the user time that the simulated core does not explain: neither its calculation nor its waiting. */
double fm_causes_unexplained(const struct fm_analysis *analysis);

/* The part of the run time in which one thread has a processor, and the kernel's part of that. */
double fm_causes_busy(const struct fm_recorded_native *native);
double fm_causes_kernel(const struct fm_analysis *analysis);

/* Most of its time, the program starts short processes. */
bool fm_causes_starts_many(const struct fm_analysis *analysis);

#endif
