/* Ranks that share a cache: which mappings, and what a recording of their runs says of each. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "squeeze/ranks.h"

#define MIB 1048576.0

static const struct fm_machine_description machine = {
    .name = "test",
    .cores = 8,
    .cache_count = 3,
    .frequency_ghz = 1,
    .line_bytes = 64,
    .caches = {{.name = "L1", .shared_by = 1}, {.name = "L2", .shared_by = 1}, {.name = "L3", .shared_by = 8}}};

static void mappings_are_read(void **state)
{
	static const struct {
		const char *text;
		unsigned ranks, count, mappings[FM_SQUEEZE_MAPPINGS];
	} cases[] = {{"spread", 4, 1, {1}},
	             {"packed", 4, 2, {1, 4}},
	             {"packed", 24, 2, {1, 8}},
	             {"spread,packed", 1, 1, {1}},
	             {"4,2,1,2", 24, 3, {1, 4, 2}},
	             {"8,packed", 64, 2, {1, 8}},
	             {"1,2,3,4,5,6,7,8", 8, 8, {1, 2, 3, 4, 5, 6, 7, 8}}};
	static const char *const wrong[] = {"",    "0",   "-1", "+2",       "9",
	                                    "two", "1;2", "2x", "packed,0", "18446744073709551617"};
	unsigned mappings[FM_SQUEEZE_MAPPINGS], count;
	struct fm_error error;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(fm_ranks_plan(cases[i].text, cases[i].ranks, &machine, mappings, &count, &error), 0);
		assert_int_equal(count, cases[i].count);
		assert_memory_equal(mappings, cases[i].mappings, count * sizeof(*mappings));
	}
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (fm_ranks_plan(wrong[i], 8, &machine, mappings, &count, &error) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
	assert_int_equal(fm_ranks_plan("packed", 0, &machine, mappings, &count, &error), -EINVAL);
	assert_int_equal(fm_ranks_plan("packed", FM_RANKS_MOST + 1, &machine, mappings, &count, &error), -EINVAL);
}

static struct fm_recording *recording_of(const char *mappings)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_squeeze *how = fm_recording_add(recording, squeezes);
	struct fm_recorded_squeeze_step *step;

	*how = (struct fm_recorded_squeeze){.cache = 2, .bytes = 16 * MIB, .gbs = 40, .noticeable = 0.02, .ranks = 6};
	snprintf(how->mappings, sizeof(how->mappings), "%s", mappings);
	recording->has_machine = true;
	recording->machine = machine;
	step = fm_recording_add(recording, squeeze_steps);
	*step = (struct fm_recorded_squeeze_step){.bytes = 16 * MIB, .gbs = 40, .cycles = 1000};
	return recording;
}

static void add(struct fm_recording *recording, unsigned ranks, double bytes, double gbs, uint64_t cycles)
{
	struct fm_recorded_rank_step *step = fm_recording_add(recording, rank_steps);

	*step = (struct fm_recorded_rank_step){
	    .ranks = ranks, .bytes = bytes, .gbs = gbs, .cycles = cycles, .memory_bytes = 2000};
}

static struct fm_squeeze *analyse(struct fm_recording *recording)
{
	struct fm_squeeze *squeeze;
	struct fm_error error;

	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), 0);
	return squeeze;
}

static void amounts_are_divided(void **state)
{
	struct fm_recording *recording = recording_of("1 4 5");
	const struct fm_squeeze_mapping *mapping;
	struct fm_squeeze *squeeze;

	(void)state;
	add(recording, 4, 16 * MIB, 40, 1010);
	add(recording, 4, 12 * MIB, 40, 1020);
	add(recording, 4, 8 * MIB, 40, 1500);
	add(recording, 4, 16 * MIB, 2, 1015);
	/* five need more than there is */
	add(recording, 5, 16 * MIB, 40, 1200);
	add(recording, 5, 8 * MIB, 40, 1500);
	squeeze = analyse(recording);
	assert_int_equal(squeeze->mapping_count, 3);
	mapping = &squeeze->mappings[1];
	assert_int_equal(mapping->ranks, 4);
	assert_int_equal(mapping->caches, 2);
	assert_int_equal(mapping->runs, 4);
	assert_true(mapping->capacity_matters && !mapping->bandwidth_matters);
	assert_near(mapping->capacity_in_use.low, 2 * MIB, 1);
	assert_near(mapping->capacity_in_use.high, 3 * MIB, 1);
	assert_true(mapping->bandwidth_in_use.low == 0 && mapping->bandwidth_in_use.high == 0.5);
	assert_near(mapping->sharing.value, 1.01, 1e-9);
	assert_near(mapping->traffic_gbs.value, 2000 / 1010.0, 1e-9);
	mapping = &squeeze->mappings[2];
	assert_near(mapping->sharing.value, 1.2, 1e-9);
	assert_false(mapping->capacity_in_use.available || mapping->bandwidth_in_use.available);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

static void recordings_are_not_trusted(void **state)
{
	struct fm_recording *recording = recording_of("1 0 -3 x 99999999 2 2 2 2 2 2 2 2 2 2");
	struct fm_squeeze *squeeze;

	(void)state;
	add(recording, 2, NAN, NAN, 0);
	add(recording, 2, -1, 40, 1000);
	add(recording, UINT32_MAX, 16 * MIB, 40, 1000);
	for (unsigned i = 1; i < 200; i++)
		add(recording, 2, i, 40, i);
	squeeze = analyse(recording);
	assert_int_equal(squeeze->mapping_count, FM_SQUEEZE_MAPPINGS);
	/* what it took with everything is not there */
	assert_false(squeeze->mappings[1].seconds.available || squeeze->mappings[1].capacity_in_use.available);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mappings_are_read),
	    cmocka_unit_test(amounts_are_divided),
	    cmocka_unit_test(recordings_are_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
