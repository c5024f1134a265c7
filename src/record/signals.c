/* Faults are taken over for two reasons: a timed load may fault where the program's own would not have been reached
   yet, and a handler of the program must see the program's own instruction, not one of the code cache. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "preload/hooks.h"
#include "record/burst.h"
#include "record/log.h"
#include "record/signals.h"
#include "record/timer.h"

enum { SIGNALS = 65 };

/* PERMANENT: ours whatever the program does; WRAPPED: ours while the program has a handler. */
static const uint8_t faults[SIGNALS] = {
    [SIGSEGV] = 2, [SIGBUS] = 2, [SIGFPE] = 1, [SIGILL] = 1, [SIGTRAP] = 2, [SIGSYS] = 1,
};

static struct sigaction programs[SIGNALS]; /* what the program has set */
static bool is_open;

bool fm_hook_has_signal(int number)
{
	return is_open && number > 0 && number < SIGNALS && (number == FM_TIMER_SIGNAL || faults[number]);
}

static void send_to_self(int number)
{
	fm_system_call(SYS_tgkill, fm_process_id(), fm_thread_id(), number, 0, 0, 0);
}

/* Does what would have happened without us. The kernel has applied the program's flags and mask already. */
static void pass_on(int number, siginfo_t *information, void *context)
{
	struct sigaction *program = &programs[number];
	void (*handler)(int) = program->sa_handler;

	if (program->sa_flags & SA_SIGINFO) {
		void (*with_context)(int, siginfo_t *, void *) = program->sa_sigaction;

		if (program->sa_flags & (int)SA_RESETHAND)
			memset(program, 0, sizeof(*program));
		with_context(number, information, context);
		return;
	}
	if (handler != SIG_DFL && handler != SIG_IGN) {
		if (program->sa_flags & (int)SA_RESETHAND)
			memset(program, 0, sizeof(*program));
		handler(number);
		return;
	}
	if (number == FM_TIMER_SIGNAL || (handler == SIG_IGN && information->si_code <= 0))
		return; /* ignored, by default or by wish */
	/* The end. A fault happens again when the handler has returned; what somebody sent is sent again, and so is a
	   trap, which comes after its instruction. */
	fm_next.sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (information->si_code <= 0 || number == SIGTRAP)
		send_to_self(number);
}

static uint64_t fault_set(void)
{
	uint64_t set = 0;

	for (int number = 1; number < SIGNALS; number++)
		if (faults[number] && number != SIGTRAP)
			set |= (uint64_t)1 << (number - 1);
	return set;
}

static uint64_t pending_signals(void)
{
	uint64_t set = 0;

	fm_system_call(SYS_rt_sigpending, (long)&set, sizeof(set), 0, 0, 0, 0);
	return set;
}

/* For the program's own handler of SIGTRAP: what install() blocks beyond its wishes. */
static void let_faults_through(const ucontext_t *context)
{
	uint64_t set = fault_set(), wanted, before;

	memcpy(&wanted, &programs[SIGTRAP].sa_mask, sizeof(wanted));
	memcpy(&before, &context->uc_sigmask, sizeof(before));
	set &= ~(wanted | before);
	fm_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof(set), 0, 0);
}

static void on_fault(int number, siginfo_t *information, void *context)
{
	int problem = errno;

	if (number == SIGTRAP && fm_burst_is_watch(information)) {
		errno = problem;
		return;
	}
	if (number == SIGTRAP && fm_timer_is_source(information)) {
		/* Both at once: the fault belongs to the instruction where the timer fired, and comes when we return.
		 */
		if (!(pending_signals() & fault_set()))
			fm_burst_begin(context);
		errno = problem;
		return;
	}
	if (number == SIGTRAP)
		let_faults_through(context);
	if (information->si_code > 0 && fm_burst_mend(context)) {
		errno = problem;
		return;
	}
	errno = problem;
	pass_on(number, information, context);
}

static void on_timer(int number, siginfo_t *information, void *context)
{
	int problem = errno;

	if (fm_timer_is_source(information))
		fm_burst_begin(context);
	else
		pass_on(number, information, context);
	errno = problem;
}

static bool is_handler(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static int install(int number, const struct sigaction *program)
{
	struct sigaction ours = *program;

	if (number == FM_TIMER_SIGNAL) {
		ours.sa_sigaction = on_timer;
		sigemptyset(&ours.sa_mask);
		ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
		return fm_next.sigaction(number, &ours, NULL);
	}
	if (!is_handler(program)) {
		if (faults[number] == 1)
			return fm_next.sigaction(number, program, NULL);
		sigemptyset(&ours.sa_mask);
		ours.sa_flags = SA_ONSTACK | SA_NODEFER;
	}
	ours.sa_sigaction = on_fault;
	ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	if (number == SIGTRAP) { /* most of them are ours */
		ours.sa_flags |= SA_RESTART;
		/* A fault at the same instruction must not find the beginning of this handler as the place where it
		   happened. */
		for (int other = 1; other < SIGNALS; other++)
			if (faults[other])
				sigaddset(&ours.sa_mask, other);
	}
	return fm_next.sigaction(number, &ours, NULL);
}

int fm_hook_action(int number, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction old = programs[number];

	if (action) {
		programs[number] = *action;
		if (install(number, action)) {
			programs[number] = old;
			return -1;
		}
	}
	if (before)
		*before = old;
	return 0;
}

/* The timer's signals are never blocked: threads that block everything are sampled too. */
int fm_hook_mask(fm_mask_function *next, int how, const sigset_t *set, sigset_t *before)
{
	sigset_t without;

	if (!is_open || !set || how == SIG_UNBLOCK)
		return next(how, set, before);
	without = *set;
	/* whoever blocks only a few signals means these, and may wait for them otherwise */
	if (sigismember(set, SIGUSR1) && sigismember(set, SIGUSR2) && sigismember(set, SIGALRM))
		sigdelset(&without, FM_TIMER_SIGNAL);
	sigdelset(&without, SIGTRAP);
	return next(how, &without, before);
}

int fm_signals_open(void)
{
	sigset_t timers;

	if (!fm_next.sigaction || !fm_next.sigprocmask || !fm_next.pthread_sigmask || !fm_next.signal)
		return -ENOTSUP;
	for (int number = 1; number < SIGNALS; number++)
		if (number == FM_TIMER_SIGNAL || faults[number]) {
			if (fm_next.sigaction(number, NULL, &programs[number]))
				return -errno;
			if (install(number, &programs[number]))
				return -errno;
		}
	sigemptyset(&timers);
	sigaddset(&timers, FM_TIMER_SIGNAL);
	sigaddset(&timers, SIGTRAP);
	fm_next.pthread_sigmask(SIG_UNBLOCK, &timers, NULL);
	is_open = true;
	return 0;
}
