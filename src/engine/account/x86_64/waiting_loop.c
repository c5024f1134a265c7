#include "engine/account/waiting_loop.h"

#include <Zydis/Zydis.h>

enum { INSTRUCTIONS_MAX = 48, REGISTERS = 16 };

struct decoded {
	size_t at, end;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

struct loop {
	struct decoded list[INSTRUCTIONS_MAX];
	unsigned count;
};

static unsigned register_bit(ZydisRegister name)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	return wide >= ZYDIS_REGISTER_RAX && wide <= ZYDIS_REGISTER_R15 ? 1u << (wide - ZYDIS_REGISTER_RAX) : 0;
}

/* Where a direct branch goes, as an offset; -1: no direct branch. */
static long target_of(const struct decoded *decoded)
{
	const ZydisDecodedInstruction *instruction = &decoded->instruction;

	if ((instruction->meta.category != ZYDIS_CATEGORY_COND_BR &&
	     instruction->meta.category != ZYDIS_CATEGORY_UNCOND_BR) ||
	    decoded->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return -1;
	return (long)decoded->end + (long)decoded->operands[0].imm.value.s;
}

static bool decode(const uint8_t *bytes, size_t length, size_t at, struct decoded *ret_decoded)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (at >= length || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, length - at,
	                                                         &ret_decoded->instruction, ret_decoded->operands)))
		return false;
	ret_decoded->at = at;
	ret_decoded->end = at + ret_decoded->instruction.length;
	return true;
}

/* The first branch back over the instruction, and the code between. */
static bool find_loop(const uint8_t *bytes, size_t length, size_t at, struct loop *ret_loop)
{
	struct decoded last;
	long target = -1;
	size_t next = at;

	for (unsigned i = 0; i < INSTRUCTIONS_MAX && target < 0; i++) {
		if (!decode(bytes, length, next, &last))
			return false;
		next = last.end;
		target = target_of(&last);
		if (target > (long)at)
			target = -1;
		else if (target < 0 && (last.instruction.meta.category == ZYDIS_CATEGORY_RET ||
		                        last.instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR))
			return false;
	}
	if (target < 0)
		return false;
	ret_loop->count = 0;
	for (next = (size_t)target; next < last.end; next = ret_loop->list[ret_loop->count++].end)
		if (ret_loop->count == INSTRUCTIONS_MAX ||
		    !decode(bytes, length, next, &ret_loop->list[ret_loop->count]))
			return false;
	return next == last.end;
}

static bool is_plain(const struct decoded *decoded)
{
	switch (decoded->instruction.meta.category) {
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_SEMAPHORE:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_MISC:
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return target_of(decoded) >= 0;
	default:
		return false;
	}
}

/* A counter of passes: plus or minus a constant. */
static bool is_counter(const struct decoded *decoded)
{
	const ZydisMnemonic name = decoded->instruction.mnemonic;

	return name == ZYDIS_MNEMONIC_INC || name == ZYDIS_MNEMONIC_DEC ||
	       ((name == ZYDIS_MNEMONIC_ADD || name == ZYDIS_MNEMONIC_SUB) &&
	        decoded->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
}

struct use {
	unsigned reads, writes, addresses; /* registers; those of addresses of memory operands */
	bool loads, stores, locked;
};

static struct use use_of(const struct decoded *decoded)
{
	struct use use = {0};

	for (unsigned i = 0; i < decoded->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				use.reads |= register_bit(operand->reg.value);
			if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				use.writes |= register_bit(operand->reg.value);
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type == ZYDIS_MEMOP_TYPE_MEM) {
			use.addresses |= register_bit(operand->mem.base) | register_bit(operand->mem.index);
			use.loads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
			use.stores |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
		}
	}
	use.locked = decoded->instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	             (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_XCHG && use.stores);
	/* xor and sub of a register with itself give 0 */
	if (decoded->instruction.operand_count >= 2 && decoded->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    decoded->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    decoded->operands[0].reg.value == decoded->operands[1].reg.value &&
	    (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_XOR ||
	     decoded->instruction.mnemonic == ZYDIS_MNEMONIC_SUB))
		use.reads = 0;
	return use;
}

/* Only an atomic exchange, compared or not, may fail and be repeated; an atomic addition makes progress. */
static bool may_be_repeated(const struct decoded *decoded)
{
	const ZydisMnemonic name = decoded->instruction.mnemonic;

	return name == ZYDIS_MNEMONIC_XCHG || name == ZYDIS_MNEMONIC_CMPXCHG || name == ZYDIS_MNEMONIC_CMPXCHG8B ||
	       name == ZYDIS_MNEMONIC_CMPXCHG16B || name == ZYDIS_MNEMONIC_BTS;
}

/* Loads the same addresses in each pass, and carries nothing from one pass to the next but counters. */
static bool only_looks(const struct loop *loop)
{
	unsigned written = 0, before = 0, carried = 0, addresses = 0, counters = 0, others = 0;
	bool loads = false;

	for (unsigned i = 0; i < loop->count; i++) {
		const struct decoded *decoded = &loop->list[i];
		struct use use = use_of(decoded);

		if (!is_plain(decoded) || (use.stores && !(use.locked && may_be_repeated(decoded))))
			return false;
		carried |= use.reads & ~before;
		addresses |= use.addresses;
		before |= use.writes;
		written |= use.writes;
		if (is_counter(decoded))
			counters |= use.writes;
		else
			others |= use.writes;
		loads |= use.loads;
	}
	/* a compared exchange reads what it expects, and writes what it found, in the same register */
	if (loop->count && loads)
		for (unsigned i = 0; i < loop->count; i++)
			if (loop->list[i].instruction.mnemonic == ZYDIS_MNEMONIC_CMPXCHG)
				carried &= ~1u;
	return loads && !(addresses & written) && !(carried & written & ~(counters & ~others));
}

bool fm_is_waiting_loop(const uint8_t *bytes, size_t length, size_t at)
{
	struct loop loop;

	if (!find_loop(bytes, length, at, &loop))
		return false;
	for (unsigned i = 0; i < loop.count; i++)
		if (loop.list[i].instruction.mnemonic == ZYDIS_MNEMONIC_PAUSE)
			return true;
	return only_looks(&loop);
}
