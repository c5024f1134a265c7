/* Does every kernel, in every variant, do to memory exactly what kernels.def declares? The instructions are decoded and
   walked; where the processor has the variant, it also runs for real under the trap flag, and must take the same path.
 */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "kernels/kernel.h"
#include "kernels/walker.h"

enum { BLOCKS = 2, PASSES = 3, STREAM_BYTES = BLOCKS * FM_BLOCK_BYTES, SLOTS = STREAM_BYTES / 8 };

static _Alignas(4096) char memory[4][STREAM_BYTES];
static _Alignas(4096) char lines[64 * 256];
static unsigned checked, stepped;

/* Running under the trap flag */

static struct {
	volatile bool inside;
	uintptr_t entry;
	uintptr_t leave; /* where it returns to */
	uint64_t count;
	uint64_t path;
} steps;

static void on_trap(int number, siginfo_t *information, void *context)
{
	uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)information;
	if (at == steps.entry)
		steps.inside = true;
	if (at == steps.leave)
		steps.inside = false;
	if (steps.inside) {
		steps.count++;
		steps.path = walk_hash(steps.path, at);
	}
}

__attribute__((noinline)) static void run_stepping(fm_kernel_function function, struct fm_kernel_arguments *arguments)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;

	memset(&steps, 0, sizeof(steps));
	steps.entry = (uintptr_t)function;
	sigaction(SIGTRAP, &action, &before);
	__asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
	                 "movq %%rax, %[leave]\n\t"
	                 "subq $128, %%rsp\n\t" /* the red zone is not ours */
	                 "pushfq\n\t"
	                 "orq $0x100, (%%rsp)\n\t"
	                 "popfq\n\t"
	                 "call *%[function]\n"
	                 "1:\tpushfq\n\t"
	                 "andq $~0x100, (%%rsp)\n\t"
	                 "popfq\n\t"
	                 "addq $128, %%rsp"
	                 : [leave] "=m"(steps.leave), "+D"(arguments)
	                 : [function] "r"(function)
	                 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2",
	                   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
	                   "xmm14", "xmm15");
	sigaction(SIGTRAP, &before, NULL);
}

static void compare_with_reality(const char *name, fm_kernel_function function, struct fm_kernel_arguments *arguments,
                                 const struct walk *walk)
{
	run_stepping(function, arguments);
	if (steps.count != walk->instructions || steps.path != walk->path)
		fail_msg("%s: %lu instructions were executed, %lu walked", name, (unsigned long)steps.count,
		         (unsigned long)walk->instructions);
	stepped++;
}

/* Streams */

struct touched {
	unsigned loads[4][SLOTS];
	unsigned stores[4][SLOTS];
	bool nontemporal;
	bool outside;
};

static void touch(void *context, const struct walk_access *access)
{
	struct touched *touched = context;
	uintptr_t offset = access->address - (uintptr_t)memory;

	if (offset + access->bytes > sizeof(memory)) {
		touched->outside = true;
		return;
	}
	for (unsigned i = 0; i < access->bytes / 8; i++)
		++(access->store ? touched->stores
		                 : touched->loads)[offset / STREAM_BYTES][offset % STREAM_BYTES / 8 + i];
	touched->nontemporal |= access->nontemporal;
}

static void check_stream_variant(const struct fm_stream_kernel *kernel, enum fm_isa isa)
{
	struct fm_kernel_arguments arguments = {
	    .stream = {memory[0], memory[1], memory[2], memory[3]}, .count = BLOCKS, .passes = PASSES, .scalar = 1};
	static struct touched touched;
	struct walk walk = {.on_access = touch, .context = &touched};
	uint64_t elements = (uint64_t)SLOTS * PASSES, lanes = fm_isa_bytes(isa) / 8;
	unsigned streams = 0, allocated = 0;
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", kernel->name, fm_isa_name(isa));
	memset(&touched, 0, sizeof(touched));
	if (!walk_kernel(fm_stream_functions[kernel - fm_streams][isa], &arguments, &walk))
		fail_msg("%s: %s", name, walk.problem);
	assert_false(touched.outside);
	assert_int_equal(walk.loads, elements / lanes * kernel->loads);
	assert_int_equal(walk.stores, elements / lanes * kernel->stores);
	assert_int_equal(walk.loaded_bytes, elements * kernel->loaded_bytes);
	assert_int_equal(walk.stored_bytes, elements * kernel->stored_bytes);
	assert_int_equal(walk.flops, elements * kernel->flops);
	for (unsigned stream = 0; stream < 4; stream++) {
		unsigned loads = touched.loads[stream][0], stores = touched.stores[stream][0];

		/* every element of a stream is treated alike, once per pass */
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			assert_int_equal(touched.loads[stream][slot], loads);
			assert_int_equal(touched.stores[stream][slot], stores);
		}
		assert_true((loads == 0 || loads == PASSES) && (stores == 0 || stores == PASSES));
		streams += loads || stores;
		if (stores && !loads && !touched.nontemporal)
			allocated += 8;
	}
	assert_int_equal(streams, kernel->streams);
	assert_int_equal(allocated, kernel->write_allocate_bytes);
	if (fm_isa_supported(isa))
		compare_with_reality(name, fm_stream_functions[kernel - fm_streams][isa], &arguments, &walk);
	checked++;
}

static void streams_do_what_they_declare(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FM_STREAM_COUNT; i++)
		for (int isa = 0; isa < FM_ISA_COUNT; isa++)
			check_stream_variant(&fm_streams[i], (enum fm_isa)isa);
	assert_int_equal(checked, FM_STREAM_COUNT * FM_ISA_COUNT);
}

/* Strings */

struct bytes_touched {
	unsigned char loads[4][STREAM_BYTES];
	unsigned char stores[4][STREAM_BYTES];
	bool outside;
};

static void touch_byte(void *context, const struct walk_access *access)
{
	struct bytes_touched *touched = context;
	uintptr_t offset = access->address - (uintptr_t)memory;

	if (offset >= sizeof(memory) || access->bytes != 1)
		touched->outside = true;
	else
		++(access->store ? touched->stores : touched->loads)[offset / STREAM_BYTES][offset % STREAM_BYTES];
}

static void strings_do_what_they_declare(void **state)
{
	static struct bytes_touched touched;

	(void)state;
	for (unsigned i = 0; i < FM_STRING_COUNT; i++) {
		const struct fm_stream_kernel *kernel = &fm_strings[i];
		struct fm_kernel_arguments arguments = {
		    .stream = {memory[0], memory[1], memory[2], memory[3]}, .count = BLOCKS, .passes = PASSES};
		struct walk walk = {.on_access = touch_byte, .context = &touched};
		uint64_t elements = (uint64_t)SLOTS * PASSES;
		unsigned streams = 0;

		memset(&touched, 0, sizeof(touched));
		if (!walk_kernel(fm_string_functions[i], &arguments, &walk))
			fail_msg("%s: %s", kernel->name, walk.problem);
		assert_false(touched.outside);
		assert_int_equal(walk.loads, elements * kernel->loads);
		assert_int_equal(walk.stores, elements * kernel->stores);
		assert_int_equal(walk.loaded_bytes, elements * kernel->loaded_bytes);
		assert_int_equal(walk.stored_bytes, elements * kernel->stored_bytes);
		assert_int_equal(walk.flops, 0);
		for (unsigned stream = 0; stream < 4; stream++) {
			unsigned loads = touched.loads[stream][0], stores = touched.stores[stream][0];

			for (unsigned byte = 0; byte < STREAM_BYTES; byte++) {
				assert_int_equal(touched.loads[stream][byte], loads);
				assert_int_equal(touched.stores[stream][byte], stores);
			}
			assert_true((loads == 0 || loads == PASSES) && (stores == 0 || stores == PASSES));
			streams += loads || stores;
		}
		assert_int_equal(streams, kernel->streams);
		compare_with_reality(kernel->name, fm_string_functions[i], &arguments, &walk);
		checked++;
	}
}

/* Steps */

/* A cycle through the lines in a fixed order; 37 and 256 have no common divisor. */
static void build_chain(void)
{
	for (unsigned i = 0; i < 256; i++)
		*(void **)&lines[i * 64] = &lines[(i * 64 + 37 * 64) % sizeof(lines)];
}

static struct fm_kernel_arguments step_arguments(uint64_t count)
{
	struct fm_kernel_arguments arguments = {.stream = {lines, lines + 128 * 64}, .count = count, .passes = 64};

	build_chain();
	for (unsigned i = 0; i < FM_CHAINS_MAX; i++)
		arguments.chain[i] = &lines[i * 64];
	return arguments;
}

static void steps_do_what_they_declare(void **state)
{
	enum { STEPS = 160 };

	(void)state;
	assert_true(fm_step_kernel_count > 0);
	for (unsigned i = 0; i < fm_step_kernel_count; i++) {
		const struct fm_step_kernel *kernel = &fm_step_kernels[i];
		struct fm_kernel_arguments arguments = step_arguments(STEPS);
		bool waits = !strcmp(kernel->name, "ping_pong");
		struct walk walk = {.partner = waits};

		if (waits) {
			memset(lines, 0, 64);
			arguments.passes = 0;
		}
		if (!walk_kernel(kernel->function, &arguments, &walk))
			fail_msg("%s: %s", kernel->name, walk.problem);
		assert_int_equal(walk.loads, STEPS * kernel->loads);
		assert_int_equal(walk.stores, STEPS * kernel->stores);
		assert_int_equal(walk.loaded_bytes, STEPS * kernel->loaded_bytes);
		assert_int_equal(walk.stored_bytes, STEPS * kernel->stored_bytes);
		assert_int_equal(walk.flops, STEPS * kernel->flops);
		if (!waits) {
			arguments = step_arguments(STEPS);
			compare_with_reality(kernel->name, kernel->function, &arguments, &walk);
		}
		checked++;
	}
}

static void families_do_what_they_declare(void **state)
{
	enum { STEPS = 16 };

	(void)state;
	assert_true(fm_family_kernel_count > 0);
	for (unsigned i = 0; i < fm_family_kernel_count; i++) {
		const struct fm_family_kernel *kernel = &fm_family_kernels[i];
		uint64_t before = 0;

		for (unsigned value = kernel->first; value <= kernel->last; value++) {
			fm_kernel_function function = kernel->functions[value - kernel->first];
			struct fm_kernel_arguments arguments = step_arguments(STEPS);
			struct walk walk = {0};

			if (!walk_kernel(function, &arguments, &walk))
				fail_msg("%s %u: %s", kernel->name, value, walk.problem);
			assert_int_equal(walk.loads, STEPS * (kernel->loads + value * kernel->loads_per_unit));
			assert_int_equal(walk.loaded_bytes, 8 * walk.loads);
			assert_int_equal(walk.stores, 0);
			/* one more multiplication is one more instruction per step */
			if (before && kernel->loads)
				assert_int_equal(walk.instructions - before, STEPS);
			before = walk.instructions;
			arguments = step_arguments(STEPS);
			compare_with_reality(kernel->name, function, &arguments, &walk);
			checked++;
		}
	}
}

static void handovers_do_what_they_declare(void **state)
{
	enum { STEPS = 5, LINES = 7 };

	(void)state;
	assert_true(fm_handover_kernel_count > 0);
	for (unsigned i = 0; i < fm_handover_kernel_count; i++) {
		const struct fm_handover_kernel *kernel = &fm_handover_kernels[i];
		struct fm_kernel_arguments arguments = step_arguments(LINES);
		struct walk walk = {.partner = true};

		arguments.passes = STEPS;
		/* a consumer finds the flag raised */
		*(uint64_t *)arguments.stream[1] = kernel->line_loads ? 1 : 0;
		if (!walk_kernel(kernel->function, &arguments, &walk))
			fail_msg("%s: %s", kernel->name, walk.problem);
		assert_int_equal(arguments.result, 1);
		assert_int_equal(walk.loads, STEPS * (LINES * kernel->line_loads + kernel->step_loads));
		assert_int_equal(walk.stores, STEPS * (LINES * kernel->line_stores + kernel->step_stores));
		checked++;
	}
}

static void something_was_checked(void **state)
{
	(void)state;
	print_message("%u kernels and variants walked, %u of them also executed\n", checked, stepped);
	assert_true(checked >= FM_STREAM_COUNT * FM_ISA_COUNT + 100);
	assert_true(stepped >= FM_STREAM_COUNT * 2 + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_do_what_they_declare),  cmocka_unit_test(steps_do_what_they_declare),
	    cmocka_unit_test(families_do_what_they_declare), cmocka_unit_test(handovers_do_what_they_declare),
	    cmocka_unit_test(strings_do_what_they_declare),  cmocka_unit_test(something_was_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
