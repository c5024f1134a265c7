/* Functions as regions: recursive, left by longjmp, marked inside, and one that ends the program. */
#include <setjmp.h>
#include <stdlib.h>

#include "fathom.h"

enum { COUNT = 1000 };

static volatile long numbers[COUNT];
static jmp_buf before;

static __attribute__((noinline)) void read_all(void)
{
	for (int i = 0; i < COUNT; i++)
		(void)numbers[i];
}

static __attribute__((noinline)) void descend(int levels)
{
	read_all();
	if (levels > 1)
		descend(levels - 1);
	__asm__ volatile(""); /* no jump instead of the call */
}

static __attribute__((noinline)) void escape(void)
{
	read_all();
	longjmp(before, 1);
}

static __attribute__((noinline)) void marked(void)
{
	read_all();
	fathom_region_begin("marked");
	read_all();
	read_all();
	fathom_region_end("marked");
	read_all();
}

static __attribute__((noinline)) void last(void)
{
	read_all();
	exit(0);
}

int main(void)
{
	volatile int times = 0;

	for (int i = 0; i < 5; i++) {
		descend(3);
		read_all();
	}
	if (setjmp(before) < 4 && times < 4) {
		times++;
		escape();
	}
	read_all();
	for (int i = 0; i < 3; i++)
		marked();
	last();
	return 1;
}
