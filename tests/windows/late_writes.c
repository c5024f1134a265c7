/* What write-backs cost that windows did not see. */
#include "check.h"

#include "windows/late_writes.h"

/* A line of memory takes 10 cycles to read and 5 to write; one of the last cache 4 and 1. */
static const struct fm_machine_description machine = {
    .frequency_ghz = 2,
    .line_bytes = 64,
    .memory_core_gbs = 12.8,
    .memory_gbs = 100,
    .memory_write_percent = 50,
    .cache_count = 3,
    .caches = {
        {.name = "L1"}, {.name = "L2", .interval = 100}, {.name = "L3", .interval = 400, .write_interval = 100}}};

/* A thousand lines read, and as many written in the end, of which windows saw a fifth. */
static struct fm_memory_use invent(void)
{
	return (struct fm_memory_use){
	    .reads = 1000, .writes = 200, .written = {1000, 1000, 1000}, .written_to_memory = 1000};
}

static void they_take_bandwidth(void **state)
{
	struct fm_memory_use use = invent();
	double stores;

	(void)state;
	use.bandwidth_stalls = 9000;
	assert_near(fm_late_writes_cost(&machine, &use, &stores), 800 * 5, 1e-6);
	assert_true(stores == 0);
	use.bandwidth_stalls = 0;
	use.store_stalls = 9000;
	assert_near(fm_late_writes_cost(&machine, &use, &stores), 800 * 5, 1e-6);
	assert_near(stores, 800 * 5, 1e-6);
	/* nothing that windows did not see */
	use.writes = 1000;
	assert_true(fm_late_writes_cost(&machine, &use, &stores) == 0 && stores == 0);
}

/* Who waits for answers, or for a place to wait for them in, leaves the way to memory idle. */
static void idle_bandwidth_is_used(void **state)
{
	struct fm_memory_use use = invent();
	double stores;

	(void)state;
	assert_true(fm_late_writes_cost(&machine, &use, &stores) == 0);
	use.bandwidth_stalls = 13000;
	assert_near(fm_late_writes_cost(&machine, &use, &stores), 2000, 1e-6);
	use.bandwidth_stalls = 30000;
	assert_true(fm_late_writes_cost(&machine, &use, &stores) == 0);
}

/* Most stores wait for the last cache: that is not time in which memory's bandwidth was idle. */
static void stores_to_caches_are_others(void **state)
{
	struct fm_memory_use use = invent();
	double stores;

	(void)state;
	use.written[0] = use.written[1] = 10000;
	/* 9000 lines of 5 cycles in the last cache, and 1000 of 15 in memory */
	use.store_stalls = 45000 + 15000 - 3000;
	assert_near(fm_late_writes_cost(&machine, &use, &stores), 15000 - 57000 * 0.25, 1e-6);
	use.store_stalls = 45000;
	assert_near(fm_late_writes_cost(&machine, &use, &stores), 15000 - 45000 * 0.25, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(they_take_bandwidth),
	    cmocka_unit_test(idle_bandwidth_is_used),
	    cmocka_unit_test(stores_to_caches_are_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
