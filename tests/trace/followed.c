/* Lines that are followed: what they do, times their share, is what all lines do. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "engine/trace/state.h"

enum { ACCESSES = 3000000 };

static const char machine[] = "title A machine without prefetchers\n"
                              "machine sockets=1 cores=4 frequency=2.5GHz line=64 page=4KiB%s\n"
                              "cache L1 size=32KiB ways=8 latency=4\n"
                              "cache L2 size=256KiB ways=8 latency=12\n"
                              "cache L3 size=2560KiB ways=20 latency=40 shared=4\n"
                              "memory latency=200 gbs=60\n"
                              "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 "
                              "load_ports=2 store_ports=1 multiply_ports=1 ports=8\n";

/* Places of a program: a working set of so many lines, used at random, more often at its beginning, and a stream. */
static uint64_t next_address(struct fm_random *random, uint64_t lines, uint64_t *at)
{
	double place = fm_random_uniform(random);

	if (fm_random_below(random, 4) == 0)
		return (1ull << 40) + (*at += 8) % (64 << 20);
	return (1ull << 36) + (uint64_t)(place * place * (double)lines) * 64 + fm_random_below(random, 64);
}

static void compare(const struct fm_machine_description *description, uint64_t lines, uint64_t seed)
{
	struct fm_trace_session session = {0};
	struct fm_traced_thread thread = {.counts = true};
	struct fm_hierarchy *hierarchy;
	struct fm_followed *followed;
	struct fm_results *results = calloc(1, sizeof(*results));
	struct fm_translate_filter filter;
	struct fm_random random;
	struct fm_error error;
	double reads = 0, writes = 0, second = 0;
	uint64_t at = 0;

	assert_non_null(results);
	fm_random_seed(&random, seed);
	assert_true(fm_followed_choose(description, fm_random_next(&random), &session));
	filter = (struct fm_translate_filter){session.line_multiplier, session.line_limit, session.line_offset};
	assert_int_equal(fm_followed_create(description, &session, &followed, &error), 0);
	assert_int_equal(fm_hierarchy_create(description, &hierarchy, &error), 0);
	thread.side.core = fm_hierarchy_core(hierarchy, 0);
	for (unsigned i = 0; i < ACCESSES; i++) {
		uint64_t address = next_address(&random, lines, &at);
		bool store = address % 5 == 0;

		fm_hierarchy_access(hierarchy, thread.side.core, address, 1, store ? FM_ACCESS_STORE : FM_ACCESS_LOAD);
		if (fm_translate_is_followed(&filter, address))
			fm_followed_access(followed, &thread, NULL, address, store);
	}
	fm_followed_take(followed, &results->followed);
	assert_true(results->followed.group_count >= 8);
	for (unsigned i = 0; i < results->followed.group_count; i++) {
		reads += 32.0 * (double)results->followed.groups[i].memory_reads;
		writes += 32.0 * (double)results->followed.groups[i].memory_writes;
		second += 32.0 * (double)results->followed.groups[i].brought[1];
	}
	assert_int_equal(results->followed.share, 32);
	assert_true(fabs(reads / (double)thread.side.core->counts.memory_reads - 1) < 0.05);
	assert_true(fabs(writes / (double)thread.side.core->counts.memory_writes - 1) < 0.05);
	assert_true(fabs(second / (double)(thread.side.core->counts.caches[1].lines_demand +
	                                   thread.side.core->counts.caches[1].lines_ownership) -
	                 1) < 0.05);
	fm_followed_destroy(followed);
	fm_hierarchy_destroy(hierarchy);
	free(results);
}

static void they_stand_for_all(void **state)
{
	static const char *const kinds[] = {"", " physical=7"};
	static const uint64_t sizes[] = {3000, 30000, 300000};

	(void)state;
	for (unsigned kind = 0; kind < 2; kind++) {
		struct fm_machine_description description;
		struct fm_error error;
		char text[1024];

		snprintf(text, sizeof(text), machine, kinds[kind]);
		if (fm_description_parse(text, "test", &description, &error))
			fail_msg("%s", error.message);
		/* where pages lie at random, what just fits collides by luck, which both have for themselves */
		for (unsigned i = kind ? 2 : 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			compare(&description, sizes[i], 100 * kind + i);
	}
}

/* The share is what it says, whatever the addresses have in common. */
static void one_pair_in_32(void **state)
{
	struct fm_machine_description description;
	struct fm_error error;
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), machine, "");
	assert_int_equal(fm_description_parse(text, "test", &description, &error), 0);
	for (uint64_t seed = 1; seed < 50; seed++) {
		struct fm_trace_session session = {0};
		struct fm_translate_filter filter;
		struct fm_random random;
		unsigned followed = 0;

		fm_random_seed(&random, seed);
		assert_true(fm_followed_choose(&description, fm_random_next(&random), &session));
		filter = (struct fm_translate_filter){session.line_multiplier, session.line_limit, session.line_offset};
		for (uint64_t line = 0; line < 1 << 14; line++) {
			assert_int_equal(fm_translate_is_followed(&filter, line * 64),
			                 fm_translate_is_followed(&filter, (line ^ 1) * 64 + 63));
			followed += fm_translate_is_followed(&filter, line * 64);
		}
		assert_int_equal(followed, (1 << 14) / 32);
	}
}

static void other_lines_are_not_followed(void **state)
{
	struct fm_machine_description description;
	struct fm_trace_session session = {0};
	struct fm_followed *followed;
	struct fm_error error;
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), machine, "");
	assert_int_equal(fm_description_parse(text, "test", &description, &error), 0);
	description.line_bytes = 128;
	assert_false(fm_followed_choose(&description, 1, &session));
	assert_int_equal(fm_followed_create(&description, &session, &followed, &error), 0);
	assert_null(followed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(they_stand_for_all), cmocka_unit_test(one_pair_in_32),
	                                   cmocka_unit_test(other_lines_are_not_followed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
