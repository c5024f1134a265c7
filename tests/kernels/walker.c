#include "kernels/walker.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

enum { STACK_WORDS = 64, INSTRUCTIONS_MAX = 10000000 };

struct core {
	uint64_t general[16]; /* in the order of ZYDIS_REGISTER_RAX */
	uint64_t vector[32];  /* low halves */
	uint64_t mmx[8];
	bool zero;
	uint64_t stack[STACK_WORDS];
	uintptr_t next;
	bool returned;
};

uint64_t walk_hash(uint64_t hash, uintptr_t address)
{
	return (hash ^ address) * 0x100000001b3u;
}

/* Where a register's value is kept; NULL for one that is not. */
static uint64_t *register_slot(struct core *core, ZydisRegister name)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (wide >= ZYDIS_REGISTER_RAX && wide <= ZYDIS_REGISTER_R15)
		return &core->general[wide - ZYDIS_REGISTER_RAX];
	if (name >= ZYDIS_REGISTER_XMM0 && name <= ZYDIS_REGISTER_XMM31)
		return &core->vector[name - ZYDIS_REGISTER_XMM0];
	if (name >= ZYDIS_REGISTER_MM0 && name <= ZYDIS_REGISTER_MM7)
		return &core->mmx[name - ZYDIS_REGISTER_MM0];
	return NULL;
}

static uintptr_t address_of(struct core *core, const ZydisDecodedOperand *operand)
{
	uintptr_t address = operand->mem.disp.has_displacement ? (uintptr_t)operand->mem.disp.value : 0;

	if (operand->mem.base != ZYDIS_REGISTER_NONE)
		address += *register_slot(core, operand->mem.base);
	if (operand->mem.index != ZYDIS_REGISTER_NONE)
		address += *register_slot(core, operand->mem.index) * operand->mem.scale;
	return address;
}

static uint64_t read_operand(struct core *core, const ZydisDecodedOperand *operand)
{
	uint64_t value = 0;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return operand->imm.value.u;
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		memcpy(&value, (void *)address_of(core, operand), operand->size / 8);
		return value;
	}
	value = *register_slot(core, operand->reg.value);
	return operand->size == 32 ? (uint32_t)value : value;
}

static void write_operand(struct core *core, const ZydisDecodedOperand *operand, uint64_t value)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		memcpy((void *)address_of(core, operand), &value, operand->size / 8);
	else
		*register_slot(core, operand->reg.value) = operand->size == 32 ? (uint32_t)value : value;
}

/* Vector instructions the kernels use: floating-point operations per lane. */
static const struct {
	ZydisMnemonic mnemonic;
	unsigned flops;
	bool packed;
	bool nontemporal;
} vector_instructions[] = {
    {ZYDIS_MNEMONIC_MOVSD, 0, false, false},       {ZYDIS_MNEMONIC_MOVAPD, 0, true, false},
    {ZYDIS_MNEMONIC_VMOVAPD, 0, true, false},      {ZYDIS_MNEMONIC_MOVDDUP, 0, true, false},
    {ZYDIS_MNEMONIC_VBROADCASTSD, 0, true, false}, {ZYDIS_MNEMONIC_XORPD, 0, true, false},
    {ZYDIS_MNEMONIC_VXORPD, 0, true, false},       {ZYDIS_MNEMONIC_MOVNTPD, 0, true, true},
    {ZYDIS_MNEMONIC_VMOVNTPD, 0, true, true},      {ZYDIS_MNEMONIC_ADDSD, 1, false, false},
    {ZYDIS_MNEMONIC_MULSD, 1, false, false},       {ZYDIS_MNEMONIC_ADDPD, 1, true, false},
    {ZYDIS_MNEMONIC_MULPD, 1, true, false},        {ZYDIS_MNEMONIC_VADDPD, 1, true, false},
    {ZYDIS_MNEMONIC_VMULPD, 1, true, false},       {ZYDIS_MNEMONIC_VFMADD213PD, 2, true, false},
    {ZYDIS_MNEMONIC_VZEROUPPER, 0, true, false},   {ZYDIS_MNEMONIC_SFENCE, 0, true, false},
    {ZYDIS_MNEMONIC_EMMS, 0, true, false},         {ZYDIS_MNEMONIC_NOP, 0, true, false},
    {ZYDIS_MNEMONIC_PAUSE, 0, true, false},
};

/* Count a vector instruction; false when it is not one. */
static bool count_vector(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                         struct walk *walk, bool *ret_nontemporal)
{
	for (size_t i = 0; i < sizeof(vector_instructions) / sizeof(vector_instructions[0]); i++)
		if (instruction->mnemonic == vector_instructions[i].mnemonic) {
			unsigned lanes = vector_instructions[i].packed && instruction->operand_count_visible
			                     ? operands[0].size / 64
			                     : 1;

			walk->flops += vector_instructions[i].flops * lanes;
			*ret_nontemporal = vector_instructions[i].nontemporal;
			return true;
		}
	return false;
}

/* Carry out an integer instruction; false when it is unknown. */
static bool execute(struct core *core, const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
	uint64_t result;

	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVNTI:
		write_operand(core, &operands[0], read_operand(core, &operands[1]));
		return true;
	case ZYDIS_MNEMONIC_XADD: {
		uint64_t before = read_operand(core, &operands[0]);

		result = before + read_operand(core, &operands[1]);
		write_operand(core, &operands[1], before);
		break;
	}
	case ZYDIS_MNEMONIC_ADD:
		result = read_operand(core, &operands[0]) + read_operand(core, &operands[1]);
		break;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CMP:
		result = read_operand(core, &operands[0]) - read_operand(core, &operands[1]);
		break;
	case ZYDIS_MNEMONIC_AND:
		result = read_operand(core, &operands[0]) & read_operand(core, &operands[1]);
		break;
	case ZYDIS_MNEMONIC_XOR:
		result = read_operand(core, &operands[0]) ^ read_operand(core, &operands[1]);
		break;
	case ZYDIS_MNEMONIC_SHL:
		result = read_operand(core, &operands[0]) << (read_operand(core, &operands[1]) & 63);
		break;
	case ZYDIS_MNEMONIC_SHR:
		result = read_operand(core, &operands[0]) >> (read_operand(core, &operands[1]) & 63);
		break;
	case ZYDIS_MNEMONIC_IMUL:
		if (instruction->operand_count_visible != 2)
			return false;
		write_operand(core, &operands[0], read_operand(core, &operands[0]) * read_operand(core, &operands[1]));
		return true;
	case ZYDIS_MNEMONIC_PUSH:
		core->general[4] -= 8;
		memcpy((void *)core->general[4], &(uint64_t){read_operand(core, &operands[0])}, 8);
		return true;
	case ZYDIS_MNEMONIC_POP:
		memcpy(&result, (void *)core->general[4], 8);
		core->general[4] += 8;
		write_operand(core, &operands[0], result);
		return true;
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_JMP:
		if (instruction->mnemonic == ZYDIS_MNEMONIC_JMP ||
		    core->zero == (instruction->mnemonic == ZYDIS_MNEMONIC_JZ))
			core->next += (uintptr_t)operands[0].imm.value.s;
		return true;
	case ZYDIS_MNEMONIC_RET:
		core->returned = true;
		return true;
	default:
		return false;
	}
	core->zero = operands[0].size == 32 ? !(uint32_t)result : !result;
	if (instruction->mnemonic != ZYDIS_MNEMONIC_CMP)
		write_operand(core, &operands[0], result);
	return true;
}

static void note_access(struct walk *walk, uintptr_t address, unsigned bytes, bool store, bool nontemporal)
{
	if (store) {
		walk->stores++;
		walk->stored_bytes += bytes;
	} else {
		walk->loads++;
		walk->loaded_bytes += bytes;
	}
	if (walk->on_access)
		walk->on_access(walk->context,
		                &(struct walk_access){
		                    .address = address, .bytes = bytes, .store = store, .nontemporal = nontemporal});
}

/* One round of a repeated string instruction, which is also what the trap flag stops after. False when it is none. */
static bool string_round(struct core *core, const ZydisDecodedInstruction *instruction, uintptr_t at, struct walk *walk)
{
	uint64_t *count = &core->general[1], *from = &core->general[6], *to = &core->general[7]; /* rcx, rsi, rdi */
	bool moves = instruction->mnemonic == ZYDIS_MNEMONIC_MOVSB;

	if ((!moves && instruction->mnemonic != ZYDIS_MNEMONIC_STOSB) ||
	    !(instruction->attributes & ZYDIS_ATTRIB_HAS_REP))
		return false;
	if (!*count)
		return true;
	if (moves)
		note_access(walk, *from, 1, false, false);
	note_access(walk, *to, 1, true, false);
	*(unsigned char *)*to = moves ? *(unsigned char *)*from : (unsigned char)core->general[0];
	*from += moves;
	++*to;
	if (--*count)
		core->next = at;
	return true;
}

bool walk_kernel(fm_kernel_function function, struct fm_kernel_arguments *arguments, struct walk *walk)
{
	struct core core = {.next = (uintptr_t)function};
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	core.general[7] = (uintptr_t)arguments; /* rdi */
	core.general[4] = (uintptr_t)&core.stack[STACK_WORDS];
	while (!core.returned) {
		ZydisDecodedInstruction instruction;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		uintptr_t at = core.next;
		const ZydisDecodedOperand *memory = NULL;
		uintptr_t address = 0;
		bool nontemporal = false, vector, counted;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, (void *)at, ZYDIS_MAX_INSTRUCTION_LENGTH,
		                                         &instruction, operands))) {
			snprintf(walk->problem, sizeof(walk->problem), "cannot decode the instruction at +%zu",
			         (size_t)(at - (uintptr_t)function));
			return false;
		}
		if (walk->instructions++ > INSTRUCTIONS_MAX) {
			snprintf(walk->problem, sizeof(walk->problem), "does not end");
			return false;
		}
		walk->path = walk_hash(walk->path, at);
		core.next = at + instruction.length;
		if (string_round(&core, &instruction, at, walk))
			continue;
		/* nops name memory without touching it */
		for (unsigned i = 0;
		     i < instruction.operand_count_visible && instruction.mnemonic != ZYDIS_MNEMONIC_NOP; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
				memory = &operands[i];
				address = address_of(&core, memory);
			}
		counted = memory && !(address >= (uintptr_t)arguments && address < (uintptr_t)(arguments + 1)) &&
		          !(address >= (uintptr_t)core.stack && address < (uintptr_t)(core.stack + STACK_WORDS));
		vector = count_vector(&instruction, operands, walk, &nontemporal);
		if (!vector && !execute(&core, &instruction, operands)) {
			snprintf(walk->problem, sizeof(walk->problem), "the walker does not know \"%s\"",
			         ZydisMnemonicGetString(instruction.mnemonic));
			return false;
		}
		if (instruction.mnemonic == ZYDIS_MNEMONIC_MOVNTI)
			nontemporal = true;
		if (!counted)
			continue;
		if (memory->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			note_access(walk, address, memory->size / 8, false, false);
		if (memory->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			note_access(walk, address, memory->size / 8, true, nontemporal);
			if (walk->partner && !vector)
				++*(uint64_t *)address;
		}
	}
	return true;
}
