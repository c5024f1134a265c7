/* Every kernel this emulated processor can run, once with N and once with 2N units of work, each in a region of its
   own: the difference is what N units cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom.h"
#include "kernels/kernel.h"

enum { BLOCKS = 4, STEPS = 64 };

static _Alignas(4096) char streams[4][2 * BLOCKS * FM_BLOCK_BYTES];
static _Alignas(4096) char lines[256 * 64];

static void run(const char *name, fm_kernel_function function, struct fm_kernel_arguments *arguments, uint64_t unit)
{
	char region[64];

	for (unsigned times = 1; times <= 2; times++) {
		struct fm_kernel_arguments own = *arguments;

		own.count = times * unit;
		snprintf(region, sizeof(region), "%s/%u", name, times);
		fathom_region_begin(region);
		function(&own);
		fathom_region_end(region);
	}
}

int main(void)
{
	struct fm_kernel_arguments arguments = {
	    .stream = {streams[0], streams[1], streams[2], streams[3]}, .passes = 1, .scalar = 1};
	char name[64];

	for (unsigned i = 0; i < 256; i++)
		*(void **)&lines[64 * i] = &lines[64 * ((i + 37) % 256)];
	for (unsigned i = 0; i < FM_CHAINS_MAX; i++)
		arguments.chain[i] = &lines[64 * i];
	fathom_region_begin("first");
	fathom_region_end("first");
	for (unsigned kernel = 0; kernel < FM_STREAM_COUNT; kernel++)
		for (int isa = 0; isa < FM_ISA_COUNT; isa++)
			if (fm_isa_supported((enum fm_isa)isa)) {
				snprintf(name, sizeof(name), "%s_%s", fm_streams[kernel].name,
				         fm_isa_name((enum fm_isa)isa));
				run(name, fm_stream_functions[kernel][isa], &arguments, BLOCKS);
			}
	arguments.stream[0] = lines;
	arguments.passes = 256;
	run("chase", fm_kernel_chase, &arguments, STEPS);
	run("empty", fm_kernel_empty, &arguments, STEPS);
	run("adds", fm_kernel_adds, &arguments, STEPS);
	/* before the random update, which overwrites the chain */
	run("chase_independent", fm_kernel_chase_independent[24], &arguments, STEPS);
	run("chase_dependent", fm_kernel_chase_dependent[24], &arguments, STEPS);
	run("chase_parallel", fm_kernel_chase_parallel[31], &arguments, STEPS);
	run("random_update", fm_kernel_random_update, &arguments, STEPS);
	run("locked_add", fm_kernel_locked_add, &arguments, STEPS);
	run("word_add", fm_kernel_word_add, &arguments, STEPS);
	run("word_store", fm_kernel_word_store, &arguments, STEPS);
	return 0;
}
