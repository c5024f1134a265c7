/* An operand is looked at by five instructions that overwrite the flags:

       lea address + offset, %t; and $-128, %t; imul $multiplier, %t; cmp $limit, %t; jb stub

   so they stand where the program overwrites the flags itself before it reads them, if need be some instructions
   earlier. Where there is no such place, the flags are kept in rax meanwhile (lahf, seto, sahf), for several operands
   at once if possible.

   Lines that are followed and used all the time are common. So the stub, one for each site, first compares the line
   with the one that this site has met last; only if it is another one, or it is time to log it again, does it go on to
   a routine that all sites share. */
#include "translate/x86_64/filter.h"

#include <cpuid.h>
#include <stddef.h>

#include "translate/x86_64/emit.h"
#include "translate/x86_64/making.h"
#include "translate/x86_64/pieces.h"

enum { PAIR = 128 };

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
	return !(reference->kind & FM_TRANSLATE_APART);
}

/* In front of which instruction the operand of instruction `index` can be looked at without saving the flags; `count`:
   none. */
static unsigned where_to_look(const struct work *work, unsigned index, const struct address *address, unsigned count)
{
	const struct instruction *instructions = work->instructions;
	unsigned needed = registers_of(address);

	for (unsigned at = index;; at--) {
		if (work->flags_dead[at])
			return at;
		if (!at || instructions[at - 1].class != CLASS_COPY || (instructions[at - 1].writes & needed))
			return count;
	}
}

static const struct reference *reference_of(const struct work *work, const struct filtered *filtered)
{
	return &work->instructions[filtered->instruction].references[filtered->reference];
}

static bool is_repeated(const struct work *work, const struct filtered *filtered)
{
	return reference_of(work, filtered)->kind & FM_TRANSLATE_REPEATED;
}

static bool is_unchanged(const struct work *work, unsigned from, unsigned to, unsigned needed)
{
	const struct instruction *instructions = work->instructions;

	for (unsigned at = from; at < to; at++)
		if (instructions[at].class != CLASS_COPY || (instructions[at].writes & needed))
			return false;
	return true;
}

/* Where flags must be kept, and are kept for an operand before, if its registers allow that. */
static unsigned with_others(const struct work *work, unsigned index, const struct reference *reference)
{
	const struct filtered *last = work->filtered_count ? &work->filtered[work->filtered_count - 1] : NULL;
	unsigned needed = registers_of(&reference->address);

	if (!last || !last->live || (reference->kind & FM_TRANSLATE_REPEATED))
		return index;
	return is_unchanged(work, last->before, index, needed) ? last->before : index;
}

static bool is_neighbour(const struct address *address, const struct address *other)
{
	return !address->absolute && !other->absolute && address->base == other->base &&
	       address->index == other->index && (address->index == NO_REGISTER || address->scale == other->scale);
}

/* The operand whose tests can serve this operand, too; NULL: none. */
static struct filtered *find_leader(struct work *work, unsigned index, const struct reference *reference)
{
	int32_t displacement = (int32_t)reference->address.displacement;

	if (reference->kind & FM_TRANSLATE_REPEATED)
		return NULL;
	for (unsigned i = work->filtered_count; i-- > 0;) {
		struct filtered *leader = &work->filtered[i];

		if (leader->leader == i && !is_repeated(work, leader) &&
		    is_neighbour(&reference->address, &reference_of(work, leader)->address) &&
		    (int64_t)leader->high - displacement <= PAIR && (int64_t)displacement - leader->low <= PAIR &&
		    is_unchanged(work, leader->before, index, registers_of(&reference->address)))
			return leader;
	}
	return NULL;
}

/* The same address once more is in the latest line, unless it is the first store. */
static bool is_again(const struct work *work, const struct filtered *leader, const struct reference *reference)
{
	unsigned number = (unsigned)(leader - work->filtered);

	for (unsigned i = number; i < work->filtered_count; i++) {
		const struct reference *before = reference_of(work, &work->filtered[i]);

		if (work->filtered[i].leader == number &&
		    before->address.displacement == reference->address.displacement &&
		    ((before->kind & FM_TRANSLATE_STORE) || !(reference->kind & FM_TRANSLATE_STORE)))
			return true;
	}
	return false;
}

static void join(struct work *work, struct filtered *leader, struct filtered *filtered)
{
	int32_t displacement = (int32_t)reference_of(work, filtered)->address.displacement;

	filtered->low = filtered->high = displacement;
	filtered->members = 1;
	filtered->leader = (uint8_t)(filtered - work->filtered);
	if (!leader)
		return;
	filtered->leader = (uint8_t)(leader - work->filtered);
	leader->members++;
	if (displacement < leader->low)
		leader->low = displacement;
	if (displacement > leader->high)
		leader->high = displacement;
}

/* Two different fields need two tests anyway. */
static void part_two(struct work *work)
{
	for (unsigned i = 0; i < work->filtered_count; i++) {
		struct filtered *filtered = &work->filtered[i], *leader = &work->filtered[filtered->leader];

		if (filtered != leader && leader->members == 2 && leader->low != leader->high) {
			join(work, NULL, filtered);
			join(work, NULL, leader);
		}
	}
}

static void plan_one(struct work *work, unsigned index, unsigned number, unsigned count)
{
	struct fm_translator *translator = work->translator;
	const struct instruction *instruction = &translator->work->instructions[index];
	const struct reference *reference = &instruction->references[number];
	struct fm_translate_site site = {instruction->pc, reference->size, reference->kind, (uint8_t)number};
	struct filtered *filtered = &work->filtered[work->filtered_count];
	struct filtered *leader;
	unsigned before = count;

	if (!is_of_interest(translator, reference))
		return;
	leader = find_leader(work, index, reference);
	if (leader && is_again(work, leader, reference))
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
	    .before = (uint8_t)(before == count ? with_others(work, index, reference) : before),
	    .live = before == count,
	    .record = &translator->filter_records[translator->site_count],
	};
	*filtered->record = (struct filter_record){
	    .site = translator->client.number_site ? translator->client.number_site(translator->client.context, &site)
	                                           : translator->site_count};
	if (site.kind & FM_TRANSLATE_REPEATED)
		filtered->record->line =
		    (uint64_t)&translator->slots
		        ->filter_short[fm_translate_short_kind(site.size, site.kind & FM_TRANSLATE_STORE)];
	join(work, leader, filtered);
	translator->site_count++;
	work->filtered_count++;
}

/* Whether what comes after the block matters: an operand after its last instruction that overwrites all flags. */
static bool has_operand_at_end(const struct work *work, unsigned count)
{
	const struct instruction *instructions = work->instructions;

	while (count-- > 0) {
		if (instructions[count].reference_count)
			return true;
		if (instructions[count].overwrites_carry || instructions[count].reads_flags)
			return false;
	}
	return false;
}

void fm_filter_plan(struct work *work, unsigned count)
{
	const struct fm_translator *translator = work->translator;
	uint64_t end = has_operand_at_end(work, count) ? work->range_end : work->range_start;

	fm_translate_find_dead_flags(&translator->work->decoder, translator->work->instructions, count,
	                             work->range_start, end, work->flags_dead);
	for (unsigned i = 0; translator->client.choose && i < count; i++)
		for (unsigned k = 0; k < translator->work->instructions[i].reference_count; k++)
			plan_one(work, i, k, count);
	part_two(work);
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
enum { ADD = 0, COMPARE = 7 };

static void emit_move(uint8_t **at, unsigned to, unsigned from)
{
	emit_byte(at, 0x48 | (from >= 8 ? 4u : 0) | (to >= 8 ? 1u : 0));
	emit_byte(at, 0x89);
	emit_byte(at, 0xc0 | (from & 7) << 3 | (to & 7));
}

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
	filtered->displacement[filtered->displacement[0] ? 1 : 0] = work->at;
	emit_32(&work->at, 0);
	filtered->record->back = (uint32_t)(work->at - work->translator->code);
}

static void emit_address(struct work *work, const struct filtered *filtered, unsigned number, int32_t displacement)
{
	const struct address *address = &reference_of(work, filtered)->address;

	if (!address->absolute)
		emit_memory(&work->at, 0x8d, false, number, address->base, address->index, address->scale,
		            displacement + (int32_t)work->translator->filter.offset);
}

static void emit_test(struct work *work, struct filtered *filtered, unsigned number)
{
	const struct fm_translate_filter *filter = &work->translator->filter;

	if (reference_of(work, filtered)->address.absolute) { /* one that is followed */
		emit_byte(&work->at, 0xe9);
	} else {
		emit_hash(&work->at, number, filter->multiplier);
		emit_arithmetic(&work->at, COMPARE, number, filter->limit);
		emit_bytes(&work->at, "\x0f\x82", 2); /* jb */
	}
	branch_to_stub(work, filtered);
}

static void look_at(struct work *work, struct filtered *filtered, const struct instruction *here)
{
	unsigned needed = registers_of(&reference_of(work, filtered)->address), number;

	fm_making_give_back(work, needed);
	filtered->temporary = (uint8_t)(number = choose_temporary(work, here, needed));
	emit_address(work, filtered, number, filtered->low);
	emit_test(work, filtered, number);
	if (filtered->high != filtered->low) {
		emit_address(work, filtered, number, filtered->high);
		emit_test(work, filtered, number);
	}
}

/* Its stub saves what it needs. */
static void look_at_repeated(struct work *work, struct filtered *filtered)
{
	unsigned needed = registers_of(&reference_of(work, filtered)->address), number = 0;

	fm_making_give_back(work, needed);
	while ((needed | REGISTER_BIT(RSP)) & REGISTER_BIT(number))
		number++;
	filtered->temporary = (uint8_t)number;
	emit_byte(&work->at, 0xe9);
	branch_to_stub(work, filtered);
}

/* Whether it is looked at in front of this instruction, with the flags kept. */
static bool is_kept_at(const struct work *work, unsigned number, unsigned index)
{
	const struct filtered *filtered = &work->filtered[number];

	return filtered->before == index && filtered->live && filtered->leader == number &&
	       !filtered->displacement[0] && !is_repeated(work, filtered);
}

/* Operand number `first`, and others that are looked at here too, if rax is in none of their addresses. */
static void look_with_flags(struct work *work, unsigned first, unsigned index)
{
	const struct instruction *here = &work->instructions[index];
	unsigned needed = 0, number, second, kept = NO_REGISTER;
	bool alone, is_kept;

	for (unsigned i = first; i < work->filtered_count; i++)
		if (is_kept_at(work, i, index))
			needed |= registers_of(&reference_of(work, &work->filtered[i])->address);
	alone = needed & REGISTER_BIT(RAX);
	fm_making_give_back(work, needed);
	/* if it is needed right after this, a way through memory would take too long: mostly it is the address of the
	   next branch that waits for it */
	is_kept = !(work->held & REGISTER_BIT(RAX)) && ((here->reads | needed) & REGISTER_BIT(RAX));
	if (!is_kept && !(work->held & REGISTER_BIT(RAX)))
		fm_making_spill(work, RAX);
	number = second = choose_temporary(work, here, needed | REGISTER_BIT(RAX));
	if (alone && work->filtered[first].low != work->filtered[first].high) {
		second = choose_temporary(work, here, needed | REGISTER_BIT(RAX) | REGISTER_BIT(number));
		emit_address(work, &work->filtered[first], second, work->filtered[first].high);
	}
	if (is_kept) {
		kept = choose_temporary(work, here,
		                        needed | REGISTER_BIT(RAX) | REGISTER_BIT(number) | REGISTER_BIT(second));
		emit_move(&work->at, kept, RAX);
	}
	for (unsigned i = first; i < work->filtered_count; i++) {
		struct filtered *filtered = &work->filtered[i];

		if (!is_kept_at(work, i, index))
			continue;
		filtered->temporary = (uint8_t)number;
		filtered->kept = (uint8_t)kept;
		emit_address(work, filtered, number, filtered->low);
		if (i == first) {
			fm_making_mark(work, PC_UNKNOWN);
			emit_bytes(&work->at, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
			if (work->count_kept)
				fm_piece_count(work);
			work->count_kept = false;
		}
		emit_test(work, filtered, number);
		if (filtered->high != filtered->low) {
			if (second == number)
				emit_address(work, filtered, number, filtered->high);
			emit_test(work, filtered, second);
		}
		if (alone)
			break;
	}
	emit_bytes(&work->at, "\x04\x7f\x9e", 3); /* add $127, %al; sahf */
	if (is_kept)
		emit_move(&work->at, RAX, kept);
	fm_making_mark(work, PC_STATIC);
	fm_making_give_back(work,
	                    (unsigned)(here->reads | here->writes) & ~(unsigned)here->replaces & REGISTER_BIT(RAX));
}

bool fm_filter_keeps_flags(const struct work *work, unsigned from, unsigned length)
{
	if (!work->translator->filter.limit)
		return false;
	for (unsigned i = 0; i < work->filtered_count; i++)
		if (work->filtered[i].before < from + length && is_kept_at(work, i, work->filtered[i].before) &&
		    work->filtered[i].before >= from)
			return true;
	return false;
}

void fm_filter_look(struct work *work, unsigned index)
{
	for (unsigned i = 0; i < work->filtered_count; i++) {
		struct filtered *filtered = &work->filtered[i];

		if (filtered->before != index || filtered->displacement[0] || filtered->leader != i)
			continue;
		if (is_repeated(work, filtered))
			look_at_repeated(work, filtered);
		else if (filtered->live)
			look_with_flags(work, i, index);
		else
			look_at(work, filtered, &work->instructions[index]);
	}
}

static unsigned kind_of(const struct reference *reference)
{
	if (reference->kind & FM_TRANSLATE_REPEATED)
		return FILTER_REPEATED;
	return reference->kind & FM_TRANSLATE_STORE ? FILTER_STORE : FILTER_LOAD;
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

enum {
	JUMP_IF_BELOW = 0x72,
	JUMP_IF_NOT_BELOW = 0x73,
	JUMP_IF_EQUAL = 0x74,
	JUMP_IF_NOT_EQUAL = 0x75,
	JUMP_IF_ABOVE = 0x77
};

/* temporary := all of the address, or what is hashed of it. Where rax has the flags, its value is in another
   register. */
static void emit_stub_address(struct work *work, const struct filtered *filtered, bool hashed)
{
	const struct filtered *leader = &work->filtered[filtered->leader];
	struct address address = reference_of(work, filtered)->address;

	if (leader->live && !is_repeated(work, filtered)) {
		if (address.base == RAX)
			address.base = leader->kept;
		if (address.index == RAX)
			address.index = leader->kept;
	}
	if (hashed)
		address.displacement += work->translator->filter.offset;
	fm_making_address(work, leader->temporary, &address);
}

/* shr $LINE_SHIFT, number; add generation, number; cmp number, line of the record */
static void emit_compare_line(struct work *work, const struct filtered *filtered, unsigned number)
{
	emit_byte(&work->at, 0x48 | (number >= 8 ? 1u : 0));
	emit_byte(&work->at, 0xc1);
	emit_byte(&work->at, 0xe8 | (number & 7));
	emit_byte(&work->at, LINE_SHIFT);
	emit_slot(&work->at, 0x03, number, &work->translator->slots->filter_generation);
	emit_slot(&work->at, 0x3b, number, &filtered->record->line);
}

/* Says what and where, for the routine that goes on. */
static void emit_request(struct work *work, const struct filtered *filtered, unsigned number)
{
	struct fm_translator *translator = work->translator;

	emit_stub_address(work, filtered, false);
	emit_store(&work->at, number, &translator->slots->target);
	emit_slot(&work->at, 0x8d, number, filtered->record);
	emit_store(&work->at, number, &translator->slots->filter_record);
}

static void emit_stub(struct work *work, const struct filtered *filtered)
{
	struct fm_translator *translator = work->translator;
	struct slots *slots = translator->slots;
	unsigned number = filtered->temporary;

	if (is_repeated(work, filtered)) {
		emit_store(&work->at, number, &slots->filter_registers[2]);
		emit_request(work, filtered, number);
		emit_load(&work->at, number, &slots->filter_registers[2]);
	} else {
		emit_stub_address(work, filtered, false);
		emit_compare_line(work, filtered, number);
		emit_bytes(&work->at, "\x0f\x84", 2); /* je */
		emit_relative(&work->at, translator->code + filtered->record->back);
		emit_request(work, filtered, number);
	}
	emit_jump(&work->at, translator->filter_code[kind_of(reference_of(work, filtered))]);
}

/* One after the other; each must find out whether it is followed. */
static void emit_stub_of_many(struct work *work, const struct filtered *leader)
{
	struct fm_translator *translator = work->translator;
	const uint8_t *back = translator->code + leader->record->back;
	unsigned number = leader->temporary;

	for (const struct filtered *member = leader; member < work->filtered + work->filtered_count; member++) {
		uint8_t *not_followed, *is_same;

		if (&work->filtered[member->leader] != leader)
			continue;
		emit_stub_address(work, member, true);
		emit_hash(&work->at, number, translator->filter.multiplier);
		emit_arithmetic(&work->at, COMPARE, number, translator->filter.limit);
		not_followed = emit_skip(&work->at, JUMP_IF_NOT_BELOW);
		emit_stub_address(work, member, false);
		emit_compare_line(work, member, number);
		is_same = emit_skip(&work->at, JUMP_IF_EQUAL);
		emit_request(work, member, number);
		emit_jump(&work->at, translator->filter_code[kind_of(reference_of(work, member))]);
		arrive(not_followed, work->at);
		arrive(is_same, work->at);
		member->record->back = (uint32_t)(work->at - translator->code);
	}
	emit_jump(&work->at, back);
}

void fm_filter_finish(struct work *work)
{
	enum { STUB = 84, STUB_OF_MANY = 132, JUMP = 5 };
	struct fm_translator *translator = work->translator;
	uint8_t *end_of_block = work->at;

	for (unsigned i = 0; i < work->filtered_count; i++) {
		struct filtered *filtered = &work->filtered[i];
		size_t members = filtered->members;

		if (!filtered->displacement[0])
			continue;
		work->at = translator->stubs_at -= members > 1 ? members * STUB_OF_MANY + JUMP : STUB;
		for (unsigned k = 0; k < 2 && filtered->displacement[k]; k++) {
			uint8_t *displacement = filtered->displacement[k];

			emit_relative(&displacement, work->at);
		}
		if (members > 1)
			emit_stub_of_many(work, filtered);
		else
			emit_stub(work, filtered);
	}
	work->at = end_of_block;
}

static void emit_compare(uint8_t **at, unsigned number, const uint64_t *slot)
{
	emit_slot(at, 0x3b, number, slot);
}

/* (%rcx) := the entry; rcx := behind it. The registers of the program are in their slots. */
static void emit_entries(uint8_t **at, struct slots *slots, bool repeated)
{
	emit_load(at, RAX, &slots->target);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 0);
	emit_load(at, RAX, &slots->filter_record);
	emit_memory(at, 0x8b, false, RAX, RAX, NO_REGISTER, 0, offsetof(struct filter_record, site));
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
   the branch to take then. Else it becomes one of them. In both cases the site knows it. */
static uint8_t *emit_latest(uint8_t **at, struct slots *slots, unsigned kind)
{
	const int32_t stored = (int32_t)(offsetof(struct slots, filter_stored) - offsetof(struct slots, filter_lines));
	uint8_t *is_latest;

	emit_load(at, RAX, &slots->target);
	emit_bytes(at, "\x48\xc1\xe8", 3); /* shr $LINE_SHIFT, %rax */
	emit_byte(at, LINE_SHIFT);
	emit_slot(at, 0x03, RAX, &slots->filter_generation);
	emit_load(at, RCX, &slots->filter_record);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, offsetof(struct filter_record, line));
	emit_bytes(at, "\x48\x89\xc1", 3);     /* mov %rax, %rcx */
	emit_bytes(at, "\x48\xc1\xe9\x08", 4); /* shr $8, %rcx */
	emit_bytes(at, "\x31\xc1", 2);         /* xor %eax, %ecx */
	emit_bytes(at, "\x83\xe1\x3f", 3);     /* and $63, %ecx */
	emit_bytes(at, "\xc1\xe1\x03", 3);     /* shl $3, %ecx */
	emit_slot(at, 0x03, RCX, &slots->filter_table);
	emit_memory(at, 0x3b, true, RAX, RCX, NO_REGISTER, 0, kind == FILTER_STORE ? stored : 0);
	is_latest = emit_skip(at, JUMP_IF_EQUAL);
	emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, 0);
	if (kind == FILTER_STORE)
		emit_memory(at, 0x89, true, RAX, RCX, NO_REGISTER, 0, stored);
	return is_latest;
}

/* A short string instruction, with its count in rcx, lies in two pairs of lines at most. If none is followed it is only
   counted. Returns the branches to take then: there was nothing to do, or it is done. */
static void emit_short(uint8_t **at, struct fm_translator *translator, uint8_t *ret_done[2])
{
	const struct fm_translate_filter *filter = &translator->filter;
	uint8_t *is_long, *followed[2];

	emit_bytes(at, "\x48\x85\xc9", 3); /* test %rcx, %rcx */
	ret_done[0] = emit_skip(at, JUMP_IF_EQUAL);
	emit_bytes(at, "\x48\x83\xf9", 3); /* cmp $, %rcx */
	emit_byte(at, FM_TRANSLATE_SHORT);
	is_long = emit_skip(at, JUMP_IF_ABOVE);
	emit_load(at, RAX, &translator->slots->target);
	emit_arithmetic(at, ADD, RAX, filter->offset);
	emit_hash(at, RAX, filter->multiplier);
	emit_arithmetic(at, COMPARE, RAX, filter->limit);
	followed[0] = emit_skip(at, JUMP_IF_BELOW);
	emit_arithmetic(at, ADD, RAX, PAIR * filter->multiplier);
	emit_arithmetic(at, COMPARE, RAX, filter->limit);
	followed[1] = emit_skip(at, JUMP_IF_BELOW);
	emit_load(at, RAX, &translator->slots->filter_record);
	emit_memory(at, 0x8b, true, RAX, RAX, NO_REGISTER, 0, offsetof(struct filter_record, line));
	emit_memory(at, 0x01, true, RCX, RAX, NO_REGISTER, 0, offsetof(struct fm_translate_short, elements));
	emit_bytes(at, "\x48\xff\x40", 3); /* incq (%rax) */
	emit_byte(at, offsetof(struct fm_translate_short, times));
	emit_byte(at, 0xe9);
	emit_32(at, 0);
	ret_done[1] = *at;
	arrive(is_long, *at);
	arrive(followed[0], *at);
	arrive(followed[1], *at);
}

/* There is no room in the log: it is counted, as short ones are. */
static void emit_lost(uint8_t **at, struct slots *slots)
{
	const int32_t lost = FM_TRANSLATE_SHORT_KINDS * sizeof(struct fm_translate_short);

	emit_load(at, RCX, &slots->filter_registers[1]); /* how often */
	emit_load(at, RAX, &slots->filter_record);
	emit_memory(at, 0x8b, true, RAX, RAX, NO_REGISTER, 0, offsetof(struct filter_record, line));
	emit_memory(at, 0x01, true, RCX, RAX, NO_REGISTER, 0,
	            lost + (int32_t)offsetof(struct fm_translate_short, elements));
	emit_memory(at, 0xff, true, 0, RAX, NO_REGISTER, 0,
	            lost + (int32_t)offsetof(struct fm_translate_short, times)); /* incq */
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
	emit_constant(at, RCX, FILTER_GENERATION);
	emit_slot(at, 0x01, RCX, &slots->filter_generation); /* add %rcx, generation */
	arrive(skip, *at);
}

/* Where to go on: the record says it. */
static void emit_way_back(uint8_t **at, struct fm_translator *translator)
{
	struct slots *slots = translator->slots;

	emit_load(at, RCX, &slots->filter_record);
	emit_memory(at, 0x8b, false, RCX, RCX, NO_REGISTER, 0, offsetof(struct filter_record, back));
	emit_slot(at, 0x8d, RAX, translator->code);
	emit_memory(at, 0x8d, true, RCX, RCX, RAX, 0, 0);
	emit_store(at, RCX, &slots->filter_next);
}

static void emit_routine(uint8_t **at, struct fm_translator *translator, unsigned kind)
{
	struct slots *slots = translator->slots;
	uint8_t *is_latest = NULL, *full, *done, *out, *is_short[2] = {NULL};

	emit_store(at, RAX, &slots->filter_registers[0]);
	emit_store(at, RCX, &slots->filter_registers[1]);
	if (kind == FILTER_REPEATED) {
		emit_bytes(at, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
		emit_store(at, RAX, &slots->filter_flags);
		emit_short(at, translator, is_short);
	} else {
		is_latest = emit_latest(at, slots, kind);
	}
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
	if (kind == FILTER_REPEATED)
		emit_lost(at, slots);
	out = *at;
	arrive(done, out);
	if (is_latest)
		arrive(is_latest, out);
	for (unsigned i = 0; i < 2 && is_short[i]; i++)
		arrive(is_short[i], out);
	emit_way_back(at, translator);
	if (kind == FILTER_REPEATED) {
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
	for (unsigned kind = 0; kind < FILTER_KINDS; kind++) {
		translator->filter_code[kind] = at;
		emit_routine(&at, translator, kind);
	}
	return at;
}
