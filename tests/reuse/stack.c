/* Stack distances against a list that is searched, and sampled ones against exact ones. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "reuse/stack.h"

/* The stack itself: the last line in front. */
static void naive(const uint64_t *lines, size_t count, struct fm_distances *ret)
{
	uint64_t *stack = malloc(count * sizeof(*stack));
	size_t depth = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		size_t place = 0;

		while (place < depth && stack[place] != lines[i])
			place++;
		if (place == depth) {
			ret->cold++;
			depth++;
		} else {
			ret->bins[fm_bin_of(place, FM_DISTANCE_BITS)]++;
		}
		memmove(stack + 1, stack, place * sizeof(*stack));
		stack[0] = lines[i];
	}
	ret->references = (double)count;
	free(stack);
}

static void check_equal(const uint64_t *lines, size_t count)
{
	struct fm_stack stack, one_by_one;
	struct fm_distances expected, found, counted = {0};

	naive(lines, count, &expected);
	assert_int_equal(fm_stack_create(&stack, &(struct fm_stack_options){0}), 0);
	assert_int_equal(fm_stack_create(&one_by_one, &(struct fm_stack_options){.share = 1}), 0);
	assert_int_equal(fm_stack_touch_all(&stack, lines, count / 3), 0);
	assert_int_equal(fm_stack_touch_all(&stack, lines + count / 3, count - count / 3), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fm_stack_touch(&one_by_one, lines[i]), 0);
		fm_distances_count(&counted, one_by_one.distance, 1);
	}
	assert_memory_equal(&counted, &expected, sizeof(counted));
	fm_stack_result(&stack, &found);
	assert_memory_equal(&found, &expected, sizeof(found));
	fm_stack_result(&one_by_one, &found);
	assert_memory_equal(&found, &expected, sizeof(found));
	assert_int_equal(fm_stack_lines(&stack), (size_t)expected.cold);
	fm_stack_free(&stack);
	fm_stack_free(&one_by_one);
}

static void same_as_a_searched_list(void **state)
{
	enum { COUNT = 60000 };
	uint64_t *lines = malloc(COUNT * sizeof(*lines));
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 7);
	/* few lines, many lines (the table grows, the axis is full several times), and steps with repetitions */
	for (uint64_t range = 1; range <= 10000; range *= 10) {
		for (size_t i = 0; i < COUNT; i++)
			lines[i] = fm_random_below(&random, range);
		check_equal(lines, COUNT);
	}
	for (size_t i = 0; i < COUNT; i++)
		lines[i] = (fm_random_below(&random, 3) ? i / 7 % 900 : fm_random_below(&random, 5000)) << 20;
	check_equal(lines, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		lines[i] = UINT64_MAX - 1 - i % 9000;
	check_equal(lines, COUNT);
	free(lines);
}

static void bins_hold_what_they_say(void **state)
{
	(void)state;
	for (unsigned bin = 0; bin < FM_DISTANCE_BINS; bin++)
		if (fm_bin_low(bin, FM_DISTANCE_BITS) < 0x1p63)
			assert_int_equal(fm_bin_of((uint64_t)fm_bin_low(bin, FM_DISTANCE_BITS), FM_DISTANCE_BITS), bin);
	assert_int_equal(fm_bin_of(UINT64_MAX, FM_DISTANCE_BITS), FM_DISTANCE_BINS - 1);
	assert_int_equal(fm_time_bin(0), 0);
	assert_int_equal(fm_time_bin(0x1p48 - 1), FM_TIME_BINS - 2);
	assert_int_equal(fm_time_bin(INFINITY), FM_TIME_BINS - 1);
}

static void ratios_of_sweeps(void **state)
{
	struct fm_stack stack;
	struct fm_distances found;

	(void)state;
	assert_int_equal(fm_stack_create(&stack, &(struct fm_stack_options){0}), 0);
	fm_stack_result(&stack, &found);
	assert_true(isnan(fm_distances_miss_ratio(&found, 8)));
	for (unsigned i = 0; i < 1024 * 100; i++)
		assert_int_equal(fm_stack_touch(&stack, i % 1024), 0);
	fm_stack_result(&stack, &found);
	assert_near(fm_distances_miss_ratio(&found, 1024), 0.01, 1e-9);
	assert_near(fm_distances_miss_ratio(&found, 960), 1, 1e-9);
	assert_near(fm_distances_miss_ratio(&found, 0), 1, 1e-9);
	fm_stack_free(&stack);
}

/* Zipf's law over a permuted range, by inverting the integral. */
static uint64_t zipf(struct fm_random *random, double lines, double exponent)
{
	double u = fm_random_uniform(random), e = 1 - exponent;

	return (uint64_t)pow(u * (pow(lines + 1, e) - 1) + 1, 1 / e) * 0x9e3779b97f4a7c15u >> 4;
}

static void sampled_lines_give_the_curve(void **state)
{
	static const struct fm_stack_options options[] = {{0}, {.share = 0.1}, {.lines_most = 4096}};
	struct fm_stack stacks[3];
	struct fm_distances found[3];
	struct fm_random random;
	double error[3] = {0};
	unsigned points = 0;

	(void)state;
	fm_random_seed(&random, 11);
	for (int k = 0; k < 3; k++)
		assert_int_equal(fm_stack_create(&stacks[k], &options[k]), 0);
	for (unsigned i = 0; i < 1500000; i++) {
		uint64_t line = zipf(&random, 100000, 0.7);

		for (int k = 0; k < 3; k++)
			assert_int_equal(fm_stack_touch(&stacks[k], line), 0);
	}
	for (int k = 0; k < 3; k++)
		fm_stack_result(&stacks[k], &found[k]);
	assert_near(fm_stack_share(&stacks[1]), 0.1, 0);
	assert_true(fm_stack_lines(&stacks[2]) <= 4096 && fm_stack_lines(&stacks[2]) > 2500);
	assert_true(fm_stack_share(&stacks[2]) < 0.06);
	for (double lines = 512; lines < 200000; lines *= 1.3, points++)
		for (int k = 1; k < 3; k++) {
			double off =
			    fabs(fm_distances_miss_ratio(&found[k], lines) - fm_distances_miss_ratio(&found[0], lines));

			error[k] += off;
			assert_true(off < 0.05);
		}
	/* Waldspurger reports about 1 point at such shares */
	assert_true(error[1] / points < 0.01);
	assert_true(error[2] / points < 0.02);
	for (int k = 0; k < 3; k++) {
		assert_near(found[k].references, 1500000, 0);
		fm_stack_free(&stacks[k]);
	}
}

static void wrong_shares(void **state)
{
	struct fm_stack stack = {0};

	(void)state;
	assert_int_equal(fm_stack_create(&stack, &(struct fm_stack_options){.share = 1.5}), -EINVAL);
	assert_int_equal(fm_stack_create(&stack, &(struct fm_stack_options){.share = NAN}), -EINVAL);
	fm_stack_free(&stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_as_a_searched_list),
	    cmocka_unit_test(bins_hold_what_they_say),
	    cmocka_unit_test(ratios_of_sweeps),
	    cmocka_unit_test(sampled_lines_give_the_curve),
	    cmocka_unit_test(wrong_shares),
	};

	return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
