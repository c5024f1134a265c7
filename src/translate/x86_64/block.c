/* Translates blocks: straight code up to a branch that always branches; conditional branches leave it sideways. */
#include <errno.h>

#include "translate/x86_64/emit.h"
#include "translate/x86_64/filter.h"
#include "translate/x86_64/pieces.h"
#include "translate/x86_64/references.h"
#include "translate/x86_64/making.h"

/* The displacement of a branch to the translation of pc, as the end of the instruction. */
static void branch_to(struct work *work, uint64_t pc)
{
	uint32_t known = fm_translate_find(work->translator, pc);

	if (known)
		emit_relative(&work->at, work->translator->code + work->translator->blocks[known - 1].code);
	else
		fm_making_pend(work, EXIT_CHAIN, pc, 0, 0, 0);
}

static bool reaches(const uint8_t *from, uint64_t address)
{
	int64_t distance = (int64_t)(address - (uint64_t)from);

	return distance == (int32_t)distance;
}

/* An operand relative to the instruction that is out of reach of the cache goes through a register. */
static void copy_far(struct work *work, const struct instruction *instruction)
{
	unsigned replaced = instruction->replaces & 0xff & ~REGISTER_BIT(RSP), number;
	uint8_t *copy;

	if (work->log_register != NO_REGISTER)
		replaced &= ~REGISTER_BIT(work->log_register);
	if (replaced) { /* what the instruction overwrites anyway need not be restored */
		number = (unsigned)__builtin_ctz(replaced);
		if (!(work->held & REGISTER_BIT(number)))
			fm_making_spill(work, number);
	} else {
		number = fm_making_borrow(work, instruction->reads | instruction->writes, true);
	}
	emit_constant(&work->at, number, instruction->rip_address);
	copy = work->at;
	emit_bytes(&work->at, (const void *)instruction->pc, instruction->length);
	copy[instruction->modrm_at] = (uint8_t)((copy[instruction->modrm_at] & 0x38) | 0x80 | number);
	memset(copy + instruction->displacement_at, 0, 4);
	if (instruction->has_extension && instruction->extension_inverted)
		copy[instruction->extension_at] |= 0x20;
	else if (instruction->has_extension)
		copy[instruction->extension_at] &= 0xfe;
}

static void copy(struct work *work, const struct instruction *instruction)
{
	uint8_t *start = work->at;

	if (!instruction->rip_relative) {
		emit_bytes(&work->at, (const void *)instruction->pc, instruction->length);
	} else if (instruction->agen && instruction->replaces) {
		emit_constant(&work->at, (unsigned)__builtin_ctz(instruction->replaces), instruction->rip_address);
	} else if (reaches(start + instruction->length, instruction->rip_address)) {
		uint32_t displacement = (uint32_t)(instruction->rip_address - (uint64_t)(start + instruction->length));

		emit_bytes(&work->at, (const void *)instruction->pc, instruction->length);
		memcpy(start + instruction->displacement_at, &displacement, sizeof(displacement));
	} else {
		copy_far(work, instruction);
	}
	work->held &= (uint16_t)~instruction->replaces;
}

static void push_literal(struct work *work, uint64_t value)
{
	emit_byte(&work->at, 0xff);
	emit_byte(&work->at, 0x35);
	work->literals[work->literal_count].displacement = work->at;
	work->literals[work->literal_count++].value = value;
	emit_32(&work->at, 0);
}

static const uint8_t compare[] = {0x4a, 0x8d, 0x0c, 0x19};    /* lea (%rcx, %r11), %rcx */
static const uint8_t undo[] = {0x49, 0xf7, 0xd3,              /* not %r11 */
                               0x4a, 0x8d, 0x4c, 0x19, 0x01}; /* lea 1(%rcx, %r11), %rcx */

/* Goes to the landing for the address in rcx; rcx and r11 are in their slots. */
static void emit_dispatch(uint8_t **at, const uint64_t *table)
{
	static const uint8_t index_and_jump[] = {
	    0x66, 0x41, 0x89, 0xcb,                         /* mov %cx, %r11w */
	    0x42, 0xff, 0x24, 0xdd, 0x00, 0x00, 0x00, 0x00, /* jmp *0(, %r11, 8) */
	};

	emit_constant(at, R11, (uint64_t)table >> 3);
	emit_bytes(at, index_and_jump, sizeof(index_and_jump));
}

/* rcx := where an indirect jump or call goes; rcx and r11 are in their slots. */
static void emit_target(struct work *work, const struct instruction *instruction)
{
	const struct address *from = &instruction->from;

	if (instruction->branch_register != NO_REGISTER) {
		emit_byte(&work->at, 0x48 | (instruction->branch_register >= 8 ? 4u : 0));
		emit_byte(&work->at, 0x89);
		emit_byte(&work->at, 0xc0 | (instruction->branch_register & 7u) << 3 | RCX);
		return;
	}
	if (from->absolute)
		emit_constant(&work->at, RCX, (uint64_t)from->displacement);
	if (from->segment)
		emit_byte(&work->at, from->segment == SEGMENT_FS ? 0x64 : 0x65);
	if (from->absolute)
		emit_memory(&work->at, 0x8b, true, RCX, RCX, NO_REGISTER, 0, 0);
	else
		emit_memory(&work->at, 0x8b, true, RCX, from->base, from->index, from->scale,
		            (int32_t)from->displacement);
}

static void emit_indirect(struct work *work, const struct instruction *instruction)
{
	/* by a pointer that has its place, as in all calls of other libraries: seldom does it change */
	if (fm_translate_is_fixed(instruction)) {
		emit_byte(&work->at, 0xe9);
		fm_making_pend(work, EXIT_LEARN, instruction->pc, 0, 0, 0);
		return;
	}
	if (!(work->held & REGISTER_BIT(RCX)))
		fm_making_spill(work, RCX);
	if (!(work->held & REGISTER_BIT(R11)))
		fm_making_spill(work, R11);
	if (instruction->class != CLASS_RETURN) {
		emit_target(work, instruction);
	} else if (!instruction->popped) {
		emit_byte(&work->at, 0x59); /* pop %rcx */
	} else {
		emit_memory(&work->at, 0x8b, true, RCX, RSP, NO_REGISTER, 0, 0);
		emit_memory(&work->at, 0x8d, true, RSP, RSP, NO_REGISTER, 0, 8 + instruction->popped);
	}
	if (instruction->class == CLASS_INDIRECT_CALL)
		push_literal(work, instruction->pc + instruction->length);
	fm_making_mark(work, PC_IN_RCX);
	emit_dispatch(&work->at, work->translator->table);
}

static void leave_sideways(struct work *work, uint64_t target)
{
	work->sideways[work->sideways_count++] = (struct sideways){work->at, target, work->held, 0};
	emit_32(&work->at, 0);
}

/* Registers that may stay borrowed over the instruction that ends straight code: rcx and r11 where an indirect branch
   needs them anyway, all where a branch is expected not to be taken. */
static unsigned may_stay(const struct work *work, const struct instruction *instruction)
{
	if (work->log_register != NO_REGISTER)
		return 0;
	if (instruction->class == CLASS_CONDITIONAL) /* where the next operand needs a register again */
		return work->translator->filter.limit && instruction->target > instruction->pc ? 0xffff : 0;
	if (instruction->class == CLASS_RETURN ||
	    ((instruction->class == CLASS_INDIRECT_JUMP || instruction->class == CLASS_INDIRECT_CALL) &&
	     !fm_translate_is_fixed(instruction)))
		return REGISTER_BIT(RCX) | REGISTER_BIT(R11);
	return 0;
}

static void emit_system_call(struct work *work, const struct instruction *instruction)
{
	static const uint8_t number[] = {0x0f, 0xb6, 0xc8};              /* movzx %al, %ecx */
	static const uint8_t look_up[] = {0x41, 0x0f, 0xb6, 0x0c, 0x0b}; /* movzx (%r11, %rcx), %ecx */
	struct slots *slots = work->translator->slots;
	uint64_t next = instruction->pc + instruction->length;
	uint8_t *skip;

	if (work->translator->client.on_system_call) {
		emit_byte(&work->at, 0xe9);
		fm_making_pend(work, EXIT_SYSTEM_CALL, instruction->pc, 0, 0, 0);
		return;
	}
	fm_making_spill(work, RCX);
	fm_making_spill(work, R11);
	emit_bytes(&work->at, number, sizeof(number));
	emit_slot(&work->at, 0x8d, R11, slots->special_calls);
	emit_bytes(&work->at, look_up, sizeof(look_up));
	emit_byte(&work->at, 0xe3); /* jrcxz */
	skip = work->at++;
	fm_making_give_back(work, work->held);
	emit_byte(&work->at, 0xe9);
	fm_making_pend(work, EXIT_SYSTEM_CALL, instruction->pc, 0, 0, 0);
	*skip = (uint8_t)(work->at - skip - 1);
	/* the call overwrites both registers */
	fm_making_mark(work, PC_STATIC);
	emit_byte(&work->at, 0x0f);
	emit_byte(&work->at, 0x05);
	work->pc = next;
	fm_making_mark(work, PC_AFTER_CALL);
	emit_constant(&work->at, RCX, next);
	fm_making_mark(work, PC_STATIC);
	emit_byte(&work->at, 0xe9);
	branch_to(work, next);
}

static void emit_counted(struct work *work, const struct instruction *instruction)
{
	if (instruction->narrow)
		emit_byte(&work->at, 0x67);
	emit_byte(&work->at, instruction->opcode);
	emit_byte(&work->at, 2);
	work->pc += instruction->length;
	fm_making_mark(work, PC_STATIC);
	emit_byte(&work->at, 0xeb);
	emit_byte(&work->at, 5);
	fm_making_mark(work, PC_UNKNOWN);
	emit_byte(&work->at, 0xe9);
	branch_to(work, instruction->target);
	fm_making_mark(work, PC_STATIC);
}

/* The branch, or whatever else ends straight code. */
static void emit_end(struct work *work, const struct instruction *instruction)
{
	switch ((enum instruction_class)instruction->class) {
	case CLASS_COPY:
		break;
	case CLASS_JUMP:
		emit_byte(&work->at, 0xe9);
		branch_to(work, instruction->target);
		break;
	case CLASS_CONDITIONAL:
		emit_byte(&work->at, 0x0f);
		emit_byte(&work->at, 0x80u | instruction->condition);
		if (work->held)
			leave_sideways(work, instruction->target);
		else
			branch_to(work, instruction->target);
		break;
	case CLASS_COUNTED:
		emit_counted(work, instruction);
		break;
	case CLASS_CALL:
		push_literal(work, instruction->pc + instruction->length);
		work->block->end_pc = instruction->target;
		fm_making_mark(work, PC_END);
		emit_byte(&work->at, 0xe9);
		branch_to(work, instruction->target);
		break;
	case CLASS_RETURN:
	case CLASS_INDIRECT_JUMP:
	case CLASS_INDIRECT_CALL:
		emit_indirect(work, instruction);
		break;
	case CLASS_SYSTEM_CALL:
		emit_system_call(work, instruction);
		break;
	case CLASS_LEAVE:
		emit_byte(&work->at, 0xe9);
		fm_making_pend(work, EXIT_LEAVE, instruction->pc, instruction->reason, 0, 0);
		break;
	}
}

/* rcx := 0 if all is well, by code between these two; else asks the translator, which comes back to `here`. */
static uint8_t *begin_check(struct work *work)
{
	uint8_t *here;

	fm_making_give_back(work, work->held); /* the translator takes the registers as they are */
	here = work->at;
	fm_making_spill(work, RCX);
	return here;
}

static void end_check(struct work *work, uint8_t *here, enum exit_kind kind, uint32_t charged)
{
	uint8_t *skip;

	emit_byte(&work->at, 0xe3); /* jrcxz */
	skip = work->at++;
	emit_load(&work->at, RCX, fm_making_slot(work, RCX));
	emit_byte(&work->at, 0xe9);
	fm_making_pend(work, kind, work->pc, 0, (uint32_t)(here - work->translator->code), charged);
	*skip = (uint8_t)(work->at - skip - 1);
	fm_making_give_back(work, REGISTER_BIT(RCX));
}

static void emit_fuel_check(struct work *work, unsigned instructions)
{
	struct slots *slots = work->translator->slots;
	uint8_t *here = begin_check(work);

	emit_load(&work->at, RCX, &slots->fuel);
	emit_memory(&work->at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, -(int32_t)instructions);
	emit_store(&work->at, RCX, &slots->fuel);
	/* The highest byte is 0 unless the number is negative: a test that leaves the flags alone. Not read from
	   memory, which would wait for the store. */
	emit_bytes(&work->at, "\x48\x0f\xc9\x0f\xb6\xc9", 6); /* bswap %rcx; movzx %cl, %ecx */
	end_check(work, here, EXIT_FUEL, instructions);
}

/* The log ends where byte 3 of the address changes; what a block may write beyond that is mapped. */
static void emit_room_check(struct work *work)
{
	struct slots *slots = work->translator->slots;
	uint8_t *here = begin_check(work);

	emit_load(&work->at, RCX, &slots->log_end);
	emit_bytes(&work->at, "\x0f\xc9\x0f\xb6\xc9", 5); /* bswap %ecx; movzx %cl, %ecx */
	emit_memory(&work->at, 0x8d, false, RCX, RCX, NO_REGISTER, 0, -(int32_t)work->translator->log_frame);
	end_check(work, here, EXIT_FULL, 0);
}

/* What is done only if a conditional branch is taken. */
static void finish_sideways(struct work *work)
{
	enum { LOAD = 7, JUMP = 5, COUNT = 4 * LOAD + 4 };
	struct fm_translator *translator = work->translator;
	size_t size = 0;
	uint8_t *end_of_block = work->at;

	for (unsigned i = 0; i < work->sideways_count; i++)
		size += (size_t)__builtin_popcount(work->sideways[i].held) * LOAD + JUMP +
		        (work->sideways[i].passes ? COUNT : 0);
	work->at = translator->stubs_at -= size;
	for (unsigned i = 0; i < work->sideways_count; i++) {
		struct sideways *sideways = &work->sideways[i];

		emit_relative(&sideways->displacement, work->at);
		for (unsigned number = 0; sideways->held >> number; number++)
			if (sideways->held & REGISTER_BIT(number))
				emit_load(&work->at, number, fm_making_slot(work, number));
		if (sideways->passes && work->loop_counter) {
			emit_store(&work->at, RAX, fm_making_slot(work, RAX));
			emit_load(&work->at, RAX, work->loop_counter);
			emit_memory(&work->at, 0x8d, true, RAX, RAX, NO_REGISTER, 0,
			            translator->visits ? -(int32_t)sideways->passes : sideways->passes);
			emit_store(&work->at, RAX, work->loop_counter);
			emit_load(&work->at, RAX, fm_making_slot(work, RAX));
		}
		emit_byte(&work->at, 0xe9);
		branch_to(work, sideways->target);
	}
	work->at = end_of_block;
}

/* At the other end of the cache, so that code which runs lies close together: stubs run once or twice. */
static void finish_stubs(struct work *work)
{
	enum { STUB = 17 };
	struct fm_translator *translator = work->translator;
	size_t size = work->pending_count * STUB + work->literal_count * sizeof(uint64_t);
	uint8_t *at = translator->stubs_at = (uint8_t *)((uintptr_t)(translator->stubs_at - size) & ~(uintptr_t)7);

	work->held = 0;
	fm_making_mark(work, PC_UNKNOWN);
	for (unsigned i = 0; i < work->literal_count; i++) {
		uint8_t *end = work->literals[i].displacement;

		emit_relative(&end, at);
		emit_64(&at, work->literals[i].value);
	}
	for (unsigned i = 0; i < work->pending_count; i++) {
		struct pending *pending = &work->pending[i];
		uint8_t *end = pending->displacement;

		if (pending->record.kind == EXIT_CHAIN || pending->record.kind == EXIT_LEARN)
			pending->record.patch = (uint32_t)(pending->displacement - translator->code);
		emit_relative(&end, at);
		translator->exits[translator->exit_count] = pending->record;
		emit_store(&at, RCX, fm_making_slot(work, RCX));
		emit_byte(&at, 0xb9); /* mov $index, %ecx */
		emit_32(&at, translator->exit_count++);
		emit_jump(&at, pending->record.kind == EXIT_COUNTED ? translator->counted_code
		               : pending->record.kind == EXIT_VISIT ? translator->visit_code
		                                                    : translator->exit_code);
	}
}

/* Decodes up to the end of the block. Where it ends without a branch, *ret_next is where to go on. */
static unsigned decode_block(struct fm_translator *translator, const struct range *range, uint64_t pc,
                             uint64_t *ret_next)
{
	unsigned count = 0;

	for (; count < MOST_INSTRUCTIONS && pc < range->end; count++) {
		struct instruction *instruction = &translator->work->instructions[count];

		/* a loop that was entered in its middle is complete, too */
		if (count && translator->loop_copies < 2 && fm_translate_find(translator, pc))
			break;
		if (pc == (uint64_t)fm_translator_leave) {
			*instruction = (struct instruction){.pc = pc, .class = CLASS_LEAVE, .reason = FM_LEFT_ASKED};
		} else if (pc == (uint64_t)fm_translator_enter) { /* has been done */
			*instruction = (struct instruction){.pc = pc, .class = CLASS_RETURN};
		} else {
			fm_translate_decode(&translator->work->decoder, pc, range->end - pc, instruction);
		}
		if (translator->undo && instruction->class != CLASS_LEAVE && !fm_references_are_reversible(instruction))
			*instruction =
			    (struct instruction){.pc = pc, .class = CLASS_LEAVE, .reason = FM_LEFT_IRREVERSIBLE};
		/* the address of the description is taken right before a sequence */
		if (instruction->agen && fm_translate_is_sequence(&translator->ranges, instruction->rip_address))
			*instruction =
			    (struct instruction){.pc = pc, .class = CLASS_LEAVE, .reason = FM_LEFT_RESTARTABLE};
		pc += instruction->length;
		if (instruction->class != CLASS_COPY && instruction->class != CLASS_CONDITIONAL &&
		    instruction->class != CLASS_COUNTED) {
			*ret_next = 0;
			return count + 1;
		}
	}
	*ret_next = pc;
	return count;
}

/* Instructions of the loop that the block consists of up to its first branch; 0: it is no such loop, or a long one. */
static unsigned loop_length(const struct fm_translator *translator, uint64_t pc, unsigned count)
{
	enum { MOST_LOOP_BYTES = 120 };
	const struct instruction *instructions = translator->work->instructions, *last;
	unsigned length = fm_piece_length(instructions, 0, count);

	if (translator->loop_copies < 2 || !length)
		return 0;
	last = &instructions[length - 1];
	return last->class == CLASS_CONDITIONAL && last->target == pc && last->pc + last->length - pc <= MOST_LOOP_BYTES
	           ? length
	           : 0;
}

/* All copies of the loop but the last one. Each continues with the next, or leaves the loop. */
static void emit_loop_copies(struct work *work, unsigned length)
{
	const struct instruction *instructions = work->instructions, *last = &instructions[length - 1];

	for (unsigned passes = 1; passes < work->copies; passes++) {
		for (unsigned i = 0; i + 1 < length; i++) {
			fm_making_give_back(work, (unsigned)(instructions[i].reads | instructions[i].writes) &
			                              ~(unsigned)instructions[i].replaces);
			copy(work, &instructions[i]);
			work->pc += instructions[i].length;
			fm_making_mark(work, PC_STATIC);
		}
		fm_making_give_back(work, work->held);
		emit_byte(&work->at, 0x0f);
		emit_byte(&work->at, 0x80u | (last->condition ^ 1));
		leave_sideways(work, last->pc + last->length);
		work->sideways[work->sideways_count - 1].passes = (uint8_t)passes;
		work->pc = instructions[0].pc;
		fm_making_mark(work, PC_STATIC);
	}
}

static struct block *begin_block(struct fm_translator *translator, struct work *work, uint64_t pc, unsigned alignment)
{
	struct block *block = &translator->blocks[translator->block_count++];

	translator->code_at =
	    (uint8_t *)(((uintptr_t)translator->code_at + alignment - 1) & ~(uintptr_t)(alignment - 1));
	*block = (struct block){
	    .pc = pc, .code = (uint32_t)(translator->code_at - translator->code), .places = translator->place_count};
	/* not as a whole: the lists are long, and their lengths are enough */
	work->translator = translator;
	work->at = work->last_code = translator->code_at;
	work->block = block;
	work->pc = work->last_pc = pc;
	work->held = 0;
	work->log_register = NO_REGISTER;
	work->logged = work->writing = 0;
	work->pending_count = work->literal_count = work->filtered_count = work->sideways_count = 0;
	work->count_at = MOST_INSTRUCTIONS;
	work->copies = 1;
	work->loop_counter = NULL;
	return block;
}

/* Where indirect branches to pc arrive: compares the address in rcx with pc; others continue at the previous owner of
   this entry of the table. Returns the offset; what follows has rcx and r11 in their slots. */
static uint32_t emit_landing(struct fm_translator *translator, uint64_t pc)
{
	uint64_t *entry = &translator->table[pc & ((1u << INDEX_BITS) - 1)];
	struct work *work = translator->work;
	struct block *landing = begin_block(translator, work, pc, 16);
	uint8_t *skip;

	work->held = REGISTER_BIT(RCX) | REGISTER_BIT(R11);
	fm_making_mark(work, PC_IN_RCX);
	emit_constant(&work->at, R11, -pc);
	emit_bytes(&work->at, compare, sizeof(compare));
	fm_making_mark(work, PC_RCX_MINUS_R11);
	emit_byte(&work->at, 0xe3); /* jrcxz */
	skip = work->at++;
	fm_making_mark(work, PC_UNKNOWN);
	emit_bytes(&work->at, undo, sizeof(undo));
	emit_jump(&work->at, (const void *)*entry);
	*skip = (uint8_t)(work->at - skip - 1);
	translator->code_at = work->at;
	*entry = (uint64_t)(translator->code + landing->code);
	return landing->code;
}

/* Writes code for an indirect jump or call that expects it to go to `target`, at code_at. False: no room. */
static bool guess(struct fm_translator *translator, const struct instruction *instruction, uint64_t target)
{
	bool is_call = instruction->class == CLASS_INDIRECT_CALL;
	uint64_t next = instruction->pc + instruction->length;
	struct work *work = translator->work;
	uint8_t *skip;

	if (!fm_translate_has_room(translator))
		return false;
	begin_block(translator, work, instruction->pc, 16);
	fm_making_mark(work, PC_STATIC);
	fm_making_spill(work, RCX);
	fm_making_spill(work, R11);
	emit_target(work, instruction);
	emit_constant(&work->at, R11, -target);
	emit_bytes(&work->at, compare, sizeof(compare));
	emit_byte(&work->at, 0xe3); /* jrcxz */
	skip = work->at++;
	emit_bytes(&work->at, undo, sizeof(undo));
	if (is_call)
		push_literal(work, next);
	fm_making_mark(work, PC_IN_RCX);
	emit_dispatch(&work->at, translator->table);
	*skip = (uint8_t)(work->at - skip - 1);
	fm_making_mark(work, PC_STATIC);
	fm_making_give_back(work, work->held);
	if (is_call) {
		push_literal(work, next);
		work->block->end_pc = target;
		fm_making_mark(work, PC_END);
	}
	emit_byte(&work->at, 0xe9);
	branch_to(work, target);
	finish_stubs(work);
	translator->code_at = work->at;
	return true;
}

void fm_translate_chain(struct fm_translator *translator, uint32_t patch)
{
	uint8_t *at = translator->code + patch;

	emit_relative(&at, (const void *)translator->slots->resume);
	translator->counts.chained++;
}

/* A library's way to the dynamic linker, on which it sends its first call of a function: "push $number". The pointer
   changes soon. */
static bool is_unresolved(struct fm_translator *translator, uint64_t from, uint64_t target)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
	const struct range *range = fm_translate_find_range(&translator->ranges, target);
	const uint8_t *code = (const uint8_t *)target;

	if (!range || from < range->start || from >= range->end || range->end - target < sizeof(mark) + 1)
		return false;
	return code[memcmp(code, mark, sizeof(mark)) ? 0 : sizeof(mark)] == 0x68;
}

/* Now the pointer is known, and the branch gets code that expects it. */
void fm_translate_learn(struct fm_translator *translator, const struct exit_record *exit)
{
	enum { MOST_TRIES = 8 };
	const struct range *range = fm_translate_find_range(&translator->ranges, exit->pc);
	struct exit_record *record = &translator->exits[(uint32_t)translator->slots->exit];
	struct instruction instruction = {0};
	uint64_t target;

	if (range)
		fm_translate_decode(&translator->work->decoder, exit->pc, range->end - exit->pc, &instruction);
	if (!fm_translate_is_fixed(&instruction) ||
	    !fm_translate_is_readable((uint64_t)instruction.from.displacement)) {
		fm_translate_leave(translator, FM_LEFT_UNMAPPED, exit->pc);
		return;
	}
	memcpy(&target, (const void *)instruction.from.displacement, sizeof(target));
	if (!guess(translator, &instruction, target)) {
		fm_translator_flush(translator);
		fm_translate_go_to(translator, exit->pc, false);
		return;
	}
	translator->slots->resume = (uint64_t)(translator->code + translator->blocks[translator->block_count - 1].code);
	if (record->site++ < MOST_TRIES && is_unresolved(translator, exit->pc, target))
		return;
	fm_translate_chain(translator, exit->patch);
}

void fm_translate_land(struct fm_translator *translator, uint32_t index)
{
	struct block *block = &translator->blocks[index - 1];

	if (block->landing || !fm_translate_has_room(translator))
		return;
	block->landing = emit_landing(translator, block->pc);
	fm_making_mark(translator->work, PC_STATIC);
	fm_making_give_back(translator->work, translator->work->held);
	translator->code_at = translator->work->at;
	emit_jump(&translator->code_at, translator->code + block->code);
}

uint32_t fm_translate_block(struct fm_translator *translator, uint64_t pc, bool with_landing,
                            enum fm_translate_reason *ret_reason)
{
	static const enum fm_translate_reason reasons[] = {
	    [RANGE_GENERATED] = FM_LEFT_GENERATED, [RANGE_WRITABLE] = FM_LEFT_WRITABLE};
	uint32_t known = fm_translate_find(translator, pc);
	struct range *range;
	struct work *work = translator->work;
	uint64_t next;
	uint32_t landing;
	unsigned count, copied = 0, loop;
	bool logs = false;

	if (known)
		return known;
	range = fm_translate_find_range(&translator->ranges, pc);
	if (!range) {
		*ret_reason = FM_LEFT_UNMAPPED;
		return 0;
	}
	if (range->kind != RANGE_FILE && !translator->generated_code) {
		*ret_reason = reasons[range->kind];
		return 0;
	}
	if (!fm_translate_has_room(translator))
		fm_translator_flush(translator);
	if (!fm_translate_has_room(translator)) {
		*ret_reason = FM_LEFT_MEMORY;
		return 0;
	}
	range->used = true;
	work->range_start = range->start;
	work->range_end = range->end;
	count = decode_block(translator, range, pc, &next);
	loop = with_landing ? 0 : loop_length(translator, pc, count);
	if (loop) {
		count = loop;
		next = work->instructions[loop - 1].pc + work->instructions[loop - 1].length;
	}
	landing = with_landing ? emit_landing(translator, pc) : 0;
	begin_block(translator, work, pc, with_landing ? 1 : 16)->landing = landing;
	known = translator->block_count;
	/* Behind a landing two registers are given back only where they are needed, mostly nowhere: after a call they
	   have no meaning. Direct branches get a block of their own. */
	if (with_landing)
		work->held = REGISTER_BIT(RCX) | REGISTER_BIT(R11);
	else
		fm_translate_insert(translator, pc, known);
	fm_making_mark(work, PC_STATIC);
	for (unsigned i = 0; translator->client.choose && i < count; i++)
		logs |= translator->work->instructions[i].reference_count > 0 || translator->log_pieces;
	if (translator->filter.limit)
		fm_filter_plan(work, count);
	else if (logs)
		emit_room_check(work);
	if (loop) {
		work->copies = translator->loop_copies < MOST_INSTRUCTIONS / loop ? translator->loop_copies
		                                                                  : MOST_INSTRUCTIONS / loop;
		emit_loop_copies(work, loop);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct instruction *instruction = &translator->work->instructions[i];

		if (translator->with_fuel && (!i || instruction[-1].class != CLASS_COPY))
			if (fm_piece_length(translator->work->instructions, i, count))
				emit_fuel_check(work, fm_piece_length(translator->work->instructions, i, count));
		if ((translator->count_pieces || translator->log_pieces || translator->visits) &&
		    (!i || instruction[-1].class != CLASS_COPY) && fm_piece_begin(work, i, count))
			fm_piece_visit(work);
		/* what it overwrites as a whole may stay borrowed until then */
		fm_making_give_back(work, (unsigned)(instruction->reads | instruction->writes) &
		                              ~(unsigned)instruction->replaces);
		if (work->log_register != NO_REGISTER && (instruction->replaces & REGISTER_BIT(work->log_register)))
			fm_making_give_back(work, REGISTER_BIT(work->log_register));
		if (work->writing > 255 - (2 + MOST_OLD) * MOST_REFERENCES)
			fm_making_give_back(work, work->held);
		if (translator->filter.limit)
			fm_filter_look(work, i);
		else if (translator->client.choose)
			fm_references_log(work, instruction);
		if (i == work->count_at)
			fm_piece_count(work);
		if (instruction->class == CLASS_COPY) {
			copy(work, instruction);
			work->pc += instruction->length;
			work->logged = work->writing;
			fm_making_mark(work, PC_STATIC);
			copied++;
			continue;
		}
		fm_making_give_back(work, work->held & ~may_stay(work, instruction));
		emit_end(work, instruction);
		copied += instruction->class != CLASS_LEAVE;
		if (instruction->class == CLASS_CONDITIONAL) {
			work->pc += instruction->length;
			fm_making_mark(work, PC_STATIC);
		}
	}
	if (next) {
		fm_making_give_back(work, work->held);
		emit_byte(&work->at, 0xe9);
		branch_to(work, next);
	}
	finish_sideways(work);
	finish_stubs(work);
	fm_filter_finish(work);
	translator->code_at = work->at;
	translator->counts.blocks++;
	translator->counts.instructions += copied;
	return known;
}

/* To the translator: rcx has the number of the exit, and is in its slot already. */
static void emit_exit(uint8_t **at, struct slots *slots, const uint64_t *gate)
{
	emit_store(at, RCX, &slots->exit);
	for (unsigned number = 0; number < 16; number++)
		if (number != RCX)
			emit_store(at, number, &slots->registers[number]);
	emit_load(at, RSP, &slots->stack);
	emit_byte(at, 0x9c); /* pushf */
	emit_bytes(at, "\x8f\x05", 2);
	emit_relative(at, &slots->flags); /* pop */
	emit_load(at, RDI, &slots->self);
	emit_bytes(at, "\xff\x25", 2);
	emit_relative(at, gate); /* jmp * */
}

/* What is in every cache, at its beginning. */
static void write_permanent_code(struct fm_translator *translator)
{
	struct slots *slots = translator->slots;
	uint8_t *at = translator->code;

	translator->exit_code = at;
	emit_exit(&at, slots, &slots->gate);
	translator->counted_code = at;
	emit_exit(&at, slots, &slots->light_gate);

	translator->enter_code = (uint64_t)at;
	emit_bytes(&at, "\xff\x35", 2);
	emit_relative(&at, &slots->flags); /* push */
	emit_byte(&at, 0x9d);              /* popf */
	for (unsigned number = 0; number < 16; number++)
		emit_load(&at, number, &slots->registers[number]);
	emit_bytes(&at, "\xff\x25", 2);
	emit_relative(&at, &slots->resume);

	translator->missing_code = at;
	emit_store(&at, RCX, &slots->target);
	emit_load(&at, R11, &slots->registers[R11]);
	emit_byte(&at, 0xb9);
	emit_32(&at, EXIT_INDIRECT);
	emit_jump(&at, translator->exit_code);

	translator->burst_code = at;
	emit_store(&at, RCX, &slots->registers[RCX]);
	emit_byte(&at, 0xb9);
	emit_32(&at, EXIT_ENTER);
	emit_jump(&at, translator->exit_code);

	/* A visit to be timed: rcx has the number of the exit, and is in its slot. The flags stay. */
	translator->visit_code = at;
	emit_store(&at, RAX, &slots->registers[RAX]);
	emit_store(&at, RDX, &slots->registers[RDX]);
	emit_store(&at, RCX, &slots->exit);
	emit_bytes(&at, "\x0f\xae\xe8\x0f\x31", 5); /* lfence; rdtsc: all before it is complete */
	emit_load(&at, RCX, &slots->times_at);
	emit_bytes(&at, "\x89\x01\x89\x51\x04", 5); /* mov %eax, (%rcx); mov %edx, 4(%rcx) */
	emit_memory(&at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, 8);
	emit_store(&at, RCX, &slots->times_at);
	emit_load(&at, RAX, &slots->visits_next);
	emit_store(&at, RAX, &slots->visits);
	emit_load(&at, RAX, &slots->registers[RAX]);
	emit_load(&at, RDX, &slots->registers[RDX]);
	emit_load(&at, RCX, &slots->times_left);
	emit_memory(&at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, -1);
	emit_store(&at, RCX, &slots->times_left);
	emit_bytes(&at, "\x48\x0f\xc9\x0f\xb6\xc9", 6); /* bswap %rcx; movzx %cl, %ecx */
	emit_bytes(&at, "\xe3\x0c", 2);                 /* jrcxz, over the next two */
	emit_load(&at, RCX, &slots->exit);
	emit_jump(&at, translator->exit_code);
	emit_bytes(&at, "\xff\x25", 2);
	emit_relative(&at, &slots->visit_back); /* jmp * */

	translator->call_code = at;
	emit_bytes(&at, "\x0f\x05", 2);
	emit_load(&at, RCX, &slots->next);
	emit_store(&at, RCX, &slots->registers[RCX]);
	emit_store(&at, R11, &slots->registers[R11]);
	emit_dispatch(&at, translator->table);

	if (translator->filter.limit)
		at = fm_filter_routines(translator, at);
	translator->thread_gates = (uint8_t *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
	translator->code_start = translator->thread_gates + GATES_SIZE;
}

const size_t fm_translate_work_size = sizeof(struct work);

int fm_translate_prepare(struct fm_translator *translator)
{
	if (ZYAN_FAILED(ZydisDecoderInit(&translator->work->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -ENOTSUP;
	write_permanent_code(translator);
	return 0;
}

/* The new thread must not use the slots, which are its creator's. Its gate may be reached long after the call was made,
   so gates are never given up. */
uint8_t *fm_translate_thread_gate(struct fm_translator *translator, uint64_t next)
{
	struct slots *slots = translator->slots;
	uint8_t *at, *gate, *skip;

	for (unsigned i = 0; i < translator->thread_gate_count; i++)
		if (translator->thread_gate_pcs[i] == next)
			return translator->thread_gates + i * THREAD_GATE_SIZE;
	if (translator->thread_gate_count == THREAD_GATES)
		return NULL;
	gate = at = translator->thread_gates + translator->thread_gate_count * THREAD_GATE_SIZE;
	translator->thread_gate_pcs[translator->thread_gate_count++] = next;
	emit_bytes(&at, "\x0f\x05\x48\x89\xc1\xe3", 6); /* syscall; mov %rax, %rcx; jrcxz */
	skip = at++;
	emit_constant(&at, RCX, next);
	emit_store(&at, RCX, &slots->registers[RCX]);
	emit_store(&at, R11, &slots->registers[R11]);
	emit_dispatch(&at, translator->table);
	*skip = (uint8_t)(at - skip - 1);
	emit_constant(&at, RCX, next);
	emit_bytes(&at, "\xff\x25\0\0\0\0", 6); /* jmp *, by the address that follows */
	emit_64(&at, next);
	return gate;
}
