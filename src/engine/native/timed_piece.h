/* Pieces of code as instructions for core timing: decoded once, when they are first executed. */
#ifndef FATHOM_ENGINE_NATIVE_TIMED_PIECE_H
#define FATHOM_ENGINE_NATIVE_TIMED_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "native/trace.h"
#include "simulator/core.h"
#include "engine/native/code.h"

#define FM_TIMED_UNKNOWN UINT32_MAX

struct fm_timed_instruction {
	struct fm_instruction instruction;
	uint32_t at; /* bytes from the beginning of its piece; FM_TIMED_UNKNOWN: it could not be decoded */
	uint8_t bytes;
	bool accesses; /* a reference of it has been seen */
};

struct fm_timed_piece {
	uint64_t pc;
	unsigned count;
	bool calls; /* ends with a system call */
	struct fm_timed_instruction instructions[];
};

/* What cannot be read or decoded are instructions that do nothing. NULL: memory is short. */
struct fm_timed_piece *fm_timed_piece_decode(const struct fm_trace_piece *given, struct fm_code *code);

static inline bool fm_timed_piece_is_at(const struct fm_timed_piece *piece, unsigned index, uint64_t pc)
{
	uint32_t at = piece->instructions[index].at;

	return at != FM_TIMED_UNKNOWN && piece->pc + at == pc;
}

/* A piece that was left in the middle, because of a signal or a fault: what comes next is the instruction that was not
   executed. A jump back into the piece looks the same, but has all its references behind it. Returns the instruction
   before which it ends, not before `from`. */
unsigned fm_timed_piece_end(const struct fm_timed_piece *piece, unsigned from, uint64_t following);

/* It went on there: the branch at its end learns that. The other one if it was not timed. */
void fm_timed_piece_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target);
void fm_timed_piece_skip_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target);

#endif
