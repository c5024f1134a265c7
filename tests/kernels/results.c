/* Do the kernels compute what their formulas say, in every instruction set this processor has, and do chases arrive
   where they must? */
#include "check.h"

#include <string.h>

#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/team.h"

enum { BLOCKS = 3, ELEMENTS = BLOCKS * FM_BLOCK_BYTES / 8 };

static _Alignas(64) double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], d[ELEMENTS];

static void fill(void)
{
	for (unsigned i = 0; i < ELEMENTS; i++) {
		a[i] = i;
		b[i] = 2 * i + 1;
		c[i] = 3 + i % 7;
		d[i] = 1000 - (double)i;
	}
}

static double expected(enum fm_stream_kernel_index kernel, unsigned i, double s)
{
	double old = i, second = 2 * i + 1, third = 3 + i % 7, fourth = 1000 - (double)i;

	switch (kernel) {
	case FM_STREAM_store:
	case FM_STREAM_store_nt:
		return s;
	case FM_STREAM_copy:
	case FM_STREAM_copy_nt:
		return second;
	case FM_STREAM_update:
		return s * old;
	case FM_STREAM_daxpy:
		return s * second + old;
	case FM_STREAM_stream_triad:
		return s * second + third;
	case FM_STREAM_vector_triad:
		return second * third + fourth;
	default:
		return old; /* only read */
	}
}

static void streams_compute(void **state)
{
	unsigned variants = 0;

	(void)state;
	for (int kernel = 0; kernel < FM_STREAM_COUNT; kernel++)
		for (int isa = 0; isa < FM_ISA_COUNT; isa++) {
			struct fm_kernel_arguments arguments = {
			    .stream = {a, b, c, d}, .count = BLOCKS, .passes = 1, .scalar = 3};

			if (!fm_isa_supported((enum fm_isa)isa))
				continue;
			fill();
			fm_stream_functions[kernel][isa](&arguments);
			for (unsigned i = 0; i < ELEMENTS; i++)
				if (a[i] != expected((enum fm_stream_kernel_index)kernel, i, 3))
					fail_msg("%s_%s: element %u is %g", fm_streams[kernel].name,
					         fm_isa_name((enum fm_isa)isa), i, a[i]);
			variants++;
		}
	print_message("%u variants executed\n", variants);
	assert_true(variants >= 2 * FM_STREAM_COUNT);
}

static void strings_compute(void **state)
{
	struct fm_kernel_arguments arguments = {.stream = {a, b}, .count = BLOCKS, .passes = 2};

	(void)state;
	fill();
	fm_kernel_rep_movs(&arguments);
	for (unsigned i = 0; i < ELEMENTS; i++)
		assert_true(a[i] == b[i] && b[i] == 2 * i + 1);
	fm_kernel_rep_stos(&arguments);
	for (unsigned i = 0; i < ELEMENTS; i++)
		assert_true(a[i] == 0 && b[i] == 2 * i + 1);
	assert_ptr_equal(fm_string_find("rep_stos"), &fm_strings[FM_STRING_rep_stos]);
	assert_null(fm_string_find("store"));
}

static void chains_visit_every_line(void **state)
{
	struct fm_buffer buffer;
	struct fm_kernel_arguments arguments = {.count = 16};
	struct fm_random random;
	unsigned char seen[1024] = {0};
	void *start;

	(void)state;
	fm_random_seed(&random, 4);
	assert_int_equal(fm_buffer_allocate(sizeof(seen) * 64, FM_PAGES_SMALL, -1, &buffer, NULL), 0);
	assert_int_equal(fm_chain_build(&buffer, &random, arguments.chain, FM_CHAINS_MAX, NULL), 0);
	start = arguments.chain[0];
	for (unsigned i = 0; i < sizeof(seen); i += 16) {
		void *at = arguments.chain[0];

		for (unsigned j = 0; j < 16; j++, at = *(void **)at)
			seen[((char *)at - buffer.memory) / 64]++;
		fm_kernel_chase(&arguments);
		assert_ptr_equal(arguments.chain[0], at);
	}
	assert_ptr_equal(arguments.chain[0], start);
	for (unsigned i = 0; i < sizeof(seen); i++)
		assert_int_equal(seen[i], 1);
	/* each of k chains advances like a plain one */
	for (unsigned chains = 1; chains <= FM_CHAINS_MAX; chains++) {
		struct fm_kernel_arguments parallel = arguments;

		parallel.count = 5;
		fm_kernel_chase_parallel[chains - 1](&parallel);
		for (unsigned i = 0; i < FM_CHAINS_MAX; i++) {
			void *at = arguments.chain[i];

			for (unsigned j = 0; j < 5 && i < chains; j++)
				at = *(void **)at;
			assert_ptr_equal(parallel.chain[i], at);
		}
	}
	/* and multiplications do not change the way */
	for (unsigned count = 0; count <= FM_MULTIPLICATIONS_MAX; count++) {
		struct fm_kernel_arguments first = arguments, second = arguments, third = arguments;

		first.count = second.count = third.count = 16;
		fm_kernel_chase(&first);
		fm_kernel_chase_independent[count](&second);
		fm_kernel_chase_dependent[count](&third);
		assert_ptr_equal(first.chain[0], second.chain[0]);
		assert_ptr_equal(first.chain[0], third.chain[0]);
	}
	fm_buffer_free(&buffer);
}

struct pair {
	struct fm_kernel_arguments arguments[2];
	fm_kernel_function function[2];
};

static void run_side(void *context, unsigned index)
{
	struct pair *pair = context;

	pair->function[index](&pair->arguments[index]);
}

/* Two threads, on two CPUs where there are two. */
static void handovers_arrive(void **state)
{
	enum { STEPS = 200, LINES = 8 };
	static _Alignas(64) uint64_t lines[LINES * 8], flag[8];
	struct fm_cpu_list cpus;
	struct fm_team_time times[2];
	struct fm_team *team;
	struct pair pair = {.function = {fm_kernel_produce, fm_kernel_consume}};

	(void)state;
	assert_int_equal(fm_cpu_list_allowed(&cpus, NULL), 0);
	if (cpus.count < 2)
		cpus.cpu[1] = cpus.cpu[0];
	cpus.count = 2;
	assert_int_equal(fm_team_create(&cpus, &team, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		pair.arguments[i].stream[0] = lines;
		pair.arguments[i].stream[1] = flag;
		pair.arguments[i].count = LINES;
		pair.arguments[i].passes = STEPS;
	}
	fm_team_run(team, NULL, 2, NULL, run_side, &pair, times);
	assert_int_equal(pair.arguments[0].result, 1);
	assert_int_equal(pair.arguments[1].result, 1);
	assert_int_equal(flag[0], 2 * STEPS);
	for (unsigned i = 0; i < LINES; i++)
		assert_int_equal(lines[8 * i], 2 * STEPS - 1);
	flag[0] = 0;
	for (unsigned i = 0; i < 2; i++) {
		pair.function[i] = fm_kernel_ping_pong;
		pair.arguments[i].stream[0] = flag;
		pair.arguments[i].count = STEPS;
		pair.arguments[i].passes = i;
	}
	fm_team_run(team, NULL, 2, NULL, run_side, &pair, times);
	assert_int_equal(pair.arguments[0].result, 1);
	assert_int_equal(pair.arguments[1].result, 1);
	assert_int_equal(flag[0], 2 * STEPS);
	fm_team_destroy(team);
}

static void random_update_counts(void **state)
{
	enum { LINES = 64, UPDATES = 6400 };
	static _Alignas(64) uint64_t lines[LINES * 8];
	struct fm_kernel_arguments arguments = {.stream = {lines}, .count = UPDATES, .passes = LINES, .result = 12345};
	uint64_t total = 0;

	(void)state;
	fm_kernel_random_update(&arguments);
	for (unsigned i = 0; i < LINES; i++) {
		assert_true(lines[8 * i] > UPDATES / LINES / 2 && lines[8 * i] < UPDATES / LINES * 2);
		total += lines[8 * i];
	}
	assert_int_equal(total, UPDATES);
}

static void mask_narrows_the_choice(void **state)
{
	struct fm_error error;

	(void)state;
	setenv("FATHOM_CPU", "scalar,sse", 1);
	assert_int_equal(fm_isa_read_mask(&error), 0);
	assert_int_equal(fm_isa_widest(), FM_ISA_sse);
	assert_false(fm_isa_available(FM_ISA_avx2));
	setenv("FATHOM_CPU", "scalar,avx9", 1);
	assert_true(fm_isa_read_mask(&error) < 0);
	assert_non_null(strstr(error.message, "avx9"));
	setenv("FATHOM_CPU", "", 1);
	assert_int_equal(fm_isa_read_mask(&error), 0);
	assert_true(fm_isa_available(FM_ISA_scalar));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_compute),         cmocka_unit_test(chains_visit_every_line),
	    cmocka_unit_test(handovers_arrive),        cmocka_unit_test(random_update_counts),
	    cmocka_unit_test(mask_narrows_the_choice), cmocka_unit_test(strings_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
