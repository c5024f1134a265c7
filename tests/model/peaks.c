/* What a level's share of the peak is a share of: the threads and the mixture of the program. */
#include "profile/profile.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "model/picture.h"

static struct fm_figure exactly(double value, const char *unit)
{
	return fm_figure_make(value, value, value, unit, FM_ORIGIN_simulated, "exact", 1);
}

static struct fm_picture_level moved(double read, double allocated, double written, double seconds)
{
	struct fm_picture_level level = {.name = "memory",
	                                 .read_bytes = exactly(read, "B"),
	                                 .allocate_bytes = exactly(allocated, "B"),
	                                 .write_bytes = exactly(written, "B"),
	                                 .gbs = exactly((read + allocated + written) * 1e-9 / seconds, "GB/s")};

	return level;
}

static struct fm_machine *invent(void)
{
	static const struct {
		enum fm_stream_kernel_index kernel;
		unsigned threads;
		double gbs;
	} given[] = {
	    {FM_STREAM_load, 1, 12}, {FM_STREAM_load, 4, 40}, {FM_STREAM_update, 1, 9}, {FM_STREAM_update, 4, 24}};
	struct fm_machine *machine = calloc(1, sizeof(*machine));

	strcpy(machine->levels[0].name, "L1");
	strcpy(machine->levels[1].name, "memory");
	machine->level_count = 2;
	machine->bandwidths = calloc(4, sizeof(*machine->bandwidths));
	machine->bandwidth_count = 4;
	for (unsigned i = 0; i < 4; i++)
		machine->bandwidths[i] = (struct fm_bandwidth){.level = 1,
		                                               .kernel = given[i].kernel,
		                                               .threads = given[i].threads,
		                                               .gbs = exactly(given[i].gbs, "GB/s")};
	machine->bandwidth_curve.points = calloc(2, sizeof(*machine->bandwidth_curve.points));
	machine->bandwidth_curve.count = 2;
	machine->bandwidth_curve.points[0] = (struct fm_bandwidth_curve_point){
	    .threads = 1, .traffic_gbs = exactly(0.5, "GB/s"), .latency_ns = exactly(100, "ns")};
	machine->bandwidth_curve.points[1] = (struct fm_bandwidth_curve_point){
	    .threads = 4, .rate = 1, .traffic_gbs = exactly(30.5, "GB/s"), .latency_ns = exactly(160, "ns")};
	return machine;
}

static void peak_of_threads_and_mixture(void **state)
{
	struct fm_machine *machine = invent();
	struct fm_picture_level level = moved(20e9, 0, 0, 1);

	(void)state;
	/* 20 GB/s of reads are half of what four threads can read; the highest peak of all would say the same */
	fm_picture_measured_peak(machine, &level, 4);
	assert_near(level.peak_gbs.value, 40, 1e-9);
	assert_int_equal(level.peak_threads, 4);
	assert_near(level.peak_share.value, 0, 1e-9);
	assert_near(level.loaded_latency.value, 139, 1e-9);
	/* half of it written: of 24, be the other half read by loads or by stores */
	level = moved(5e9, 5e9, 10e9, 1);
	fm_picture_measured_peak(machine, &level, 4);
	assert_near(level.write_share.value, 0.5, 1e-9);
	assert_near(level.peak_gbs.value, 24, 1e-9);
	assert_near(fm_picture_share(&level.gbs, &level.peak_gbs).value, 20.0 / 24, 1e-9);
	/* one thread; a quarter written; more traffic than the curve has */
	level = moved(30e9, 0, 10e9, 1);
	fm_picture_measured_peak(machine, &level, 1);
	assert_near(level.peak_gbs.value, 1 / (0.5 / 12 + 0.5 / 9), 1e-9);
	assert_int_equal(level.peak_threads, 1);
	assert_false(level.loaded_latency.available);
	assert_near(level.loaded_at_least, 160, 1e-9);
	fm_machine_free(machine);
}

static void mixtures_that_are_not_known(void **state)
{
	struct fm_machine *machine = invent();
	struct fm_picture_level level = moved(20e9, 0, 0, 1);

	(void)state;
	level.write_bytes = fm_figure_unavailable("no event tells");
	fm_picture_measured_peak(machine, &level, 4);
	assert_false(level.peak_share.available);
	assert_string_equal(level.peak_share.why, "no event tells");
	assert_near(level.peak_gbs.value, 40, 1e-9);
	assert_near(level.peak_gbs.low, 24, 1e-9);
	/* what stores read is among what was read when it is not told apart */
	level = moved(10e9, 0, 10e9, 1);
	level.allocate_bytes = fm_figure_unavailable("no event tells");
	fm_picture_measured_peak(machine, &level, 4);
	assert_near(level.peak_share.value, 0.5, 1e-9);
	level = moved(0, 0, 0, 1);
	fm_picture_measured_peak(machine, &level, 4);
	assert_string_equal(level.peak_share.why, "nothing was moved");
	assert_near(level.peak_gbs.value, 40, 1e-9);
	/* a level that was not measured */
	strcpy(level.name, "L3");
	fm_picture_measured_peak(machine, &level, 4);
	assert_false(level.peak_gbs.available);
	assert_int_equal(level.peak_threads, 0);
	fm_machine_free(machine);
}

static void described_machines(void **state)
{
	struct fm_machine_description machine = {.name = "made up",
	                                         .cores = 4,
	                                         .sockets = 1,
	                                         .cache_count = 1,
	                                         .line_bytes = 64,
	                                         .frequency_ghz = 2,
	                                         .memory_gbs = 30,
	                                         .memory_core_gbs = 10,
	                                         .memory_write_percent = 200};
	struct fm_picture_level level = moved(10e9, 0, 10e9, 1);

	(void)state;
	fm_picture_described_peak(&machine, &level, 1, 8);
	assert_near(level.peak_gbs.value, 20, 1e-9);
	assert_int_equal(level.peak_threads, 4);
	assert_near(level.peak_share.value, 0.5, 1e-9);
	assert_false(level.loaded_latency.available);
	level = moved(10e9, 0, 0, 1);
	fm_picture_described_peak(&machine, &level, 1, 2);
	assert_near(level.peak_gbs.value, 20, 1e-9);
	assert_int_equal(level.peak_threads, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(peak_of_threads_and_mixture),
	    cmocka_unit_test(mixtures_that_are_not_known),
	    cmocka_unit_test(described_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
