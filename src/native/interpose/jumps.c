/* A jump out of a handler would go on natively, unless the thread enters before it; and cancellation, which is a signal
   that never returns. */
#include <pthread.h>
#include <setjmp.h>

#include "native/next.h"
#include "native/signals.h"

/* The C library hides the stack pointer in a jmp_buf by a secret. */
static void enter_before_jump(const struct __jmp_buf_tag *buffer)
{
	struct fm_place *place = fm_place_own();
	struct fm_translator *translator = NULL;
	uint64_t stack = (uint64_t)buffer->__jmpbuf[6], mask;
	stack_t alternate;

	if (!place || !place->wanted || !place->depth || fm_call(SYS_sigaltstack, 0, (long)&alternate, 0, 0, 0, 0))
		return;
	__asm__("ror $17, %0\n"
	        "xor %%fs:0x30, %0"
	        : "+r"(stack));
	mask = fm_block_all();
	fm_signals_drop_dead(place, stack, &alternate);
	if (!place->depth)
		translator = fm_place_translator(place);
	fm_change_mask(mask);
	if (translator)
		fm_translator_enter(translator);
}

#define JUMP(name)                                                                              \
	EXPORTED __attribute__((noreturn)) void name(struct __jmp_buf_tag buffer[1], int value) \
	{                                                                                       \
		fm_next_find();                                                                 \
		enter_before_jump(buffer);                                                      \
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
