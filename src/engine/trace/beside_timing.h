/* Core timing of a thread of a program beside: as in timing.h, without counts by source line and variable. All programs
   share the queues, buffers and memory bandwidth of one simulated machine, and so slow each other down. */
#ifndef FATHOM_ENGINE_TRACE_BESIDE_TIMING_H
#define FATHOM_ENGINE_TRACE_BESIDE_TIMING_H

#include "engine/trace/timed_piece.h"

struct fm_beside_timed {
	struct fm_core_timing *core;  /* NULL: no timing */
	struct fm_timed_piece *piece; /* the current basic block; NULL: unknown */
	unsigned next;                /* index of its next instruction, with these accesses so far: */
	unsigned count;
	struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];
	bool in_part; /* already executed in part, since its accesses did not fit */
};

/* Begins the next basic block; NULL: unknown. */
void fm_beside_timed_piece(struct fm_beside_timed *timed, struct fm_timed_piece *piece);

/* Executes all instructions before the one at `pc`, which has the next reference. */
void fm_beside_timed_advance(struct fm_beside_timed *timed, uint64_t pc);

/* Adds an access of that instruction, at most a line. The second function is for parts of repeated instructions. */
void fm_beside_timed_access(struct fm_beside_timed *timed, const struct fm_memory_access *access);
void fm_beside_timed_part(struct fm_beside_timed *timed, const struct fm_memory_access *access);

/* Completes the current basic block. */
void fm_beside_timed_finish(struct fm_beside_timed *timed);

#endif
