/* Waiting for bandwidth that is waiting for latency: invented shares with known answers. */
#include "check.h"

#include "model/irregular.h"

static struct fm_figure figure(double value, double low, double high)
{
	return fm_figure_make(value, low, high, "", FM_ORIGIN_combined, "laboratory", 10);
}

/* A core, and memory that moves this share of its peak: 0.8 of the cycles wait for its bandwidth, 0.1 for its latency.
 */
static struct fm_picture picture(double regular, double utilisation)
{
	struct fm_picture picture = {.level_count = 2,
	                             .active = figure(1000, 1000, 1000),
	                             .bandwidth_bound = figure(800, 700, 900),
	                             .latency_bound = figure(100, 50, 150),
	                             .signs.regular = figure(regular, regular, regular)};

	picture.levels[1].utilisation = figure(utilisation, utilisation, utilisation);
	picture.levels[1].bandwidth_share = figure(0.8, 0.7, 0.9);
	picture.levels[1].latency_share = figure(0.1, 0.05, 0.15);
	return picture;
}

static void random_lines_wait_for_latency(void **state)
{
	struct fm_picture own = picture(0, 0.2);

	(void)state;
	fm_irregular_waiting(&own);
	assert_near(own.levels[1].latency_share.value, 0.9, 1e-9);
	assert_near(own.levels[1].latency_share.low, 0.75, 1e-9);
	assert_near(own.levels[1].latency_share.high, 1, 1e-9);
	assert_near(own.levels[1].bandwidth_share.value, 0, 1e-9);
	assert_near(own.latency_bound.value, 900, 1e-9);
	assert_near(own.bandwidth_bound.value, 0, 1e-9);
}

static void a_part_of_the_lines_is_a_part_of_the_waiting(void **state)
{
	struct fm_picture own = picture(0.75, 0.2);

	(void)state;
	fm_irregular_waiting(&own);
	assert_near(own.levels[1].latency_share.value, 0.3, 1e-9);
	assert_near(own.levels[1].bandwidth_share.value, 0.6, 1e-9);
	assert_near(own.latency_bound.value + own.bandwidth_bound.value, 900, 1e-9);
}

static void streams_and_full_levels_stay(void **state)
{
	struct fm_picture streams = picture(1, 0.2), full = picture(0, 0.7), unknown = picture(0, 0.2);

	(void)state;
	unknown.levels[1].utilisation = fm_figure_unavailable("no peak");
	fm_irregular_waiting(&streams);
	fm_irregular_waiting(&full);
	fm_irregular_waiting(&unknown);
	assert_near(streams.levels[1].bandwidth_share.value, 0.8, 1e-9);
	assert_near(full.levels[1].bandwidth_share.value, 0.8, 1e-9);
	assert_near(unknown.levels[1].bandwidth_share.value, 0.8, 1e-9);
	assert_near(full.latency_bound.value, 100, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_lines_wait_for_latency),
	    cmocka_unit_test(a_part_of_the_lines_is_a_part_of_the_waiting),
	    cmocka_unit_test(streams_and_full_levels_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
