/* Between the cache and the translator: on a stack of its own, with the vector registers saved. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/system_call.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "translate/internal.h"

_Static_assert(offsetof(struct fm_translator, slots) == 0 && offsetof(struct fm_translator, vector_state) == 8 &&
                   offsetof(struct fm_translator, enter_code) == 16 &&
                   offsetof(struct fm_translator, vector_mask) == 24,
               "the assembly below uses these");
_Static_assert(offsetof(struct slots, flags) == 128 && offsetof(struct slots, exit) == 144 &&
                   offsetof(struct slots, target) == 152 && offsetof(struct slots, stack) == 184,
               "the assembly below uses these");

/* Entering by a call: only what a called function must preserve matters. */
__asm__(".text\n"
        ".globl fm_translator_enter\n"
        ".type fm_translator_enter, @function\n"
        "fm_translator_enter:\n"
        "	endbr64\n"
        "	mov (%rdi), %rax\n"
        "	mov %rbx, 24(%rax)\n"
        "	mov %rbp, 40(%rax)\n"
        "	mov %r12, 96(%rax)\n"
        "	mov %r13, 104(%rax)\n"
        "	mov %r14, 112(%rax)\n"
        "	mov %r15, 120(%rax)\n"
        "	pushfq\n"
        "	popq 128(%rax)\n"
        "	mov (%rsp), %rcx\n"
        "	mov %rcx, 152(%rax)\n"
        "	lea 8(%rsp), %rcx\n"
        "	mov %rcx, 32(%rax)\n"
        "	movl $0xfffffffe, %ecx\n"
        "	mov %rcx, 144(%rax)\n"
        "	mov 184(%rax), %rsp\n"
        "	jmp fm_translate_gate\n"
        ".globl fm_translate_light_gate\n"
        ".hidden fm_translate_light_gate\n"
        ".type fm_translate_light_gate, @function\n"
        "fm_translate_light_gate:\n"
        "	pushq $2\n"
        "	popfq\n"
        "	mov %rdi, %rbx\n"
        "	call fm_translate_count\n"
        "	mov %rbx, %rdi\n"
        "	test %al, %al\n"
        "	jnz fm_translate_gate\n"
        "	jmp *16(%rbx)\n"
        ".globl fm_translate_gate\n"
        ".hidden fm_translate_gate\n"
        ".type fm_translate_gate, @function\n"
        "fm_translate_gate:\n"
        "	pushq $2\n" /* the program's direction and alignment flags are not for C */
        "	popfq\n"
        "	mov %rdi, %rbx\n"
        "	mov 8(%rbx), %rcx\n"
        "	mov 24(%rbx), %rax\n"
        "	xor %edx, %edx\n"
        "	xsave64 (%rcx)\n"
        "	mov %rbx, %rdi\n"
        "	call fm_translate_serve\n"
        "	mov %rax, %r12\n" /* the translator to go on with: on its own stack before signals may come */
        "	mov (%r12), %rcx\n"
        "	mov 184(%rcx), %rsp\n"
        "	mov %r12, %rdi\n"
        "	call fm_translate_unblock\n"
        "	mov 8(%rbx), %rcx\n"
        "	mov 24(%rbx), %rax\n"
        "	xor %edx, %edx\n"
        "	xrstor64 (%rcx)\n"
        "	jmp *16(%r12)\n"
        ".globl fm_translate_gate_end\n"
        ".hidden fm_translate_gate_end\n"
        "fm_translate_gate_end:\n"
        ".size fm_translator_enter, . - fm_translator_enter\n"
        ".globl fm_translator_leave\n"
        ".type fm_translator_leave, @function\n"
        "fm_translator_leave:\n"
        "	endbr64\n"
        "	ret\n"
        ".size fm_translator_leave, . - fm_translator_leave\n");

static void leave(struct fm_translator *translator, enum fm_translate_reason reason, uint64_t pc)
{
	translator->counts.left[reason]++;
	fm_translate_deliver_log(translator);
	if (translator->client.on_leave)
		translator->client.on_leave(translator->client.context, reason, pc, translator->slots->registers);
	translator->slots->resume = pc;
	translator->left = true;
}

/* Goes on at pc, in the cache if possible. Returns the block's index + 1, or 0. */
static uint32_t go_to(struct fm_translator *translator, uint64_t pc, bool with_landing)
{
	enum fm_translate_reason reason;
	uint32_t block = fm_translate_block(translator, pc, with_landing, &reason);

	if (block)
		translator->slots->resume = (uint64_t)(translator->code + translator->blocks[block - 1].code);
	else
		leave(translator, reason, pc);
	return block;
}

static void serve_chain(struct fm_translator *translator, const struct exit_record *exit)
{
	uint32_t generation = translator->generation, patch = exit->patch;

	if (go_to(translator, exit->pc, false) && translator->generation == generation) {
		uint8_t *at = translator->code + patch;
		int32_t displacement = (int32_t)((int64_t)translator->slots->resume - (int64_t)(at + 4));

		memcpy(at, &displacement, sizeof(displacement));
		translator->counts.chained++;
	}
}

/* A library's way to the dynamic linker, on which it sends its first call of a function: "push $number". The pointer
   changes soon. */
static bool is_unresolved(struct fm_translator *translator, uint64_t from, uint64_t target)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
	const struct range *range = fm_translate_find_range(&translator->ranges, target);
	const uint8_t *code = (const uint8_t *)target;

	if (!range || from < range->start || from >= range->end || range->end - target < sizeof(mark) + 1)
		return false;
	return code[memcmp(code, mark, sizeof(mark)) ? 0 : sizeof(mark)] == 0x68;
}

/* Now the pointer is known, and the branch gets code that expects it. */
static void serve_learn(struct fm_translator *translator, const struct exit_record *exit)
{
	enum { MOST_TRIES = 8 };
	const struct range *range = fm_translate_find_range(&translator->ranges, exit->pc);
	struct exit_record *record = &translator->exits[(uint32_t)translator->slots->exit];
	struct instruction instruction = {0};
	uint8_t *at = translator->code + exit->patch;
	uint64_t target;
	int32_t displacement;

	if (range)
		fm_translate_decode(&translator->decoder, exit->pc, range->end - exit->pc, &instruction);
	if (!fm_translate_is_fixed(&instruction) ||
	    !fm_translate_is_readable((uint64_t)instruction.from.displacement)) {
		leave(translator, FM_LEFT_UNMAPPED, exit->pc);
		return;
	}
	memcpy(&target, (const void *)instruction.from.displacement, sizeof(target));
	if (!fm_translate_guess(translator, &instruction, target)) {
		fm_translator_flush(translator);
		go_to(translator, exit->pc, false);
		return;
	}
	translator->slots->resume = (uint64_t)(translator->code + translator->blocks[translator->block_count - 1].code);
	if (record->site++ < MOST_TRIES && is_unresolved(translator, exit->pc, target))
		return;
	displacement = (int32_t)((int64_t)translator->slots->resume - (int64_t)(at + 4));
	memcpy(at, &displacement, sizeof(displacement));
	translator->counts.chained++;
}

static void serve_leave(struct fm_translator *translator, const struct exit_record *exit)
{
	leave(translator, (enum fm_translate_reason)exit->reason, exit->pc);
}

static void serve_fuel(struct fm_translator *translator, const struct exit_record *exit)
{
	uint64_t more = translator->client.on_fuel ? translator->client.on_fuel(translator->client.context) : 0;

	translator->slots->fuel += exit->site; /* the piece was charged for and does not run */
	if (!more) {
		leave(translator, FM_LEFT_FUEL, exit->pc);
		return;
	}
	fm_translator_set_fuel(translator, more < exit->site ? exit->site : more);
	translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

static void serve_full(struct fm_translator *translator, const struct exit_record *exit)
{
	fm_translate_deliver_log(translator);
	if (translator->client.on_full && !translator->client.on_full(translator->client.context))
		leave(translator, FM_LEFT_FUEL, exit->pc);
	else
		translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

static void serve_reference(struct fm_translator *translator, const struct exit_record *exit)
{
	if (translator->client.on_reference)
		translator->client.on_reference(translator->client.context, &translator->sites[exit->site],
		                                translator->slots->target);
	translator->slots->resume = (uint64_t)(translator->code + exit->patch);
}

static void serve_counted(struct fm_translator *translator, const struct exit_record *exit)
{
	leave(translator, FM_LEFT_ASKED, exit->pc);
}

/* The addresses that a system call maps anew, or takes away. */
static void mapped_anew(const uint64_t *registers, uint64_t *ret_start, uint64_t *ret_size)
{
	uint64_t number = registers[RAX];

	*ret_start = *ret_size = 0;
	if (number == SYS_munmap || number == SYS_mprotect || number == SYS_pkey_mprotect || number == SYS_mremap ||
	    (number == SYS_mmap && (registers[R10] & MAP_FIXED))) {
		*ret_start = registers[RDI];
		*ret_size = registers[RSI];
	}
	if (number == SYS_shmat) { /* of unknown size */
		*ret_start = registers[RSI];
		*ret_size = registers[RSI] ? UINT64_MAX - registers[RSI] : 0;
	}
}

static void forget_changed(struct fm_translator *translator)
{
	uint64_t start, size, end;
	bool known = false, used = false;

	mapped_anew(translator->slots->registers, &start, &size);
	end = size > UINT64_MAX - 4095 - start ? UINT64_MAX : start + size + 4095;
	for (unsigned i = 0; size && i < translator->ranges.count; i++) {
		const struct range *range = &translator->ranges.list[i];

		if (range->start < end && range->end > start) {
			known = true;
			used |= range->used;
		}
	}
	if (used)
		fm_translator_flush(translator);
	else if (known)
		/* forgets only what is to be read again; translations of other ranges stay */
		for (unsigned i = 0; i < translator->ranges.count; i++)
			if (translator->ranges.list[i].start < end && translator->ranges.list[i].end > start)
				translator->ranges.list[i].start = translator->ranges.list[i].end = 0;
}

static void serve_system_call(struct fm_translator *translator, const struct exit_record *exit)
{
	struct slots *slots = translator->slots;
	uint64_t number = slots->registers[RAX], pc = exit->pc;
	bool shares =
	    number == SYS_clone3 || number == SYS_vfork || (number == SYS_clone && (slots->registers[RDI] & CLONE_VM));

	translator->counts.system_calls++;
	if (translator->client.on_filter &&
	    (number == SYS_seccomp || (number == SYS_prctl && slots->registers[RDI] == PR_SET_SECCOMP))) {
		translator->client.on_filter(translator->client.context);
		leave(translator, FM_LEFT_SYSTEM_CALL, pc);
		return;
	}
	if (translator->client.on_system_call &&
	    !translator->client.on_system_call(translator->client.context, number)) {
		leave(translator, FM_LEFT_SYSTEM_CALL, pc);
		return;
	}
	if (shares) {
		uint8_t *gate = fm_translate_thread_gate(translator, pc + 2);

		if (gate)
			slots->resume = (uint64_t)gate;
		else
			leave(translator, FM_LEFT_CODE_SHARING, pc);
		return;
	}
	forget_changed(translator);
	slots->next = pc + 2;
	slots->resume = (uint64_t)translator->call_code;
}

static void (*const servers[])(struct fm_translator *, const struct exit_record *) = {
    [EXIT_CHAIN] = serve_chain,     [EXIT_LEAVE] = serve_leave, [EXIT_SYSTEM_CALL] = serve_system_call,
    [EXIT_FUEL] = serve_fuel,       [EXIT_FULL] = serve_full,   [EXIT_REFERENCE] = serve_reference,
    [EXIT_COUNTED] = serve_counted, [EXIT_LEARN] = serve_learn,
};

/* A handler that never returns must not interrupt the translator in the middle of a block. */
static uint64_t change_mask(uint64_t mask)
{
	uint64_t before = 0;

	fm_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

/* Back to the program by a return from a signal, which puts registers, vector state and mask back at once. From the
   moment the translator is released, nothing of it is touched: the frame is the thread's. */
static void __attribute__((noreturn)) end_burst(struct fm_translator *translator)
{
	ucontext_t *context = (ucontext_t *)(void *)translator->burst->context;
	uint32_t *release = translator->burst_release;

	fm_translate_set_context(context, translator->slots->registers);
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)translator->slots->resume;
	context->uc_mcontext.gregs[REG_EFL] = (greg_t)translator->slots->flags;
	fm_translate_forget_burst(translator);
	__asm__ volatile("mov %0, %%rsp\n"
	                 "movl $0, (%1)\n"
	                 "syscall\n"
	                 :
	                 : "r"(context), "r"(release), "a"((long)SYS_rt_sigreturn)
	                 : "memory");
	__builtin_unreachable();
}

uint64_t fm_translator_ticks(const struct fm_translator *translator)
{
	return translator->ticks + (translator->served_since ? __builtin_ia32_rdtsc() - translator->served_since : 0);
}

void fm_translator_hand_over(struct fm_translator *from, struct fm_translator *to)
{
	from->successor = to;
}

/* The thread was about to go on natively. The vector registers need no copy: they are loaded from where they were
   saved. */
static void go_on_in(struct fm_translator *translator, const struct fm_translator *before)
{
	memcpy(translator->slots->registers, before->slots->registers, sizeof(before->slots->registers));
	translator->slots->flags = before->slots->flags;
	translator->mask = before->mask;
	translator->served_since = __builtin_ia32_rdtsc();
	translator->counts.entered++;
	go_to(translator, before->slots->resume, false);
	translator->successor = NULL; /* natively after all, if it comes to that */
	translator->ticks += __builtin_ia32_rdtsc() - translator->served_since;
	translator->served_since = 0;
}

/* On the stack of the translator that goes on. */
void fm_translate_unblock(struct fm_translator *translator)
{
	if (!translator->burst)
		change_mask(translator->mask);
}

struct fm_translator *fm_translate_serve(struct fm_translator *translator)
{
	struct fm_translator *successor;
	uint32_t number = (uint32_t)translator->slots->exit;

	if (!translator->burst) /* in which they are blocked already */
		translator->mask = change_mask(~(uint64_t)0);
	translator->served_since = __builtin_ia32_rdtsc();
	translator->left = false;
	translator->successor = NULL;

	if (number == EXIT_ENTER) {
		translator->counts.entered++;
		go_to(translator, translator->slots->target, false);
	} else if (number == EXIT_INDIRECT) {
		uint32_t block = go_to(translator, translator->slots->target, true);

		translator->counts.looked_up++;
		if (block)
			fm_translate_land(translator, block);
	} else {
		struct exit_record exit = translator->exits[number];

		servers[exit.kind](translator, &exit);
	}
	translator->ticks += __builtin_ia32_rdtsc() - translator->served_since;
	translator->served_since = 0;
	successor = translator->left ? translator->successor : NULL;
	if (translator->burst && translator->left)
		end_burst(translator);
	if (successor)
		go_on_in(successor, translator);
	return successor ? successor : translator;
}
