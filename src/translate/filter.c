/* An operand is looked at by five instructions that overwrite the flags:

       lea address + offset, %t; and $-128, %t; imul $multiplier, %t; cmp $limit, %t; jb stub

   so they stand where the program overwrites the flags itself before it reads them, if need be some instructions
   earlier. Where there is no such place, all of it happens in a stub which saves the flags. */
#include "translate/filter.h"

#include <cpuid.h>
#include <stddef.h>

#include "translate/emit.h"
#include "translate/making.h"

bool fm_filter_possible(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1); /* lahf in 64-bit mode */
}

static unsigned registers_of(const struct address *address)
{
	unsigned mask = 0;

	if (address->base != NO_REGISTER)
		mask |= REGISTER_BIT(address->base);
	if (address->index != NO_REGISTER)
		mask |= REGISTER_BIT(address->index);
	return mask;
}

static bool can_be_moved(const struct fm_translator *translator, const struct address *address)
{
	int64_t moved = address->displacement + translator->filter.offset;

	return address->absolute || moved == (int32_t)moved;
}

/* Is it worth looking at? */
static bool is_of_interest(const struct fm_translator *translator, const struct reference *reference)
{
	const struct address *address = &reference->address;

	if (address->segment || address->narrow || !can_be_moved(translator, address))
		return false;
	if (reference->kind & FM_TRANSLATE_REPEATED)
		return true;
	if (address->absolute)
		return fm_translate_is_followed(&translator->filter, (uint64_t)address->displacement);
	return address->base != RSP;
}

static bool may_overwrite_flags(const struct work *work, unsigned at, unsigned count)
{
	return fm_translate_all_flags_die(&work->translator->decoder, &work->translator->instructions[at], count - at,
	                                  work->range_start, work->range_end);
}

/* In front of which instruction the operand of instruction `index` can be looked at without saving the flags; `count`:
   none. */
static unsigned where_to_look(const struct work *work, unsigned index, const struct address *address, unsigned count)
{
	const struct instruction *instructions = work->translator->instructions;
	unsigned needed = registers_of(address);

	for (unsigned at = index;; at--) {
		if (may_overwrite_flags(work, at, count))
			return at;
		if (!at || instructions[at - 1].class != CLASS_COPY || (instructions[at - 1].writes & needed))
			return count;
	}
}

static void plan_one(struct work *work, unsigned index, unsigned number, unsigned count)
{
	struct fm_translator *translator = work->translator;
	const struct instruction *instruction = &translator->instructions[index];
	const struct reference *reference = &instruction->references[number];
	struct fm_translate_site site = {instruction->pc, reference->size, reference->kind, (uint8_t)number};
	struct filtered *filtered = &work->filtered[work->filtered_count];
	unsigned before = count;

	if (!is_of_interest(translator, reference))
		return;
	if (work->filtered_count == MOST_FILTERED) {
		translator->counts.unlogged++;
		return;
	}
	if (translator->client.choose(translator->client.context, &site) != FM_TRANSLATE_FILTERED)
		return;
	translator->sites[translator->site_count] = site;
	if (!(reference->kind & FM_TRANSLATE_REPEATED))
		before = where_to_look(work, index, &reference->address, count);
	*filtered = (struct filtered){
	    .instruction = (uint8_t)index,
	    .reference = (uint8_t)number,
	    .before = (uint8_t)(before == count ? index : before),
	    .live = before == count,
	    .site = translator->client.number_site ? translator->client.number_site(translator->client.context, &site)
	                                           : translator->site_count,
	};
	translator->site_count++;
	work->filtered_count++;
}

void fm_filter_plan(struct work *work, unsigned count)
{
	const struct fm_translator *translator = work->translator;

	for (unsigned i = 0; translator->client.choose && i < count; i++)
		for (unsigned k = 0; k < translator->instructions[i].reference_count; k++)
			plan_one(work, i, k, count);
}

/* Registers that the instruction overwrites anyway need not be restored. */
static unsigned choose_temporary(struct work *work, const struct instruction *instruction, unsigned needed)
{
	unsigned replaced = instruction->class == CLASS_COPY ? instruction->replaces : 0,
	         used = ((unsigned)(instruction->reads | instruction->writes) & ~replaced) | needed | REGISTER_BIT(RSP);

	replaced &= ~used;
	if (!(work->held & ~used) && replaced) {
		unsigned number = (unsigned)__builtin_ctz(replaced);

		fm_making_spill(work, number);
		return number;
	}
	return fm_making_borrow(work, used, false);
}

/* opcode number, constant: 32 bits. */
static void emit_arithmetic(uint8_t **at, unsigned operation, unsigned number, uint32_t constant)
{
	if (number >= 8)
		emit_byte(at, 0x41);
	emit_byte(at, 0x81);
	emit_byte(at, 0xc0 | operation << 3 | (number & 7));
	emit_32(at, constant);
}
enum { COMPARE = 7 };

static void emit_hash(uint8_t **at, unsigned number, uint32_t multiplier)
{
	if (number >= 8)
		emit_byte(at, 0x41);
	emit_bytes(at, "\x83", 1); /* and $-128, number */
	emit_byte(at, 0xe0 | (number & 7));
	emit_byte(at, 0x80);
	if (number >= 8)
		emit_byte(at, 0x45);
	emit_byte(at, 0x69); /* imul $multiplier, number */
	emit_byte(at, 0xc0 | (number & 7) << 3 | (number & 7));
	emit_32(at, multiplier);
}

static void branch_to_stub(struct work *work, struct filtered *filtered)
{
	filtered->displacement = work->at;
	emit_32(&work->at, 0);
	filtered->back = work->at;
}

static void look_at(struct work *work, struct filtered *filtered, const struct instruction *here)
{
	const struct fm_translate_filter *filter = &work->translator->filter;
	const struct address *address =
	    &work->translator->instructions[filtered->instruction].references[filtered->reference].address;
	unsigned needed = registers_of(address), number;

	fm_making_give_back(work, needed);
	if (filtered->live) {
		number = 0;
		while ((needed | REGISTER_BIT(RSP)) & REGISTER_BIT(number))
			number++;
		filtered->temporary = (uint8_t)number;
		emit_byte(&work->at, 0xe9);
		branch_to_stub(work, filtered);
		return;
	}
	number = choose_temporary(work, here, needed);
	filtered->temporary = (uint8_t)number;
	if (address->absolute) { /* one that is followed */
		emit_byte(&work->at, 0xe9);
	} else {
		emit_memory(&work->at, 0x8d, false, number, address->base, address->index, address->scale,
		            (int32_t)(address->displacement + filter->offset));
		emit_hash(&work->at, number, filter->multiplier);
		emit_arithmetic(&work->at, COMPARE, number, filter->limit);
		emit_bytes(&work->at, "\x0f\x82", 2); /* jb */
	}
	branch_to_stub(work, filtered);
}

void fm_filter_look(struct work *work, unsigned index)
{
	for (unsigned i = 0; i < work->filtered_count; i++)
		if (work->filtered[i].before == index)
			look_at(work, &work->filtered[i], &work->translator->instructions[index]);
}

static unsigned kind_of(const struct reference *reference)
{
	if (reference->kind & FM_TRANSLATE_REPEATED)
		return FILTER_REPEATED;
	return reference->kind & FM_TRANSLATE_STORE ? FILTER_STORE : FILTER_LOAD;
}

/* Says what and where, for the routine that goes on. */
static void emit_stub(struct work *work, const struct filtered *filtered)
{
	struct fm_translator *translator = work->translator;
	struct slots *slots = translator->slots;
	const struct reference *reference =
	    &translator->instructions[filtered->instruction].references[filtered->reference];
	unsigned number = filtered->temporary;

	if (filtered->live)
		emit_store(&work->at, number, &slots->filter_registers[2]);
	fm_making_address(work, number, &reference->address);
	emit_store(&work->at, number, &slots->target);
	if (number >= 8)
		emit_byte(&work->at, 0x41);
	emit_byte(&work->at, 0xb8 | (number & 7)); /* mov $site, number */
	emit_32(&work->at, filtered->site);
	emit_store(&work->at, number, &slots->filter_site);
	emit_slot(&work->at, 0x8d, number, filtered->back);
	emit_store(&work->at, number, &slots->filter_next);
	if (filtered->live)
		emit_load(&work->at, number, &slots->filter_registers[2]);
	emit_jump(&work->at, translator->filter_code[kind_of(reference) + (filtered->live ? FILTER_KINDS : 0)]);
}

void fm_filter_finish(struct work *work)
{
	enum { STUB = 72 };
	struct fm_translator *translator = work->translator;
	uint8_t *end_of_block = work->at;

	translator->stubs_at -= (size_t)work->filtered_count * STUB;
	for (unsigned i = 0; i < work->filtered_count; i++) {
		struct filtered *filtered = &work->filtered[i];
		uint8_t *displacement = filtered->displacement;

		if (!displacement)
			continue;
		work->at = translator->stubs_at + (size_t)i * STUB;
		emit_relative(&displacement, work->at);
		emit_stub(work, filtered);
	}
	work->at = end_of_block;
}

/* A forward branch, whose target comes later. */
static uint8_t *emit_skip(uint8_t **at, unsigned condition)
{
	emit_byte(at, 0x0f);
	emit_byte(at, condition + 0x10);
	emit_32(at, 0);
	return *at;
}

static void arrive(uint8_t *skip, uint8_t *at)
{
	skip -= 4;
	emit_relative(&skip, at);
}

enum { JUMP_IF_EQUAL = 0x74, JUMP_IF_NOT_EQUAL = 0x75, JUMP_IF_NOT_BELOW = 0x73 };

static void emit_compare(uint8_t **at, unsigned number, const uint64_t *slot)
{
	emit_slot(at, 0x3b, number, slot);
}

/* (%rcx) := the entry; rcx := behind it. The registers of the program are in their slots. */
static void emit_entries(uint8_t **at, struct slots *slots, bool repeated)
{
	emit_load(at, RAX, &slots->target);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 0);
	emit_load(at, RAX, &slots->filter_site);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 8);
	if (repeated) {
		emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 24);
		emit_load(at, RAX, &slots->filter_registers[1]); /* rcx: how often */
		emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 16);
	}
	emit_memory(at, 0x8d, true, RCX, RCX, NO_REGISTER, 0, repeated ? 32 : 16);
	emit_store(at, RCX, &slots->log_end);
}

/* Is the line among the latest? Then there is nothing to log: a line that is used all the time would fill it. Returns
   the branch to take then. Else it becomes one of them. */
static uint8_t *emit_latest(uint8_t **at, struct slots *slots, unsigned kind)
{
	const int32_t stored = (int32_t)(offsetof(struct slots, filter_stored) - offsetof(struct slots, filter_lines));
	uint8_t *is_latest;

	emit_load(at, RAX, &slots->target);
	emit_bytes(at, "\x48\xc1\xe8\x06", 4); /* shr $6, %rax */
	emit_bytes(at, "\x48\x89\xc1", 3);     /* mov %rax, %rcx */
	emit_bytes(at, "\x48\xc1\xe9\x08", 4); /* shr $8, %rcx */
	emit_bytes(at, "\x31\xc1", 2);         /* xor %eax, %ecx */
	emit_bytes(at, "\x83\xe1\x3f", 3);     /* and $63, %ecx */
	emit_bytes(at, "\xc1\xe1\x03", 3);     /* shl $3, %ecx */
	emit_slot(at, 0x03, RCX, &slots->filter_table);
	emit_bytes(at, "\x48\xc1\xe0\x08", 4); /* shl $8, %rax */
	emit_bytes(at, "\x8a\x05", 2);         /* mov generation, %al */
	emit_relative(at, &slots->filter_generation);
	emit_memory(at, 0x3b, true, RAX, RCX, NO_REGISTER, 0, kind == FILTER_STORE ? stored : 0);
	is_latest = emit_skip(at, JUMP_IF_EQUAL);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 0);
	if (kind == FILTER_STORE)
		emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, stored);
	return is_latest;
}

/* After some entries all lines are logged again: how recently they were used matters too. */
static void emit_generation(uint8_t **at, struct slots *slots)
{
	uint8_t *skip;

	emit_bytes(at, "\xff\x0d", 2); /* decl */
	emit_relative(at, &slots->filter_left);
	skip = emit_skip(at, JUMP_IF_NOT_EQUAL);
	emit_bytes(at, "\xb9", 1); /* mov $, %ecx */
	emit_32(at, FILTER_ENTRIES);
	emit_bytes(at, "\x89\x0d", 2);
	emit_relative(at, &slots->filter_left);
	emit_bytes(at, "\xfe\x05", 2); /* incb */
	emit_relative(at, &slots->filter_generation);
	arrive(skip, *at);
}

static void emit_routine(uint8_t **at, struct fm_translator *translator, unsigned kind, bool live)
{
	const struct fm_translate_filter *filter = &translator->filter;
	struct slots *slots = translator->slots;
	uint8_t *not_followed = NULL, *is_latest = NULL, *full, *done, *out;

	emit_store(at, RAX, &slots->filter_registers[0]);
	emit_store(at, RCX, &slots->filter_registers[1]);
	if (live) {
		emit_bytes(at, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
		emit_store(at, RAX, &slots->filter_flags);
		if (kind != FILTER_REPEATED) {
			emit_load(at, RCX, &slots->target);
			emit_memory(at, 0x8d, false, RCX, RCX, NO_REGISTER, 0, (int32_t)filter->offset);
			emit_hash(at, RCX, filter->multiplier);
			emit_arithmetic(at, COMPARE, RCX, filter->limit);
			not_followed = emit_skip(at, JUMP_IF_NOT_BELOW);
		}
	}
	if (kind != FILTER_REPEATED)
		is_latest = emit_latest(at, slots, kind);
	emit_load(at, RCX, &slots->log_end);
	emit_compare(at, RCX, &slots->filter_stop);
	full = emit_skip(at, JUMP_IF_NOT_BELOW);
	emit_entries(at, slots, kind == FILTER_REPEATED);
	emit_generation(at, slots);
	emit_byte(at, 0xe9);
	emit_32(at, 0);
	done = *at;
	arrive(full, *at);
	emit_bytes(at, "\x48\xff\x05", 3); /* incq */
	emit_relative(at, &slots->filter_dropped);
	out = *at;
	arrive(done, out);
	if (is_latest)
		arrive(is_latest, out);
	if (not_followed)
		arrive(not_followed, out);
	if (live) {
		emit_load(at, RAX, &slots->filter_flags);
		emit_bytes(at, "\x04\x7f\x9e", 3); /* add $127, %al; sahf */
	}
	emit_load(at, RAX, &slots->filter_registers[0]);
	emit_load(at, RCX, &slots->filter_registers[1]);
	emit_bytes(at, "\xff\x25", 2);
	emit_relative(at, &slots->filter_next); /* jmp * */
}

uint8_t *fm_filter_routines(struct fm_translator *translator, uint8_t *at)
{
	for (unsigned i = 0; i < FILTER_ROUTINES; i++) {
		translator->filter_code[i] = at;
		emit_routine(&at, translator, i % FILTER_KINDS, i >= FILTER_KINDS);
	}
	return at;
}
