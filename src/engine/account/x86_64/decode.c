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

/* Operations of instructions, by the beginning of the mnemonic; the first that fits. */
static const struct {
	const char *prefix;
	enum fm_operation operation;
} classes[] = {
    {"mulp", FM_OPERATION_float_multiply},
    {"muls", FM_OPERATION_float_multiply},
    {"imul", FM_OPERATION_multiply},
    {"mul", FM_OPERATION_multiply_wide},
    {"vfmadd", FM_OPERATION_float_fused},
    {"vfmsub", FM_OPERATION_float_fused},
    {"vfnm", FM_OPERATION_float_fused},
    {"vmul", FM_OPERATION_float_multiply},
    {"idiv", FM_OPERATION_divide_signed},
    {"divp", FM_OPERATION_float_divide},
    {"divs", FM_OPERATION_float_divide},
    {"div", FM_OPERATION_divide},
    {"vdiv", FM_OPERATION_float_divide},
    {"vsqrt", FM_OPERATION_float_root},
    {"sqrt", FM_OPERATION_float_root},
    {"vadd", FM_OPERATION_float_add},
    {"vsub", FM_OPERATION_float_add},
    {"addpd", FM_OPERATION_float_add},
    {"addps", FM_OPERATION_float_add},
    {"addsd", FM_OPERATION_float_add},
    {"addss", FM_OPERATION_float_add},
    {"subpd", FM_OPERATION_float_add},
    {"subps", FM_OPERATION_float_add},
    {"subsd", FM_OPERATION_float_add},
    {"subss", FM_OPERATION_float_add},
    {"cvtdq2ps", FM_OPERATION_float_compare},
    {"vcvtdq2ps", FM_OPERATION_float_compare},
    {"cvtps2dq", FM_OPERATION_float_compare},
    {"vcvtps2dq", FM_OPERATION_float_compare},
    {"cvttps2dq", FM_OPERATION_float_compare},
    {"vcvttps2dq", FM_OPERATION_float_compare},
    {"cvt", FM_OPERATION_convert},
    {"vcvt", FM_OPERATION_convert},
    {"popcnt", FM_OPERATION_count_bits},
    {"lzcnt", FM_OPERATION_count_bits},
    {"tzcnt", FM_OPERATION_count_bits},
    {"bsf", FM_OPERATION_count_bits},
    {"bsr", FM_OPERATION_count_bits},
    {"crc32", FM_OPERATION_count_bits},
    {"pdep", FM_OPERATION_count_bits},
    {"fadd", FM_OPERATION_float_add},
    {"fsub", FM_OPERATION_float_add},
    {"fmul", FM_OPERATION_float_multiply},
    {"fdiv", FM_OPERATION_float_divide},
    {"fsqrt", FM_OPERATION_float_root},
    {"shl", FM_OPERATION_shift},
    {"shr", FM_OPERATION_shift},
    {"sar", FM_OPERATION_shift},
    {"rol", FM_OPERATION_shift},
    {"ror", FM_OPERATION_shift},
    {"rcl", FM_OPERATION_shift},
    {"rcr", FM_OPERATION_shift},
    {"cmov", FM_OPERATION_shift},
    {"set", FM_OPERATION_shift},
    {"adc", FM_OPERATION_shift},
    {"sbb", FM_OPERATION_shift},
    {"bt", FM_OPERATION_shift},
    {"fsin", FM_OPERATION_float_function},
    {"fcos", FM_OPERATION_float_function},
    {"fptan", FM_OPERATION_float_function},
    {"fpatan", FM_OPERATION_float_function},
    {"fyl2x", FM_OPERATION_float_function},
    {"f2xm1", FM_OPERATION_float_function},
    {"fprem", FM_OPERATION_float_function},
    {"nop", FM_OPERATION_none},
    {"endbr", FM_OPERATION_none},
    {"cpuid", FM_OPERATION_identify},
};

/* The same of vectors, without the v at the beginning of many: with registers alone, and with memory, where what is
   reordered comes in the right order. */
static const struct {
	const char *prefix;
	enum fm_operation operation, with_memory;
} vectors[] = {
    {"aes", FM_OPERATION_cipher, FM_OPERATION_cipher},
    {"pclmul", FM_OPERATION_carryless, FM_OPERATION_carryless},
    {"sha1", FM_OPERATION_digest, FM_OPERATION_digest},
    {"sha256", FM_OPERATION_digest, FM_OPERATION_digest},
    {"pmulld", FM_OPERATION_vector_multiply_long, FM_OPERATION_vector_multiply_long},
    {"pmullq", FM_OPERATION_vector_multiply_long, FM_OPERATION_vector_multiply_long},
    {"pmul", FM_OPERATION_vector_multiply, FM_OPERATION_vector_multiply},
    {"pmadd", FM_OPERATION_vector_multiply, FM_OPERATION_vector_multiply},
    {"psadbw", FM_OPERATION_vector_far, FM_OPERATION_vector_far},
    {"mpsadbw", FM_OPERATION_vector_far, FM_OPERATION_vector_far},
    {"phadd", FM_OPERATION_vector_far, FM_OPERATION_vector_far},
    {"phsub", FM_OPERATION_vector_far, FM_OPERATION_vector_far},
    {"hadd", FM_OPERATION_float_across, FM_OPERATION_float_across},
    {"hsub", FM_OPERATION_float_across, FM_OPERATION_float_across},
    {"round", FM_OPERATION_float_round, FM_OPERATION_float_round},
    {"rndscale", FM_OPERATION_float_round, FM_OPERATION_float_round},
    {"max", FM_OPERATION_float_compare, FM_OPERATION_float_compare},
    {"min", FM_OPERATION_float_compare, FM_OPERATION_float_compare},
    {"cmp", FM_OPERATION_float_compare, FM_OPERATION_float_compare},
    {"rcp", FM_OPERATION_convert, FM_OPERATION_convert},
    {"rsqrt", FM_OPERATION_convert, FM_OPERATION_convert},
    {"comis", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"ucomis", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"ptest", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"test", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"movmsk", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"pmovmsk", FM_OPERATION_vector_out, FM_OPERATION_vector_out},
    {"pextr", FM_OPERATION_vector_out, FM_OPERATION_vector_shuffle},
    {"pinsr", FM_OPERATION_vector_out, FM_OPERATION_vector_shuffle},
    {"permil", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"perm", FM_OPERATION_vector_far, FM_OPERATION_vector_far},
    {"pmovsx", FM_OPERATION_vector_far, FM_OPERATION_vector_shuffle},
    {"pmovzx", FM_OPERATION_vector_far, FM_OPERATION_vector_shuffle},
    {"extract", FM_OPERATION_vector_far, FM_OPERATION_none},
    {"insertps", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"insert", FM_OPERATION_vector_far, FM_OPERATION_vector},
    {"broadcast", FM_OPERATION_vector_far, FM_OPERATION_none},
    {"pbroadcast", FM_OPERATION_vector_far, FM_OPERATION_none},
    {"punpck", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"unpck", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"pack", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"pshuf", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"shuf", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"palignr", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"pslldq", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"psrldq", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"movhlps", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"movlhps", FM_OPERATION_vector_shuffle, FM_OPERATION_vector_shuffle},
    {"movddup", FM_OPERATION_vector_shuffle, FM_OPERATION_none},
    {"movshdup", FM_OPERATION_vector_shuffle, FM_OPERATION_none},
    {"movsldup", FM_OPERATION_vector_shuffle, FM_OPERATION_none},
};

enum vector_use { VECTOR_NONE, VECTOR_ONLY, VECTOR_AND_OTHER };

/* The kinds of registers of an instruction: vectors only, or also others. */
static enum vector_use vector_use(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
	bool vector = false, other = false;

	for (unsigned i = 0; i < instruction->operand_count_visible; i++) {
		ZydisRegisterClass class = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
		                               ? ZydisRegisterGetClass(operands[i].reg.value)
		                               : ZYDIS_REGCLASS_INVALID;

		vector |= class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM || class == ZYDIS_REGCLASS_ZMM ||
		          class == ZYDIS_REGCLASS_MMX;
		other |= class == ZYDIS_REGCLASS_GPR32 || class == ZYDIS_REGCLASS_GPR64 || class == ZYDIS_REGCLASS_MASK;
	}
	return !vector ? VECTOR_NONE : other ? VECTOR_AND_OTHER : VECTOR_ONLY;
}

static enum fm_operation vector_operation(const char *name, enum vector_use use, bool memory)
{
	const char *plain = name + (*name == 'v');

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		if (!strncmp(plain, vectors[i].prefix, strlen(vectors[i].prefix)))
			return memory ? vectors[i].with_memory : vectors[i].operation;
	return use == VECTOR_AND_OTHER ? FM_OPERATION_vector_out : FM_OPERATION_vector;
}

static void classify(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                     unsigned memory_accesses, struct fm_instruction *ret)
{
	const char *name = ZydisMnemonicGetString(instruction->mnemonic);
	enum vector_use use = vector_use(instruction, operands);

	ret->operation = FM_OPERATION_simple;
	/* an exchange with memory is always locked */
	if (instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (instruction->mnemonic == ZYDIS_MNEMONIC_XCHG && memory_accesses)) {
		ret->operation = FM_OPERATION_atomic;
		return;
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strncmp(name, classes[i].prefix, strlen(classes[i].prefix))) {
			ret->operation = (uint8_t)classes[i].operation;
			return;
		}
	/* a plain move from or to memory needs no unit but the load or store port */
	if (memory_accesses == 1 &&
	    (strstr(name, "mov") || strstr(name, "broadcast") || !strcmp(name, "push") || !strcmp(name, "pop")))
		ret->operation = FM_OPERATION_none;
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_PEXT)
		ret->operation = FM_OPERATION_count_bits;
	else if (use != VECTOR_NONE)
		ret->operation = (uint8_t)vector_operation(name, use, memory_accesses > 0);
	else if (!strncmp(name, "kmov", 4) || !strncmp(name, "kortest", 7) || !strncmp(name, "ktest", 5))
		ret->operation = FM_OPERATION_vector_out;
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
		return FM_BRANCH_RETURN;
	default:
		return FM_BRANCH_NONE;
	}
}

/* Places when it is issued, beyond one, on Intel's cores: what is both read and written in memory is a load with its
   operation and a store, a call stores and jumps, a return loads and jumps, and what goes between vectors and other
   registers is moved there first. */
static unsigned more_places(const ZydisDecodedInstruction *instruction, const struct fm_instruction *own, bool reads,
                            bool writes)
{
	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return reads ? 2 : 1;
	case ZYDIS_CATEGORY_RET:
		return 1;
	default:
		return (reads && writes) || own->operation == FM_OPERATION_multiply_wide ||
		       own->operation == FM_OPERATION_convert;
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

	/* every thread would write the same values */
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
	classify(&instruction, operands, reads + writes, &decoded.instruction);
	decoded.instruction.branch = (uint8_t)branch_kind(&instruction, operands);
	if (decoded.instruction.branch == FM_BRANCH_CONDITIONAL)
		decoded.instruction.operation = FM_OPERATION_shift;
	/* neither needs more than another name for a register */
	if (zeroed || is_move(&instruction, operands))
		decoded.instruction.operation = FM_OPERATION_none;
	if (!decoded.repeated)
		decoded.instruction.more =
		    (uint8_t)more_places(&instruction, &decoded.instruction, decoded.reads, decoded.writes);
	count_work(&instruction, operands, &decoded.work);
	*ret_decoded = decoded;
	return true;
}
