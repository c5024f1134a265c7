/* Signals have a stack of hardly more than the kernel's frame needs, as some runtimes set up. Prints what a loop
   computes that is long enough to be interrupted many times. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Nothing is below it. */
static int set_stack(size_t size, size_t page)
{
	char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory + page, .ss_size = size};

	return memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) || sigaltstack(&stack, NULL);
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), least = getauxval(AT_MINSIGSTKSZ);
	unsigned long sum = 1;

	/* what headers say, which processors with large registers have left behind, if the kernel still takes it */
	if (set_stack(8192, page) && set_stack((least + page - 1) / page * page, page))
		return 1;
	for (unsigned long i = 0; i < 200000000; i++)
		sum = sum * 6364136223846793005ul + i % (1 + (sum >> 60));
	printf("%lu\n", sum);
	return 0;
}
