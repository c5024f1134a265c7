/* Core timing of a neighbour's thread: as of the program's own (timing.h), but nothing is counted by line and variable.
   Queues, buffers and the bandwidth of memory are those of the same simulated machine, so that programs side by side
   slow each other down in both resources. */
#ifndef FATHOM_ENGINE_NATIVE_BESIDE_TIMING_H
#define FATHOM_ENGINE_NATIVE_BESIDE_TIMING_H

#include "engine/native/timed_piece.h"

struct fm_beside_timed {
	struct fm_core_timing *core;  /* NULL: no timing */
	struct fm_timed_piece *piece; /* under way; NULL: it is not known */
	unsigned next;                /* of its instructions; these are its accesses so far: */
	unsigned count;
	struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];
	bool in_part; /* it was executed, with accesses that did not fit */
};

/* The next piece begins; NULL: one that is not known. */
void fm_beside_timed_piece(struct fm_beside_timed *timed, struct fm_timed_piece *piece);

/* What comes next is of the instruction at `pc`: everything before it is executed. */
void fm_beside_timed_advance(struct fm_beside_timed *timed, uint64_t pc);

/* An access of that instruction, up to a line's; and one of a repeated instruction, which is a part by itself. */
void fm_beside_timed_access(struct fm_beside_timed *timed, const struct fm_memory_access *access);
void fm_beside_timed_part(struct fm_beside_timed *timed, const struct fm_memory_access *access);

/* The piece under way is complete. */
void fm_beside_timed_finish(struct fm_beside_timed *timed);

#endif
