/* A profile that follows the clock: what goes by it changes, and nothing else. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/clock.h"
#include "profile/follow.h"

static struct fm_figure figure(double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_measured, "kernels", 3);
}

static struct fm_level level(const char *name, size_t bytes, double ns, double ghz)
{
	struct fm_level level = {.measured_bytes = bytes,
	                         .latency_ns = figure(ns, "ns"),
	                         .latency_small_pages_ns = figure(ns, "ns"),
	                         .latency_cycles = figure(ns * ghz, "cycles")};

	snprintf(level.name, sizeof(level.name), "%s", name);
	return level;
}

static bool is(const struct fm_figure *figure, double value)
{
	return figure->available && fabs(figure->value / value - 1) < 1e-6;
}

/* Of 4 GHz, with two caches of its own and one that is shared. */
static struct fm_machine *make(struct fm_bandwidth *bandwidths)
{
	struct fm_machine *machine = calloc(1, sizeof(*machine));

	assert_non_null(machine);
	assert_int_equal(fm_topology_read(&machine->topology, NULL), 0);
	machine->topology.cache_count = 3;
	for (unsigned i = 0; i < 3; i++)
		machine->topology.caches[i] =
		    (struct fm_cache){.level = i + 1, .bytes = 32768ull << 5 * i, .shared_by = i == 2 ? 8 : 1};
	machine->frequency_ghz = figure(4, "GHz");
	machine->level_count = 3;
	machine->levels[0] = level("L1", 16384, 1, 4);
	machine->levels[1] = level("L2", 65536, 4, 4);
	machine->levels[2] = level("memory", 64 << 20, 100, 4);
	machine->bandwidths = bandwidths;
	machine->bandwidth_count = 3;
	bandwidths[0] = (struct fm_bandwidth){.threads = 1, .bytes = 16384, .gbs = figure(200, "GB/s")};
	bandwidths[1] = (struct fm_bandwidth){.threads = 2, .bytes = 16384, .gbs = figure(400, "GB/s")};
	bandwidths[2] = (struct fm_bandwidth){.threads = 1, .bytes = 64 << 20, .gbs = figure(10, "GB/s")};
	machine->contention_count = 1;
	machine->contentions[0] = (struct fm_contention_point){.threads = 1, .ns = figure(5, "ns")};
	return machine;
}

static void a_slower_clock_makes_the_core_slower(void **state)
{
	struct fm_bandwidth bandwidths[3];
	struct fm_machine *machine = make(bandwidths);
	struct fm_figure clock = figure(3, "GHz");

	(void)state;
	assert_true(fm_machine_follow(machine, &clock));
	assert_true(is(&machine->frequency_ghz, 3) && machine->profiled_ghz == 4);
	/* cycles of the core stay cycles, whatever they take */
	assert_true(is(&machine->levels[0].latency_ns, 4.0 / 3) && is(&machine->levels[0].latency_cycles, 4));
	assert_true(is(&machine->levels[1].latency_ns, 16.0 / 3) && is(&machine->levels[1].latency_cycles, 16));
	/* memory takes as long as it took, which is fewer of them */
	assert_true(is(&machine->levels[2].latency_ns, 100) && is(&machine->levels[2].latency_cycles, 300));
	assert_true(is(&bandwidths[0].gbs, 150) && is(&bandwidths[1].gbs, 400) && is(&bandwidths[2].gbs, 10));
	assert_true(is(&machine->contentions[0].ns, 20.0 / 3));
	free(machine);
}

/* The same clock, one that no core has, one that was not seen, a profile of another machine. */
static void others_are_left_alone(void **state)
{
	struct fm_bandwidth bandwidths[3];
	struct fm_machine *machine = make(bandwidths);
	struct fm_figure clocks[] = {figure(4.05, "GHz"), figure(0.5, "GHz"), figure(20, "GHz"),
	                             fm_figure_unavailable("not seen")},
	                 clock = figure(3, "GHz");

	(void)state;
	for (unsigned i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		assert_false(fm_machine_follow(machine, &clocks[i]));
	snprintf(machine->topology.host, sizeof(machine->topology.host), "elsewhere");
	assert_false(fm_machine_follow(machine, &clock));
	assert_true(is(&machine->frequency_ghz, 4) && !(machine->profiled_ghz > 0) &&
	            is(&machine->levels[0].latency_ns, 1));
	free(machine);
}

static void the_clock_is_one_that_a_core_has(void **state)
{
	struct fm_figure clock = fm_clock_measure();

	(void)state;
	if (!clock.available)
		skip();
	assert_true(clock.value > 0.1 && clock.value < 20 && clock.low <= clock.value && clock.value <= clock.high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_slower_clock_makes_the_core_slower),
	    cmocka_unit_test(others_are_left_alone),
	    cmocka_unit_test(the_clock_is_one_that_a_core_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
