/* The runs for judging events: every kernel in every width with its data in every level, on one core and on all, with
   local and remote memory; chases; cache line transfers; an unbalanced product. The truth of each run follows from the
   kernel's declaration alone. */
#ifndef FATHOM_TRUST_PLAN_H
#define FATHOM_TRUST_PLAN_H

#include "simulator/description.h"
#include "kernels/kernel.h"
#include "trust/matrix.h"

enum { FM_MULTIPLICATIONS = 24 /* per pointer, as in the literature */, FM_HANDOVER_STEPS = 100 };

struct fm_plan_entry {
	struct fm_run run;                     /* without seconds */
	const struct fm_stream_kernel *kernel; /* of a stream and of a watch */
	enum fm_isa isa;
	unsigned level;  /* index of the cache that holds the data; the number of caches for memory */
	uint64_t bytes;  /* data of one core, all streams together */
	uint64_t blocks; /* of each stream that one core walks in the counted time; of a chase: lines */
};

struct fm_plan {
	struct fm_quantities quantities;
	struct fm_plan_entry *entries;
	unsigned count;
	unsigned rows; /* rows of the triangular matrix */
};

struct fm_plan_options {
	unsigned isas;     /* available instruction sets, one bit each */
	unsigned unit;     /* lines in the smallest measured run of a stream; 0: 4096 */
	unsigned triangle; /* rows of the matrix; 0: 8192 */
	bool small;        /* only the widest instruction set, for a first look */
};

int fm_plan_build(const struct fm_machine_description *machine, const struct fm_plan_options *options,
                  struct fm_plan **ret_plan, struct fm_error *error);
void fm_plan_free(struct fm_plan *plan);

/* Divides all cache sizes of a machine by `factor`, for short tests. Set counts stay powers of two. -EINVAL if a cache
   would vanish. */
int fm_plan_scale_machine(struct fm_machine_description *machine, unsigned factor, struct fm_error *error);

/* The numbers below `count` in a fixed irregular order: for the pairs of lines of a chase. Allocated; NULL without
   memory. */
uint32_t *fm_plan_order(uint64_t count);

/* Elements of the upper triangular matrix in the rows of `thread` (0 or 1). */
double fm_triangle_elements(unsigned rows, unsigned thread);

#endif
