#include "trace/signals.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "preload/hooks.h"
#include "trace/laboratory.h"
#include "trace/pace.h"
#include "trace/positions.h"
#include "trace/rest.h"
#include "trace/opening.h"
#include "trace/x86_64/stack.h"

enum {
	SIGNALS = 65,
	CANCEL = 32,
	TICK_NS = 1000000,
	DELAY_NS = 20000,
	PUBLISH_PER_SECOND = 20,
	LOOKS_APART = 20, /* times that something is published, between two looks whether anybody reads it */
};

/* As rt_sigaction() has it. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct kernel_action actions[SIGNALS]; /* what the program asked for */
static bool is_open;

/* Whether the handler has not been left by a jump. */
static bool is_live(const struct fm_handler_frame *frame, uint64_t stack, const stack_t *alternate)
{
	uint64_t start = (uint64_t)alternate->ss_sp, end = start + alternate->ss_size;

	if (frame->alternate_end)
		return stack >= frame->alternate_start && stack < frame->address;
	return stack < frame->address || (!(alternate->ss_flags & SS_DISABLE) && stack >= start && stack < end);
}

void fm_signals_drop_dead(struct fm_place *place, uint64_t stack, const stack_t *alternate)
{
	while (place->depth && !is_live(&place->frames[place->depth - 1], stack, alternate))
		place->depth--;
}

static void drop_dead(struct fm_place *place, const ucontext_t *context)
{
	fm_signals_drop_dead(place, fm_context_stack(context), &context->uc_stack);
}

static void start_timer(int timer, long first, long interval)
{
	struct itimerspec times = {{0, interval}, {0, first}};

	fm_system_call(SYS_timer_settime, timer, 0, (long)&times, 0, 0, 0);
}

static int make_timer(clockid_t clock)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = FM_TICK};
	int timer = -1;

	event._sigev_un._tid = fm_thread_id();
	return fm_system_call(SYS_timer_create, clock, (long)&event, (long)&timer, 0, 0, 0) ? -1 : timer;
}

/* A few instructions later. */
static void try_again(struct fm_place *place)
{
	if (place->delay < 0)
		place->delay = make_timer(CLOCK_MONOTONIC);
	start_timer(place->delay, DELAY_NS, 0);
}

/* Between two states there is no context to show. A signal of which there are too many is lost, as the kernel does with
   those that are pending already. */
static void defer(struct fm_place *place, int number, const siginfo_t *information, ucontext_t *context)
{
	uint64_t mask;

	/* the program may have blocked the signal that is to bring it back */
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	if (mask & FM_TICK_BIT) {
		mask &= ~FM_TICK_BIT;
		memcpy(&context->uc_sigmask, &mask, sizeof(mask));
		place->tick_blocked = place->tick_borrowed = true;
	}
	if (place->deferred_count < FM_MOST_DEFERRED)
		place->deferred[place->deferred_count++] = (struct fm_deferred){number, *information};
	try_again(place);
}

static bool is_ours(const struct fm_place *place, const siginfo_t *information)
{
	if (information->si_code == SI_TKILL && fm_stopped && information->si_pid == fm_process_id())
		return true;
	return information->si_code == SI_TIMER &&
	       (!place || information->si_timerid == place->timer || information->si_timerid == place->delay);
}

static void send_to(pid_t thread, const siginfo_t *information)
{
	fm_system_call(SYS_rt_tgsigqueueinfo, fm_process_id(), thread, information->si_signo, (long)information, 0, 0);
}

/* They arrive when the thread handles signals again. */
static void send_deferred(struct fm_place *place)
{
	unsigned count = place->deferred_count;

	place->deferred_count = 0;
	for (unsigned i = 0; i < count; i++)
		send_to(place->thread, &place->deferred[i].information);
}

static void count_tick(struct fm_place *place, bool inside)
{
	static unsigned published;
	struct fm_trace_head *head;
	uint64_t now = fm_ticks();

	if (!place->begun || !fm_is_alive())
		return;
	head = fm_head();
	fm_add(inside ? &head->ticks_in_cache : &head->ticks_outside, 1);
	if (now - place->published_at > fm_session->ticks_per_second / PUBLISH_PER_SECOND) {
		place->published_at = now;
		fm_place_publish(place);
		fm_file_clock();
		if (fm_file_limit_is_near()) {
			fm_head()->limited = 1;
			fm_stopped = 1;
		}
		if (++published % LOOKS_APART == 0 && !fm_folder_reader_lives())
			__atomic_store_n(&fm_session->stop, 1, __ATOMIC_RELAXED);
	}
}

/* A tick that came together with another signal would arrive when its handler runs, and take that for what was
   interrupted. */
static void take_pending_tick(struct fm_place *place, bool inside)
{
	const uint64_t ticks = FM_TICK_BIT;
	const struct timespec none = {0, 0};
	siginfo_t information = {0};

	if (fm_system_call(SYS_rt_sigtimedwait, (long)&ticks, (long)&information, (long)&none, sizeof(ticks), 0, 0) <=
	    0)
		return;
	if (is_ours(place, &information))
		count_tick(place, inside);
	else
		send_to(fm_thread_id(), &information);
}

/* Where the context is native: goes on in the cache when the handler returns. */
static void enter(struct fm_place *place, ucontext_t *context)
{
	struct fm_translator *translator = fm_place_translator(place);

	if (!translator && place->epoch) {
		fm_window_end(place);
		translator = fm_place_translator(place);
	}
	if (!translator || fm_translator_enter_context(translator, context))
		fm_window_end(place);
}

/* Whether the thread was in the cache. */
static bool look(struct fm_place *place, ucontext_t *context)
{
	bool inside = fm_place_holds(place, fm_context_pc(context));
	bool stops = fm_stopped || fm_session->stop;

	fm_positions_note(place, context);
	fm_rest_tick(place);
	if (place->resting && !place->deferred_count && !stops && fm_rest_is_due(place))
		return true;
	if (inside && !place->deferred_count && !stops && fm_laboratory_is_busy(place) && !fm_place_is_stale(place))
		return true;
	if (inside && !place->deferred_count && !stops && !fm_place_is_stale(place) && !fm_window_is_over(place) &&
	    !fm_window_is_late(place) && !fm_place_has_lines(place) &&
	    !(place->wanted && ((fm_window_is_due(place) && !fm_rest_is_near()) || fm_pace_is_due(place) ||
	                        fm_rest_is_due(place) || fm_laboratory_is_due(place))))
		return true;
	if (fm_place_settle(place, context)) {
		if (place->deferred_count || stops)
			try_again(place);
		return true;
	}
	if (inside)
		fm_place_deliver(place);
	fm_laboratory_end(place);
	if (place->deferred_count) { /* they arrive as soon as this handler returns, and find a native context */
		send_deferred(place);
		return inside;
	}
	if (stops) {
		fm_place_end(place);
		return inside;
	}
	drop_dead(place, context);
	if (place->depth || !place->wanted || (place->stepped_out && !inside))
		return inside;
	if (fm_window_is_over(place))
		fm_window_end(place);
	else if (fm_window_is_late(place))
		fm_window_goes_on(place);
	if (!fm_rest_is_due(place)) {
		fm_rest_end(place);
		if (!fm_rest_is_near())
			fm_window_begin(place);
		fm_pace_step(place);
	}
	if (fm_rest_is_due(place))
		fm_rest_begin(place);
	else if (!inside || !fm_laboratory_begin(place, context))
		enter(place, context);
	return inside;
}

/* Stacks for what handlers do: the one that the program has set aside for signals may have room for little more than
   the kernel's frame (Rust's runtime, SWI-Prolog). They stay with the place when its thread ends, which may do so on
   it. */
enum { STACK_BYTES = 64 << 10 };
static char *stacks[FM_TRACE_THREADS];

/* All signals are blocked, so nobody else is on the stack. Without memory for it, the work is done where we are. */
static void do_aside(struct fm_place *place, ucontext_t *context, void (*work)(struct fm_place *, ucontext_t *))
{
	char *stack = stacks[place - fm_places];

	if (!stack || (uint64_t)__builtin_frame_address(0) - (uint64_t)stack < STACK_BYTES) {
		work(place, context);
		return;
	}
	fm_stack_call(stack + STACK_BYTES, (void *)work, place, context);
}

/* Blocked again, as the program has it. */
static void give_back(struct fm_place *place, ucontext_t *context)
{
	uint64_t mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	mask |= FM_TICK_BIT;
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
	place->tick_borrowed = place->tick_blocked = false;
	if (place->tick_held)
		send_to(place->thread, &place->held);
	place->tick_held = false;
}

static void on_tick(struct fm_place *place, ucontext_t *context)
{
	if (fm_is_alive() && place->begun)
		count_tick(place, look(place, context));
	else if (place->deferred_count && fm_place_settle(place, context))
		try_again(place);
	else if (place->deferred_count) /* tracing has ended meanwhile; what the program was sent has not */
		send_deferred(place);
	if (place->tick_borrowed && !place->deferred_count)
		give_back(place, context);
}

/* The program's handler, with the mask that it expects. */
static void pass_on(int number, siginfo_t *information, ucontext_t *context, int error)
{
	struct kernel_action action = actions[number];
	uint64_t mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	mask |= action.mask;
	if (!(action.flags & SA_NODEFER))
		mask |= (uint64_t)1 << (number - 1);
	if (action.flags & SA_RESETHAND) {
		struct sigaction reset = {.sa_handler = SIG_DFL};

		sigaction(number, &reset, NULL);
	}
	fm_change_mask(mask);
	errno = error;
	action.handler(number, information, context);
}

static void on_signal(int number, siginfo_t *information, void *memory)
{
	ucontext_t *context = memory;
	int error = errno;
	struct fm_place *place = fm_place_own();
	unsigned depth = 0;
	bool inside;

	if (number == FM_TICK && is_ours(place, information)) {
		if (place)
			do_aside(place, context, on_tick);
		errno = error;
		return;
	}
	/* natively it would be pending, or wait for whoever reads it from a file (signalfd) */
	if (number == FM_TICK && place && place->tick_blocked) {
		place->held = *information;
		place->tick_held = true;
		errno = error;
		return;
	}
	if (number == FM_TICK &&
	    (actions[number].handler == (void *)SIG_DFL || actions[number].handler == (void *)SIG_IGN))
		return;
	inside = place && fm_place_holds(place, fm_context_pc(context));
	if (place && fm_place_settle(place, context)) {
		defer(place, number, information, context);
		errno = error;
		return;
	}
	if (place)
		fm_laboratory_disturb(place);
	if (place) {
		struct fm_handler_frame frame = {.address = (uint64_t)__builtin_frame_address(0)};
		uint64_t start = (uint64_t)context->uc_stack.ss_sp, end = start + context->uc_stack.ss_size;

		if (!(context->uc_stack.ss_flags & SS_DISABLE) && frame.address >= start && frame.address < end) {
			frame.alternate_start = start;
			frame.alternate_end = end;
		}
		if (inside)
			fm_place_deliver(place);
		drop_dead(place, context);
		depth = place->depth;
		take_pending_tick(place, inside);
		if (depth < FM_MOST_FRAMES)
			place->frames[place->depth++] = frame;
	}
	pass_on(number, information, context, error);
	error = errno;
	if (place && place == fm_place_own()) {
		fm_block_all();
		place->depth = depth;
		if (!depth && place->wanted && (inside || !place->stepped_out))
			do_aside(place, context, enter);
	}
	errno = error;
}

/* Processor time, so that nobody is woken. The kernel looks at it when its own clock ticks. The first such tick counts
   however short the thread has run, so that short threads are seen too. */
void fm_signals_begin_ticks(struct fm_place *place)
{
	if (!stacks[place - fm_places])
		stacks[place - fm_places] = fm_map(STACK_BYTES, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	place->delay = -1;
	place->timer = make_timer(CLOCK_THREAD_CPUTIME_ID);
	if (place->timer >= 0)
		start_timer(place->timer, 1, TICK_NS);
}

void fm_signals_end_ticks(struct fm_place *place)
{
	/* without the timer nobody would deliver them */
	send_deferred(place);
	if (place->timer >= 0)
		fm_system_call(SYS_timer_delete, place->timer, 0, 0, 0, 0, 0);
	if (place->delay >= 0)
		fm_system_call(SYS_timer_delete, place->delay, 0, 0, 0, 0, 0);
	place->timer = place->delay = -1;
}

void fm_signals_poke(const struct fm_place *place)
{
	fm_system_call(SYS_tgkill, fm_process_id(), place->thread, FM_TICK, 0, 0, 0);
}

static bool is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void keep(int number, const struct sigaction *action)
{
	actions[number].handler = action->sa_sigaction;
	actions[number].flags = (unsigned long)action->sa_flags;
	memcpy(&actions[number].mask, &action->sa_mask, sizeof(uint64_t));
}

static void as_asked_for(int number, struct sigaction *action)
{
	action->sa_sigaction = actions[number].handler;
	action->sa_flags = (int)actions[number].flags;
	memcpy(&action->sa_mask, &actions[number].mask, sizeof(uint64_t));
}

static int install(int number, const struct sigaction *action)
{
	struct sigaction changed = *action;
	uint64_t mask;
	int error;

	if (number == FM_TICK)
		changed.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	else if (!is_handler(action))
		return fm_next.sigaction(number, action, NULL);
	mask = fm_block_all();
	keep(number, action);
	changed.sa_sigaction = on_signal;
	changed.sa_flags = (changed.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	sigfillset(&changed.sa_mask);
	error = fm_next.sigaction(number, &changed, NULL);
	fm_change_mask(mask);
	return error;
}

bool fm_hook_has_signal(int number)
{
	return is_open && number > 0 && number < SIGNALS;
}

int fm_hook_action(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before;
	int error = fm_next.sigaction(number, NULL, &before);

	if (error)
		return error;
	if (before.sa_sigaction == on_signal)
		as_asked_for(number, &before);
	error = action ? install(number, action) : 0;
	if (!error && old)
		*old = before;
	return error;
}

/* Ticks are never blocked by those who block everything. Whoever blocks only a few signals means these, and may wait
   for them otherwise. */
int fm_hook_mask(fm_mask_function *next, int how, const sigset_t *set, sigset_t *before)
{
	struct fm_place *place = is_open ? fm_place_own() : NULL;
	sigset_t wished;
	bool was_blocked, is_blocked;
	int result;

	if (!place)
		return next(how, set, before);
	was_blocked = is_blocked = place->tick_blocked;
	if (set) {
		wished = *set;
		if (how != SIG_UNBLOCK && sigismember(set, SIGUSR1) && sigismember(set, SIGUSR2) &&
		    sigismember(set, SIGALRM) && sigismember(set, FM_TICK)) {
			sigdelset(&wished, FM_TICK);
			place->tick_blocked = is_blocked = true;
		} else if (how == SIG_SETMASK || sigismember(set, FM_TICK)) {
			/* from here on the kernel knows what the program wishes */
			is_blocked = place->tick_borrowed = false;
			if (place->deferred_count && how != SIG_UNBLOCK && sigismember(set, FM_TICK)) {
				sigdelset(&wished, FM_TICK);
				place->tick_blocked = is_blocked = place->tick_borrowed = true;
			}
		}
	}
	result = next(how, set ? &wished : NULL, before);
	place->tick_blocked = is_blocked;
	if (before && was_blocked)
		sigaddset(before, FM_TICK);
	if (place->tick_held && !is_blocked) {
		place->tick_held = false;
		send_to(fm_thread_id(), &place->held);
	}
	return result;
}

static void *wait_to_be_cancelled(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* The C library's handler unwinds from the interrupted instruction: it must see the program's. The first cancellation
   is one that nobody sees. */
void fm_signals_take_cancellation(void)
{
	struct kernel_action action = {0};
	pthread_t thread;

	if (!is_open || fm_next.pthread_create(&thread, NULL, wait_to_be_cancelled, NULL))
		return;
	fm_next.pthread_cancel(thread);
	pthread_join(thread, NULL);
	if (fm_system_call(SYS_rt_sigaction, CANCEL, 0, (long)&action, sizeof(uint64_t), 0, 0) || !action.handler)
		return;
	actions[CANCEL] = action;
	action.handler = on_signal;
	action.mask = ~(uint64_t)0;
	fm_system_call(SYS_rt_sigaction, CANCEL, (long)&action, 0, sizeof(uint64_t), 0, 0);
}

/* Handlers that libraries have set before us are taken over too. */
int fm_handlers_open(void)
{
	struct sigaction action;

	fm_next_find();
	if (!fm_next.sigaction || !fm_next.sigprocmask || !fm_next.pthread_sigmask)
		return -ENOTSUP;
	for (int number = 1; number < SIGNALS; number++) {
		if (fm_next.sigaction(number, NULL, &action))
			continue;
		if ((number == FM_TICK || is_handler(&action)) && install(number, &action))
			return -errno;
	}
	is_open = true;
	return 0;
}

void fm_handlers_close(void)
{
	struct sigaction action;

	is_open = false;
	for (int number = 1; number < SIGNALS; number++) {
		if (fm_next.sigaction(number, NULL, &action) || action.sa_sigaction != on_signal)
			continue;
		as_asked_for(number, &action);
		fm_next.sigaction(number, &action, NULL);
	}
	if (actions[CANCEL].handler)
		fm_system_call(SYS_rt_sigaction, CANCEL, (long)&actions[CANCEL], 0, sizeof(uint64_t), 0, 0);
}
