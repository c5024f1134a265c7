/* The life of lines in a shared last cache, from shares that were still there after a while. */
#include <math.h>

#include "check.h"
#include "base/random.h"
#include "measure/host_load.h"

/* Lines that are lost at random, each share off by up to `off`. */
static void invent(double life, double off, unsigned rounds, double (*shares)[FM_LIFE_POINTS], struct fm_random *random)
{
	for (unsigned k = 0; k < rounds; k++)
		for (unsigned i = 0; i < FM_LIFE_POINTS; i++)
			shares[k][i] = exp(-fm_life_waits[i] / life) + off * (2 * fm_random_uniform(random) - 1);
}

static void finds_the_life(void **state)
{
	static const double lives[] = {0.4e6, 2e6, 7e6, 30e6, 100e6};
	struct fm_random random;
	unsigned held = 0, all = 0;

	(void)state;
	fm_random_seed(&random, 7);
	for (unsigned k = 0; k < sizeof(lives) / sizeof(lives[0]); k++)
		for (unsigned i = 0; i < 20; i++) {
			double shares[5][FM_LIFE_POINTS];
			struct fm_figure found;

			invent(lives[k], 0.08, 5, shares, &random);
			found = fm_life_find((const double(*)[FM_LIFE_POINTS])shares, 5);
			assert_true(found.available);
			assert_true(found.value > 0.6 * lives[k] && found.value < 1.7 * lives[k]);
			held += found.low <= lives[k] && found.high >= lives[k];
			all++;
		}
	assert_true(held >= 0.8 * all);
}

static void says_what_it_cannot_tell(void **state)
{
	double shares[4][FM_LIFE_POINTS];
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 8);
	/* hardly anything is lost */
	invent(2e9, 0.02, 4, shares, &random);
	assert_false(fm_life_find((const double(*)[FM_LIFE_POINTS])shares, 4).available);
	/* two rounds are no measurement */
	invent(5e6, 0.02, 2, shares, &random);
	assert_false(fm_life_find((const double(*)[FM_LIFE_POINTS])shares, 2).available);
	/* lines of memory could not be told from others */
	for (unsigned k = 0; k < 4; k++)
		for (unsigned i = 0; i < FM_LIFE_POINTS; i++)
			shares[k][i] = NAN;
	assert_false(fm_life_find((const double(*)[FM_LIFE_POINTS])shares, 4).available);
}

/* On whatever machine this is: a figure within its bounds, or a reason. */
static void measures_or_says_why(void **state)
{
	struct fm_topology topology;
	struct fm_core_watch *watch;
	struct fm_figure life, share;

	(void)state;
	assert_int_equal(fm_topology_read(&topology, NULL), 0);
	watch = fm_core_watch_begin(1e-3);
	assert_non_null(watch);
	life = fm_life_measure(&topology, 0.2);
	share = fm_core_watch_end(watch);
	if (life.available)
		/* no line is lost in the time of a few accesses, and longer than a second nothing was left alone */
		assert_true(life.low >= 1e3 && life.low <= life.value && life.value <= life.high && life.value <= 1e10);
	else
		assert_true(*life.why);
	/* any core does more than an instruction in a microsecond */
	if (share.available)
		assert_float_equal(share.value, 1, 1e-9);
	else
		assert_true(*share.why);
	assert_null(fm_core_watch_begin(0));
	assert_false(fm_core_watch_end(NULL).available);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_the_life),
	    cmocka_unit_test(says_what_it_cannot_tell),
	    cmocka_unit_test(measures_or_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
