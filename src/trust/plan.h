/* What is run to judge events: every kernel in every width with its data in every level, on one core and on all, with
   local and remote memory; chases; lines handed over; an unbalanced product. The truth of each run follows from the
   kernel's declaration alone. */
#ifndef FATHOM_TRUST_PLAN_H
#define FATHOM_TRUST_PLAN_H

#include "simulator/description.h"
#include "kernels/kernel.h"
#include "trust/matrix.h"

enum { FM_MULTIPLICATIONS = 24 /* per pointer, as in the literature */, FM_HANDOVER_STEPS = 100 };

struct fm_plan_entry {
	struct fm_run run;                     /* all but seconds */
	const struct fm_stream_kernel *kernel; /* of a stream and a watch */
	enum fm_isa isa;
	unsigned level;  /* index of the cache that holds the data; the number of caches for memory */
	uint64_t bytes;  /* data of one core, all streams together */
	uint64_t blocks; /* of each stream that one core walks over while it is counted; of a chase, lines */
};

struct fm_plan {
	struct fm_quantities quantities;
	struct fm_plan_entry *entries;
	unsigned count;
	unsigned rows; /* rows of the triangular matrix */
};

struct fm_plan_options {
	unsigned isas;     /* instruction sets that exist, one bit each */
	unsigned unit;     /* lines in the smallest measured run of a stream; 0: 4096 */
	unsigned triangle; /* rows of the matrix; 0: 8192 */
	bool small;        /* only the widest instruction set, for a first look */
};

int fm_plan_build(const struct fm_machine_description *machine, const struct fm_plan_options *options,
                  struct fm_plan **ret_plan, struct fm_error *error);
void fm_plan_free(struct fm_plan *plan);

/* A copy of the machine with all caches smaller by this factor, for tests that shall be short. Sets stay powers of two.
   -EINVAL when one would vanish. */
int fm_plan_scale_machine(struct fm_machine_description *machine, unsigned factor, struct fm_error *error);

/* The numbers below `count` in an order that nobody foresees and that is always the same: of the pairs of lines of a
   chase. Allocated; NULL without memory. */
uint32_t *fm_plan_order(uint64_t count);

/* Elements of the upper triangular matrix in the rows of one of two threads. */
double fm_triangle_elements(unsigned rows, unsigned thread);

#endif
