/* Basic blocks (pieces) decoded for core timing, once, at their first execution. */
#ifndef FATHOM_ENGINE_TRACE_TIMED_PIECE_H
#define FATHOM_ENGINE_TRACE_TIMED_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/shared.h"
#include "simulator/core.h"
#include "engine/trace/code.h"

#define FM_TIMED_UNKNOWN UINT32_MAX

struct fm_timed_instruction {
	struct fm_instruction instruction;
	uint32_t at; /* offset in its piece; FM_TIMED_UNKNOWN: undecodable */
	uint8_t bytes;
	bool accesses; /* the trace had a reference of this instruction */
};

struct fm_timed_piece {
	uint64_t pc;
	unsigned count;
	bool calls; /* ends with a system call */
	struct fm_timed_instruction instructions[];
};

/* Decodes a piece; unreadable and undecodable instructions have no effect. NULL without memory. */
struct fm_timed_piece *fm_timed_piece_decode(const struct fm_trace_piece *given, struct fm_code *code);

static inline bool fm_timed_piece_is_at(const struct fm_timed_piece *piece, unsigned index, uint64_t pc)
{
	uint32_t at = piece->instructions[index].at;

	return at != FM_TIMED_UNKNOWN && piece->pc + at == pc;
}

/* The index of the instruction at `pc`, from `from` on; piece->count: not found. */
unsigned fm_timed_piece_find(const struct fm_timed_piece *piece, unsigned from, uint64_t pc);

/* The instruction at an index, fetched by the core unless `in_part` (already partly executed). */
struct fm_instruction fm_timed_piece_fetch(const struct fm_timed_piece *piece, unsigned index, bool in_part,
                                           struct fm_core_timing *core);

/* Index of the first unexecuted instruction, at least `from`. After a signal or fault, execution continues at
   `following` inside the piece. A jump back into the piece looks alike, but all references precede it. */
unsigned fm_timed_piece_end(const struct fm_timed_piece *piece, unsigned from, uint64_t following);

/* Resolves the branch at the end of the piece; the second function is for a branch that was not timed. */
void fm_timed_piece_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target);
void fm_timed_piece_skip_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target);

#endif
