/* Ranges against an array that has a value for each address. */
#include "check.h"

#include <string.h>

#include "base/random.h"
#include "base/index_map.h"
#include "replay/ranges.h"

enum { SPACE = 512, VALUES = 1000 };

static int parts_of[VALUES];

static void changed(void *context, uint32_t value, int ranges)
{
	assert_ptr_equal(context, parts_of);
	parts_of[value] += ranges;
}

static void check(const struct fm_ranges *ranges, const uint32_t *truth)
{
	struct fm_range range = {0};
	size_t count = 0;

	for (uint64_t i = 0; i < SPACE; i++) {
		bool there = fm_ranges_find(ranges, i, &range);

		assert_int_equal(there, truth[i] != FM_RANGES_NONE);
		if (there) {
			assert_int_equal(range.value, truth[i]);
			assert_true(range.begin <= i && i < range.end);
		}
	}
	for (bool more = fm_ranges_next(ranges, 0, &range); more; more = fm_ranges_next(ranges, range.end, &range))
		count++;
	assert_int_equal(count, fm_ranges_count(ranges));
}

static void the_last_one_counts(void **state)
{
	struct fm_ranges *ranges = fm_ranges_create(changed, parts_of), *copy = NULL;
	uint32_t truth[SPACE], before[SPACE];
	struct fm_random random;
	long sum = 0;

	(void)state;
	fm_random_seed(&random, 7);
	for (unsigned i = 0; i < SPACE; i++)
		truth[i] = FM_RANGES_NONE;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t begin = fm_random_below(&random, SPACE);
		uint64_t end = begin + fm_random_below(&random, i % 5 ? 16 : 200);
		uint32_t value =
		    fm_random_below(&random, 3) ? (uint32_t)fm_random_below(&random, VALUES) : FM_RANGES_NONE;

		end = end < SPACE ? end : SPACE;
		if (value == FM_RANGES_NONE)
			assert_int_equal(fm_ranges_remove(ranges, begin, end), 0);
		else
			assert_int_equal(fm_ranges_put(ranges, begin, end, value), 0);
		for (uint64_t k = begin; k < end; k++)
			truth[k] = value;
		if (i % 16 == 0)
			check(ranges, truth);
		if (i == 10000) {
			memcpy(before, truth, sizeof(before));
			copy = fm_ranges_copy(ranges, parts_of);
		}
	}
	/* a copy has a life of its own */
	check(ranges, truth);
	check(copy, before);
	for (unsigned i = 0; i < VALUES; i++)
		sum += parts_of[i];
	assert_int_equal(sum, fm_ranges_count(ranges) + fm_ranges_count(copy));
	fm_ranges_clear(ranges);
	fm_ranges_clear(copy);
	for (unsigned i = 0; i < VALUES; i++)
		assert_int_equal(parts_of[i], 0);
	fm_ranges_free(ranges);
	fm_ranges_free(copy);
}

static void ends_of_the_address_space(void **state)
{
	struct fm_ranges *ranges = fm_ranges_create(NULL, NULL);
	struct fm_range range;

	(void)state;
	assert_int_equal(fm_ranges_put(ranges, UINT64_MAX - 10, UINT64_MAX, 1), 0);
	assert_int_equal(fm_ranges_put(ranges, 0, 1, 2), 0);
	assert_int_equal(fm_ranges_put(ranges, 50, 50, 3), 0);
	assert_int_equal(fm_ranges_put(ranges, 60, 50, 3), 0);
	assert_int_equal(fm_ranges_count(ranges), 2);
	assert_true(fm_ranges_find(ranges, UINT64_MAX - 1, &range) && range.value == 1);
	assert_false(fm_ranges_find(ranges, UINT64_MAX, &range));
	assert_true(fm_ranges_find(ranges, 0, &range) && range.value == 2);
	fm_ranges_free(ranges);
}

static void indexes_by_three_numbers(void **state)
{
	struct fm_index_map map = {0};

	(void)state;
	assert_int_equal(fm_index_map_find(&map, (struct fm_index_key){1, 2, 3}), -1);
	for (uint32_t i = 0; i < 50000; i++) {
		uint32_t *place = fm_index_map_place(&map, (struct fm_index_key){i % 7, i / 7, i % 3});

		assert_int_equal(*place, 0);
		*place = i + 1;
	}
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(fm_index_map_find(&map, (struct fm_index_key){i % 7, i / 7, i % 3}), i);
	assert_int_equal(fm_index_map_find(&map, (struct fm_index_key){0, 0, 1}), -1);
	fm_index_map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_one_counts),
	    cmocka_unit_test(ends_of_the_address_space),
	    cmocka_unit_test(indexes_by_three_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
