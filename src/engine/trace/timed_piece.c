#include "engine/trace/timed_piece.h"

#include <stdlib.h>

#include "engine/account/decode.h"

struct fm_timed_piece *fm_timed_piece_decode(const struct fm_trace_piece *given, struct fm_code *code)
{
	unsigned char bytes[UINT16_MAX + 1];
	const struct fm_trace_piece own = *given;
	struct fm_timed_piece *piece = calloc(1, sizeof(*piece) + own.instructions * sizeof(piece->instructions[0]));
	size_t length = fm_code_bytes(code, own.pc, bytes, own.bytes), at = 0;
	unsigned i = 0;

	if (!piece)
		return NULL;
	piece->pc = own.pc;
	piece->count = own.instructions;
	for (; i < own.instructions && at < length; i++) {
		struct fm_timed_instruction *next = &piece->instructions[i];
		struct fm_decoded decoded;

		if (!fm_decode(bytes + at, (unsigned)(length - at), &decoded))
			break;
		next->instruction = decoded.instruction;
		next->at = (uint32_t)at;
		next->bytes = (uint8_t)decoded.length;
		piece->calls = decoded.length == 2 && bytes[at] == 0x0f && bytes[at + 1] == 0x05;
		at += decoded.length;
	}
	for (; i < own.instructions; i++)
		piece->instructions[i].at = FM_TIMED_UNKNOWN;
	return piece;
}

unsigned fm_timed_piece_find(const struct fm_timed_piece *piece, unsigned from, uint64_t pc)
{
	while (from < piece->count && !fm_timed_piece_is_at(piece, from, pc))
		from++;
	return from;
}

struct fm_instruction fm_timed_piece_fetch(const struct fm_timed_piece *piece, unsigned index, bool in_part,
                                           struct fm_core_timing *core)
{
	const struct fm_timed_instruction *next = &piece->instructions[index];
	struct fm_instruction instruction = next->instruction;

	instruction.continues = in_part;
	if (!in_part && next->at != FM_TIMED_UNKNOWN)
		fm_core_fetch(core, piece->pc + next->at, next->bytes);
	return instruction;
}

unsigned fm_timed_piece_end(const struct fm_timed_piece *piece, unsigned from, uint64_t following)
{
	for (unsigned i = from; i < piece->count; i++)
		if (fm_timed_piece_is_at(piece, i, following))
			for (unsigned k = i; k < piece->count; k++)
				if (piece->instructions[k].accesses)
					return i;
	return piece->count;
}

/* NULL: no branch. */
static const struct fm_timed_instruction *branch_of(const struct fm_timed_piece *piece)
{
	const struct fm_timed_instruction *last = piece->count ? &piece->instructions[piece->count - 1] : NULL;

	return last && last->at != FM_TIMED_UNKNOWN && last->instruction.branch ? last : NULL;
}

void fm_timed_piece_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target)
{
	const struct fm_timed_instruction *branch = branch_of(piece);

	if (branch)
		fm_core_branch(core, (enum fm_branch_kind)branch->instruction.branch, piece->pc + branch->at,
		               branch->bytes, target);
}

void fm_timed_piece_skip_branch(const struct fm_timed_piece *piece, struct fm_core_timing *core, uint64_t target)
{
	const struct fm_timed_instruction *branch = branch_of(piece);

	if (branch)
		fm_core_skip_branch(core, (enum fm_branch_kind)branch->instruction.branch, piece->pc + branch->at,
		                    branch->bytes, target);
}
