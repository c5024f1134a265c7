/* The registers of a thread: which ones the translator saves, and the way from a place in the cache back to the
 * program. */
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "translate/x86_64/filter.h"
#include "translate/x86_64/making.h"
#include "translate/x86_64/strings.h"

/* A shadow stack knows only addresses that a call has pushed; the cache pushes them otherwise. */
static bool has_shadow_stack(void)
{
	const long status = 0x5005; /* ARCH_SHSTK_STATUS */
	uint64_t features = 0;

	return !syscall(SYS_arch_prctl, status, &features) && (features & 1);
}

int fm_translate_check(bool with_filter, uint64_t *ret_mask, size_t *ret_size)
{
	unsigned a, b, c, d, low, high;

	if (has_shadow_stack() || (with_filter && !fm_filter_possible()) || !__get_cpuid(1, &a, &b, &c, &d) ||
	    !(c & (1u << 27)))
		return -ENOTSUP;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
		return -ENOTSUP;
	/* x87, SSE, AVX, AVX-512: what C code may use. Tiles and protection keys it leaves alone. */
	*ret_mask = low & 0xe7u;
	*ret_size = b;
	return 0;
}

/* uc_flags … uc_sigmask of the kernel's struct ucontext, up to a multiple of 64 */
enum { KERNEL_CONTEXT = 304, FRAME_CONTEXT = 320 };

/* What a return from a signal takes: the kernel's layout, of which the first word is not used. */
struct burst_frame {
	uint64_t unused[7];
	uint64_t return_address;
	uint8_t context[FRAME_CONTEXT]; /* the beginning of a ucontext_t, as far as the kernel knows it */
	uint8_t vector_state[] __attribute__((aligned(64)));
};

enum { SYSTEM_CALL_BYTES = 2 };

/* What holds at an address in the cache. */
struct situation {
	uint64_t pc;
	struct place place;
};

static struct situation look_at(const struct fm_translator *translator, uint64_t address)
{
	struct situation situation = {.place = {.log_register = NO_REGISTER, .pc_kind = PC_UNKNOWN}};
	uint32_t offset = (uint32_t)(address - (uint64_t)translator->code), low = 0, high = translator->block_count, at;
	const struct block *block;

	/* two places where threads wait: a system call of the permanent code, and after it */
	if (address < (uint64_t)translator->code_start) {
		uint64_t call = (uint64_t)translator->call_code, next = translator->slots->next;
		uint64_t gate = (address - (uint64_t)translator->thread_gates) / THREAD_GATE_SIZE;

		if (address >= (uint64_t)translator->thread_gates && gate < translator->thread_gate_count) {
			call = (uint64_t)translator->thread_gates + gate * THREAD_GATE_SIZE;
			next = translator->thread_gate_pcs[gate];
		}
		if (address == call || address == call + SYSTEM_CALL_BYTES) {
			situation.place.pc_kind = address == call ? PC_STATIC : PC_AFTER_CALL;
			situation.pc = address == call ? next - SYSTEM_CALL_BYTES : next;
		}
		return situation;
	}
	if (address >= (uint64_t)translator->code_at || !translator->block_count)
		return situation;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (translator->blocks[middle].code <= offset)
			low = middle;
		else
			high = middle;
	}
	block = &translator->blocks[low];
	situation.pc = block->pc;
	at = block->code;
	for (uint32_t i = 0; i < block->place_count; i++) {
		const struct place *place = &translator->places[block->places + i];

		at += place->code;
		if (at > offset)
			break;
		situation.pc += (uint64_t)(int64_t)place->pc;
		situation.place = *place;
	}
	if (situation.place.pc_kind == PC_END)
		situation.pc = block->end_pc;
	return situation;
}

uint64_t fm_translator_origin(const struct fm_translator *translator, uint64_t address)
{
	struct situation situation;

	if (!fm_translator_holds(translator, address))
		return 0;
	situation = look_at(translator, address);
	return situation.place.pc_kind <= PC_AFTER_CALL ? situation.pc : 0;
}

static const uint8_t context_registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void set_context(ucontext_t *context, const uint64_t *registers)
{
	for (unsigned number = 0; number < 16; number++)
		context->uc_mcontext.gregs[context_registers[number]] = (greg_t)registers[number];
}

static void forget_burst(struct fm_translator *translator)
{
	translator->vector_state = translator->own_vector_state;
	translator->burst = NULL;
	translator->burst_release = NULL;
}

/* In the translator itself, where neither state is whole. */
static bool is_between(const struct fm_translator *translator, const ucontext_t *context)
{
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP],
	         stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];

	return (stack >= (uint64_t)translator->stack_start && stack <= (uint64_t)translator->stack_end) ||
	       (pc >= (uint64_t)fm_translator_enter && pc < (uint64_t)fm_translate_gate_end);
}

/* `follows`: entries of the instruction are in the log, but not counted there yet. */
static void settle_string(struct fm_translator *translator, const greg_t *registers, bool follows)
{
	const struct fm_translate_string_state now = {.count = (uint64_t)registers[REG_RCX],
	                                              .source = (uint64_t)registers[REG_RSI],
	                                              .destination = (uint64_t)registers[REG_RDI],
	                                              .flags = (uint64_t)registers[REG_EFL]};
	struct fm_translate_entry *end = (struct fm_translate_entry *)translator->slots->log_end;

	if (translator->client.choose && (uint64_t)registers[REG_RIP] >= (uint64_t)translator->code_start)
		translator->slots->log_end = (uint64_t)fm_translate_settle_string(
		    (const uint8_t *)registers[REG_RIP], translator->log_from, end, follows, &now);
}

int fm_translator_settle(struct fm_translator *translator, ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	struct situation situation;

	if (is_between(translator, context))
		return -EAGAIN;
	if (!fm_translator_holds(translator, (uint64_t)registers[REG_RIP]))
		return 0;
	situation = look_at(translator, (uint64_t)registers[REG_RIP]);
	switch ((enum pc_kind)situation.place.pc_kind) {
	case PC_STATIC:
	case PC_END:
		break;
	case PC_AFTER_CALL:
		registers[REG_RCX] = (greg_t)situation.pc;
		break;
	case PC_IN_RCX:
		situation.pc = (uint64_t)registers[REG_RCX];
		break;
	case PC_RCX_MINUS_R11:
		situation.pc = (uint64_t)registers[REG_RCX] - (uint64_t)registers[REG_R11];
		break;
	case PC_UNKNOWN:
		return -EAGAIN;
	}
	if (situation.place.log_register != NO_REGISTER)
		translator->slots->log_end = (uint64_t)registers[context_registers[situation.place.log_register]] +
		                             situation.place.logged * sizeof(struct fm_translate_entry);
	settle_string(translator, registers, situation.place.log_register != NO_REGISTER);
	for (unsigned number = 0; number < 16; number++)
		if (situation.place.held & REGISTER_BIT(number))
			registers[context_registers[number]] = (greg_t)translator->slots->registers[number];
	registers[REG_RIP] = (greg_t)situation.pc;
	if (translator->burst) {
		const ucontext_t *before = (const ucontext_t *)(const void *)translator->burst->context;

		memcpy(&context->uc_sigmask, &before->uc_sigmask, sizeof(uint64_t));
		forget_burst(translator);
	}
	return 0;
}

/* What the kernel writes into the bytes of the vector state that are for software (its signal frames). */
struct vector_words {
	uint32_t magic, size;
	uint64_t features;
	uint32_t state_size, unused[7];
};
enum { VECTOR_WORDS_AT = 464, VECTOR_MAGIC = 0x46505853 };

uint64_t fm_translate_mask_register(const struct fm_translator *translator, unsigned number)
{
	enum { COMPONENTS_AT = 512, MASKS = 5 };
	const uint8_t *state = translator->vector_state;
	unsigned size, at, c, d;
	uint64_t present, mask = 0;

	memcpy(&present, state + COMPONENTS_AT, sizeof(present));
	if (number > 7 || !(present >> MASKS & 1) || !__get_cpuid_count(0xd, MASKS, &size, &at, &c, &d) ||
	    at + 64 > translator->vector_size)
		return 0; /* none is set */
	memcpy(&mask, state + at + number * sizeof(mask), sizeof(mask));
	return mask;
}

size_t fm_translator_frame_size(void)
{
	uint64_t mask;
	size_t size;

	return fm_translate_check(false, &mask, &size) ? 0 : sizeof(struct burst_frame) + size + 64;
}

int fm_translator_keep_state(const struct fm_translator *translator, const ucontext_t *context,
                             struct fm_translate_state *ret_state)
{
	const uint8_t *vector_state = (const uint8_t *)context->uc_mcontext.fpregs;
	struct vector_words words;

	if (!vector_state)
		return -ENOTSUP;
	memcpy(&words, vector_state + VECTOR_WORDS_AT, sizeof(words));
	if (words.magic != VECTOR_MAGIC || words.size > translator->vector_size + 64)
		return -ENOTSUP;
	for (unsigned number = 0; number < 16; number++)
		ret_state->registers[number] = (uint64_t)context->uc_mcontext.gregs[context_registers[number]];
	ret_state->flags = (uint64_t)context->uc_mcontext.gregs[REG_EFL];
	ret_state->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	memcpy(ret_state->vectors, vector_state, words.size);
	return 0;
}

int fm_translator_begin_burst(struct fm_translator *translator, ucontext_t *context, void *memory, uint32_t *release)
{
	/* not SIGTRAP: breakpoints are never reached in the cache */
	const uint64_t faults =
	    1u << (SIGSEGV - 1) | 1u << (SIGBUS - 1) | 1u << (SIGFPE - 1) | 1u << (SIGILL - 1) | 1u << (SIGSYS - 1);
	greg_t *registers = context->uc_mcontext.gregs;
	const uint8_t *vector_state = (const uint8_t *)context->uc_mcontext.fpregs;
	struct burst_frame *frame = memory;
	struct vector_words words;
	uint64_t mask = ~faults;

	if (is_between(translator, context) || fm_translator_holds(translator, (uint64_t)registers[REG_RIP]))
		return -EAGAIN;
	if (!vector_state)
		return -ENOTSUP;
	memcpy(&words, vector_state + VECTOR_WORDS_AT, sizeof(words));
	if (words.magic != VECTOR_MAGIC || words.size > translator->vector_size + 64 ||
	    (words.features & translator->vector_mask) != translator->vector_mask)
		return -ENOTSUP;
	memcpy(frame->context, context, KERNEL_CONTEXT);
	memcpy(frame->vector_state, vector_state, words.size);
	((ucontext_t *)(void *)frame->context)->uc_mcontext.fpregs = (fpregset_t)(void *)frame->vector_state;
	translator->vector_state = frame->vector_state;
	translator->burst = frame;
	translator->burst_release = release;
	translator->slots->target = (uint64_t)registers[REG_RIP];
	registers[REG_RIP] = (greg_t)translator->burst_code;
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
	return 0;
}

static void restore_state(const struct fm_translate_state *state, ucontext_t *context)
{
	struct vector_words words;

	memcpy(&words, (const uint8_t *)state->vectors + VECTOR_WORDS_AT, sizeof(words));
	memcpy(context->uc_mcontext.fpregs, state->vectors, words.size);
	set_context(context, state->registers);
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)state->pc;
	context->uc_mcontext.gregs[REG_EFL] = (greg_t)state->flags;
}

void fm_translate_end_burst(struct fm_translator *translator)
{
	ucontext_t *context = (ucontext_t *)(void *)translator->burst->context;
	uint32_t *release = translator->burst_release;

	if (translator->rewound) {
		restore_state(translator->rewound, context);
	} else {
		set_context(context, translator->slots->registers);
		context->uc_mcontext.gregs[REG_RIP] = (greg_t)translator->slots->resume;
		context->uc_mcontext.gregs[REG_EFL] = (greg_t)translator->slots->flags;
	}
	forget_burst(translator);
	if (translator->successor)
		fm_translator_enter_context(translator->successor, context);
	__asm__ volatile("mov %0, %%rsp\n"
	                 "movl $0, (%1)\n"
	                 "syscall\n"
	                 :
	                 : "r"(context), "r"(release), "a"((long)SYS_rt_sigreturn)
	                 : "memory");
	__builtin_unreachable();
}

int fm_translator_enter_context(struct fm_translator *translator, ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	enum fm_translate_reason reason;
	uint32_t block;

	if (is_between(translator, context) || fm_translator_holds(translator, (uint64_t)registers[REG_RIP]))
		return -EAGAIN;
	block = fm_translate_block(translator, (uint64_t)registers[REG_RIP], false, &reason);
	if (!block)
		return -EAGAIN;
	translator->counts.entered++;
	registers[REG_RIP] = (greg_t)(translator->code + translator->blocks[block - 1].code);
	return 0;
}

struct system_call fm_translate_system_call(const struct slots *slots)
{
	const uint64_t *registers = slots->registers;

	return (struct system_call){.number = registers[RAX],
	                            .arguments = {registers[RDI], registers[RSI], registers[RDX], registers[R10]},
	                            .bytes = SYSTEM_CALL_BYTES};
}
