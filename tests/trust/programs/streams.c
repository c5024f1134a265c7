/* Streaming kernels as the plan lays them out: arguments are "kernel isa bytes", the whole data set of one core. Each
   runs once to fill the caches, then N and 2N passes in regions of their own: the difference is what N passes cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fathom.h"
#include "kernels/kernel.h"

enum { LARGE = 2 << 20, ROOM = 64 << 20 };

int main(int argc, char **argv)
{
	char *memory = mmap(NULL, ROOM + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* the first marker asks who listens */
	fathom_region_begin("first");
	fathom_region_end("first");
	if (memory == MAP_FAILED)
		return 1;
	memory += LARGE - (size_t)memory % LARGE;
	for (int i = 1; i + 3 < argc; i += 4) {
		const struct fm_stream_kernel *kernel = fm_stream_find(argv[i]);
		struct fm_kernel_arguments arguments = {.scalar = 1, .passes = 1};
		size_t bytes = strtoul(argv[i + 2], NULL, 10), passes = strtoul(argv[i + 3], NULL, 10), stream;
		fm_kernel_function function;
		char name[64];

		if (!kernel || bytes > ROOM)
			return 1;
		function = fm_stream_functions[kernel - fm_streams][strtoul(argv[i + 1], NULL, 10)];
		stream = bytes / kernel->streams;
		for (unsigned k = 0; k < kernel->streams; k++)
			arguments.stream[k] = memory + k * stream;
		arguments.count = stream / FM_BLOCK_BYTES;
		function(&arguments);
		for (unsigned times = 1; times <= 2; times++) {
			arguments.passes = times * passes;
			snprintf(name, sizeof(name), "%s %s %s/%u", argv[i], argv[i + 1], argv[i + 2], times);
			fathom_region_begin(name);
			function(&arguments);
			fathom_region_end(name);
		}
	}
	return 0;
}
