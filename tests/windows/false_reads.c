/* Lines that windows took for lines of memory. */
#include "check.h"

#include "windows/false_reads.h"

/* A line of memory takes 10 cycles, one that a store asks for 16; one of the last cache 4, and 4 more to be written. */
static const struct fm_machine_description machine = {
    .frequency_ghz = 2,
    .line_bytes = 64,
    .memory_core_gbs = 12.8,
    .store_core_gbs = 8,
    .cache_count = 2,
    .caches = {{.name = "L1"}, {.name = "L2", .interval = 400, .write_interval = 400}}};

static void what_is_of_memory_stays(void **state)
{
	struct fm_false_reads left = fm_false_reads(&machine, 1000, 1000, 0);

	(void)state;
	assert_true(left.memory == 1 && left.last_cache == 0 && left.stores == 1);
	/* more than windows saw is no matter of theirs; nor is nothing at all */
	left = fm_false_reads(&machine, 1000, 2000, 0);
	assert_true(left.memory == 1 && left.last_cache == 0 && left.stores == 1);
	left = fm_false_reads(&machine, 0, 0, 1000);
	assert_true(left.memory == 1 && left.last_cache == 0 && left.stores == 1);
}

static void the_rest_takes_the_time_of_the_last_cache(void **state)
{
	struct fm_false_reads left = fm_false_reads(&machine, 1000, 0, 0);

	(void)state;
	assert_near(left.memory, 0, 1e-9);
	assert_near(left.last_cache, 0.4, 1e-9);
	assert_near(left.stores, 0.5, 1e-9);
	left = fm_false_reads(&machine, 1000, 250, 0);
	assert_near(left.memory, 0.25, 1e-9);
	assert_near(left.last_cache, 0.3, 1e-9);
	assert_near(left.stores, 0.625, 1e-9);
	/* stores that waited for the last cache as long as for memory */
	left = fm_false_reads(&machine, 1000, 0, 2000);
	assert_near(left.stores, 0.75, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_of_memory_stays),
	    cmocka_unit_test(the_rest_takes_the_time_of_the_last_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
