/* Which branches are foreseen: those with a pattern are, those by chance are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "simulator/branches.h"

enum { BRANCHES = 40000, LEARNING = 10000, ADDRESS = 0x401000, TARGETS = 0x402000 };

typedef bool pattern(unsigned index, struct fm_random *random);

static bool always(unsigned index, struct fm_random *random)
{
	(void)index, (void)random;
	return true;
}

static bool every_third(unsigned index, struct fm_random *random)
{
	(void)random;
	return index % 3 == 0;
}

/* a loop of forty rounds */
static bool leaves_after_forty(unsigned index, struct fm_random *random)
{
	(void)random;
	return index % 40 != 39;
}

static bool by_chance(unsigned index, struct fm_random *random)
{
	(void)index;
	return fm_random_below(random, 2);
}

static bool seldom(unsigned index, struct fm_random *random)
{
	(void)index;
	return fm_random_below(random, 10) == 0;
}

/* Share of those that are not foreseen, once they are known. Each is one round of a loop. */
static double missed(pattern *goes, enum fm_branch_kind kind)
{
	struct fm_branches *branches = fm_branches_create();
	struct fm_random random;
	unsigned count = 0;

	assert_non_null(branches);
	fm_random_seed(&random, 7);
	for (unsigned i = 0; i < BRANCHES; i++) {
		bool taken = goes(i, &random),
		     foreseen = fm_branches_foresee(branches, kind, ADDRESS, taken || kind == FM_BRANCH_INDIRECT,
		                                    taken                        ? TARGETS + 64
		                                    : kind == FM_BRANCH_INDIRECT ? TARGETS
		                                                                 : ADDRESS + 2);

		assert_true(fm_branches_foresee(branches, FM_BRANCH_ALWAYS, ADDRESS + 200, true, ADDRESS));
		count += i >= LEARNING && !foreseen;
	}
	fm_branches_destroy(branches);
	return (double)count / (BRANCHES - LEARNING);
}

/* An interpreter: one branch that goes to what each of `period` instructions says, of KINDS, then back by a jump. By
   chance: the instructions change from round to round. */
static double missed_dispatch(unsigned period, bool changes)
{
	enum { KINDS = 12, PERIOD_MAX = 256 };
	struct fm_branches *branches = fm_branches_create();
	unsigned program[PERIOD_MAX], count = 0;
	struct fm_random random;

	assert_non_null(branches);
	fm_random_seed(&random, 13);
	for (unsigned i = 0; i < period; i++)
		program[i] = (unsigned)fm_random_below(&random, KINDS);
	for (unsigned i = 0; i < BRANCHES; i++) {
		unsigned what = changes ? (unsigned)fm_random_below(&random, KINDS) : program[i % period];
		uint64_t target = TARGETS + 64ull * what;

		count += !fm_branches_foresee(branches, FM_BRANCH_INDIRECT, ADDRESS, true, target) && i >= LEARNING;
		fm_branches_foresee(branches, FM_BRANCH_ALWAYS, target + 16, true, ADDRESS - 16);
	}
	fm_branches_destroy(branches);
	return (double)count / (BRANCHES - LEARNING);
}

static void dispatch_of_a_loop_is_foreseen(void **state)
{
	(void)state;
	assert_true(missed_dispatch(60, false) < 0.001);
	assert_true(missed_dispatch(200, false) < 0.005);
	assert_true(missed_dispatch(60, true) > 0.8);
}

static void what_repeats_is_foreseen(void **state)
{
	(void)state;
	assert_true(missed(always, FM_BRANCH_CONDITIONAL) == 0);
	assert_true(missed(every_third, FM_BRANCH_CONDITIONAL) < 0.001);
	assert_true(missed(leaves_after_forty, FM_BRANCH_CONDITIONAL) < 0.005);
	assert_true(missed(always, FM_BRANCH_INDIRECT) == 0);
	assert_true(missed(every_third, FM_BRANCH_INDIRECT) < 0.001);
}

static void chance_is_not(void **state)
{
	double half = missed(by_chance, FM_BRANCH_CONDITIONAL), tenth = missed(seldom, FM_BRANCH_CONDITIONAL);

	(void)state;
	assert_true(half > 0.47 && half < 0.53);
	/* no better than always going the usual way, and not much worse */
	assert_true(tenth > 0.09 && tenth < 0.15);
	assert_true(missed(by_chance, FM_BRANCH_INDIRECT) > 0.4);
}

/* A second branch that goes where the first went. */
static void one_branch_tells_of_another(void **state)
{
	struct fm_branches *branches = fm_branches_create();
	struct fm_random random;
	unsigned count = 0;

	(void)state;
	assert_non_null(branches);
	fm_random_seed(&random, 11);
	for (unsigned i = 0; i < BRANCHES; i++) {
		bool taken = by_chance(i, &random);

		fm_branches_foresee(branches, FM_BRANCH_CONDITIONAL, ADDRESS, taken, ADDRESS + (taken ? 64 : 2));
		count += !fm_branches_foresee(branches, FM_BRANCH_CONDITIONAL, ADDRESS + 100, taken,
		                              ADDRESS + (taken ? 164 : 102)) &&
		         i >= LEARNING;
	}
	fm_branches_destroy(branches);
	assert_true(count < 0.01 * (BRANCHES - LEARNING));
}

static void others_are_always_foreseen(void **state)
{
	struct fm_branches *branches = fm_branches_create();

	(void)state;
	assert_non_null(branches);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(fm_branches_foresee(branches, FM_BRANCH_ALWAYS, ADDRESS + 16 * i, true, TARGETS));
	fm_branches_destroy(branches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_repeats_is_foreseen),
	    cmocka_unit_test(dispatch_of_a_loop_is_foreseen),
	    cmocka_unit_test(chance_is_not),
	    cmocka_unit_test(one_branch_tells_of_another),
	    cmocka_unit_test(others_are_always_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
