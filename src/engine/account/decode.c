#include "engine/account/decode.h"

#include <Zydis/Zydis.h>
#include <string.h>

/* Bits of the register masks. */
enum { BIT_GENERAL = 0, BIT_VECTOR = 16, BIT_FLAGS = 48, BIT_STACK87 = 49, BIT_MASK = 57 };

static uint64_t register_bit(ZydisRegister name)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (wide >= ZYDIS_REGISTER_RAX && wide <= ZYDIS_REGISTER_R15)
		return 1ull << (BIT_GENERAL + wide - ZYDIS_REGISTER_RAX);
	if (wide >= ZYDIS_REGISTER_ZMM0 && wide <= ZYDIS_REGISTER_ZMM31)
		return 1ull << (BIT_VECTOR + wide - ZYDIS_REGISTER_ZMM0);
	if (name >= ZYDIS_REGISTER_XMM0 && name <= ZYDIS_REGISTER_XMM31)
		return 1ull << (BIT_VECTOR + name - ZYDIS_REGISTER_XMM0);
	if (name >= ZYDIS_REGISTER_YMM0 && name <= ZYDIS_REGISTER_YMM31)
		return 1ull << (BIT_VECTOR + name - ZYDIS_REGISTER_YMM0);
	if (name == ZYDIS_REGISTER_RFLAGS || name == ZYDIS_REGISTER_EFLAGS || name == ZYDIS_REGISTER_FLAGS)
		return 1ull << BIT_FLAGS;
	if (name >= ZYDIS_REGISTER_ST0 && name <= ZYDIS_REGISTER_ST7)
		return 1ull << (BIT_STACK87 + name - ZYDIS_REGISTER_ST0);
	if (name >= ZYDIS_REGISTER_MM0 && name <= ZYDIS_REGISTER_MM7)
		return 1ull << (BIT_STACK87 + name - ZYDIS_REGISTER_MM0);
	if (name >= ZYDIS_REGISTER_K0 && name <= ZYDIS_REGISTER_K6)
		return 1ull << (BIT_MASK + name - ZYDIS_REGISTER_K0);
	return 0;
}

/* What instructions compute, by the beginning of the mnemonic without the v of those with three operands; the first
   that fits. What works on more than 16 bytes may be another operation. */
static const struct {
	const char *prefix;
	enum fm_operation operation, wide;
} classes[] = {
#define BOTH(operation) FM_OPERATION_##operation, FM_OPERATION_##operation
    /* general registers */
    {"imul", BOTH(multiply)},
    {"idiv", BOTH(divide_signed)},
    {"popcnt", BOTH(count_bits)},
    {"lzcnt", BOTH(count_bits)},
    {"tzcnt", BOTH(count_bits)},
    {"bsf", BOTH(count_bits)},
    {"bsr", BOTH(count_bits)},
    {"crc32", BOTH(count_bits)},
    {"pdep", BOTH(count_bits)},
    {"nop", BOTH(none)},
    {"endbr", BOTH(none)},
    {"cpuid", BOTH(identify)},
    /* floating point, of vectors and of the x87 */
    {"fmadd", BOTH(float_fused)},
    {"fmsub", BOTH(float_fused)},
    {"fnm", BOTH(float_fused)},
    {"mulp", BOTH(float_multiply)},
    {"muls", BOTH(float_multiply)},
    {"fmul", BOTH(float_multiply)},
    {"fimul", BOTH(float_multiply)},
    {"mul", BOTH(multiply_wide)},
    {"divp", BOTH(float_divide)},
    {"divs", BOTH(float_divide)},
    {"fdiv", BOTH(float_divide)},
    {"fidiv", BOTH(float_divide)},
    {"div", BOTH(divide)},
    {"sqrt", BOTH(float_root)},
    {"fsqrt", BOTH(float_root)},
    {"addp", BOTH(float_add)},
    {"adds", BOTH(float_add)},
    {"subp", BOTH(float_add)},
    {"subs", BOTH(float_add)},
    {"fadd", BOTH(float_add)},
    {"fiadd", BOTH(float_add)},
    {"fsub", BOTH(float_add)},
    {"fisub", BOTH(float_add)},
    {"fcom", BOTH(float_add)},
    {"fucom", BOTH(float_add)},
    {"minp", BOTH(float_add)},
    {"mins", BOTH(float_add)},
    {"maxp", BOTH(float_add)},
    {"maxs", BOTH(float_add)},
    {"cmpp", BOTH(float_add)},
    {"cmpsd", BOTH(float_add)},
    {"cmpss", BOTH(float_add)},
    {"cvt", BOTH(convert)},
    {"fild", BOTH(convert)},
    {"fist", BOTH(convert)},
    {"round", BOTH(float_round)},
    {"rndscale", BOTH(float_round)},
    {"rcp", BOTH(float_estimate)},
    {"rsqrt", BOTH(float_estimate)},
    {"fsin", BOTH(float_function)},
    {"fcos", BOTH(float_function)},
    {"fptan", BOTH(float_function)},
    {"fpatan", BOTH(float_function)},
    {"fyl2x", BOTH(float_function)},
    {"f2xm1", BOTH(float_function)},
    {"fprem", BOTH(float_function)},
    {"fscale", BOTH(float_function)},
    /* between the kinds of registers */
    {"comis", BOTH(to_general)},
    {"ucomis", BOTH(to_general)},
    {"ptest", BOTH(to_general)},
    {"testp", BOTH(to_general)},
    {"movmsk", BOTH(to_general)},
    {"pmovmskb", BOTH(to_general)},
    {"extractps", BOTH(to_general)},
    {"pextr", BOTH(to_general)},
    {"pext", BOTH(count_bits)},
    {"pinsr", BOTH(to_vector)},
    {"kmov", BOTH(to_general)},
    {"kortest", BOTH(to_general)},
    {"ktest", BOTH(to_general)},
    /* integers of vectors */
    {"padd", BOTH(vector)},
    {"psub", BOTH(vector)},
    {"pand", BOTH(vector)},
    {"por", BOTH(vector)},
    {"pxor", BOTH(vector)},
    {"pcmpeq", BOTH(vector)},
    {"pcmpgt", BOTH(vector)},
    {"pcmpu", BOTH(vector)},
    {"pmin", BOTH(vector)},
    {"pmax", BOTH(vector)},
    {"pavg", BOTH(vector)},
    {"pabs", BOTH(vector)},
    {"psign", BOTH(vector)},
    {"ptern", BOTH(vector)},
    {"pblend", BOTH(vector)},
    {"blend", BOTH(vector)},
    {"andp", BOTH(vector)},
    {"andnp", BOTH(vector)},
    {"orp", BOTH(vector)},
    {"xorp", BOTH(vector)},
    {"pmulld", BOTH(vector_multiply_wide)},
    {"pmullq", BOTH(vector_multiply_wide)},
    {"pmul", BOTH(vector_multiply)},
    {"pmadd", BOTH(vector_multiply)},
    {"pdp", BOTH(vector_multiply)},
    {"psadbw", BOTH(vector_sum)},
    {"mpsadbw", BOTH(vector_sum)},
    {"phadd", BOTH(vector_sum)},
    {"phsub", BOTH(vector_sum)},
    {"hadd", BOTH(vector_sum)},
    {"hsub", BOTH(vector_sum)},
    {"phmin", BOTH(vector_sum)},
    {"pslldq", BOTH(vector_shuffle)},
    {"psrldq", BOTH(vector_shuffle)},
    {"psll", BOTH(vector_shift)},
    {"psrl", BOTH(vector_shift)},
    {"psra", BOTH(vector_shift)},
    {"prol", BOTH(vector_shift)},
    {"pror", BOTH(vector_shift)},
    {"pshuf", BOTH(vector_shuffle)},
    {"punpck", BOTH(vector_shuffle)},
    {"pack", BOTH(vector_shuffle)},
    {"palignr", BOTH(vector_shuffle)},
    {"shufp", BOTH(vector_shuffle)},
    {"unpck", BOTH(vector_shuffle)},
    {"permilp", BOTH(vector_shuffle)},
    {"insertps", BOTH(vector_shuffle)},
    {"movhl", BOTH(vector_shuffle)},
    {"movlh", BOTH(vector_shuffle)},
    {"pmovzx", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_across},
    {"pmovsx", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_across},
    {"perm", BOTH(vector_across)},
    {"align", BOTH(vector_across)},
    {"insert", BOTH(vector_across)},
    {"extract", BOTH(vector_across)},
    {"aes", BOTH(cipher)},
    {"pclmul", BOTH(carryless)},
    {"sha1", BOTH(digest)},
    {"sha256", BOTH(digest)},
#undef BOTH
};

static bool is_general(const ZydisDecodedOperand *operand)
{
	ZydisRegisterClass class =
	    operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? ZydisRegisterGetClass(operand->reg.value) : 0;

	return class == ZYDIS_REGCLASS_GPR32 || class == ZYDIS_REGCLASS_GPR64;
}

static void classify(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands, bool memory_only,
                     struct fm_instruction *ret)
{
	const char *name = ZydisMnemonicGetString(instruction->mnemonic), *plain = name + (*name == 'v');
	bool wide = instruction->operand_count && operands[0].size > 128,
	     moves = instruction->mnemonic == ZYDIS_MNEMONIC_MOVD || instruction->mnemonic == ZYDIS_MNEMONIC_MOVQ ||
	             instruction->mnemonic == ZYDIS_MNEMONIC_VMOVD || instruction->mnemonic == ZYDIS_MNEMONIC_VMOVQ;

	ret->operation = FM_OPERATION_simple;
	/* an exchange with memory is locked by itself */
	if (instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (instruction->mnemonic == ZYDIS_MNEMONIC_XCHG &&
	     (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY || operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY))) {
		ret->operation = FM_OPERATION_atomic;
		return;
	}
	if (moves && !memory_only && (is_general(&operands[0]) || is_general(&operands[1]))) {
		ret->operation = is_general(&operands[0]) ? FM_OPERATION_to_general : FM_OPERATION_to_vector;
		return;
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strncmp(plain, classes[i].prefix, strlen(classes[i].prefix))) {
			ret->operation = (uint8_t)(wide ? classes[i].wide : classes[i].operation);
			return;
		}
	/* a plain move from or to memory needs no unit but the load or store port */
	if (memory_only &&
	    (strstr(name, "mov") || strstr(name, "broadcast") || !strcmp(name, "push") || !strcmp(name, "pop"))) {
		ret->operation = FM_OPERATION_none;
		return;
	}
	if (strstr(name, "broadcast"))
		ret->operation = wide ? FM_OPERATION_vector_across : FM_OPERATION_vector_shuffle;
}

/* Floating point arithmetic by what its mnemonic says after an optional v: operations per element. */
static const struct {
	const char *prefix;
	uint8_t flops;
	bool divides;
} arithmetic[] = {
    {"add", 1, false},    {"sub", 1, false},    {"mul", 1, false},   {"div", 1, true},    {"sqrt", 1, true},
    {"max", 1, false},    {"min", 1, false},    {"fmadd", 2, false}, {"fmsub", 2, false}, {"fnmadd", 2, false},
    {"fnmsub", 2, false}, {"addsub", 1, false}, {"hadd", 1, false},  {"hsub", 1, false},
};

static unsigned elements(const char *name, unsigned bits)
{
	size_t length = strlen(name);
	const char *suffix = length > 2 ? name + length - 2 : "";

	return !strcmp(suffix, "pd")                            ? bits / 64
	       : !strcmp(suffix, "ps")                          ? bits / 32
	       : !strcmp(suffix, "sd") || !strcmp(suffix, "ss") ? 1
	                                                        : 0;
}

static void count_work(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                       struct fm_work *ret_work)
{
	const char *name = ZydisMnemonicGetString(instruction->mnemonic), *plain = name + (*name == 'v');
	unsigned bits = instruction->operand_count ? operands[0].size : 0, count = elements(name, bits);

	ret_work->instructions = 1;
	ret_work->vector_inserts = !strcmp(name, "vinsertf128");
	ret_work->divisions = !strcmp(name, "div") || !strcmp(name, "idiv");
	for (size_t i = 0; count && i < sizeof(arithmetic) / sizeof(arithmetic[0]); i++)
		if (!strncmp(plain, arithmetic[i].prefix, strlen(arithmetic[i].prefix))) {
			ret_work->flops = arithmetic[i].flops * count;
			ret_work->divisions = arithmetic[i].divides;
			ret_work->vector_calculations = bits >= 256;
			return;
		}
}

static enum fm_branch_kind branch_kind(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return FM_BRANCH_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
		return operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? FM_BRANCH_ALWAYS : FM_BRANCH_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return FM_BRANCH_ALWAYS;
	default:
		return FM_BRANCH_NONE;
	}
}

/* From one register to another, all of it. */
static bool is_move(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
	static const ZydisMnemonic moves[] = {ZYDIS_MNEMONIC_MOV,     ZYDIS_MNEMONIC_MOVAPS,  ZYDIS_MNEMONIC_MOVAPD,
	                                      ZYDIS_MNEMONIC_MOVDQA,  ZYDIS_MNEMONIC_MOVUPS,  ZYDIS_MNEMONIC_VMOVAPS,
	                                      ZYDIS_MNEMONIC_VMOVAPD, ZYDIS_MNEMONIC_VMOVDQA, ZYDIS_MNEMONIC_VMOVUPS};

	if (instruction->operand_count_visible != 2 || operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[0].size < 32)
		return false;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (instruction->mnemonic == moves[i])
			return true;
	return false;
}

bool fm_decode(const void *bytes, unsigned length, struct fm_decoded *ret_decoded)
{
	static ZydisDecoder decoder;
	static bool ready;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct fm_decoded decoded = {0};
	unsigned reads = 0, writes = 0;
	const char *name;
	bool zeroed = false;

	/* the same values whoever writes them first */
	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	memset(ret_decoded, 0, sizeof(*ret_decoded));
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, length, &instruction, operands)))
		return false;
	for (unsigned i = 0; i < instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			uint64_t bit = register_bit(operand->reg.value);

			/* an x86 stack engine renames rsp: pushes and pops do not wait for each other */
			if (bit == register_bit(ZYDIS_REGISTER_RSP) &&
			    operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
				continue;
			if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				decoded.instruction.reads |= bit;
			if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
				decoded.instruction.writes |= bit;
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
			uint64_t address = 0;

			if (operand->mem.base != ZYDIS_REGISTER_NONE)
				address |= register_bit(operand->mem.base);
			if (operand->mem.index != ZYDIS_REGISTER_NONE)
				address |= register_bit(operand->mem.index);
			decoded.instruction.reads |= address;
			decoded.instruction.address_reads |= address;
			if (operand->size / 8 > decoded.operand_bytes)
				decoded.operand_bytes = operand->size / 8;
			reads += (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
			writes += (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
			if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
				decoded.split_per_element = true;
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			/* lea: its registers are plain operands */
			if (operand->mem.base != ZYDIS_REGISTER_NONE)
				decoded.instruction.reads |= register_bit(operand->mem.base);
			if (operand->mem.index != ZYDIS_REGISTER_NONE)
				decoded.instruction.reads |= register_bit(operand->mem.index);
		}
	}
	if (instruction.cpu_flags && instruction.cpu_flags->tested)
		decoded.instruction.reads |= 1ull << BIT_FLAGS;
	if (instruction.cpu_flags &&
	    (instruction.cpu_flags->modified | instruction.cpu_flags->set_0 | instruction.cpu_flags->set_1))
		decoded.instruction.writes |= 1ull << BIT_FLAGS;
	if (instruction.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		decoded.repeated = reads + writes > 0;
	decoded.length = instruction.length;
	decoded.reads = reads > 0;
	decoded.writes = writes > 0;
	decoded.calls = instruction.mnemonic == ZYDIS_MNEMONIC_CALL;
	decoded.returns = instruction.mnemonic == ZYDIS_MNEMONIC_RET;
	decoded.single = reads + writes == 1 && !decoded.split_per_element && !decoded.repeated;
	/* a register exclusive-or'd with itself depends on nothing */
	name = ZydisMnemonicGetString(instruction.mnemonic);
	if (strstr(name, "xor") && !decoded.operand_bytes && instruction.operand_count_visible >= 2 &&
	    operands[instruction.operand_count_visible - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operands[instruction.operand_count_visible - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operands[instruction.operand_count_visible - 1].reg.value ==
	        operands[instruction.operand_count_visible - 2].reg.value)
		decoded.instruction.reads = 0, zeroed = true;
	decoded.nontemporal = strstr(name, "movnt") != NULL && writes;
	classify(&instruction, operands, reads + writes == 1, &decoded.instruction);
	decoded.instruction.branch = (uint8_t)branch_kind(&instruction, operands);
	/* neither needs more than another name for a register */
	if (zeroed || is_move(&instruction, operands))
		decoded.instruction.operation = FM_OPERATION_none;
	count_work(&instruction, operands, &decoded.work);
	*ret_decoded = decoded;
	return true;
}
