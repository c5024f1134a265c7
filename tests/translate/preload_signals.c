/* The program's signal handlers run natively and see the addresses they would see without a cache; after them the
   thread goes on in the cache. All of this runs with all signals blocked, the program's handlers with the mask that
   they expect. A timer looks where the thread is and brings it back if it is outside. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

enum { SIGNALS = 65, CANCEL = 32, TICK_NANOSECONDS = 1000000, DELAY_NANOSECONDS = 20000 };
/* Under stress the timer counts real time: a thread that hardly ran since the last tick says nothing new. */
enum { LEAST_NANOSECONDS = TICK_NANOSECONDS / 2 };

/* As rt_sigaction() has it. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct kernel_action actions[SIGNALS]; /* what the program asked for */
static bool stressed;

int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

static uint64_t change_mask(uint64_t mask)
{
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(mask));
	return before;
}

/* Whether the handler has not been left by a jump, seen from a stack pointer. */
static bool is_live(const struct frame *frame, uint64_t stack, const stack_t *alternate)
{
	uint64_t start = (uint64_t)alternate->ss_sp, end = start + alternate->ss_size;

	if (frame->alternate_end)
		return stack >= frame->alternate_start && stack < frame->address;
	return stack < frame->address || (!(alternate->ss_flags & SS_DISABLE) && stack >= start && stack < end);
}

static void drop_dead(struct slot *slot, uint64_t stack, const stack_t *alternate)
{
	while (slot->depth && !is_live(&slot->frames[slot->depth - 1], stack, alternate))
		slot->depth--;
}

static void start_timer(int timer, long first, long interval)
{
	struct itimerspec times = {{0, interval}, {0, first}};

	syscall(SYS_timer_settime, timer, 0, &times, NULL);
}

static int make_timer(clockid_t clock)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX};
	int timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	return syscall(SYS_timer_create, clock, &event, &timer) ? -1 : timer;
}

/* Between two states there is no context to show. A few instructions later there is. */
static void defer(struct slot *slot, int number, const siginfo_t *information)
{
	if (slot->deferred_count == MOST_DEFERRED) {
		slot->lost++;
		return;
	}
	slot->deferred[slot->deferred_count++] = (struct deferred){number, *information};
	slot->deferrals++;
	if (slot->delay < 0)
		slot->delay = make_timer(CLOCK_MONOTONIC);
	start_timer(slot->delay, DELAY_NANOSECONDS, 0);
}

static uint64_t processor_time(void)
{
	struct timespec now = {0, 0};

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_tick(struct slot *slot, enum whereabouts place)
{
	uint64_t now = processor_time();

	slot->ticks++;
	slot->found[place] += !stressed || now - slot->used >= LEAST_NANOSECONDS;
	slot->used = now;
}

/* A tick that came together with the signal would arrive when the handler runs, and take it for what was interrupted.
 */
static bool take_pending_tick(void)
{
	const uint64_t ticks = (uint64_t)1 << (SIGRTMAX - 1);
	const struct timespec none = {0, 0};

	return syscall(SYS_rt_sigtimedwait, &ticks, NULL, &none, sizeof(ticks)) > 0;
}

static void on_signal(int number, siginfo_t *information, void *memory)
{
	ucontext_t *context = memory;
	int error = errno;
	struct slot *slot = preload_slot();
	struct kernel_action action = actions[number];
	unsigned depth = 0;
	uint64_t mask;
	bool inside;

	inside = slot && fm_translator_holds(slot->translator, (uint64_t)context->uc_mcontext.gregs[REG_RIP]);
	if (slot && fm_translator_settle(slot->translator, context)) {
		defer(slot, number, information);
		errno = error;
		return;
	}
	if (slot) {
		struct frame frame = {.address = (uint64_t)__builtin_frame_address(0)};
		uint64_t start = (uint64_t)context->uc_stack.ss_sp, end = start + context->uc_stack.ss_size;

		if (!(context->uc_stack.ss_flags & SS_DISABLE) && frame.address >= start && frame.address < end) {
			frame.alternate_start = start;
			frame.alternate_end = end;
		}
		drop_dead(slot, (uint64_t)context->uc_mcontext.gregs[REG_RSP], &context->uc_stack);
		depth = slot->depth;
		if (take_pending_tick())
			count_tick(slot, inside ? INSIDE : depth ? IN_HANDLER : slot->wanted ? LEFT : AT_EDGE);
		if (depth < MOST_FRAMES)
			slot->frames[slot->depth++] = frame;
		slot->handled++;
	}
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	mask |= action.mask;
	if (!(action.flags & SA_NODEFER))
		mask |= (uint64_t)1 << (number - 1);
	if (action.flags & SA_RESETHAND) {
		struct sigaction reset = {.sa_handler = SIG_DFL};

		__sigaction(number, &reset, NULL);
	}
	change_mask(mask);
	errno = error;
	action.handler(number, information, context);
	error = errno;
	change_mask(~(uint64_t)0);
	if (slot) {
		slot->depth = depth;
		if (!depth && slot->wanted && !fm_translator_enter_context(slot->translator, context))
			slot->returned++;
	}
	errno = error;
}

static enum whereabouts look(struct slot *slot, ucontext_t *context)
{
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	bool inside = fm_translator_holds(slot->translator, pc);

	if (inside && !slot->deferred_count && !(stressed && slot->wanted))
		return INSIDE;
	if (fm_translator_settle(slot->translator, context)) {
		if (slot->deferred_count)
			start_timer(slot->delay, DELAY_NANOSECONDS, 0);
		return inside ? INSIDE : BETWEEN;
	}
	if (slot->deferred_count) { /* they arrive as soon as this handler returns, and find a native context */
		for (unsigned i = 0; i < slot->deferred_count; i++)
			syscall(SYS_rt_tgsigqueueinfo, getpid(), slot->thread, slot->deferred[i].number,
			        &slot->deferred[i].information);
		slot->deferred_count = 0;
		return inside ? INSIDE : LEFT;
	}
	if (inside) {
		if (slot->ticks % 8 == 0)
			fm_translator_flush(slot->translator);
		fm_translator_enter_context(slot->translator, context);
		return INSIDE;
	}
	drop_dead(slot, (uint64_t)context->uc_mcontext.gregs[REG_RSP], &context->uc_stack);
	if (slot->depth)
		return IN_HANDLER;
	if (!slot->wanted)
		return AT_EDGE;
	return fm_translator_enter_context(slot->translator, context) ? LEFT_AGAIN : LEFT;
}

static void on_tick(int number, siginfo_t *information, void *context)
{
	int error = errno;
	struct slot *slot = preload_slot();

	(void)number;
	(void)information;
	if (slot) {
		enum whereabouts place = look(slot, context);

		count_tick(slot, place);
	}
	errno = error;
}

/* Processor time, so that nobody is woken; under stress real time. The kernel looks at processor time when its own
   clock ticks. The first such tick counts however short the thread has run, so that short threads are seen too. */
void preload_begin_ticks(struct slot *slot, bool stress)
{
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	const uint64_t ticks = (uint64_t)1 << (SIGRTMAX - 1);

	/* some programs make threads for which everything is blocked */
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &ticks, NULL, sizeof(ticks));
	stressed = stress;
	sigfillset(&action.sa_mask);
	__sigaction(SIGRTMAX, &action, NULL);
	slot->used = processor_time();
	slot->delay = -1;
	slot->timer = make_timer(stress ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
	start_timer(slot->timer, stress ? TICK_NANOSECONDS : 1, TICK_NANOSECONDS);
}

void preload_end_ticks(struct slot *slot)
{
	syscall(SYS_timer_delete, slot->timer);
	if (slot->delay >= 0)
		syscall(SYS_timer_delete, slot->delay);
	slot->timer = slot->delay = -1;
}

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
	struct sigaction before, changed;
	int error;

	if (number == SIGRTMAX || number <= 0 || number >= SIGNALS) {
		if (old && number == SIGRTMAX)
			memset(old, 0, sizeof(*old));
		return number == SIGRTMAX ? 0 : __sigaction(number, action, old);
	}
	if ((error = __sigaction(number, NULL, &before)))
		return error;
	if (before.sa_sigaction == on_signal) {
		before.sa_sigaction = actions[number].handler;
		before.sa_flags = (int)actions[number].flags;
		memcpy(&before.sa_mask, &actions[number].mask, sizeof(uint64_t));
	}
	if (action) {
		changed = *action;
		if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
			uint64_t mask = change_mask(~(uint64_t)0);

			actions[number].handler = action->sa_sigaction;
			actions[number].flags = (unsigned long)action->sa_flags;
			memcpy(&actions[number].mask, &action->sa_mask, sizeof(uint64_t));
			changed.sa_sigaction = on_signal;
			changed.sa_flags = (action->sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
			sigfillset(&changed.sa_mask);
			error = __sigaction(number, &changed, NULL);
			change_mask(mask);
		} else {
			error = __sigaction(number, &changed, NULL);
		}
	}
	if (!error && old)
		*old = before;
	return error;
}

__sighandler_t signal(int number, __sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

	sigemptyset(&action.sa_mask);
	return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* A jump out of a handler goes on natively, unless the thread enters before it. The C library hides the stack pointer
   in a jmp_buf by a secret. */
static void enter_before_jump(const struct __jmp_buf_tag *buffer)
{
	struct slot *slot = preload_slot();
	uint64_t stack = (uint64_t)buffer->__jmpbuf[6];
	stack_t alternate;

	if (!slot || !slot->wanted || !slot->depth || sigaltstack(NULL, &alternate))
		return;
	__asm__("ror $17, %0\n"
	        "xor %%fs:0x30, %0"
	        : "+r"(stack));
	drop_dead(slot, stack, &alternate);
	if (!slot->depth)
		fm_translator_enter(slot->translator);
}

#define JUMP(name)                                                                             \
	__attribute__((noreturn)) void name(struct __jmp_buf_tag buffer[1], int value)         \
	{                                                                                      \
		static void (*real)(struct __jmp_buf_tag *, int);                              \
                                                                                               \
		if (!real)                                                                     \
			real = (void (*)(struct __jmp_buf_tag *, int))dlsym(RTLD_NEXT, #name); \
		enter_before_jump(buffer);                                                     \
		real(buffer, value);                                                           \
		__builtin_unreachable();                                                       \
	}
void __longjmp_chk(struct __jmp_buf_tag buffer[1], int value);
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

static void *wait_to_be_cancelled(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* The C library's handler, which unwinds from the interrupted instruction, is installed by the first cancellation: one
   that nobody sees. */
static void take_cancellation(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
	int (*cancel)(pthread_t) = (int (*)(pthread_t))dlsym(RTLD_NEXT, "pthread_cancel");
	struct kernel_action action;
	pthread_t thread;

	if (create(&thread, NULL, wait_to_be_cancelled, NULL))
		return;
	cancel(thread);
	pthread_join(thread, NULL);
	if (syscall(SYS_rt_sigaction, CANCEL, NULL, &action, sizeof(uint64_t)) || !action.handler)
		return;
	actions[CANCEL] = action;
	action.handler = on_signal;
	action.mask = ~(uint64_t)0;
	syscall(SYS_rt_sigaction, CANCEL, &action, NULL, sizeof(uint64_t));
}

int pthread_cancel(pthread_t thread)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int (*real)(pthread_t) = (int (*)(pthread_t))dlsym(RTLD_NEXT, "pthread_cancel");

	pthread_once(&once, take_cancellation);
	return real(thread);
}
