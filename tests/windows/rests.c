/* Memory traffic of programs with native rests, in cases with a known answer. */
#include "check.h"

#include "windows/rests.h"

#define MIB (1024.0 * 1024)

static struct fm_after_rests made(double hits, double misses, double reads)
{
	return (struct fm_after_rests){
	    .hits = hits, .misses = misses, .reads = reads, .rested = 10, .capacity = 32 * MIB};
}

static void known_outcomes_are_scaled(void **state)
{
	struct fm_after_rests after = made(0, 0, 1000);
	struct fm_rest_factor factor = fm_rests_factor(&after);

	(void)state;
	assert_near(factor.low, 10, 1e-12);
	assert_near(factor.value, 10, 1e-12);
	assert_near(factor.high, 10, 1e-12);
}

/* 900 requests were simulated as hits, of lines that earlier phases had left in the cache. Data of ten times the cache
   have them from memory, nearly all. */
static void large_data_come_from_memory(void **state)
{
	struct fm_after_rests after = made(900, 50, 100);
	struct fm_rest_factor factor;

	(void)state;
	after.seen = after.resident = 320 * MIB;
	after.cold = 10;
	factor = fm_rests_factor(&after);
	assert_near(factor.high, (50 + 950) * 10 / 100.0, 1e-9);
	assert_true(factor.low > (50 + 0.88 * 950) * 10 / 100.0);
	assert_true(factor.low < (50 + 0.9 * 950) * 10 / 100.0);
}

/* Whatever was simulated: each line comes from memory once, and the rests add no second time. */
static void small_data_come_once(void **state)
{
	struct fm_after_rests after = made(300, 600, 1000);
	struct fm_rest_factor factor;

	(void)state;
	after.seen = 8 * MIB;
	after.resident = 12 * MIB;
	after.cold = 500;
	factor = fm_rests_factor(&after);
	assert_near(factor.value, 0.5, 1e-9);
	assert_near(factor.low, 0.5, 1e-9);
	assert_near(factor.high, 0.5 + 0.25, 1e-9);
}

static void neighbours_evict_small_data_too(void **state)
{
	struct fm_after_rests after = made(300, 600, 1000);
	struct fm_rest_factor factor;

	(void)state;
	after.seen = 8 * MIB;
	after.resident = 12 * MIB;
	after.cold = 500;
	after.life = 5000;
	factor = fm_rests_factor(&after);
	assert_near(factor.high, (400 + 900) * 10 / 1000.0, 1e-9);
	assert_near(factor.low, 400 * 10 / 1000.0, 1e-9);
}

/* Data of unknown size decide nothing. */
static void an_unknown_size_is_a_wide_interval(void **state)
{
	struct fm_after_rests after = made(900, 50, 100);
	struct fm_rest_factor factor;

	(void)state;
	after.seen = 8 * MIB;
	after.cold = 10;
	factor = fm_rests_factor(&after);
	assert_near(factor.low, 50 * 10 / 100.0, 1e-9);
	assert_near(factor.high, (50 + 950) * 10 / 100.0, 1e-9);
	assert_true(factor.low < factor.value && factor.value < factor.high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_outcomes_are_scaled),
	    cmocka_unit_test(large_data_come_from_memory),
	    cmocka_unit_test(small_data_come_once),
	    cmocka_unit_test(neighbours_evict_small_data_too),
	    cmocka_unit_test(an_unknown_size_is_a_wide_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
