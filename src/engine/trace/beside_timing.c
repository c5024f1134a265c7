#include "engine/trace/beside_timing.h"

#include <stddef.h>

static void execute(struct fm_beside_timed *timed, const struct fm_instruction *instruction)
{
	fm_core_execute(timed->core, instruction, timed->accesses, timed->count);
	timed->count = 0;
	timed->in_part = true;
}

static void execute_next(struct fm_beside_timed *timed)
{
	struct fm_instruction part = fm_timed_piece_fetch(timed->piece, timed->next, timed->in_part, timed->core);

	if (!timed->in_part || timed->count)
		execute(timed, &part);
}

static void execute_until(struct fm_beside_timed *timed, unsigned until)
{
	for (; timed->next < until; timed->next++) {
		execute_next(timed);
		timed->in_part = false;
	}
}

/* Accesses whose instruction is not known. */
static void execute_alone(struct fm_beside_timed *timed)
{
	if (timed->count)
		execute(timed, &(struct fm_instruction){.operation = FM_OPERATION_none, .continues = 1});
	timed->in_part = false;
}

/* `following`: where the next piece begins; 0: not known. */
static void finish(struct fm_beside_timed *timed, uint64_t following)
{
	const struct fm_timed_piece *piece = timed->piece;

	if (piece) {
		unsigned end = fm_timed_piece_end(piece, timed->next + (timed->count || timed->in_part), following);

		execute_until(timed, end);
		if (following && end == piece->count)
			fm_timed_piece_branch(piece, timed->core, following);
		if (piece->calls)
			fm_core_drain(timed->core);
	} else {
		execute_alone(timed);
	}
	timed->piece = NULL;
	timed->next = timed->count = 0;
	timed->in_part = false;
}

void fm_beside_timed_piece(struct fm_beside_timed *timed, struct fm_timed_piece *piece)
{
	finish(timed, piece ? piece->pc : 0);
	timed->piece = piece;
}

void fm_beside_timed_advance(struct fm_beside_timed *timed, uint64_t pc)
{
	unsigned index = timed->piece ? fm_timed_piece_find(timed->piece, timed->next, pc) : 0;

	if (timed->piece && index < timed->piece->count) {
		execute_until(timed, index);
		timed->piece->instructions[index].accesses = true;
		return;
	}
	/* the rest of the piece is not in the trace, or this is another's */
	finish(timed, 0);
}

void fm_beside_timed_access(struct fm_beside_timed *timed, const struct fm_memory_access *access)
{
	if (timed->count == FM_INSTRUCTION_ACCESSES_MAX) {
		if (timed->piece)
			execute_next(timed);
		else
			execute_alone(timed);
	}
	timed->accesses[timed->count++] = *access;
}

void fm_beside_timed_part(struct fm_beside_timed *timed, const struct fm_memory_access *access)
{
	static const struct fm_instruction unknown;
	const struct fm_instruction *whole =
	    timed->piece ? &timed->piece->instructions[timed->next].instruction : &unknown;
	struct fm_instruction part = fm_instruction_part(whole, !timed->in_part, access->access != FM_ACCESS_LOAD);

	part.continues |= !timed->piece;
	fm_beside_timed_access(timed, access);
	execute(timed, &part);
}

void fm_beside_timed_finish(struct fm_beside_timed *timed)
{
	finish(timed, 0);
	fm_core_drain(timed->core);
}
