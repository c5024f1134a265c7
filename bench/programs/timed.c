/* One kernel of the library, timed by itself and marked as a region: timed KERNEL ISA BYTES PASSES, or timed chase 0
   BYTES STEPS. Prints the nanoseconds of the region. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "fathom.h"
#include "kernels/kernel.h"

enum { LARGE = 2 << 20 };

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000u + (unsigned long)time.tv_nsec;
}

static void link_chain(char *memory, size_t bytes)
{
	size_t lines = bytes / 64;
	unsigned *order = malloc(lines * sizeof(*order));
	unsigned long state = 1;

	for (size_t i = 0; i < lines; i++)
		order[i] = (unsigned)i;
	for (size_t i = lines; i > 1; i--) {
		size_t j;
		unsigned swap = order[i - 1];

		state = state * 6364136223846793005ul + 1442695040888963407ul;
		j = (state >> 33) % i;
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < lines; i++)
		*(void **)(memory + 64ul * order[i]) = memory + 64ul * order[(i + 1) % lines];
	free(order);
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
	memset(memory, 1, bytes);
	kernel = fm_stream_kernel_find(argv[1]);
	if (kernel) {
		size_t stream = bytes / kernel->streams / FM_BLOCK_BYTES * FM_BLOCK_BYTES;

		function = kernel->variant[strtoul(argv[2], NULL, 10)];
		for (unsigned i = 0; i < kernel->streams; i++)
			arguments.stream[i] = memory + i * stream;
		arguments.count = stream / FM_BLOCK_BYTES;
		function(&arguments);
		arguments.passes = count;
	} else {
		function = fm_kernel_chase;
		link_chain(memory, bytes);
		arguments.chain[0] = memory;
		arguments.count = bytes / 64 / 16 * 16;
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
