/* The kernels of the core, each in a region of its name: fathom-core BYTES STEPS WINDOW-STEPS. `fathom machine
   --machine NAME` runs it in the emulator. BYTES is a power of two above the size of the caches. Further regions, for
   each following number N of pages: chases through one line per page, "pages_N", and through as many close lines,
   "lines_N". Then chases through lines of one set of the first cache, "l1_ways_N", and of the second, "l2_ways_N";
   walks for prefetchers, "WALK_N"; parallel chases through lines from memory, "parallel_0_N", with neighbours,
   "parallel_pairs", and streams, "stream"; and, for each @BYTES, parallel chases through that many bytes, each line
   once: "parallel_1_N" and on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../include/fathom.h"
#include "kernels/chain.h"
#include "kernels/kernel.h"
#include "kernels/walk.h"

static const struct {
	const char *name;
	const fm_kernel_function *functions;
} windows[] = {
    {"window", fm_kernel_window_instructions},
    {"load_buffers", fm_kernel_window_loads},
    {"store_buffers", fm_kernel_window_stores},
};

/* Once for the code and the data to be there. */
static void run(const char *name, fm_kernel_function function, struct fm_kernel_arguments *arguments, uint64_t steps,
                uint64_t before)
{
	arguments->count = before;
	function(arguments);
	arguments->count = steps;
	fathom_region_begin(name);
	function(arguments);
	fathom_region_end(name);
}

/* Passes over a growing amount of code: "NAME_1" and on. */
static void run_passes(const char *name, fm_kernel_function function, unsigned points, uint64_t step, uint64_t passes)
{
	for (unsigned i = 1; i <= points; i++) {
		struct fm_kernel_arguments arguments = {.passes = i * step};
		char region[32];

		snprintf(region, sizeof(region), "%s_%u", name, i);
		run(region, function, &arguments, passes, 2);
	}
}

static int run_pages(unsigned long pages, struct fm_kernel_arguments *arguments)
{
	enum { PAGE = 4096, STEPS = 2048 };
	static const struct {
		const char *name;
		size_t distance;
	} kinds[] = {{"pages", PAGE}, {"lines", FM_APART_BYTES}};

	for (unsigned i = 0; i < 2; i++) {
		size_t bytes = fm_chain_bytes(pages, kinds[i].distance);
		uint64_t steps = pages > STEPS ? (pages + 15) / 16 * 16 : STEPS;
		char name[32], *memory;

		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return 1;
		arguments->chain[0] = fm_chain_link(memory, pages, kinds[i].distance, pages);
		snprintf(name, sizeof(name), "%s_%lu", kinds[i].name, pages);
		run(name, fm_kernel_chase, arguments, steps, steps);
		munmap(memory, bytes);
	}
	return 0;
}

static int run_ways(struct fm_kernel_arguments *arguments)
{
	enum { STEPS = 512 };
	static const struct {
		const char *name;
		size_t distance;
	} caches[] = {{"l1_ways", FM_FIRST_SETS_BYTES}, {"l2_ways", FM_SECOND_SETS_BYTES}};

	for (unsigned i = 0; i < 2; i++) {
		size_t bytes = fm_chain_bytes(FM_WAYS_MAX, caches[i].distance);
		char name[32], *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return 1;
		for (unsigned lines = 1; lines <= FM_WAYS_MAX; lines++) {
			arguments->chain[0] = fm_chain_link_same(memory, lines, caches[i].distance, lines);
			snprintf(name, sizeof(name), "%s_%u", caches[i].name, lines);
			run(name, fm_kernel_chase, arguments, STEPS, STEPS);
		}
		munmap(memory, bytes);
	}
	return 0;
}

static void run_once(const char *name, fm_kernel_function function, struct fm_kernel_arguments *arguments)
{
	fathom_region_begin(name);
	function(arguments);
	fathom_region_end(name);
}

/* Stores are in flight to memory for a while, which no simulated instruction waits for. */
static void wait_for_memory(void)
{
	struct fm_kernel_arguments arguments = {.count = 16 * FM_CORE_STEPS};

	fm_core_kernels[FM_CORE_KERNEL_divide_chain].function(&arguments);
}

/* Each line once, from memory. */
static int run_walks(struct fm_kernel_arguments *arguments)
{
	enum { ALIGNED = 64 << 10 };
	char name[48],
	    *memory = mmap(NULL, FM_WALK_BYTES + ALIGNED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memory += -(uintptr_t)memory % ALIGNED;
	/* an untimed pass takes the write-backs of the caches */
	for (unsigned i = 0; i < FM_WALK_KINDS; i++) {
		arguments->count = fm_walk_lay((enum fm_walk_kind)i, fm_walk_value((enum fm_walk_kind)i, 0), memory, i,
		                               &arguments->chain[0]);
		fm_kernel_chase(arguments);
	}
	for (unsigned i = 0; i < FM_WALK_KINDS; i++)
		for (unsigned k = 0; k < fm_walk_values((enum fm_walk_kind)i); k++) {
			enum fm_walk_kind kind = (enum fm_walk_kind)i;
			unsigned value = fm_walk_value(kind, k);

			arguments->count = fm_walk_lay(kind, value, memory, i, &arguments->chain[0]);
			snprintf(name, sizeof(name), "%s_%u", fm_walk_name(kind), value);
			wait_for_memory();
			run_once(name, fm_walk_function(kind), arguments);
		}
	for (unsigned i = 0; i < FM_WALK_CHAIN_COUNTS; i++) {
		arguments->count = fm_walk_lay_parallel(fm_walk_chain_counts[i], true, memory, i, arguments->chain);
		snprintf(name, sizeof(name), "parallel_0_%u", fm_walk_chain_counts[i]);
		wait_for_memory();
		run_once(name, fm_kernel_chase_parallel[fm_walk_chain_counts[i] - 1], arguments);
	}
	arguments->count = fm_walk_lay_parallel(FM_CHAINS_MAX, false, memory, 1, arguments->chain);
	wait_for_memory();
	run_once("parallel_pairs", fm_kernel_chase_parallel[FM_CHAINS_MAX - 1], arguments);
	arguments->count = fm_walk_lay_streams(memory, 1, arguments->chain);
	wait_for_memory();
	run_once("stream", fm_kernel_chase_parallel[FM_WALK_STREAMS - 1], arguments);
	return 0;
}

/* Chases through a set that some cache holds. */
static int run_set(unsigned number, size_t bytes, struct fm_kernel_arguments *arguments)
{
	size_t lines = bytes / FM_LINE_BYTES;
	char name[48],
	    *memory = mmap(NULL, bytes + FM_LINE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *starts[FM_CHAINS_MAX], *place;

	if (memory == MAP_FAILED || lines < FM_CHAINS_MAX)
		return 1;
	place = fm_chain_link(memory, lines, FM_LINE_BYTES, number);
	for (size_t i = 0; i < lines; i++) {
		if (i % (lines / FM_CHAINS_MAX) == 0 && i / (lines / FM_CHAINS_MAX) < FM_CHAINS_MAX)
			starts[i / (lines / FM_CHAINS_MAX)] = place;
		place = *(void **)place;
	}
	for (unsigned i = 0; i < FM_WALK_CHAIN_COUNTS; i++) {
		unsigned chains = fm_walk_chain_counts[i];

		if (FM_CHAINS_MAX % chains)
			continue;
		for (unsigned k = 0; k < chains; k++)
			arguments->chain[k] = starts[k * (FM_CHAINS_MAX / chains)];
		arguments->count = lines / chains;
		snprintf(name, sizeof(name), "parallel_%u_%u", number, fm_walk_chain_counts[i]);
		run_once(name, fm_kernel_chase_parallel[fm_walk_chain_counts[i] - 1], arguments);
	}
	munmap(memory, bytes + FM_LINE_BYTES);
	return 0;
}

int main(int argc, char **argv)
{
	static _Alignas(4096) char line[4096];
	struct fm_kernel_arguments arguments = {.stream = {line}};
	size_t bytes, lines;
	uint64_t steps, few;
	unsigned sets = 0;
	char *memory;

	if (argc < 4)
		return 2;
	bytes = strtoul(argv[1], NULL, 10);
	steps = strtoul(argv[2], NULL, 10) / FM_CORE_STEPS * FM_CORE_STEPS;
	few = strtoul(argv[3], NULL, 10);
	lines = bytes / 64;
	if (!steps || !few || !lines || (lines & (lines - 1)))
		return 2;
	for (unsigned i = 0; i < FM_CORE_KERNELS; i++)
		if (fm_isa_supported(fm_core_kernels[i].isa))
			run(fm_core_kernels[i].name, fm_core_kernels[i].function, &arguments, steps, FM_CORE_STEPS);
	arguments.passes = 1ull << 33;
	run("branches_random", fm_core_kernels[FM_CORE_KERNEL_branches].function, &arguments, steps, FM_CORE_STEPS);
	run_passes("code", fm_kernel_straight, FM_CODE_POINTS, FM_CODE_STEP, FM_CODE_PASSES);
	run_passes("taken", fm_kernel_taken, FM_TAKEN_POINTS, FM_TAKEN_STEP, FM_TAKEN_PASSES);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	/* a linear congruential generator of full period */
	for (size_t i = 0; i < lines; i++)
		*(void **)(memory + 64 * i) = memory + 64 * ((i * 2862933555777941757ul + 3037000493ul) % lines);
	arguments.chain[0] = memory;
	arguments.chain[1] = memory + bytes / 2;
	for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		for (unsigned k = 0; k < FM_WINDOW_FUNCTIONS; k++) {
			char name[48];

			snprintf(name, sizeof(name), "%s_%u", windows[i].name, k + 1);
			run(name, windows[i].functions[k], &arguments, few, 1);
		}
	for (int i = 4; i < argc && *argv[i] != '@'; i++)
		if (run_pages(strtoul(argv[i], NULL, 10), &arguments))
			return 1;
	if (run_ways(&arguments) || run_walks(&arguments))
		return 1;
	for (int i = 4; i < argc; i++)
		if (*argv[i] == '@' && run_set(++sets, strtoul(argv[i] + 1, NULL, 10), &arguments))
			return 1;
	return 0;
}
