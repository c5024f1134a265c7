/* A kernel of the library as a program, timed and marked as a region: fathom-kernel KERNEL ISA BYTES PASSES, or
   fathom-kernel chase 0 BYTES STEPS. Prints the nanoseconds of the region "work". `fathom machine --check` runs it
   natively and in the emulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../include/fathom.h"
#include "kernels/kernel.h"

enum { LARGE = 2 << 20 };

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000u + (unsigned long)time.tv_nsec;
}

/* Every line points to another, all in one cycle: a linear congruential generator of full period over a power of two.
   It is written in the order of addresses, which is quick also where every store is simulated. Returns how many lines.
 */
static size_t link_chain(char *memory, size_t bytes)
{
	size_t lines = 1;

	while (2 * lines <= bytes / 64)
		lines *= 2;
	for (size_t i = 0; i < lines; i++)
		*(void **)(memory + 64 * i) = memory + 64 * ((i * 2862933555777941757ul + 3037000493ul) % lines);
	return lines;
}

int main(int argc, char **argv)
{
	struct fm_kernel_arguments arguments = {.scalar = 1, .passes = 1};
	const struct fm_stream_kernel *kernel;
	fm_kernel_function function;
	size_t bytes, count;
	unsigned long begin;
	char *memory;

	if (argc < 5)
		return 2;
	bytes = strtoul(argv[3], NULL, 10);
	count = strtoul(argv[4], NULL, 10);
	memory = mmap(NULL, bytes + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memory += LARGE - (size_t)memory % LARGE;
	madvise(memory, bytes, MADV_HUGEPAGE);
	/* present pages without stores, if the kernel can do that */
	if (madvise(memory, bytes, 23 /* MADV_POPULATE_WRITE */))
		memset(memory, 1, bytes);
	kernel = fm_stream_find(argv[1]);
	if (kernel) {
		size_t stream = bytes / kernel->streams / FM_BLOCK_BYTES * FM_BLOCK_BYTES;

		function = fm_stream_functions[kernel - fm_streams][strtoul(argv[2], NULL, 10)];
		for (unsigned i = 0; i < kernel->streams; i++)
			arguments.stream[i] = memory + i * stream;
		arguments.count = stream / FM_BLOCK_BYTES;
		function(&arguments);
		arguments.passes = count;
	} else {
		function = fm_kernel_chase;
		arguments.count = link_chain(memory, bytes) / 16 * 16;
		arguments.chain[0] = memory;
		if (bytes < 4 << 20)
			function(&arguments);
		arguments.count = count / 16 * 16;
	}
	fathom_region_begin("work");
	begin = now();
	function(&arguments);
	begin = now() - begin;
	fathom_region_end("work");
	printf("%lu\n", begin);
	return 0;
}
