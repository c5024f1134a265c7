#include "preload/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload/readable.h"
#include "preload/walk.h"

/* A rule is a row in one word, for the frames that compilers make:
     bits 0-1    kind
     bits 2-5    the register that the frame's address (CFA) is found from
     bits 6-25   offset of the frame's address from it, in words, signed
     bits 26-55  where bp, bx, r12 … r15 are saved, 5 bits each: 0 not, else
                 RULE_PLAIN: that many words below the frame's address
                 RULE_ALIGNED: one word less than that below bp; the frame's address is in memory at bp + offset
   The return address is in the word below the frame's address. Everything else is RULE_ROW: look into the tables. */
enum rule_kind { RULE_PLAIN, RULE_ALIGNED, RULE_ROW, RULE_END };
enum { RULE_BASE = 2, RULE_OFFSET = 6, RULE_OFFSET_BITS = 20, RULE_SAVED = 26, RULE_SAVED_BITS = 5, RULE_MOST = 31 };

/* In the order of their fields. */
static const uint8_t kept[] = {FM_BP, FM_BX, 12, 13, 14, 15};
enum { KEPT = sizeof(kept) };

/* Rules by pc. The key is written mixed with the rule, so that words of two writers do not fit together; a reader that
   meets such a pair has found nothing. */
enum { ENTRY_BITS = 16, ENTRIES = 1 << ENTRY_BITS };
#define MIX 0x9e3779b97f4a7c15ull
struct entry {
	uint64_t mixed, rule;
};
static struct entry *entries;

/* End of the first thread's stack; the kernel puts there what it tells the program. */
static uint64_t first_thread_end;

/* The stack of this thread is readable from here to its end: found out page by page, and true as long as the thread
   lives. 0: not known yet. One word, so handlers that interrupt its change see one or the other. */
static __thread uint64_t own_low __attribute__((tls_model("initial-exec")));
static __thread uint64_t own_end __attribute__((tls_model("initial-exec")));

enum {
	RED_ZONE = 128,
	/* A frame this far from what is known is not believed. */
	MOST_PAGES_OWN = 4096, /* 16 MiB, of the thread's own stack: looked at once */
	MOST_PAGES = 256       /* 1 MiB, of any other: looked at in every walk */
};

/* The end of the calling thread's own stack. The thread's control block lies behind its stack; only the first thread
   has it elsewhere. Wrong for a thread of a library other than the C library's: then sp is not near, or memory between
   the two has a hole, and the stack counts as a foreign one. */
static uint64_t find_own_end(void)
{
	if (!own_end) {
		bool first = fm_thread_id() == fm_process_id();

		own_end = first ? first_thread_end : (uint64_t)__builtin_thread_pointer() & ~7ull;
	}
	return own_end;
}

/* Is sp in the thread's own stack? Then everything up to its end was readable once. */
static bool in_own_stack(uint64_t sp)
{
	uint64_t end = find_own_end(), low = own_low ? own_low : end & -FM_PAGE, page = sp & -FM_PAGE;

	if (sp >= end || (page < low && low - page > MOST_PAGES_OWN * FM_PAGE))
		return false;
	for (; low > page; low -= FM_PAGE)
		if (!fm_readable(low - FM_PAGE))
			return false;
	/* the red zone may lie in the guard page: it counts only where it is memory that was used before */
	if (!own_low || low < own_low)
		own_low = low;
	return true;
}

/* Finds out where the stack of sp may be read. */
static __attribute__((noinline)) bool enter_stack(struct fm_stack_walk *walk)
{
	uint64_t sp = walk->registers[FM_SP], page = sp & -FM_PAGE;

	if (sp < FM_PAGE || sp >> 47 || (sp & 7))
		return false;
	walk->low = sp - RED_ZONE;
	walk->own = in_own_stack(sp);
	if (walk->own) {
		walk->high = own_end;
		if (walk->low < own_low)
			walk->low = sp;
		return true;
	}
	if (!fm_readable(sp))
		return false;
	if (walk->low < page)
		walk->low = sp;
	walk->high = page + FM_PAGE;
	return true;
}

bool fm_walk_extend(struct fm_stack_walk *walk, uint64_t end)
{
	if (walk->own || end < walk->high || end - walk->high > MOST_PAGES * FM_PAGE)
		return false;
	for (; walk->high < end; walk->high += FM_PAGE)
		if (!fm_readable(walk->high))
			return false;
	return true;
}

/* bp + *ret_offset, with or without reading memory there? */
static bool is_from_bp(const struct fm_module *module, uint32_t expression, bool memory, int64_t *ret_offset)
{
	struct fm_reader reader;

	fm_rows_expression(module, expression, &reader);
	if (fm_reader_unsigned(&reader, 1) != 0x70 + FM_BP)
		return false;
	*ret_offset = fm_reader_sleb(&reader);
	if (memory && fm_reader_unsigned(&reader, 1) != 0x06)
		return false;
	return !reader.bad && reader.at == reader.end;
}

static uint64_t rule_of(const struct fm_module *module, const struct fm_row *row, bool signal)
{
	enum rule_kind kind = row->frame_expression ? RULE_ALIGNED : RULE_PLAIN;
	unsigned base = kind == RULE_ALIGNED ? FM_BP : row->frame_register;
	int64_t offset = row->frame_offset;
	uint64_t saved = 0;

	if (row->kind[FM_RETURN] == FM_UNDEFINED || row->kind[FM_RETURN] == FM_SAME)
		return RULE_END;
	if (signal || row->kind[FM_RETURN] != FM_AT_OFFSET || row->value[FM_RETURN] != -8)
		return RULE_ROW;
	if (kind == RULE_ALIGNED && !is_from_bp(module, row->frame_expression, true, &offset))
		return RULE_ROW;
	if (offset % 8 || offset / 8 >= 1 << (RULE_OFFSET_BITS - 1) || offset / 8 < -(1 << (RULE_OFFSET_BITS - 1)))
		return RULE_ROW;
	for (unsigned i = 0; i < FM_RETURN; i++) {
		enum fm_column_kind column = (enum fm_column_kind)row->kind[i];
		int64_t distance = row->value[i], words;
		unsigned field = 0;

		if (column == FM_SAME)
			continue;
		while (field < KEPT && kept[field] != i)
			field++;
		if (field == KEPT && i != FM_SP && column == FM_UNDEFINED)
			continue;
		if (field == KEPT)
			return RULE_ROW;
		if (kind == RULE_PLAIN && column == FM_AT_OFFSET)
			words = -distance / 8;
		else if (kind == RULE_ALIGNED && column == FM_AT_EXPRESSION &&
		         is_from_bp(module, (uint32_t)row->value[i], false, &distance) && distance <= 0)
			words = -distance / 8 + 1;
		else
			return RULE_ROW;
		if (distance % 8 || words < 1 || words > RULE_MOST)
			return RULE_ROW;
		saved |= (uint64_t)words << RULE_SAVED_BITS * field;
	}
	return (uint64_t)kind | (uint64_t)base << RULE_BASE |
	       ((uint64_t)(offset / 8) & ((1ull << RULE_OFFSET_BITS) - 1)) << RULE_OFFSET | saved << RULE_SAVED;
}

/* One column of a row. false: it cannot be known. */
static bool column_value(struct fm_stack_walk *walk, const struct fm_module *module, const struct fm_row *row,
                         bool signal, unsigned column, uint64_t frame, uint64_t *ret_value)
{
	uint64_t value = (uint64_t)(int64_t)row->value[column];

	switch ((enum fm_column_kind)row->kind[column]) {
	case FM_SAME:
		if (column == FM_RETURN)
			return false;
		for (unsigned i = 0; i < KEPT; i++) {
			if (kept[i] == column) {
				*ret_value = walk->registers[column];
				return true;
			}
		}
		*ret_value = frame;
		return column == FM_SP;
	case FM_UNDEFINED:
		return false;
	case FM_AT_OFFSET:
		value += frame;
		break;
	case FM_IS_OFFSET:
		*ret_value = frame + value;
		return true;
	case FM_REGISTER:
		*ret_value = fm_walk_register(walk, value);
		return true;
	case FM_AT_EXPRESSION:
	case FM_IS_EXPRESSION:
		if (!fm_walk_evaluate(walk, module, (uint32_t)row->value[column], frame, &value))
			return false;
		if (row->kind[column] == FM_IS_EXPRESSION) {
			*ret_value = value;
			return true;
		}
		/* Where a function has aligned its stack, gcc's rows go on to say "saved at bp" behind the pop of bp.
		   What is saved lies in the frame; if it does not, the register has its value back. */
		if (!signal && column != FM_SP && column != FM_RETURN && (value < walk->low || value >= frame)) {
			*ret_value = walk->registers[column];
			return true;
		}
		break;
	}
	if ((value & 7) || !fm_walk_may_read(walk, value))
		return false;
	*ret_value = fm_walk_load(value);
	return true;
}

/* To the caller, by a row. */
static bool step_by_row(struct fm_stack_walk *walk, const struct fm_module *module, const struct fm_row *row,
                        bool signal)
{
	uint64_t after[FM_COLUMNS], frame, sp = walk->registers[FM_SP];
	bool rises;

	if (row->frame_expression) {
		if (!fm_walk_evaluate(walk, module, row->frame_expression, 0, &frame))
			return false;
	} else {
		frame = walk->registers[row->frame_register];
		if (!frame)
			return false;
		frame += (uint64_t)(int64_t)row->frame_offset;
	}
	for (unsigned i = 0; i < FM_COLUMNS; i++) {
		after[i] = 0;
		if (!column_value(walk, module, row, signal, i, frame, &after[i])) {
			if (i == FM_SP || i == FM_RETURN)
				return false;
			after[i] = 0;
		}
	}
	for (unsigned i = 0; i < FM_RETURN; i++)
		walk->registers[i] = after[i];
	walk->pc = after[FM_RETURN];
	/* a handler may have had a stack of its own; vfork has taken its return address off the stack */
	rises = after[FM_SP] > sp || (after[FM_SP] == sp && walk->exact);
	walk->exact = walk->more = signal;
	return signal ? enter_stack(walk) : rises && !(after[FM_SP] & 7);
}

static inline struct entry *entry_of(uint64_t pc)
{
	return &entries[pc * MIX >> (64 - ENTRY_BITS)];
}

static inline uint64_t key_of(uint64_t pc)
{
	return pc ^ (uint64_t)__atomic_load_n(&fm_rows_generation, __ATOMIC_RELAXED) << 48;
}

/* To the caller, by the tables; what they say is remembered. */
static __attribute__((noinline)) bool step_by_tables(struct fm_stack_walk *walk, uint64_t pc)
{
	struct fm_module module;
	struct fm_row row;
	uint64_t key = key_of(pc), rule = RULE_END;
	bool signal = false, found;

	if (!fm_modules_holding(pc, &module))
		return false;
	found = fm_rows_find(&module, pc, &row, &signal);
	if (found)
		rule = rule_of(&module, &row, signal);
	/* of an older generation if libraries came or went meanwhile, then nobody will find it */
	if (entries) {
		__atomic_store_n(&entry_of(pc)->rule, rule, __ATOMIC_RELAXED);
		__atomic_store_n(&entry_of(pc)->mixed, key ^ rule * MIX, __ATOMIC_RELAXED);
	}
	return rule != RULE_END && step_by_row(walk, &module, &row, signal);
}

/* A register saved that many words below an address. Below the red zone nothing is saved: there it has its value back
   already. */
static inline __attribute__((always_inline)) void restore(struct fm_stack_walk *walk, uint64_t rule, unsigned field,
                                                          uint64_t from, bool anywhere)
{
	uint64_t words = rule >> (RULE_SAVED + RULE_SAVED_BITS * field) & RULE_MOST;

	if (words && (anywhere || from - 8 * words >= walk->low))
		walk->registers[kept[field]] = fm_walk_load(from - 8 * words);
}

static inline __attribute__((always_inline)) void restore_all(struct fm_stack_walk *walk, uint64_t rule, uint64_t from,
                                                              bool anywhere)
{
	restore(walk, rule, 0, from, anywhere);
	restore(walk, rule, 1, from, anywhere);
	if (!(rule >> (RULE_SAVED + 2 * RULE_SAVED_BITS)))
		return;
	restore(walk, rule, 2, from, anywhere);
	restore(walk, rule, 3, from, anywhere);
	restore(walk, rule, 4, from, anywhere);
	restore(walk, rule, 5, from, anywhere);
}

static inline bool step(struct fm_stack_walk *walk)
{
	uint64_t pc = walk->pc - !walk->exact, frame, rule, mixed, from;
	int64_t offset;

	if (pc < FM_PAGE || pc >> 47)
		return false;
	if (!entries)
		return step_by_tables(walk, pc);
	rule = __atomic_load_n(&entry_of(pc)->rule, __ATOMIC_RELAXED);
	mixed = __atomic_load_n(&entry_of(pc)->mixed, __ATOMIC_RELAXED);
	if ((mixed ^ rule * MIX) != key_of(pc) || (rule & 3) == RULE_ROW)
		return step_by_tables(walk, pc);
	if ((rule & 3) == RULE_END)
		return false;
	offset = (int64_t)(rule << (64 - RULE_OFFSET - RULE_OFFSET_BITS)) >> (64 - RULE_OFFSET_BITS);
	from = walk->registers[rule >> RULE_BASE & 15];
	if (!from || (from & 7))
		return false;
	frame = from + 8 * (uint64_t)offset;
	if ((rule & 3) == RULE_ALIGNED) {
		if (!fm_walk_may_read(walk, frame))
			return false;
		frame = fm_walk_load(frame);
		if (frame & 7)
			return false;
		/* fields count from the word at bp */
		from += 8;
		if (from - 8 >= frame)
			return false;
	} else {
		from = frame;
	}
	/* callers' frames are further up */
	if (frame <= walk->registers[FM_SP] || !fm_walk_may_read(walk, frame - 8))
		return false;
	if (from - 8 * RULE_MOST >= walk->low)
		restore_all(walk, rule, from, true);
	else
		restore_all(walk, rule, from, false);
	walk->pc = fm_walk_load(frame - 8);
	walk->registers[FM_SP] = frame;
	walk->exact = false;
	if (walk->more) {
		static const uint8_t lost[] = {0, 1, 2, 4, 5, 8, 9, 10, 11};

		for (unsigned i = 0; i < sizeof(lost); i++)
			walk->registers[lost[i]] = 0;
		walk->more = false;
	}
	return true;
}

static unsigned walk_from(const struct fm_unwind_registers *registers, bool exact, uint64_t *addresses, unsigned most,
                          unsigned skip)
{
	struct fm_stack_walk walk;
	unsigned count = 0;

	for (unsigned i = 0; i < FM_RETURN; i++)
		walk.registers[i] = 0;
	walk.registers[FM_BX] = registers->bx;
	walk.registers[FM_BP] = registers->bp;
	walk.registers[FM_SP] = registers->sp;
	walk.registers[FM_DI] = registers->di;
	walk.registers[FM_R10] = registers->r10;
	walk.registers[FM_R12] = registers->r12;
	walk.registers[13] = registers->r13;
	walk.registers[14] = registers->r14;
	walk.registers[FM_R15] = registers->r15;
	walk.pc = registers->pc;
	walk.exact = walk.more = exact;
	if (!most)
		return 0;
	if (!skip) {
		addresses[count++] = walk.pc;
		if (count == most)
			return count;
	}
	if (!enter_stack(&walk))
		return count;
	while (step(&walk) && walk.pc >= FM_PAGE && !(walk.pc >> 47)) {
		if (skip && --skip)
			continue;
		addresses[count++] = walk.pc;
		if (count == most)
			break;
	}
	return count;
}

unsigned fm_unwind(const struct fm_unwind_registers *registers, uint64_t *addresses, unsigned most)
{
	return walk_from(registers, true, addresses, most, 0);
}

unsigned fm_unwind_captured(const struct fm_unwind_registers *registers, uint64_t *addresses, unsigned most,
                            unsigned skip) __attribute__((used, visibility("hidden")));

unsigned fm_unwind_captured(const struct fm_unwind_registers *registers, uint64_t *addresses, unsigned most,
                            unsigned skip)
{
	/* the first is in the function that asked */
	return walk_from(registers, false, addresses, most, skip + 1);
}

int fm_unwind_open(void)
{
	uint64_t random = getauxval(AT_RANDOM), name = getauxval(AT_EXECFN);
	long mapped;

	if (entries)
		return 0;
	first_thread_end = (random > name ? random : name) & ~7ull;
	fm_modules_open();
	mapped = fm_system_call(SYS_mmap, 0, sizeof(struct entry) * ENTRIES, PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped < 0 && mapped > -(long)FM_PAGE)
		return (int)mapped;
	entries = (struct entry *)mapped;
	fm_empty_in_children(entries, sizeof(struct entry) * ENTRIES);
	return 0;
}

void fm_unwind_forget(void)
{
	fm_rows_forget();
	/* keys hold 16 bits of the generation: what was left over 65536 ago must not come back */
	if (entries && (uint16_t)__atomic_load_n(&fm_rows_generation, __ATOMIC_SEQ_CST) <= 1) {
		for (unsigned i = 0; i < ENTRIES; i++) {
			__atomic_store_n(&entries[i].rule, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&entries[i].mixed, 0, __ATOMIC_RELAXED);
		}
	}
}
