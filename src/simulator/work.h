/* Executed instructions, by kind. */
#ifndef FATHOM_SIMULATOR_WORK_H
#define FATHOM_SIMULATOR_WORK_H

#include <stdint.h>

struct fm_work {
	uint64_t instructions;
	uint64_t vector_calculations; /* floating point arithmetic of 256 bits and more */
	uint64_t vector_inserts;      /* insertions of half vectors into whole ones */
	uint64_t divisions;           /* with square roots */
	uint64_t flops;               /* floating point operations; a fused one is two */
};

static inline void fm_work_add_times(struct fm_work *a, const struct fm_work *b, uint64_t times)
{
	a->instructions += times * b->instructions;
	a->vector_calculations += times * b->vector_calculations;
	a->vector_inserts += times * b->vector_inserts;
	a->divisions += times * b->divisions;
	a->flops += times * b->flops;
}

static inline void fm_work_add(struct fm_work *a, const struct fm_work *b)
{
	fm_work_add_times(a, b, 1);
}

static inline void fm_work_subtract(struct fm_work *a, const struct fm_work *b)
{
	fm_work_add_times(a, b, UINT64_MAX); /* -1 */
}

#endif
