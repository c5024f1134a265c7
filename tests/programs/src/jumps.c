/* setjmp and longjmp, in the same function, out of deep calls and out of signal handlers: jumps COUNT */
#include "counted.h"
#include <setjmp.h>
#include <signal.h>

static jmp_buf out;
static sigjmp_buf out_of_handler;

static unsigned long fall(int depth, unsigned long value)
{
	if (depth == 0)
		longjmp(out, (int)(value % 1000) + 1);
	return fall(depth - 1, value * 31 + 7) + value;
}

static void handler(int number)
{
	siglongjmp(out_of_handler, number);
}

int main(int count, char **arguments)
{
	volatile unsigned long sum = 0;
	volatile int i, times = atoi(count > 1 ? arguments[1] : "100000");

	counted();
	signal(SIGUSR1, handler);
	for (i = 0; i < times; i++) {
		int code = setjmp(out);
		if (code)
			sum = sum * 31 + (unsigned long)code;
		else
			sum += fall(20, (unsigned long)i);
		if (i % 100 == 0) {
			int signal_number = sigsetjmp(out_of_handler, 1);
			if (!signal_number)
				raise(SIGUSR1);
			sum += (unsigned long)signal_number;
		}
	}
	printf("%lu\n", sum);
	return 0;
}
