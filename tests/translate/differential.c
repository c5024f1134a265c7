/* Random sequences of instructions, once on the processor itself and once from the cache, from the same state:
   registers, flags, x87 and vector registers and memory must end the same. The same seed gives the same sequences.
   test_differential [FIRST COUNT]: other sequences, for instance 1 10000000. */
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/random.h"
#include "trace/plan.h"
#include "translate/harness.h"
#include "translate/x86_64/instruction.h"
#include "check.h"

enum {
	MEMORY_SIZE = 4096,
	STACK_BYTES = 4096,
	CODE_SIZE = 8 << 20,
	POOL = 1500,
	SEQUENCES_PER_POOL = 4000,
	DEFAULT_SEQUENCES = 280000,
	STEPPED_SEQUENCES = 1400,
	MOST_CODE = 4096,
};

static const struct {
	ZydisMnemonic mnemonic;
	const char *operands;
} templates[] = {
#define INSTRUCTION(name, operands) {ZYDIS_MNEMONIC_##name, operands},
#include "translate/instructions.def"
#undef INSTRUCTION
};

/* an instruction that can be put anywhere */
struct piece {
	uint8_t bytes[15];
	uint8_t length;
	uint8_t displacement_at; /* of an operand relative to the instruction; 0: none */
	uint16_t target;         /* which byte of the memory that is */
};

static struct fm_random randomness;
static uint8_t *area; /* memory, stack, code: near to each other */
static uint8_t *memory, *stack, *code;
static uint8_t initial_memory[MEMORY_SIZE], initial_stack[STACK_BYTES];
static struct piece pool[POOL];
static unsigned pointer, index_register; /* hold addresses */
static ZydisDecoder decoder;
static uint64_t made[sizeof(templates) / sizeof(templates[0])]; /* pieces of each form */

static uint64_t below(uint64_t bound)
{
	return fm_random_below(&randomness, bound);
}

static ZydisRegister general_register(unsigned number, unsigned bytes)
{
	static const ZydisRegister first[] = {
	    [1] = ZYDIS_REGISTER_AL, [2] = ZYDIS_REGISTER_AX, [4] = ZYDIS_REGISTER_EAX, [8] = ZYDIS_REGISTER_RAX};
	static const ZydisRegister low[] = {ZYDIS_REGISTER_AL,  ZYDIS_REGISTER_CL,  ZYDIS_REGISTER_DL,
	                                    ZYDIS_REGISTER_BL,  ZYDIS_REGISTER_SPL, ZYDIS_REGISTER_BPL,
	                                    ZYDIS_REGISTER_SIL, ZYDIS_REGISTER_DIL};
	static const ZydisRegister high[] = {ZYDIS_REGISTER_AH, ZYDIS_REGISTER_CH, ZYDIS_REGISTER_DH,
	                                     ZYDIS_REGISTER_BH};

	if (bytes == 1) {
		if (number < 4 && !below(4))
			return high[number];
		return number < 8 ? low[number] : ZYDIS_REGISTER_R8B + (number - 8);
	}
	return first[bytes] + number;
}

static void choose_memory(ZydisEncoderOperand *operand, unsigned bytes)
{
	int64_t align = bytes >= 16 ? 32 : 1;

	operand->type = ZYDIS_OPERAND_TYPE_MEMORY;
	operand->mem.size = (uint16_t)bytes;
	switch (below(bytes >= 16 ? 3 : 4)) {
	case 0:
		operand->mem.base = ZYDIS_REGISTER_RIP;
		operand->mem.displacement = 0;
		return;
	case 1:
		operand->mem.index = general_register(index_register, 8);
		operand->mem.scale = (uint8_t)(1u << below(4));
		/* fall through */
	case 2:
		operand->mem.base = general_register(pointer, 8);
		operand->mem.displacement = ((int64_t)below(2048) - 1024) / align * align;
		return;
	default:
		operand->mem.base = ZYDIS_REGISTER_RSP; /* the red zone too */
		operand->mem.displacement = (int64_t)below(256) - 128;
	}
}

static bool choose_operand(char letter, unsigned width, ZydisEncoderOperand *operand)
{
	static const struct {
		char letter;
		uint8_t bytes;
		bool memory;
	} kinds[] = {{'r', 0, false}, {'b', 1, false}, {'w', 2, false}, {'e', 4, false},
	             {'q', 8, false}, {'B', 1, true},  {'W', 2, true},  {'D', 4, true},
	             {'Q', 8, true},  {'X', 16, true}, {'Y', 32, true}};

	memset(operand, 0, sizeof(*operand));
	operand->type = ZYDIS_OPERAND_TYPE_REGISTER;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].letter == letter) {
			unsigned bytes = kinds[i].bytes ? kinds[i].bytes : width < 4 ? 4 : width;

			if (kinds[i].memory)
				choose_memory(operand, bytes);
			else
				operand->reg.value = general_register((unsigned)below(16), bytes);
			return true;
		}
	switch (letter) {
	case 'R':
		operand->reg.value = general_register((unsigned)below(16), width);
		return true;
	case 'M':
		choose_memory(operand, width);
		return true;
	case 'c':
		operand->reg.value = ZYDIS_REGISTER_CL;
		return true;
	case 'a':
		operand->reg.value = ZYDIS_REGISTER_AX;
		return true;
	case 'x':
		operand->reg.value = ZYDIS_REGISTER_XMM0 + (ZydisRegister)below(16);
		return true;
	case 'y':
		operand->reg.value = ZYDIS_REGISTER_YMM0 + (ZydisRegister)below(16);
		return true;
	case 'n':
		operand->reg.value = ZYDIS_REGISTER_MM0 + (ZydisRegister)below(8);
		return true;
	case 's':
		operand->reg.value = ZYDIS_REGISTER_ST0;
		return true;
	case 't':
		operand->reg.value = ZYDIS_REGISTER_ST0 + (ZydisRegister)below(8);
		return true;
	case 'i':
		operand->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
		operand->imm.s = width == 1 || below(2) ? (int64_t)below(127) : (int64_t)below(32000);
		return true;
	default:
		return false;
	}
}

/* Whether it stays inside the memory that sequences may touch. */
static bool is_safe(const struct piece *piece)
{
	struct instruction instruction;
	uint16_t kept = (uint16_t)(REGISTER_BIT(pointer) | REGISTER_BIT(index_register));

	fm_translate_decode(&decoder, (uint64_t)piece->bytes, piece->length, &instruction);
	if (instruction.class != CLASS_COPY || (instruction.writes & kept) || instruction.unknown_references > 1)
		return false;
	if ((instruction.writes & REGISTER_BIT(RSP)) && (piece->bytes[0] | 1) != 0xff && piece->bytes[0] != 0x8f) {
		ZydisDecodedInstruction decoded;

		ZydisDecoderDecodeInstruction(&decoder, NULL, piece->bytes, piece->length, &decoded);
		if (decoded.meta.category != ZYDIS_CATEGORY_PUSH && decoded.meta.category != ZYDIS_CATEGORY_POP)
			return false;
	}
	for (unsigned i = 0; i < instruction.reference_count; i++) {
		unsigned base = instruction.references[i].address.base;

		if (!instruction.references[i].address.absolute && base != pointer && base != RSP)
			return false;
	}
	return true;
}

static bool make_piece(struct piece *piece)
{
	static const uint8_t widths[] = {1, 2, 4, 8};
	unsigned which = (unsigned)below(sizeof(templates) / sizeof(templates[0])), width = widths[below(4)];
	ZydisEncoderRequest request = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
	                               .mnemonic = templates[which].mnemonic};
	ZyanUSize length = sizeof(piece->bytes);
	ZydisDecodedInstruction decoded;
	bool is_wide = false, is_relative = false;

	memset(piece, 0, sizeof(*piece));
	for (const char *letter = templates[which].operands; *letter; letter++) {
		ZydisEncoderOperand *operand = &request.operands[request.operand_count++];

		if (!choose_operand(*letter, width, operand))
			return false;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && *letter != 'c' &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) ==
		        ZYDIS_REGISTER_RSP)
			operand->reg.value = general_register(RBX, 8);           /* mostly useless, and then refused */
		operand->reg.is4 = request.operand_count == 4 && *letter == 'y'; /* a register in the immediate */
		is_wide |= operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.size >= 16;
		is_relative |= operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == ZYDIS_REGISTER_RIP;
	}
	if (request.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && !below(8))
		request.prefixes = ZYDIS_ATTRIB_HAS_LOCK;
	if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(&request, piece->bytes, &length)))
		return false;
	piece->length = (uint8_t)length;
	if (is_relative) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, piece->bytes, length, &decoded)))
			return false;
		piece->displacement_at = decoded.raw.disp.offset;
		piece->target = (uint16_t)(below((MEMORY_SIZE - 64) / 32) * 32 + (is_wide ? 0 : below(32)));
	}
	if (!is_safe(piece))
		return false;
	made[which]++;
	return true;
}

static void make_pool(void)
{
	do
		pointer = (unsigned)below(16);
	while (pointer == RSP);
	do
		index_register = (unsigned)below(16);
	while (index_register == RSP || index_register == pointer);
	for (unsigned i = 0; i < POOL; i++)
		while (!make_piece(&pool[i]))
			;
}

/* A sequence: items, each of which may be branched to from items before it. */
enum { MOST_ITEMS = 24, MOST_FIXES = 64 };
struct sequence {
	uint8_t *start, *at;
	uint8_t *items[MOST_ITEMS + 1];
	struct {
		uint8_t *at;
		uint8_t bytes, to;
	} fixes[MOST_FIXES];
	unsigned item_count, item, fix_count;
	bool without_popf;
};

static void put(struct sequence *sequence, const void *bytes, size_t count)
{
	memcpy(sequence->at, bytes, count);
	sequence->at += count;
}

static void put_byte(struct sequence *sequence, unsigned byte)
{
	*sequence->at++ = (uint8_t)byte;
}

/* The end of an instruction that refers to a later item. */
static void refer(struct sequence *sequence, unsigned bytes)
{
	unsigned later = sequence->item_count - sequence->item;

	/* a short branch must reach */
	if (bytes == 1 && later > 2)
		later = 2;
	sequence->fixes[sequence->fix_count].at = sequence->at;
	sequence->fixes[sequence->fix_count].bytes = (uint8_t)bytes;
	sequence->fixes[sequence->fix_count++].to = (uint8_t)(sequence->item + 1 + below(later));
	memset(sequence->at, 0, bytes);
	sequence->at += bytes;
}

/* A register that may be overwritten. */
static unsigned free_register(void)
{
	unsigned number;

	do
		number = (unsigned)below(16);
	while (number == RSP || number == pointer || number == index_register);
	return number;
}

static bool is_kept(unsigned number)
{
	return number == pointer || number == index_register;
}

static void put_piece(struct sequence *sequence)
{
	const struct piece *piece = &pool[below(POOL)];
	uint8_t *start = sequence->at;

	put(sequence, piece->bytes, piece->length);
	if (piece->displacement_at) {
		int32_t displacement = (int32_t)(memory + piece->target - sequence->at);

		memcpy(start + piece->displacement_at, &displacement, 4);
	}
}

static void lea_item(struct sequence *sequence, unsigned number)
{
	put_byte(sequence, 0x48 | (number >= 8 ? 4u : 0));
	put_byte(sequence, 0x8d);
	put_byte(sequence, 5 | (number & 7) << 3);
	refer(sequence, 4);
}

static void push_register(struct sequence *sequence, unsigned number)
{
	if (number >= 8)
		put_byte(sequence, 0x41);
	put_byte(sequence, 0x50 | (number & 7));
}

static void put_conditional(struct sequence *sequence)
{
	if (below(2)) {
		put_byte(sequence, 0x70 | (unsigned)below(16));
		refer(sequence, 1);
	} else {
		put_byte(sequence, 0x0f);
		put_byte(sequence, 0x80 | (unsigned)below(16));
		refer(sequence, 4);
	}
}

static void put_jump(struct sequence *sequence)
{
	put_byte(sequence, 0xe9);
	refer(sequence, 4);
}

static void put_counted(struct sequence *sequence)
{
	unsigned opcode = 0xe0 + (unsigned)below(4);

	if (is_kept(RCX) && opcode != 0xe3)
		return;
	if (!below(3))
		put_byte(sequence, 0x67);
	put_byte(sequence, opcode);
	refer(sequence, 1);
}

static void put_call(struct sequence *sequence)
{
	put_byte(sequence, 0xe8);
	refer(sequence, 4);
}

static void put_indirect_jump(struct sequence *sequence)
{
	unsigned number = free_register();

	lea_item(sequence, number);
	if (number >= 8)
		put_byte(sequence, 0x41);
	put_byte(sequence, 0xff);
	put_byte(sequence, (below(2) ? 0xe0u : 0xd0u) | (number & 7)); /* jmp or call */
}

/* through memory relative to the instruction */
static void put_memory_jump(struct sequence *sequence)
{
	unsigned number = free_register(), offset = (unsigned)below(100) * 8;
	int32_t displacement;

	lea_item(sequence, number);
	put_byte(sequence, 0x48 | (number >= 8 ? 4u : 0));
	put_byte(sequence, 0x89);
	put_byte(sequence, 5 | (number & 7) << 3);
	displacement = (int32_t)(memory + offset - (sequence->at + 4));
	put(sequence, &displacement, 4);
	put_byte(sequence, 0xff);
	put_byte(sequence, below(2) ? 0x25 : 0x15);
	displacement = (int32_t)(memory + offset - (sequence->at + 4));
	put(sequence, &displacement, 4);
}

/* a return that no call belongs to */
static void put_return(struct sequence *sequence)
{
	unsigned number = free_register();

	lea_item(sequence, number);
	push_register(sequence, number);
	if (below(2)) {
		put_byte(sequence, 0xc3);
	} else {
		put_byte(sequence, 0xc2);
		put_byte(sequence, 8 * (unsigned)below(3));
		put_byte(sequence, 0);
	}
}

/* jmp over; function: piece; ret; over: call function */
static void put_function(struct sequence *sequence)
{
	uint8_t *over, *function;
	int32_t displacement;

	put_byte(sequence, 0xeb);
	over = sequence->at++;
	function = sequence->at;
	for (unsigned i = (unsigned)below(3); i; i--) {
		uint8_t *before = sequence->at;
		struct instruction instruction;

		put_piece(sequence);
		fm_translate_decode(&decoder, (uint64_t)before, 15, &instruction);
		if (instruction.writes & REGISTER_BIT(RSP))
			sequence->at = before;
		/* nor may it write over the return address */
		for (unsigned k = 0; k < instruction.reference_count; k++)
			if (instruction.references[k].address.base == RSP &&
			    (instruction.references[k].kind & FM_TRANSLATE_STORE))
				sequence->at = before;
		if (instruction.unknown_references)
			sequence->at = before;
	}
	put_byte(sequence, 0xc3);
	*over = (uint8_t)(sequence->at - over - 1);
	for (unsigned i = 1 + (unsigned)below(2); i; i--) {
		put_byte(sequence, 0xe8);
		displacement = (int32_t)(function - (sequence->at + 4));
		put(sequence, &displacement, 4);
	}
}

static void put_flags(struct sequence *sequence)
{
	uint32_t flags = (uint32_t)below(0x1000) & 0xcd5;

	if (sequence->without_popf)
		return;
	put_byte(sequence, 0x68);
	put(sequence, &flags, 4);
	put_byte(sequence, 0x9d);
}

/* rep on addresses that fit in both directions */
static void put_string(struct sequence *sequence)
{
	static const uint8_t opcodes[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf};
	int32_t displacement;

	if (is_kept(RSI) || is_kept(RDI) || is_kept(RCX) || is_kept(RAX))
		return;
	for (unsigned number = RSI; number <= RDI; number++) {
		put_byte(sequence, 0x48);
		put_byte(sequence, 0x8d);
		put_byte(sequence, 5 | number << 3);
		displacement = (int32_t)(memory + 1024 + below(2048) - (sequence->at + 4));
		put(sequence, &displacement, 4);
	}
	put_byte(sequence, 0xb9);
	displacement = (int32_t)below(64);
	put(sequence, &displacement, 4);
	if (below(4))
		put_byte(sequence, below(2) ? 0xf2 : 0xf3);
	if (below(2))
		put_byte(sequence, 0x48);
	put_byte(sequence, opcodes[below(sizeof(opcodes))]);
}

static void put_thread_pointer(struct sequence *sequence)
{
	unsigned number = free_register();
	static const uint8_t offsets[] = {0x00, 0x10, 0x28};

	put_byte(sequence, 0x64);
	put_byte(sequence, 0x48 | (number >= 8 ? 4u : 0));
	put_byte(sequence, 0x8b);
	put_byte(sequence, 4 | (number & 7) << 3);
	put_byte(sequence, 0x25);
	put_byte(sequence, offsets[below(3)]);
	put(sequence, "\0\0\0", 3);
}

static void put_division(struct sequence *sequence)
{
	unsigned number = free_register();

	if (is_kept(RAX) || is_kept(RDX) || number == RAX || number == RDX)
		return;
	put(sequence, "\x31\xd2", 2);                      /* xor %edx, %edx */
	put_byte(sequence, 0x48 | (number >= 8 ? 1u : 0)); /* or $1, number */
	put_byte(sequence, 0x83);
	put_byte(sequence, 0xc8 | (number & 7));
	put_byte(sequence, 1);
	put_byte(sequence, 0x48 | (number >= 8 ? 1u : 0)); /* div number */
	put_byte(sequence, 0xf7);
	put_byte(sequence, 0xf0 | (number & 7));
}

static void put_call_pop(struct sequence *sequence)
{
	put(sequence, "\xe8\0\0\0\0", 5);
	if (!is_kept(RBX))
		put_byte(sequence, 0x5b);
}

static void put_gather(struct sequence *sequence)
{
	int32_t displacement;

	if (is_kept(RSI))
		return;
	put(sequence, "\x48\x8d\x35", 3); /* lea memory(%rip), %rsi */
	displacement = (int32_t)(memory + 512 - (sequence->at + 4));
	put(sequence, &displacement, 4);
	put(sequence, "\xc5\xf1\xef\xc9", 4);         /* vpxor %xmm1, %xmm1, %xmm1 */
	put(sequence, "\xc5\xe9\x76\xd2", 4);         /* vpcmpeqd %xmm2, %xmm2, %xmm2 */
	put(sequence, "\xc4\xe2\x69\x90\x04\x8e", 6); /* vpgatherdd %xmm2, (%rsi, %xmm1, 4), %xmm0 */
}

static void (*const specials[])(struct sequence *) = {
    put_conditional,    put_conditional, put_conditional, put_jump,     put_counted, put_call,
    put_indirect_jump,  put_memory_jump, put_return,      put_function, put_flags,   put_string,
    put_thread_pointer, put_division,    put_call_pop,    put_gather,
};

/* Returns the end. */
static uint8_t *make_sequence(struct sequence *sequence, uint8_t *at, bool without_popf)
{
	uint64_t end = (uint64_t)harness_end;

	memset(sequence, 0, sizeof(*sequence));
	sequence->start = sequence->at = at;
	sequence->item_count = 4 + (unsigned)below(MOST_ITEMS - 4);
	sequence->without_popf = without_popf;
	for (; sequence->item < sequence->item_count; sequence->item++) {
		sequence->items[sequence->item] = sequence->at;
		if (below(3))
			put_piece(sequence);
		else
			specials[below(sizeof(specials) / sizeof(specials[0]))](sequence);
	}
	sequence->items[sequence->item_count] = sequence->at;
	put(sequence, "\xff\x25\0\0\0\0", 6);
	put(sequence, &end, 8);
	for (unsigned i = 0; i < sequence->fix_count; i++) {
		int64_t distance =
		    sequence->items[sequence->fixes[i].to] - (sequence->fixes[i].at + sequence->fixes[i].bytes);
		int32_t value = (int32_t)distance;

		assert_true(sequence->fixes[i].bytes == 4 || distance < 128);
		memcpy(sequence->fixes[i].at, &value, sequence->fixes[i].bytes);
	}
	return sequence->at;
}

static void fill(void *bytes, size_t size)
{
	uint64_t *words = bytes;

	for (size_t i = 0; i < size / 8; i++)
		words[i] = fm_random_next(&randomness);
}

static void make_state(struct state *state)
{
	uint8_t *vectors = state->vectors;
	static const uint64_t header[8] = {7};

	fill(state->registers, sizeof(state->registers));
	for (unsigned i = 0; i < 16; i++) /* small numbers too */
		if (below(2))
			state->registers[i] &= below(2) ? 0xff : 0;
	state->registers[RSP] = (uint64_t)stack + STACK_BYTES / 2 + below(64);
	state->registers[pointer] = (uint64_t)memory + MEMORY_SIZE / 2;
	state->registers[index_register] = below(4) * 32;
	state->flags = 0x202 | (below(0x1000) & 0x8d5);
	memset(vectors, 0, VECTOR_BYTES);
	fill(vectors + 32, 8 * 16 + 16 * 16);
	for (unsigned i = 0; i < 8; i++) /* of 80 bits */
		memset(vectors + 32 + 16 * i + 10, 0, 6);
	vectors[0] = 0x7f;
	vectors[1] = 0x03;
	vectors[4] = (uint8_t)below(256);
	vectors[24] = 0x80;
	vectors[25] = 0x1f;
	memcpy(vectors + 512, header, sizeof(header));
	fill(vectors + 576, 256);
}

/* xsave leaves parts alone that are in their initial state; the address of the last x87 instruction is the cache's. */
static void normalise(struct state *state)
{
	uint64_t present;

	memcpy(&present, state->vectors + 512, 8);
	if (!(present & 1)) {
		memset(state->vectors, 0, 24);
		memset(state->vectors + 32, 0, 128);
		state->vectors[0] = 0x7f;
		state->vectors[1] = 0x03;
	}
	if (!(present & 2))
		memset(state->vectors + 160, 0, 256);
	memset(state->vectors + 6, 0, 18);
	memset(state->vectors + 416, 0, 576 - 416);
}

static void run_native(struct state *state, const uint8_t *start)
{
	memcpy(memory, initial_memory, MEMORY_SIZE);
	memcpy(stack, initial_stack, STACK_BYTES);
	harness_run(state, start);
	normalise(state);
}

static void run_translated(struct fm_translator *translator, struct state *state, const uint8_t *start)
{
	memcpy(memory, initial_memory, MEMORY_SIZE);
	memcpy(stack, initial_stack, STACK_BYTES);
	fm_translator_enter(translator);
	harness_run(state, start);
	fm_translator_leave();
	normalise(state);
}

static void print_sequence(const struct sequence *sequence)
{
	ZydisFormatter formatter;

	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	printf("pointer %u index %u memory %p stack %p\n", pointer, index_register, (void *)memory, (void *)stack);
	for (const uint8_t *at = sequence->start; at < sequence->at - 8;) {
		ZydisDecodedInstruction decoded;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		char text[128];

		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, at, 15, &decoded, operands)))
			break;
		ZydisFormatterFormatInstruction(&formatter, &decoded, operands, decoded.operand_count_visible, text,
		                                sizeof(text), (uint64_t)at, NULL);
		printf("%p %s\n", (const void *)at, text);
		at += decoded.length;
	}
}

static bool compare(const char *what, uint64_t number, const struct state *native, const struct state *translated,
                    const uint8_t *native_memory, const uint8_t *native_stack)
{
	bool same = true;

	for (unsigned i = 0; i < 16; i++)
		if (native->registers[i] != translated->registers[i]) {
			printf("%s %lu: register %u is %lx, natively %lx\n", what, number, i, translated->registers[i],
			       native->registers[i]);
			same = false;
		}
	if (native->flags != translated->flags) {
		printf("%s %lu: flags are %lx, natively %lx\n", what, number, translated->flags, native->flags);
		same = false;
	}
	for (unsigned i = 0; i < VECTOR_BYTES; i++)
		if (native->vectors[i] != translated->vectors[i]) {
			printf("%s %lu: byte %u of the vector state differs\n", what, number, i);
			same = false;
			break;
		}
	for (unsigned i = 0; i < MEMORY_SIZE; i++)
		if (native_memory[i] != memory[i] || native_stack[i] != stack[i]) {
			printf("%s %lu: byte %u of memory or stack differs\n", what, number, i);
			same = false;
			break;
		}
	return same;
}

/* Different ways to translate; the state is the same for all of them. */
static uint64_t references;
static enum fm_translate_choice choose_logged(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_LOGGED;
}
static enum fm_translate_choice choose_called(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return site->pc >= (uint64_t)code && site->pc < (uint64_t)code + CODE_SIZE ? FM_TRANSLATE_CALLED
	                                                                           : FM_TRANSLATE_IGNORE;
}
static enum fm_translate_choice choose_mixed(void *context, const struct fm_translate_site *site)
{
	static const enum fm_translate_choice choices[] = {FM_TRANSLATE_LOGGED, FM_TRANSLATE_IGNORE,
	                                                   FM_TRANSLATE_LOGGED, FM_TRANSLATE_CALLED};

	(void)context;
	return choices[(site->pc * 0x9e3779b97f4a7c15u) >> 62];
}
static void on_reference(void *context, const struct fm_translate_site *site, uint64_t address)
{
	(void)context;
	(void)site;
	(void)address;
	references++;
}
static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	(void)entries;
	references += count;
}

/* Half of all lines, or all of them. */
static const struct fm_translate_filter half = {0x9e3779b1u & ~127u, 0x80000000u, 0x1280},
                                        whole = {0x85ebca6bu & ~127u, 0xffffffffu, 0};
static enum fm_translate_choice choose_filtered(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_FILTERED;
}
static void on_filtered_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	const struct fm_translate_filter *filter = context;

	for (size_t i = 0; i < count; i++) {
		bool repeated = entries[i].site & 1;

		assert_true(repeated || fm_translate_is_followed(filter, entries[i].address));
		i += repeated; /* how often */
		assert_true(i < count && entries[i].site == entries[i - repeated].site);
	}
	references += count;
}
static uint32_t number_filtered(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return ((uint32_t)site->pc & 0xffffff) << 1 | !!(site->kind & FM_TRANSLATE_REPEATED);
}

/* Sometimes every reference, sometimes few: the countdown is set again each time it ends. */
static struct fm_translator *counting;
static enum fm_translate_choice choose_counted(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_COUNTED;
}
static uint64_t counted_until;
static bool on_counted(void *context, const struct fm_translate_site *site, uint64_t address, const uint64_t *registers)
{
	static uint64_t random = 88172645463325252u;

	(void)context;
	(void)address;
	(void)registers;
	references++;
	random = random * 6364136223846793005u + site->pc;
	fm_translator_set_countdown(counting, random >> 61);
	return !counted_until || --counted_until;
}

/* Pieces are numbered as they come. What was executed is known from their counters, and from the log. */
static struct fm_translate_piece pieces[FM_TRANSLATE_PIECES];
static uint32_t piece_count;
static uint64_t logged_instructions, logged_pieces, other_numbers;
static uint32_t number_piece(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	assert_true(piece_count < FM_TRANSLATE_PIECES && piece->instructions);
	pieces[piece_count] = *piece;
	return piece_count++;
}
static uint32_t number_site(void *context, const struct fm_translate_site *site)
{
	(void)context;
	return (uint32_t)site->pc & 0xfffffff;
}

static bool is_in_code(uint64_t pc)
{
	return pc >= (uint64_t)code && pc < (uint64_t)code + CODE_SIZE;
}

static void on_piece_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)entries[i].site & (FM_TRANSLATE_PIECE_ENTRY - 1);

		if (!(entries[i].site & FM_TRANSLATE_PIECE_ENTRY)) {
			references++;
		} else if (entries[i].site >> 29 || number >= piece_count) {
			other_numbers++;
		} else if (is_in_code(pieces[number].pc)) {
			logged_pieces++;
			logged_instructions += pieces[number].instructions;
		}
	}
}

/* From one translator to the other and back, whenever the fuel of one is used up. */
static struct fm_translator *handing[2], *stepper;
static unsigned handing_now;
static uint64_t hand_overs;
static void hand_to_other(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	static uint64_t random = 88172645463325252u;
	struct fm_translator *from = handing[handing_now];

	(void)context;
	(void)registers;
	if (reason != FM_LEFT_FUEL)
		return;
	random = random * 6364136223846793005u + pc;
	handing_now = !handing_now;
	fm_translator_set_fuel(handing[handing_now], random >> 58 & (random >> 20 & 1 ? 63 : 7));
	fm_translator_hand_over(from, handing[handing_now]);
	hand_overs++;
	if (stepper)
		stepper = handing[handing_now];
}

/* With undo: the latest log, and the state at the beginning of the burst. */
static uint8_t kept_memory[MEMORY_SIZE], kept_stack[STACK_BYTES];
static struct fm_plan_log undo_log;
static struct fm_translate_state kept_state;
static struct fm_translator *rewinding; /* NULL: nothing is set back */
static uint64_t rewound;
static void on_undo_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	undo_log.entries = entries;
	undo_log.count = count;
	for (size_t i = 0; i < count; i++)
		references += !(entries[i].site & (FM_TRANSLATE_PIECE_ENTRY | FM_TRANSLATE_OLD_ENTRY));
}
static void set_back(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	(void)context;
	(void)reason;
	(void)pc;
	(void)registers;
	if (!rewinding)
		return;
	fm_plan_undo(&undo_log);
	assert_memory_equal(memory, kept_memory, MEMORY_SIZE);
	assert_memory_equal(stack, kept_stack, STACK_BYTES);
	fm_translator_rewind(rewinding, &kept_state);
	rewound++;
}

/* One in four pieces. */
static uint32_t number_visited(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	return piece->pc * 0x9e3779b97f4a7c15u >> 62 ? FM_TRANSLATE_NO_PIECE : 0;
}
static uint64_t visit_times[8], visits_timed;
static unsigned visited_way;
static bool on_visit(void *context);

static const struct {
	const char *name;
	bool near, with_fuel, counted, count_pieces, log_pieces, handed, undo, visits;
	unsigned copies; /* of loops */
	const struct fm_translate_filter *filter;
	struct fm_translate_client client;
} ways[] = {
    {.name = "near", .near = true},
    {.name = "far"},
    {.name = "fuel", .with_fuel = true},
    {.name = "near, logged", .near = true, .client = {.choose = choose_logged, .on_log = on_log}},
    {.name = "far, logged", .client = {.choose = choose_logged, .on_log = on_log}},
    {.name = "called", .client = {.choose = choose_called, .on_reference = on_reference}},
    {.name = "mixed",
     .with_fuel = true,
     .client = {.choose = choose_mixed, .on_reference = on_reference, .on_log = on_log}},
    {.name = "near, pieces", .near = true, .count_pieces = true, .client = {.number_piece = number_piece}},
    {.name = "far, pieces, copied loops", .count_pieces = true, .copies = 4, .client = {.number_piece = number_piece}},
    {.name = "far, pieces and log",
     .count_pieces = true,
     .log_pieces = true,
     .client =
         {.choose = choose_logged, .on_log = on_piece_log, .number_piece = number_piece, .number_site = number_site}},
    {.name = "near, log of pieces",
     .near = true,
     .log_pieces = true,
     .client = {.choose = choose_mixed,
                .on_reference = on_reference,
                .on_log = on_piece_log,
                .number_piece = number_piece,
                .number_site = number_site}},
    {.name = "handed over",
     .near = true,
     .with_fuel = true,
     .handed = true,
     .count_pieces = true,
     .client = {.choose = choose_mixed,
                .on_reference = on_reference,
                .on_log = on_log,
                .number_piece = number_piece,
                .on_leave = hand_to_other}},
    {.name = "near, filtered",
     .near = true,
     .count_pieces = true,
     .filter = &half,
     .client = {.context = (void *)&half,
                .choose = choose_filtered,
                .on_log = on_filtered_log,
                .number_site = number_filtered,
                .number_piece = number_piece}},
    {.name = "far, filtered",
     .count_pieces = true,
     .filter = &whole,
     .client = {.context = (void *)&whole,
                .choose = choose_filtered,
                .on_log = on_filtered_log,
                .number_site = number_filtered,
                .number_piece = number_piece}},
    {.name = "far, visits, copied loops",
     .visits = true,
     .copies = 4,
     .client = {.number_piece = number_visited, .on_visit = on_visit}},
    {.name = "far, log to undo",
     .with_fuel = true,
     .log_pieces = true,
     .undo = true,
     .client = {.choose = choose_logged,
                .on_log = on_undo_log,
                .number_piece = number_piece,
                .number_site = number_site,
                .on_leave = set_back}},
    {.name = "near, counted",
     .near = true,
     .counted = true,
     .client = {.choose = choose_counted, .on_counted = on_counted}},
    {.name = "far, counted",
     .with_fuel = true,
     .counted = true,
     .client = {.choose = choose_counted, .on_counted = on_counted}},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), IN_BURSTS = 3 /* the last ones */ };
static struct fm_translator *translators[WAYS], *partners[WAYS];

static void await_visits(unsigned way)
{
	if (ways[way].visits)
		fm_translator_set_visits(translators[way], 1 + below(2), 1 + below(2), visit_times,
		                         1 + (unsigned)below(3));
}

static bool on_visit(void *context)
{
	(void)context;
	visits_timed++;
	await_visits(visited_way);
	return true;
}

static void flush_all(void)
{
	for (unsigned i = 0; i < WAYS; i++) {
		fm_translator_flush(translators[i]);
		if (partners[i])
			fm_translator_flush(partners[i]);
		if (ways[i].count_pieces)
			memset(fm_translator_counters(translators[i]), 0, piece_count * sizeof(uint64_t));
		else
			assert_null(fm_translator_counters(translators[i]));
	}
	piece_count = 0;
}

/* Instructions of the tested sequences. */
static uint64_t counted_instructions(unsigned way, uint32_t from, bool as_pieces)
{
	const uint64_t *counters = fm_translator_counters(translators[way]);
	uint64_t sum = 0;

	for (uint32_t i = from; i < piece_count; i++)
		if (is_in_code(pieces[i].pc))
			sum += counters[i] * (as_pieces ? 1 : pieces[i].instructions);
	return sum;
}

static void begin_handing(unsigned way)
{
	handing[0] = translators[way];
	handing[1] = partners[way];
	handing_now = 0;
}

static int set_up(void **unused)
{
	unsigned low, high;

	(void)unused;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	harness_mask = low & 7;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	area = mmap(NULL, MEMORY_SIZE + STACK_BYTES + CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
	            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(area != MAP_FAILED);
	memory = area;
	stack = area + MEMORY_SIZE;
	code = stack + STACK_BYTES;
	for (unsigned i = 0; i < WAYS; i++) {
		struct fm_translate_options options = {.near_to = ways[i].near ? (const void *)code
		                                                               : (const void *)0x100000000000,
		                                       .with_fuel = ways[i].with_fuel,
		                                       .generated_code = true,
		                                       .code_size = 4 << 20,
		                                       .log_entries = 4096,
		                                       .count_pieces = ways[i].count_pieces,
		                                       .loop_copies = ways[i].copies,
		                                       .log_pieces = ways[i].log_pieces,
		                                       .undo = ways[i].undo,
		                                       .visits = ways[i].visits,
		                                       .client = &ways[i].client};

		if (ways[i].filter)
			options.filter = *ways[i].filter;
		assert_int_equal(fm_translator_create(&options, &translators[i]), 0);
		if (ways[i].handed) {
			options.near_to = (const void *)0x100000000000;
			options.log_entries = 1000;
			assert_int_equal(fm_translator_create(&options, &partners[i]), 0);
		}
	}
	return 0;
}

static uint64_t first_sequence = 1, sequence_count = DEFAULT_SEQUENCES;

static void same_state(void **unused)
{
	static struct state before, native, translated;
	static uint8_t native_memory[MEMORY_SIZE], native_stack[STACK_BYTES];
	uint8_t *at = code;
	uint64_t failures = 0, counted_once = 0;
	uint32_t first_piece;

	(void)unused;
	for (uint64_t number = first_sequence; number < first_sequence + sequence_count; number++) {
		struct sequence sequence;
		unsigned way = (unsigned)(number % WAYS);

		if (number == first_sequence || number % SEQUENCES_PER_POOL == 0) {
			fm_random_seed(&randomness, number / SEQUENCES_PER_POOL);
			make_pool();
			fill(initial_memory, MEMORY_SIZE);
			fill(initial_stack, STACK_BYTES);
			flush_all();
			at = code;
		}
		fm_random_seed(&randomness, ~number);
		make_state(&before);
		at = make_sequence(&sequence, at, false);
		assert_true(at < code + CODE_SIZE - MOST_CODE);
		native = before;
		run_native(&native, sequence.start);
		memcpy(native_memory, memory, MEMORY_SIZE);
		memcpy(native_stack, stack, STACK_BYTES);
		/* The first run translates, and asks for the translator at every branch. The second finds everything
		 * chained. */
		first_piece = piece_count;
		for (unsigned again = 0; again < 2; again++) {
			logged_pieces = logged_instructions = 0;
			begin_handing(way);
			translated = before;
			fm_translator_set_fuel(translators[way], 30 + below(70));
			counting = translators[way];
			fm_translator_set_countdown(counting, below(4));
			visited_way = way;
			await_visits(way);
			/* some leave at a reference; the same for both runs */
			counted_until = number % 5 == 0 ? 1 + below(8) : 0;
			run_translated(translators[way], &translated, sequence.start);
			if (!compare(ways[way].name, number, &native, &translated, native_memory, native_stack)) {
				print_sequence(&sequence);
				assert_true(++failures < 3);
			}
			if (ways[way].count_pieces && !ways[way].with_fuel) {
				uint64_t counted = counted_instructions(way, first_piece, false);

				/* twice the same */
				if (again)
					assert_int_equal(counted, 2 * counted_once);
				counted_once = counted;
				assert_true(counted > 0);
			}
			if (ways[way].count_pieces && ways[way].log_pieces) {
				assert_int_equal(logged_pieces * (again + 1),
				                 counted_instructions(way, first_piece, true));
				assert_int_equal(logged_instructions * (again + 1),
				                 counted_instructions(way, first_piece, false));
			}
		}
	}
	assert_int_equal(failures, 0);
	assert_int_equal(other_numbers, 0);
	printf("%lu sequences, %lu references logged or called, %lu times handed over\n", sequence_count, references,
	       hand_overs);
	assert_true(sequence_count < 1000 || hand_overs > sequence_count / WAYS);
	for (unsigned i = 0; i < WAYS; i++) {
		const struct fm_translate_counts *counts = fm_translator_counts(translators[i]);

		printf("%s: %lu blocks, %lu instructions, %lu not logged\n", ways[i].name, counts->blocks,
		       counts->instructions, counts->unlogged);
		for (unsigned reason = 0; reason < FM_LEFT_REASONS; reason++) {
			if (counts->left[reason])
				printf("    left %lu times %s\n", counts->left[reason],
				       fm_translate_reason_text(reason));
			if (reason != FM_LEFT_ASKED && reason != FM_LEFT_FUEL &&
			    (reason != FM_LEFT_IRREVERSIBLE || !ways[i].undo))
				assert_int_equal(counts->left[reason], 0);
		}
		if (ways[i].with_fuel && sequence_count >= 1000)
			assert_true(counts->left[FM_LEFT_FUEL] > 0);
	}
	assert_true(sequence_count < 1000 || references > sequence_count);
	assert_true(sequence_count < 1000 || visits_timed > sequence_count / WAYS / 8);
	failures = 0;
	for (unsigned i = 0; sequence_count >= DEFAULT_SEQUENCES && i < sizeof(templates) / sizeof(templates[0]); i++)
		if (!made[i]) {
			printf("%s \"%s\" was never made\n", ZydisMnemonicGetString(templates[i].mnemonic),
			       templates[i].operands);
			failures++;
		}
	assert_int_equal(failures, 0);
}

/* Step by step: what fm_translator_settle() makes of any moment in the cache must be a state that the processor itself
   goes through, in the same order. */
enum { MOST_STEPS = 20000, GENERAL = 17 };
static uint64_t steps[MOST_STEPS][GENERAL + 1];
static unsigned step_count, step;
static uint64_t settled, between, step_failures, flags_lost;
static const struct sequence *stepped;

static void take_registers(const ucontext_t *context, uint64_t *registers)
{
	static const uint8_t order[GENERAL] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
	                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
	                                       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < GENERAL; i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	registers[GENERAL] = (uint64_t)context->uc_mcontext.gregs[REG_EFL] & ~(uint64_t)0x10100;
}

/* Where the program overwrites the flags soon, the cache may have done so before. */
static bool is_same(uint64_t *now, const uint64_t *native)
{
	uint64_t flags = now[GENERAL], lost = 0x8d4;
	struct instruction list[MOST_INSTRUCTIONS];
	bool same, dead[MOST_INSTRUCTIONS], all;
	unsigned count = 0;

	if (!memcmp(now, native, (GENERAL + 1) * sizeof(*now)))
		return true;
	if (!fm_translator_counters(stepper))
		return false;
	/* the rest of the block, as the translator looks at it */
	for (uint64_t pc = native[GENERAL - 1]; count < MOST_INSTRUCTIONS; pc += list[count++].length) {
		fm_translate_decode(&decoder, pc, 16, &list[count]);
		if (list[count].class != CLASS_COPY && list[count].class != CLASS_CONDITIONAL &&
		    list[count].class != CLASS_COUNTED) {
			count++;
			break;
		}
	}
	fm_translate_find_dead_flags(&decoder, list, count, (uint64_t)code, (uint64_t)code + CODE_SIZE, dead);
	all = dead[0] && stepper->filter.limit != 0;
	if (!all && !fm_translate_flags_die(&decoder, native[GENERAL - 1], (uint64_t)code, (uint64_t)code + CODE_SIZE))
		return false;
	if (all)
		lost |= 1;
	now[GENERAL] = (flags & ~lost) | (native[GENERAL] & lost);
	same = !memcmp(now, native, (GENERAL + 1) * sizeof(*now));
	now[GENERAL] = flags;
	flags_lost += same;
	return same;
}

/* A repeated instruction makes a step for each element. */
static uint64_t native_instructions(void)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < step_count; i++)
		count += !i || steps[i][GENERAL - 1] != steps[i - 1][GENERAL - 1];
	return count;
}

static void on_step(int signal_number, siginfo_t *information, void *pointer_to_context)
{
	ucontext_t *context = pointer_to_context, copy;
	uint64_t now[GENERAL + 1], pc;

	(void)signal_number;
	(void)information;
	if (!stepper) {
		pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
		if (pc == (uint64_t)harness_end)
			context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
		else if (pc >= (uint64_t)stepped->start && pc < (uint64_t)stepped->at && step_count < MOST_STEPS)
			take_registers(context, steps[step_count++]);
		return;
	}
	copy = *context;
	if (fm_translator_settle(stepper, &copy)) {
		between++;
		return;
	}
	pc = (uint64_t)copy.uc_mcontext.gregs[REG_RIP];
	if (pc == (uint64_t)harness_end)
		context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	if (pc >= (uint64_t)harness_run && pc <= (uint64_t)harness_end)
		return;
	take_registers(&copy, now);
	settled++;
	if (is_same(now, steps[step]))
		return;
	if (step + 1 < step_count && is_same(now, steps[step + 1])) {
		step++;
		return;
	}
	if (!step_failures++) {
		printf("step %u at %lx\n", step, pc);
		for (unsigned i = 0; i <= GENERAL; i++)
			printf("    %2u %16lx %16lx %16lx\n", i, now[i], steps[step][i],
			       steps[step + 1 < step_count ? step + 1 : step][i]);
	}
}

static void same_steps(void **unused)
{
	static uint8_t alternate[65536];
	static struct state before, native, translated;
	stack_t stack_for_signals = {.ss_sp = alternate, .ss_size = sizeof(alternate)}, stack_before;
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK}, action_before;
	uint8_t *at = code;
	uint32_t first_piece;
	uint64_t before_run;

	(void)unused;
	assert_int_equal(sigaltstack(&stack_for_signals, &stack_before), 0);
	assert_int_equal(sigaction(SIGTRAP, &action, &action_before), 0);
	for (uint64_t number = 0; number < STEPPED_SEQUENCES; number++) {
		struct sequence sequence;
		unsigned way = (unsigned)(number % WAYS);

		if (number % 400 == 0) {
			fm_random_seed(&randomness, number + 77);
			make_pool();
			fill(initial_memory, MEMORY_SIZE);
			fill(initial_stack, STACK_BYTES);
			flush_all();
			at = code;
		}
		make_state(&before);
		before.flags |= 0x100;
		at = make_sequence(&sequence, at, true);
		stepped = &sequence;
		step_count = step = 0;
		stepper = NULL;
		first_piece = piece_count;
		native = before;
		run_native(&native, sequence.start);
		if (number % 2) { /* everything chained */
			counting = translators[way];
			counted_until = 0;
			fm_translator_set_countdown(counting, below(4));
			translated = before;
			translated.flags &= ~(uint64_t)0x100;
			fm_translator_set_fuel(translators[way], 1000000);
			begin_handing(way);
			run_translated(translators[way], &translated, sequence.start);
		}
		first_piece = number % 2 ? first_piece : piece_count;
		before_run = ways[way].count_pieces ? counted_instructions(way, first_piece, false) : 0;
		logged_instructions = 0;
		begin_handing(way);
		stepper = counting = translators[way];
		visited_way = way;
		await_visits(way);
		translated = before;
		counted_until = 0;
		fm_translator_set_countdown(stepper, below(4));
		fm_translator_set_fuel(stepper, ways[way].handed ? 5 : 1000000);
		run_translated(stepper, &translated, sequence.start);
		if (ways[way].count_pieces && !ways[way].handed)
			assert_int_equal(counted_instructions(way, first_piece, false) - before_run,
			                 native_instructions());
		if (ways[way].log_pieces && !ways[way].undo)
			assert_int_equal(logged_instructions, native_instructions());
		if (step_failures || step + 1 != step_count) {
			printf("%s %lu: %u of %u steps\n", ways[way].name, number, step + 1, step_count);
			print_sequence(&sequence);
		}
		assert_int_equal(step_failures, 0);
		assert_int_equal(step + 1, step_count);
		assert_memory_equal(native.registers, translated.registers, sizeof(native.registers));
	}
	sigaction(SIGTRAP, &action_before, NULL);
	sigaltstack(&stack_before, NULL);
	stepper = NULL;
	printf("%d sequences, %lu moments settled, %lu of them with flags lost, %lu between two states\n",
	       STEPPED_SEQUENCES, settled, flags_lost, between);
	assert_true(settled > 20 * STEPPED_SEQUENCES);
}

/* Bursts: natively up to some instruction, in the cache from there on until a reference or the end of the fuel,
   natively again; or natively again from the begin of the burst, with everything set back. The mask of signals is the
   program's own again afterwards. */
static unsigned burst_at, burst_way;
static uint64_t bursts_begun, bursts_not_begun;
static void *burst_frame;
static uint32_t burst_release;

static void on_burst_step(int signal_number, siginfo_t *information, void *pointer_to_context)
{
	ucontext_t *context = pointer_to_context;
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

	(void)signal_number;
	(void)information;
	if (pc == (uint64_t)harness_end)
		context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	if (pc < (uint64_t)stepped->start || pc >= (uint64_t)stepped->at || step++ != burst_at)
		return;
	context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	burst_release = 1;
	if (rewinding) {
		undo_log.count = 0;
		memcpy(kept_memory, memory, MEMORY_SIZE);
		memcpy(kept_stack, stack, STACK_BYTES);
		assert_int_equal(fm_translator_keep_state(counting, context, &kept_state), 0);
	}
	if (fm_translator_begin_burst(counting, context, burst_frame, &burst_release))
		bursts_not_begun++;
	else
		bursts_begun++;
}

/* It stores the flag by which the test steps. */
static bool pushes_flags(const struct sequence *sequence)
{
	for (const uint8_t *at = sequence->start; at < sequence->at - 8;) {
		ZydisDecodedInstruction decoded;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, at, 15, &decoded, operands)))
			break;
		if (decoded.mnemonic == ZYDIS_MNEMONIC_PUSHFQ)
			return true;
		at += decoded.length;
	}
	return false;
}

static void same_after_bursts(void **unused)
{
	static uint8_t alternate[65536], native_memory[MEMORY_SIZE], native_stack[STACK_BYTES];
	static struct state before, native, translated;
	stack_t stack_for_signals = {.ss_sp = alternate, .ss_size = sizeof(alternate)}, stack_before;
	struct sigaction action = {.sa_sigaction = on_burst_step, .sa_flags = SA_SIGINFO | SA_ONSTACK}, action_before;
	sigset_t mask, mask_after;
	uint8_t *at = code;

	(void)unused;
	assert_non_null(kept_state.vectors = malloc(fm_translator_vectors_size(translators[WAYS - 1])));
	burst_frame =
	    mmap(NULL, fm_translator_frame_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(burst_frame != MAP_FAILED);
	assert_int_equal(sigaltstack(&stack_for_signals, &stack_before), 0);
	assert_int_equal(sigaction(SIGTRAP, &action, &action_before), 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	for (uint64_t number = 0; number < STEPPED_SEQUENCES; number++) {
		struct sequence sequence;

		burst_way = WAYS - 1 - (unsigned)(number % IN_BURSTS);
		assert_true(ways[burst_way].counted || ways[burst_way].undo);
		counting = translators[burst_way];
		rewinding = ways[burst_way].undo ? counting : NULL;
		if (number % 400 == 0) {
			fm_random_seed(&randomness, number + 78);
			make_pool();
			fill(initial_memory, MEMORY_SIZE);
			fill(initial_stack, STACK_BYTES);
			flush_all();
			at = code;
		}
		make_state(&before);
		before.flags &= ~(uint64_t)0x100;
		at = make_sequence(&sequence, at, true);
		stepped = &sequence;
		native = before;
		if (pushes_flags(&sequence))
			continue;
		run_native(&native, sequence.start);
		memcpy(native_memory, memory, MEMORY_SIZE);
		memcpy(native_stack, stack, STACK_BYTES);
		for (unsigned again = 0; again < 3; again++) {
			translated = before;
			translated.flags |= 0x100;
			step = 0;
			burst_at = below(30);
			counted_until = 1;
			fm_translator_set_countdown(counting, below(10));
			fm_translator_set_fuel(counting, 5 + below(60));
			run_native(&translated, sequence.start);
			translated.flags &= ~(uint64_t)0x100;
			if (!compare("burst", number, &native, &translated, native_memory, native_stack)) {
				print_sequence(&sequence);
				fail();
			}
			if (bursts_begun)
				assert_int_equal(burst_release, 0);
		}
	}
	rewinding = NULL;
	free(kept_state.vectors);
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	assert_true(sigismember(&mask_after, SIGUSR2) && !sigismember(&mask_after, SIGUSR1));
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTRAP, &action_before, NULL);
	sigaltstack(&stack_before, NULL);
	munmap(burst_frame, fm_translator_frame_size());
	printf("%lu bursts, %lu of them set back, %lu not begun\n", bursts_begun, rewound, bursts_not_begun);
	assert_true(bursts_begun > STEPPED_SEQUENCES && rewound > STEPPED_SEQUENCES / 4);
	assert_int_equal(bursts_not_begun, 0);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_state), cmocka_unit_test(same_steps),
	                                   cmocka_unit_test(same_after_bursts)};

	if (count == 3) {
		first_sequence = strtoull(arguments[1], NULL, 10);
		sequence_count = strtoull(arguments[2], NULL, 10);
	}
	return cmocka_run_group_tests(tests, set_up, NULL);
}
