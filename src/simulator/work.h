/* What a thread executed, by kind of instruction. */
#ifndef FATHOM_SIMULATOR_WORK_H
#define FATHOM_SIMULATOR_WORK_H

#include <stdint.h>

struct fm_work {
	uint64_t instructions;
	uint64_t vector_calculations; /* floating point arithmetic of 256 bits and more */
	uint64_t vector_inserts;      /* half vectors put into whole ones */
	uint64_t divisions;           /* with square roots */
	uint64_t flops;               /* floating point operations; a fused one is two */
};

static inline void fm_work_add(struct fm_work *a, const struct fm_work *b)
{
	a->instructions += b->instructions;
	a->vector_calculations += b->vector_calculations;
	a->vector_inserts += b->vector_inserts;
	a->divisions += b->divisions;
	a->flops += b->flops;
}

static inline void fm_work_subtract(struct fm_work *a, const struct fm_work *b)
{
	a->instructions -= b->instructions;
	a->vector_calculations -= b->vector_calculations;
	a->vector_inserts -= b->vector_inserts;
	a->divisions -= b->divisions;
	a->flops -= b->flops;
}

#endif
