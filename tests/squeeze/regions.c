/* Progress by the rate of a region: pairs of windows of programs that are made up. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "squeeze/regions.h"

enum { TICK = 3000000, WINDOW = 60000000, SETTLE = 20000000 };

/* A program whose instances take so long; with less, longer, but only once the cache has been taken. */
struct program {
	struct fm_region_watch watch;
	struct fm_random random;
	double instance, slowdown, drift; /* seconds; times; and how much it gets slower in each second anyhow */
	uint64_t delay;                   /* ns until a change is felt */
	bool less, wrong;
	uint64_t now, changed;
	double since; /* the instance under way began, in seconds */
	struct fm_region_count count;
	unsigned wanted, pairs, less_first, disturbed;
	double ratios;
};

static bool next(void *context, double *ret_bytes, double *ret_gbs)
{
	struct program *program = context;

	*ret_bytes = 1 << 20;
	*ret_gbs = 10;
	return program->pairs < program->wanted;
}

static bool toggle(void *context, bool less, double bytes, double gbs)
{
	struct program *program = context;

	assert_true(!less || (bytes == 1 << 20 && gbs == 10));
	program->less = less;
	program->changed = program->now;
	return !program->wrong;
}

static void done(void *context, const struct fm_region_pair *pair)
{
	struct program *program = context;

	assert_true(pair->whole > 0 && pair->less > 0 && pair->bytes == 1 << 20);
	program->pairs++;
	program->less_first += pair->less_first;
	program->disturbed += pair->disturbed;
	program->ratios += log(pair->less / pair->whole);
}

/* Until it ends; its instances end between ticks. */
static void run(struct program *program, double seconds)
{
	bool felt = false;

	program->watch = (struct fm_region_watch){.next = next,
	                                          .toggle = toggle,
	                                          .done = done,
	                                          .context = program,
	                                          .random = &program->random,
	                                          .window_ns = WINDOW,
	                                          .settle_ns = SETTLE,
	                                          .least = 5};
	fm_random_seed(&program->random, 3);
	while ((double)program->now * 1e-9 < seconds) {
		double now = (double)program->now * 1e-9, takes;

		if (program->now - program->changed >= program->delay)
			felt = program->less;
		takes = program->instance * (1 + program->drift * now) * (felt ? program->slowdown : 1);
		while (program->instance > 0 && program->since + takes <= now) {
			program->since += takes;
			program->count.instances++;
			program->count.seconds += takes;
		}
		fm_region_tick(&program->watch, program->now, &program->count);
		program->now += TICK;
	}
}

static void ratios_are_those_of_the_program(void **state)
{
	static const double slowdowns[] = {1, 1.08, 1.5, 3};

	(void)state;
	for (unsigned i = 0; i < sizeof(slowdowns) / sizeof(*slowdowns); i++) {
		struct program program = {
		    .instance = 0.0011, .slowdown = slowdowns[i], .delay = 10000000, .wanted = 40, .drift = 0.1};

		run(&program, 20);
		assert_int_equal(program.pairs, 40);
		assert_int_equal(program.watch.state, FM_REGION_OVER);
		/* nothing is taken any more */
		assert_false(program.less);
		/* in random order, and what drifts is not what is taken */
		assert_true(program.less_first > 8 && program.less_first < 32);
		assert_near(exp(program.ratios / program.pairs), slowdowns[i], 0.01 * slowdowns[i]);
		assert_int_equal(program.disturbed, 0);
	}
}

static void what_was_not_taken_is_disturbed(void **state)
{
	struct program program = {.instance = 0.001, .slowdown = 1, .wanted = 5, .wrong = true};

	(void)state;
	run(&program, 5);
	assert_int_equal(program.pairs, 5);
	assert_int_equal(program.disturbed, 5);
}

/* A window has enough instances, however long that takes; and none has one when the region ends. */
static void regions_that_seldom_come(void **state)
{
	struct program slow = {.instance = 0.05, .slowdown = 2, .wanted = 4}, never = {.wanted = 1};

	(void)state;
	run(&slow, 10);
	assert_int_equal(slow.pairs, 4);
	assert_near(exp(slow.ratios / slow.pairs), 2, 0.2);
	run(&never, 5);
	assert_int_equal(never.pairs, 0);
	assert_int_equal(never.watch.state, FM_REGION_IDLE);
	/* it came a few times, and then no more */
	never = (struct program){.wanted = 1, .count = {3, 0.1}};
	run(&never, 10);
	assert_int_equal(never.pairs, 0);
	assert_int_equal(never.watch.state, FM_REGION_OVER);
	assert_false(never.less);
}

static void the_region_with_the_most_time(void **state)
{
	struct fm_marked marked[] = {{.name = "rare", .instances = 5, .seconds = 9},
	                             {.name = "small", .instances = 9000, .seconds = 0.5},
	                             {.name = "solve", .instances = 60, .seconds = 1},
	                             {.name = "solve", .instances = 60, .seconds = 1}};

	(void)state;
	assert_string_equal(fm_region_choose(marked, 4, 2), "solve");
	assert_string_equal(fm_region_choose(marked, 2, 2), "small");
	assert_null(fm_region_choose(marked, 1, 2));
	assert_null(fm_region_choose(marked, 0, 2));
	/* too short for windows */
	assert_null(fm_region_choose(marked, 4, 0.1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ratios_are_those_of_the_program),
	    cmocka_unit_test(what_was_not_taken_is_disturbed),
	    cmocka_unit_test(regions_that_seldom_come),
	    cmocka_unit_test(the_region_with_the_most_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
