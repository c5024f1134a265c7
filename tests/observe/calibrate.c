/* Calibrations: what becomes of samples of the chasing program, of times with and without samples, and of files. */
#include "profile/topology.h"
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/calibrate.h"
#include "replay/make_parts.h"

static struct maker maker;

/* Where the code of a function lies in a file, by nm: "0000000000001234 t chase". */
static uint64_t address_of(const char *program, const char *function)
{
	char command[600];
	unsigned long address = 0;
	FILE *output;

	snprintf(command, sizeof(command), "nm %s | grep ' %s$'", program, function);
	output = popen(command, "r");
	if (!output || fscanf(output, "%lx", &address) != 1)
		address = 0;
	if (output)
		pclose(output);
	return address;
}

static void loads_of_the_loop_count(void **state)
{
	struct fm_calibration_step step = {.level = 2, .bytes = 1 << 18, .kind = FM_CALIBRATION_TRANSLATED};
	struct fm_calibration calibration = {.levels = 3};
	uint64_t base = 0x555500000000, pc = base + address_of(PROGRAM, "chase") + 8;
	struct maker_process *process;
	struct fm_stream_sample *sample;
	struct fm_error error;

	(void)state;
	assert_true(pc > base + 8);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	maker_map(process, 10, base, base + 0x100000, 0, 5, PROGRAM, 1);
	for (unsigned i = 0; i < 10; i++) {
		sample = maker_sample(process, 1, 100 + i, pc, 0x10000, 0);
		sample->cost = 50 + i;
		sample->baseline = 30;
		sample->neighbour = 60;
		sample->neighbour_again = 31;
		if (i == 3)
			sample->kind = FM_STREAM_STORE;
		if (i == 4)
			sample->flags = FM_STREAM_FAULTED;
		if (i == 5)
			sample->flags = FM_STREAM_UNTIMED;
		if (i == 6)
			sample->size = 4;
		if (i == 7)
			sample->pc = base + address_of(PROGRAM, "main");
		if (i == 8)
			sample->pc = 0x1000;
	}
	maker_write(&maker);
	assert_int_equal(fm_calibration_add(&calibration, &step, maker.folder, &error), 0);
	assert_int_equal(calibration.count, 4);
	assert_int_equal(calibration.rows[0].cost, 50);
	assert_int_equal(calibration.rows[3].cost, 59);
	assert_int_equal(calibration.rows[0].level, 2);
	assert_int_equal(calibration.rows[0].baseline, 30);
	assert_int_equal(calibration.rows[0].neighbour, 60);
	assert_int_equal(calibration.rows[0].neighbour_again, 31);
	fm_calibration_free(&calibration);
	maker_remove(&maker);
}

static void cost_beyond_what_is_seen(void **state)
{
	const double plain[] = {1e-9, 1.001e-9, 5e-9, 1e-9, 0.999e-9, 1e-9};
	const double sampled[] = {1.2e-9, 1.201e-9, 1.199e-9, 9e-9, 1.2e-9, 1.2e-9};

	(void)state;
	/* 0.2 ns for each of 1e9 iterations are 0.2 s, of which 0.05 s were seen, in 1000 samples, at 2 GHz */
	assert_in_range(fm_calibration_signal_cost(plain, sampled, 6, 1e9, 1000, 0.05 * 2e9, 2e9), 290000, 310000);
	/* nothing beyond */
	assert_int_equal(fm_calibration_signal_cost(plain, plain, 6, 1e9, 1000, 0, 2e9), 0);
	assert_int_equal(fm_calibration_signal_cost(plain, sampled, 6, 1e9, 0, 0, 2e9), 0);
}

static void files_come_back(void **state)
{
	char path[] = "/tmp/fathom-calibration-XXXXXX";
	struct fm_recorded_calibration rows[] = {{1, 40, 39, 41, 42, 0}, {3, 400, 39, 41, 42, 1}};
	struct fm_calibration kept = {.levels = 3, .signal_cost = 12345, .rows = rows, .count = 2}, back;
	struct fm_recording *recording = fm_recording_create();
	struct fm_topology topology;
	struct fm_error error;
	FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
	int file = mkstemp(path);

	(void)state;
	assert_true(boot && file >= 0 && fscanf(boot, "%39s", kept.boot) == 1);
	fclose(boot);
	close(file);
	assert_int_equal(fm_topology_read(&topology, &error), 0);
	snprintf(kept.processor, sizeof(kept.processor), "%s", topology.processor);
	snprintf(kept.level_names, sizeof(kept.level_names), "L1 L2 memory");
	kept.taken = (double)time(NULL) - 100;
	assert_int_equal(fm_calibration_save(path, &kept, &error), 0);
	assert_int_equal(fm_calibration_load(path, &back), 0);
	assert_int_equal(back.count, 2);
	assert_memory_equal(back.rows, rows, sizeof(rows));
	assert_int_equal(back.signal_cost, 12345);
	assert_string_equal(back.level_names, "L1 L2 memory");
	assert_int_equal(fm_calibration_record(&back, recording), 0);
	assert_int_equal(recording->calibration_count, 2);
	assert_int_equal(recording->sampling.levels, 3);
	assert_int_equal(fm_recording_settle(recording, &error), 0);
	fm_recording_free(recording);
	fm_calibration_free(&back);
	/* too old, or from the future, or of another start of the machine */
	kept.taken -= 3600;
	assert_int_equal(fm_calibration_save(path, &kept, &error), 0);
	assert_int_equal(fm_calibration_load(path, &back), -ESTALE);
	kept.taken += 2 * 3600;
	assert_int_equal(fm_calibration_save(path, &kept, &error), 0);
	assert_int_equal(fm_calibration_load(path, &back), -ESTALE);
	kept.taken -= 3600;
	kept.boot[0] ^= 1;
	assert_int_equal(fm_calibration_save(path, &kept, &error), 0);
	assert_int_equal(fm_calibration_load(path, &back), -ESTALE);
	/* damaged */
	rows[1].level = 4;
	assert_int_equal(fm_calibration_save(path, &kept, &error), 0);
	assert_int_equal(fm_calibration_load(path, &back), -EBADMSG);
	unlink(path);
	assert_int_equal(fm_calibration_load(path, &back), -ENOENT);
}

/* Whatever machine this is: sizes grow, and the last level is memory. */
static void plans_go_from_small_to_large(void **state)
{
	struct fm_calibration calibration = {.levels = 0};
	struct fm_calibration_step steps[8];
	unsigned count = fm_calibration_plan(&calibration, steps, 8);

	(void)state;
	assert_true(count > calibration.levels - 1 && calibration.levels >= 2);
	for (unsigned i = 0; i < calibration.levels; i++) {
		assert_int_equal(steps[i].level, i + 1);
		assert_int_equal(steps[i].kind, FM_CALIBRATION_TRANSLATED);
		assert_true(!i || steps[i].bytes > steps[i - 1].bytes);
	}
	assert_string_equal(steps[calibration.levels - 1].level_name, "memory");
	assert_non_null(strstr(calibration.level_names, "L1 L2"));
	assert_non_null(strstr(calibration.level_names, " memory"));
}

/* The program itself: so many steps, in so much time. */
static void the_program_chases(void **state)
{
	static const char *const arguments[] = {"4096 0.02", "4096 0.02 tlb", "1000000 0.02"};
	char command[600];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		unsigned long steps = 0, nanoseconds = 0;
		FILE *output;

		snprintf(command, sizeof(command), "%s %s", PROGRAM, arguments[i]);
		output = popen(command, "r");
		assert_non_null(output);
		assert_int_equal(fscanf(output, "%lu %lu", &steps, &nanoseconds), 2);
		assert_int_equal(pclose(output), 0);
		assert_true(steps >= 4096 && nanoseconds >= 20000000);
	}
	snprintf(command, sizeof(command), "%s 10 x 2>/dev/null", PROGRAM);
	assert_int_not_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(loads_of_the_loop_count), cmocka_unit_test(cost_beyond_what_is_seen),
	    cmocka_unit_test(files_come_back),         cmocka_unit_test(plans_go_from_small_to_large),
	    cmocka_unit_test(the_program_chases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
