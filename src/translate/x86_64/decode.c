/* From Zydis' view of an instruction to what the translator needs to know about it. */
#include <string.h>

#include "translate/x86_64/instruction.h"

/* Instructions that are never copied, and why. Reason + 1, so that 0 is everything else. */
#define LEAVES(mnemonic, reason) [ZYDIS_MNEMONIC_##mnemonic] = FM_LEFT_##reason + 1
static const uint8_t leaves[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
    LEAVES(INT, INTERRUPT),     LEAVES(INT1, INTERRUPT),     LEAVES(INT3, INTERRUPT),   LEAVES(INTO, INTERRUPT),
    LEAVES(UD0, INTERRUPT),     LEAVES(UD1, INTERRUPT),      LEAVES(UD2, INTERRUPT),    LEAVES(IRET, FAR),
    LEAVES(IRETD, FAR),         LEAVES(IRETQ, FAR),          LEAVES(SYSENTER, FAR),     LEAVES(SYSEXIT, PRIVILEGED),
    LEAVES(SYSRET, PRIVILEGED), LEAVES(HLT, PRIVILEGED),     LEAVES(LFS, FAR),          LEAVES(LGS, FAR),
    LEAVES(LSS, FAR),           LEAVES(XBEGIN, TRANSACTION), LEAVES(UIRET, FAR),        LEAVES(RSM, PRIVILEGED),
    LEAVES(VMCALL, PRIVILEGED), LEAVES(VMMCALL, PRIVILEGED), LEAVES(IN, PRIVILEGED),    LEAVES(OUT, PRIVILEGED),
    LEAVES(ENCLU, PRIVILEGED),  LEAVES(CLI, PRIVILEGED),     LEAVES(STI, PRIVILEGED),   LEAVES(INSB, PRIVILEGED),
    LEAVES(INSW, PRIVILEGED),   LEAVES(INSD, PRIVILEGED),    LEAVES(OUTSB, PRIVILEGED), LEAVES(OUTSW, PRIVILEGED),
    LEAVES(OUTSD, PRIVILEGED),
};
#undef LEAVES

static unsigned general(ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (unsigned)(whole - ZYDIS_REGISTER_RAX)
	                                                                  : NO_REGISTER;
}

static void decode_address(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operand, uint64_t pc,
                           struct address *address)
{
	memset(address, 0, sizeof(*address));
	address->displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	address->narrow = decoded->address_width != 64;
	if (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP) {
		address->absolute = true;
		address->displacement += (int64_t)(pc + decoded->length);
		address->base = address->index = NO_REGISTER;
	} else {
		address->base = (uint8_t)general(operand->mem.base);
		address->index = (uint8_t)general(operand->mem.index);
		address->scale = (uint8_t)(operand->mem.scale == 8   ? 3
		                           : operand->mem.scale == 4 ? 2
		                           : operand->mem.scale == 2 ? 1
		                                                     : 0);
		/* moffs: a 64-bit address in the instruction */
		if (operand->mem.base == ZYDIS_REGISTER_NONE && operand->mem.index == ZYDIS_REGISTER_NONE &&
		    address->displacement != (int32_t)address->displacement)
			address->absolute = true;
	}
	address->segment = operand->mem.segment == ZYDIS_REGISTER_FS   ? SEGMENT_FS
	                   : operand->mem.segment == ZYDIS_REGISTER_GS ? SEGMENT_GS
	                                                               : SEGMENT_NONE;
	if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || address->segment == SEGMENT_GS ||
	    (operand->mem.index != ZYDIS_REGISTER_NONE &&
	     ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, operand->mem.index) < 32))
		address->unknown = true;
}

static void note_register(struct instruction *instruction, const ZydisDecodedOperand *operand, uint16_t *written)
{
	unsigned number = general(operand->reg.value);

	if (number == NO_REGISTER)
		return;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		instruction->reads |= REGISTER_BIT(number);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		instruction->writes |= REGISTER_BIT(number);
		if ((operand->actions & ZYDIS_OPERAND_ACTION_WRITE) && operand->size >= 32)
			*written |= REGISTER_BIT(number);
	}
}

static bool is_memory_traffic(const ZydisDecodedInstruction *decoded)
{
	return decoded->meta.category != ZYDIS_CATEGORY_NOP && decoded->meta.category != ZYDIS_CATEGORY_WIDENOP &&
	       decoded->meta.category != ZYDIS_CATEGORY_PREFETCH &&
	       decoded->meta.category != ZYDIS_CATEGORY_PREFETCHWT1;
}

static bool is_masked(const ZydisDecodedInstruction *decoded)
{
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return true;
	default:
		return decoded->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED;
	}
}

/* Where each bit of a mask stands for the element at its place. */
static bool is_plain_move(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VMOVDQU8:
	case ZYDIS_MNEMONIC_VMOVDQU16:
	case ZYDIS_MNEMONIC_VMOVDQU32:
	case ZYDIS_MNEMONIC_VMOVDQU64:
	case ZYDIS_MNEMONIC_VMOVDQA32:
	case ZYDIS_MNEMONIC_VMOVDQA64:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
		return true;
	default:
		return false;
	}
}

static void note_reference(struct instruction *instruction, const ZydisDecodedInstruction *decoded,
                           const ZydisDecodedOperand *operands, unsigned which)
{
	const ZydisDecodedOperand *operand = &operands[which];
	struct reference *reference;

	if (instruction->reference_count == MOST_REFERENCES) {
		instruction->unknown_references++;
		return;
	}
	reference = &instruction->references[instruction->reference_count];
	decode_address(decoded, operand, instruction->pc, &reference->address);
	reference->size = operand->size / 8;
	reference->kind = (uint8_t)(((operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) ? FM_TRANSLATE_LOAD : 0) |
	                            ((operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ? FM_TRANSLATE_STORE : 0));
	if (decoded->meta.category == ZYDIS_CATEGORY_STRINGOP &&
	    (decoded->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)))
		reference->kind |= FM_TRANSLATE_REPEATED;
	if (is_masked(decoded) || (!(operand->actions & (ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_WRITE)) &&
	                           !(reference->kind & FM_TRANSLATE_REPEATED)))
		reference->kind |= FM_TRANSLATE_MASKED;
	if (is_plain_move(decoded->mnemonic) && decoded->avx.mask.mode == ZYDIS_MASK_MODE_MERGING) {
		reference->mask = (uint8_t)(decoded->avx.mask.reg - ZYDIS_REGISTER_K0);
		reference->element = (uint8_t)(operand->element_size / 8);
	}
	if (!(reference->kind & FM_TRANSLATE_REPEATED) &&
	    (reference->address.base == RSP || reference->address.segment || reference->address.narrow))
		reference->kind |= FM_TRANSLATE_APART;
	if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && reference->address.base == RSP) {
		/* what is pushed lies below the stack pointer as it is before the instruction */
		if (reference->kind & FM_TRANSLATE_STORE)
			reference->address.displacement = -(int64_t)reference->size;
	} else if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && reference->address.base == RSP) {
		reference->address.displacement += operands[0].size / 8;
	}
	/* bit tests with a register reach beyond the operand; enter writes more than one word */
	if (((decoded->mnemonic == ZYDIS_MNEMONIC_BT || decoded->mnemonic == ZYDIS_MNEMONIC_BTS ||
	      decoded->mnemonic == ZYDIS_MNEMONIC_BTR || decoded->mnemonic == ZYDIS_MNEMONIC_BTC) &&
	     operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) ||
	    decoded->mnemonic == ZYDIS_MNEMONIC_ENTER)
		reference->address.unknown = true;
	if (reference->address.unknown || !reference->size || !reference->kind)
		instruction->unknown_references++;
	else
		instruction->reference_count++;
}

static void leave_for(struct instruction *instruction, enum fm_translate_reason reason)
{
	instruction->class = CLASS_LEAVE;
	instruction->reason = (uint8_t)reason;
}

static void classify_branch(struct instruction *instruction, const ZydisDecodedInstruction *decoded,
                            const ZydisDecodedOperand *operands)
{
	const ZydisDecodedOperand *first = &operands[0];
	bool is_call = decoded->meta.category == ZYDIS_CATEGORY_CALL;

	if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
		leave_for(instruction, FM_LEFT_FAR);
		return;
	}
	/* Vendors differ in what the prefix does to a near branch, except that REX.W makes all of them ignore it. */
	if ((decoded->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) &&
	    !(decoded->attributes & ZYDIS_ATTRIB_HAS_REX && decoded->raw.rex.W)) {
		leave_for(instruction, FM_LEFT_WIDTH);
		return;
	}
	if (decoded->meta.category == ZYDIS_CATEGORY_RET) {
		instruction->class = CLASS_RETURN;
		if (decoded->operand_count_visible)
			instruction->popped = (uint16_t)first->imm.value.u;
		return;
	}
	if (first->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		instruction->target = instruction->pc + decoded->length + (uint64_t)first->imm.value.s;
		instruction->class = is_call ? CLASS_CALL : CLASS_JUMP;
	} else {
		instruction->class = is_call ? CLASS_INDIRECT_CALL : CLASS_INDIRECT_JUMP;
		instruction->branch_register = NO_REGISTER;
		if (first->type == ZYDIS_OPERAND_TYPE_REGISTER)
			instruction->branch_register = (uint8_t)general(first->reg.value);
		else
			decode_address(decoded, first, instruction->pc, &instruction->from);
		if (first->type == ZYDIS_OPERAND_TYPE_MEMORY && instruction->from.narrow)
			leave_for(instruction, FM_LEFT_ENCODING);
	}
}

static void classify_conditional(struct instruction *instruction, const ZydisDecodedInstruction *decoded,
                                 const ZydisDecodedOperand *operands)
{
	instruction->target = instruction->pc + decoded->length + (uint64_t)operands[0].imm.value.s;
	if (decoded->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) {
		leave_for(instruction, FM_LEFT_WIDTH);
	} else if (decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && decoded->opcode >= 0xe0 &&
	           decoded->opcode <= 0xe3) {
		instruction->class = CLASS_COUNTED;
		instruction->opcode = decoded->opcode;
		instruction->narrow = decoded->address_width != 64;
	} else {
		instruction->class = CLASS_CONDITIONAL;
		instruction->condition = decoded->opcode & 15;
	}
}

/* Whether "written" can be trusted to mean overwritten: bsf leaves its destination alone when there is no bit. */
static bool always_writes(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_MOV || mnemonic == ZYDIS_MNEMONIC_MOVZX || mnemonic == ZYDIS_MNEMONIC_MOVSX ||
	       mnemonic == ZYDIS_MNEMONIC_MOVSXD || mnemonic == ZYDIS_MNEMONIC_LEA;
}

/* Whether OF, SF, ZF, AF and PF are overwritten, whatever they were, and none of them is read. Only what is known for
   sure: shifts leave the flags alone when the count is 0, and what is undefined after a multiplication may be what it
   was before. (AF after a logical instruction is undefined too, but all processors clear it.) */
static bool overwrites_flags(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_COMISS:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_POPCNT:
	case ZYDIS_MNEMONIC_PTEST:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_VCOMISD:
	case ZYDIS_MNEMONIC_VCOMISS:
	case ZYDIS_MNEMONIC_VPTEST:
	case ZYDIS_MNEMONIC_VUCOMISD:
	case ZYDIS_MNEMONIC_VUCOMISS:
	case ZYDIS_MNEMONIC_XADD:
	case ZYDIS_MNEMONIC_XOR:
		return true;
	default:
		return false;
	}
}

/* Whether a repetition may give another result: clocks, random numbers, the number of the processor, and what saves
   more state than is known here. */
static bool varies(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDPID:
	case ZYDIS_MNEMONIC_RDPKRU:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRPKRU:
	case ZYDIS_MNEMONIC_XGETBV:
		return true;
	default:
		return false;
	}
}

/* Where the encoding extends the number of a base register. Relative to the instruction there is none, so the bit means
   nothing, but it will when a register takes that place. */
static void note_extension(struct instruction *instruction, const ZydisDecodedInstruction *decoded)
{
	const uint8_t *bytes = (const uint8_t *)instruction->pc;
	uint8_t offset = 0;
	bool is_inverted = true;

	if (decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
		offset = decoded->attributes & ZYDIS_ATTRIB_HAS_REX ? decoded->raw.rex.offset : 0;
		is_inverted = false;
		instruction->has_extension = decoded->attributes & ZYDIS_ATTRIB_HAS_REX;
	} else if (decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && bytes[decoded->raw.vex.offset] == 0xc4) {
		offset = decoded->raw.vex.offset + 1;
	} else if (decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP) {
		offset = decoded->raw.xop.offset + 1;
	} else if (decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		offset = decoded->raw.evex.offset + 1;
	}
	instruction->has_extension |= offset != 0;
	instruction->extension_at = offset;
	instruction->extension_inverted = is_inverted;
}

void fm_translate_decode(const ZydisDecoder *decoder, uint64_t pc, size_t room, struct instruction *instruction)
{
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint16_t written = 0;

	memset(instruction, 0, sizeof(*instruction));
	instruction->pc = pc;
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, (const void *)pc, room < 15 ? room : 15, &decoded, operands))) {
		leave_for(instruction, FM_LEFT_UNDECODED);
		return;
	}
	instruction->length = decoded.length;
	for (unsigned i = 0; i < decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		unsigned base, index;

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			note_register(instruction, operand, &written);
			if (ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_SEGMENT &&
			    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			    operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
				leave_for(instruction, FM_LEFT_FAR);
		}
		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		base = general(operand->mem.base);
		index = general(operand->mem.index);
		instruction->reads |= (uint16_t)((base != NO_REGISTER ? REGISTER_BIT(base) : 0) |
		                                 (index != NO_REGISTER ? REGISTER_BIT(index) : 0));
		if (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP) {
			struct address address;

			decode_address(&decoded, operand, pc, &address);
			instruction->rip_relative = true;
			instruction->rip_address = (uint64_t)address.displacement;
			instruction->displacement_at = decoded.raw.disp.offset;
			instruction->modrm_at = decoded.raw.modrm.offset;
			instruction->agen = operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN &&
			                    decoded.mnemonic == ZYDIS_MNEMONIC_LEA && decoded.operand_width == 64;
			note_extension(instruction, &decoded);
			if (address.narrow)
				leave_for(instruction, FM_LEFT_ENCODING);
		}
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || !is_memory_traffic(&decoded))
			continue;
		note_reference(instruction, &decoded, operands, i);
	}
	if (always_writes(decoded.mnemonic))
		instruction->replaces = written & (uint16_t)~instruction->reads;
	instruction->overwrites_flags = overwrites_flags(decoded.mnemonic);
	/* without the carry, which an increment leaves alone */
	instruction->reads_flags =
	    !decoded.cpu_flags || (decoded.cpu_flags->tested & ~(ZydisAccessedFlagsMask)ZYDIS_CPUFLAG_CF) ||
	    decoded.mnemonic == ZYDIS_MNEMONIC_PUSHF || decoded.mnemonic == ZYDIS_MNEMONIC_PUSHFD ||
	    decoded.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || decoded.mnemonic == ZYDIS_MNEMONIC_LAHF;
	instruction->overwrites_carry = instruction->overwrites_flags && decoded.mnemonic != ZYDIS_MNEMONIC_INC &&
	                                decoded.mnemonic != ZYDIS_MNEMONIC_DEC;
	instruction->reads_carry = instruction->reads_flags || (decoded.cpu_flags->tested & ZYDIS_CPUFLAG_CF);
	instruction->varies = varies(decoded.mnemonic);
	if (instruction->class == CLASS_LEAVE)
		return;
	if (leaves[decoded.mnemonic])
		leave_for(instruction, (enum fm_translate_reason)(leaves[decoded.mnemonic] - 1));
	else if (decoded.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		instruction->class = CLASS_SYSTEM_CALL;
	else if (decoded.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		leave_for(instruction, FM_LEFT_PRIVILEGED);
	else if (decoded.meta.category == ZYDIS_CATEGORY_COND_BR)
		classify_conditional(instruction, &decoded, operands);
	else if (decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR || decoded.meta.category == ZYDIS_CATEGORY_CALL ||
	         decoded.meta.category == ZYDIS_CATEGORY_RET)
		classify_branch(instruction, &decoded, operands);
}

bool fm_translate_flags_die(const ZydisDecoder *decoder, uint64_t pc, uint64_t start, uint64_t end)
{
	enum { MOST_AHEAD = 8 };
	struct instruction instruction;

	for (unsigned i = 0; i < MOST_AHEAD; i++) {
		if (pc < start || pc >= end)
			return false;
		fm_translate_decode(decoder, pc, end - pc, &instruction);
		if (instruction.class == CLASS_COPY && instruction.overwrites_flags)
			return true;
		if (instruction.reads_flags || (instruction.class != CLASS_COPY && instruction.class != CLASS_JUMP &&
		                                instruction.class != CLASS_CALL))
			return false;
		pc = instruction.class == CLASS_COPY ? pc + instruction.length : instruction.target;
	}
	return false;
}

enum { FLAGS = 1, CARRY = 2 };

static unsigned read_flags(const struct instruction *instruction)
{
	return (instruction->reads_flags ? FLAGS : 0u) | (instruction->reads_carry ? CARRY : 0u);
}

static unsigned overwritten_flags(const struct instruction *instruction)
{
	if (instruction->class != CLASS_COPY)
		return 0;
	return (instruction->overwrites_flags ? FLAGS : 0u) | (instruction->overwrites_carry ? CARRY : 0u);
}

static bool is_followed_by_known(const struct instruction *instruction)
{
	return instruction->class == CLASS_COPY || instruction->class == CLASS_JUMP || instruction->class == CLASS_CALL;
}

/* Which of them the code after `last` overwrites before it reads them. */
static unsigned dead_after(const ZydisDecoder *decoder, const struct instruction *last, uint64_t start, uint64_t end)
{
	enum { MOST_AHEAD = 8 };
	struct instruction instruction = *last;
	unsigned dead = 0, alive = 0;

	for (unsigned i = 0; i < MOST_AHEAD && (dead | alive) != (FLAGS | CARRY); i++) {
		uint64_t pc =
		    instruction.class == CLASS_COPY ? instruction.pc + instruction.length : instruction.target;

		if (!is_followed_by_known(&instruction) || pc < start || pc >= end)
			break;
		fm_translate_decode(decoder, pc, end - pc, &instruction);
		alive |= read_flags(&instruction) & ~dead;
		dead |= overwritten_flags(&instruction) & ~alive;
	}
	return dead;
}

void fm_translate_find_dead_flags(const ZydisDecoder *decoder, const struct instruction *instructions, unsigned count,
                                  uint64_t start, uint64_t end, bool *ret_dead)
{
	unsigned dead = count ? dead_after(decoder, &instructions[count - 1], start, end) : 0;

	for (unsigned i = count; i-- > 0;) {
		if (!is_followed_by_known(&instructions[i]))
			dead = 0;
		dead = (dead | overwritten_flags(&instructions[i])) & ~read_flags(&instructions[i]);
		ret_dead[i] = dead == (FLAGS | CARRY);
	}
}
