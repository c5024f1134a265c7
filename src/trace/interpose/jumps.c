/* A jump out of a handler would go on natively, unless the thread enters before it; and cancellation, which is a signal
   that never returns. */
#include <pthread.h>
#include <setjmp.h>

#include "preload/next.h"
#include "trace/signals.h"
#include "trace/x86_64/stack.h"

/* Room below the stack pointer that the jump goes to, and how far below it the buffer must not be. */
enum { LEAP_ROOM = 512, LEAP_SPAN = 64 << 10 };

static __attribute__((noreturn)) void enter_and_jump(struct fm_translator *translator, uint64_t mask,
                                                     fm_jump_function *next, struct __jmp_buf_tag *buffer, int value)
{
	fm_change_mask(mask);
	fm_translator_enter(translator);
	next(buffer, value);
	__builtin_unreachable();
}

/* The translator has a stack of its own. A signal that comes while the thread is there finds the alternate stack not
   in use, and its frame overwrites what is on it: so the thread must be off that stack before it enters. What lies
   below the target of the jump belongs to nobody any more. */
static __attribute__((noreturn)) void leap(struct fm_translator *translator, uint64_t mask, fm_jump_function *next,
                                           struct __jmp_buf_tag *buffer, int value, uint64_t stack)
{
	fm_stack_leap((stack - LEAP_ROOM) & ~(uint64_t)15, (void *)enter_and_jump, (uint64_t)translator, mask,
	              (uint64_t)next, (uint64_t)buffer, (uint64_t)value);
}

/* Returns if the jump is to be made from here. */
static void enter_before_jump(fm_jump_function *next, struct __jmp_buf_tag *buffer, int value)
{
	struct fm_place *place = fm_place_own();
	struct fm_translator *translator = NULL;
	uint64_t stack = fm_stack_of_jump(buffer), at = (uint64_t)buffer, mask, start;
	stack_t alternate = {0}; /* the analyser does not see who fills it */
	bool aside, in_the_way;

	if (!place || !place->wanted || !place->depth ||
	    fm_system_call(SYS_sigaltstack, 0, (long)&alternate, 0, 0, 0, 0))
		return;
	start = (uint64_t)alternate.ss_sp;
	aside = alternate.ss_flags & SS_ONSTACK;
	in_the_way = at - start < alternate.ss_size || stack - start < alternate.ss_size || stack - at < LEAP_SPAN;
	mask = fm_block_all();
	fm_signals_drop_dead(place, stack, &alternate);
	if (!place->depth && !(aside && in_the_way)) /* the next tick enters otherwise */
		translator = fm_place_translator(place);
	if (translator && aside)
		leap(translator, mask, next, buffer, value, stack);
	fm_change_mask(mask);
	if (translator)
		fm_translator_enter(translator);
}

#define JUMP(name)                                                                              \
	EXPORTED __attribute__((noreturn)) void name(struct __jmp_buf_tag buffer[1], int value) \
	{                                                                                       \
		fm_next_find();                                                                 \
		enter_before_jump(fm_next.name, buffer, value);                                 \
		fm_next.name(buffer, value);                                                    \
		__builtin_unreachable();                                                        \
	}
void __longjmp_chk(struct __jmp_buf_tag buffer[1], int value);
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

EXPORTED int pthread_cancel(pthread_t thread)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	fm_next_find();
	pthread_once(&once, fm_signals_take_cancellation);
	return fm_next.pthread_cancel(thread);
}
