#include "translate/x86_64/pieces.h"

#include "translate/x86_64/emit.h"
#include "translate/x86_64/filter.h"
#include "translate/x86_64/making.h"

unsigned fm_piece_length(const struct instruction *instructions, unsigned from, unsigned count)
{
	unsigned i = from;

	while (i < count && instructions[i].class == CLASS_COPY)
		i++;
	return i < count && instructions[i].class != CLASS_LEAVE ? i - from + 1 : i - from;
}

/* The register that is overwritten before it is read, or else the one that is used last. */
static unsigned least_useful(unsigned candidates, const struct instruction *instructions, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned used = instructions[i].reads | instructions[i].writes;

		if (instructions[i].replaces & candidates)
			return (unsigned)__builtin_ctz(instructions[i].replaces & candidates);
		if (!(candidates & ~used))
			break;
		candidates &= ~used;
	}
	return 31 - (unsigned)__builtin_clz(candidates);
}

/* counters[number] += passes without the flags. */
static void count_aside(struct work *work, unsigned from, unsigned count, const uint64_t *counter)
{
	const struct instruction *instructions = &work->instructions[from];
	unsigned log = work->log_register == NO_REGISTER ? 0 : REGISTER_BIT(work->log_register);
	unsigned number = least_useful(0xffff & ~(REGISTER_BIT(RSP) | log), instructions, count);

	if (work->held & ~log)
		number = (unsigned)__builtin_ctz(work->held & ~log);
	else
		fm_making_spill(work, number);
	emit_load(&work->at, number, counter);
	emit_memory(&work->at, 0x8d, true, number, number, NO_REGISTER, 0, from ? 1 : (int32_t)work->copies);
	emit_store(&work->at, number, counter);
}

/* In front of which instruction of the piece the flags may be overwritten: where the program does so itself, or at the
   end if it does so behind it. `length` if there is none. */
static unsigned where_to_count(const struct work *work, const struct instruction *instructions, unsigned length)
{
	const struct instruction *last = &instructions[length - 1];
	uint64_t next = last->pc + last->length;

	for (unsigned i = 0; i < length; i++)
		if (instructions[i].overwrites_flags)
			return i;
	if (last->reads_flags || (last->class != CLASS_COPY && last->class != CLASS_JUMP && last->class != CLASS_CALL))
		return length;
	if (last->class != CLASS_COPY)
		next = last->target;
	return fm_translate_flags_die(&work->decoder, next, work->range_start, work->range_end) ? length - 1 : length;
}

static void add_references(struct fm_translate_piece *piece, const struct instruction *instruction)
{
	for (unsigned i = 0; i < instruction->reference_count; i++) {
		const struct reference *reference = &instruction->references[i];

		if (!fm_translate_can_be_logged(reference) || (reference->kind & FM_TRANSLATE_REPEATED))
			continue;
		if (reference->kind & FM_TRANSLATE_LOAD) {
			piece->loads++;
			piece->load_bytes += reference->size;
		}
		if (reference->kind & FM_TRANSLATE_STORE) {
			piece->stores++;
			piece->store_bytes += reference->size;
		}
	}
}

static enum fm_translate_end end_of(const struct instruction *last)
{
	switch ((enum instruction_class)last->class) {
	case CLASS_COPY:
	case CLASS_LEAVE:
		return FM_TRANSLATE_CUT;
	case CLASS_RETURN:
	case CLASS_INDIRECT_JUMP:
	case CLASS_INDIRECT_CALL:
		return fm_translate_is_fixed(last) ? FM_TRANSLATE_BRANCH : FM_TRANSLATE_INDIRECT;
	default:
		return FM_TRANSLATE_BRANCH;
	}
}

bool fm_piece_begin(struct work *work, unsigned from, unsigned count)
{
	struct fm_translator *translator = work->translator;
	const struct instruction *instructions = &translator->work->instructions[from];
	unsigned length = fm_piece_length(translator->work->instructions, from, count), at;
	struct fm_translate_piece piece = {.pc = instructions->pc, .instructions = (uint16_t)length};
	uint32_t number;

	work->count_at = MOST_INSTRUCTIONS;
	work->count_kept = false;
	if (!length)
		return false;
	for (unsigned i = 0; i < length; i++) {
		piece.bytes += instructions[i].length;
		add_references(&piece, &instructions[i]);
	}
	piece.end = (uint8_t)end_of(&instructions[length - 1]);
	number = translator->client.number_piece(translator->client.context, &piece);
	if (translator->visits && !number && !from)
		work->loop_counter = (uint64_t *)&translator->slots->visits;
	if (number >= FM_TRANSLATE_PIECES || translator->visits)
		return translator->visits && !number;
	if (translator->log_pieces) {
		fm_making_begin_log(work, instructions->reads | instructions->writes | REGISTER_BIT(RSP));
		emit_memory(&work->at, 0xc7, true, 0, work->log_register, NO_REGISTER, 0,
		            (int32_t)(work->writing * sizeof(struct fm_translate_entry) + 8));
		emit_32(&work->at, FM_TRANSLATE_PIECE_ENTRY | number);
		work->writing++;
	}
	if (!translator->count_pieces)
		return false;
	work->counter = &translator->counters[number];
	at = where_to_count(work, instructions, length);
	if (at < length)
		work->count_at = from + at;
	else if (fm_filter_keeps_flags(work, from, length))
		work->count_kept = true;
	else
		count_aside(work, from, length, work->counter);
	if (!from)
		work->loop_counter = work->counter;
	return false;
}

void fm_piece_count(struct work *work)
{
	if (work->copies > 1 && work->counter == work->loop_counter) {
		emit_bytes(&work->at, "\x48\x83\x05", 3); /* addq */
		emit_32(&work->at, (uint32_t)((const uint8_t *)work->counter - (work->at + 5)));
		emit_byte(&work->at, work->copies);
		return;
	}
	emit_bytes(&work->at, "\x48\xff\x05", 3); /* incq */
	emit_relative(&work->at, work->counter);
}

void fm_piece_visit(struct work *work)
{
	struct slots *slots = work->translator->slots;
	uint8_t *skip, *back;

	fm_making_give_back(work, work->held);
	fm_making_spill(work, RCX);
	emit_load(&work->at, RCX, &slots->visits);
	emit_memory(&work->at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, -(int32_t)work->copies);
	emit_store(&work->at, RCX, &slots->visits);
	emit_bytes(&work->at, "\x48\x0f\xc9\x0f\xb6\xc9", 6); /* bswap %rcx; movzx %cl, %ecx */
	emit_byte(&work->at, 0xe3);                           /* jrcxz */
	skip = work->at++;
	emit_bytes(&work->at, "\x48\x8d\x0d", 3); /* lea back(%rip), %rcx */
	back = work->at;
	emit_32(&work->at, 0);
	emit_store(&work->at, RCX, &slots->visit_back);
	emit_load(&work->at, RCX, fm_making_slot(work, RCX));
	emit_byte(&work->at, 0xe9);
	fm_making_pend(work, EXIT_VISIT, work->pc, 0, 0, 0);
	*skip = (uint8_t)(work->at - skip - 1);
	emit_relative(&back, work->at);
	fm_making_mark(work, PC_STATIC);
	fm_making_give_back(work, REGISTER_BIT(RCX));
}
