/* In order, or at random: sweeps at many speeds and sampling rates, with passes longer and shorter than the time
   between samples. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "samples/pattern.h"

enum { MIB = 1 << 20, POINTS = 400 };

static const struct fm_pattern_hints unknown = {12e9, 0, 1, 48 * 1024};

enum walk { UP, DOWN, RANDOM, HOT, ZIPF };

static void fill(struct fm_pattern_point *points, struct fm_random *random, enum walk walk, double bytes, double pass,
                 double jitter)
{
	double at = 0;

	for (unsigned i = 0; i < POINTS; i++) {
		double place = fmod(at / pass, 1);

		if (walk == DOWN)
			place = 1 - place;
		if (walk == RANDOM)
			place = fm_random_uniform(random);
		if (walk == ZIPF)
			place = pow(fm_random_uniform(random), 6);
		points[i] = (struct fm_pattern_point){at, 4096 + (uint64_t)(place * bytes) / 8 * 8};
		if (walk == HOT)
			points[i].address = 4096 + fm_random_below(random, 8) * 8;
		at += 0.001 * (1 + jitter * (fm_random_uniform(random) - 0.5));
	}
}

static struct fm_pattern_verdict tell(struct fm_random *random, enum walk walk, double bytes, double pass,
                                      double jitter, const struct fm_pattern_hints *hints)
{
	struct fm_pattern_point points[POINTS];
	struct fm_pattern_verdict verdict = {0};

	fill(points, random, walk, bytes, pass, jitter);
	assert_int_equal(fm_pattern_judge(points, POINTS, hints, &verdict), 0);
	assert_true(verdict.confidence >= 0 && verdict.confidence <= 1);
	assert_true(*verdict.reason);
	assert_true(verdict.pattern == FM_PATTERN_ADVANCES || verdict.speed == 0);
	return verdict;
}

static enum fm_pattern judge(struct fm_random *random, enum walk walk, double bytes, double pass, double jitter,
                             const struct fm_pattern_hints *hints)
{
	return tell(random, walk, bytes, pass, jitter, hints).pattern;
}

static void sweeps_advance(void **state)
{
	/* seconds for a pass; samples come each millisecond */
	static const double passes[] = {1, 0.1, 0.03, 0.0077, 0.0031, 0.0013};
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 1);
	for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		for (enum walk walk = UP; walk <= DOWN; walk++)
			for (double jitter = 0; jitter < 1; jitter += 0.4)
				assert_int_equal(judge(&random, walk, passes[i] * 8e9, passes[i], jitter, &unknown),
				                 FM_PATTERN_ADVANCES);
}

/* Samples that come at even times cannot tell up from down; others can, or say nothing. */
static void sweeps_have_a_direction(void **state)
{
	static const double passes[] = {1, 0.1, 0.03, 0.0077, 0.0031};
	unsigned told = 0, all = 0;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		for (enum walk walk = UP; walk <= DOWN; walk++)
			for (double jitter = 0.4; jitter < 2; jitter += 0.4) {
				double speed = tell(&random, walk, passes[i] * 8e9, passes[i], jitter, &unknown).speed;

				all++;
				told += speed != 0;
				assert_true(walk == UP ? speed >= 0 : speed <= 0);
				/* of the first one only a part of a pass is seen */
				if (speed != 0 && i)
					assert_near(fabs(speed), 1 / passes[i], 0.2 / passes[i]);
			}
	assert_true(2 * told >= all);
}

static void random_is_never_taken_for_order(void **state)
{
	unsigned found[FM_PATTERN_COUNT] = {0};
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 2);
	for (unsigned i = 0; i < 200; i++)
		found[judge(&random, i % 2 ? RANDOM : ZIPF, (i % 4 < 2 ? 256.0 : 4.0) * MIB, 1, 0.3, &unknown)]++;
	assert_int_equal(found[FM_PATTERN_ADVANCES], 0);
	assert_true(found[FM_PATTERN_RANDOM] >= 90);
	/* passes over 4 MiB might be too short to be seen */
	assert_true(found[FM_PATTERN_INCONCLUSIVE] >= 100);
	assert_int_equal(found[FM_PATTERN_RANDOM] + found[FM_PATTERN_INCONCLUSIVE], 200);
}

static void levels_help_with_small_objects(void **state)
{
	struct fm_pattern_hints misses = {12e9, 0, 0.2, 48 * 1024}, hits = {12e9, 0.8, 0.9, 48 * 1024};
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	assert_int_equal(judge(&random, RANDOM, 4.0 * MIB, 1, 0.3, &misses), FM_PATTERN_RANDOM);
	assert_int_equal(judge(&random, RANDOM, 4.0 * MIB, 1, 0.3, &hits), FM_PATTERN_LOCAL);
	assert_int_equal(judge(&random, RANDOM, 32 * 1024, 1, 0.3, &hits), FM_PATTERN_INCONCLUSIVE);
	assert_int_equal(judge(&random, HOT, 64, 1, 0.3, &unknown), FM_PATTERN_FIXED);
}

static void little_is_inconclusive(void **state)
{
	struct fm_pattern_point points[30] = {0};
	struct fm_pattern_verdict verdict;

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		points[i].address = i * 4096u;
	assert_int_equal(fm_pattern_judge(points, 0, &unknown, &verdict), 0);
	assert_int_equal(verdict.pattern, FM_PATTERN_INCONCLUSIVE);
	assert_int_equal(fm_pattern_judge(points, 29, &unknown, &verdict), 0);
	assert_int_equal(verdict.pattern, FM_PATTERN_INCONCLUSIVE);
	/* all at the same time */
	assert_int_equal(fm_pattern_judge(points, 30, &unknown, &verdict), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sweeps_advance),
	    cmocka_unit_test(sweeps_have_a_direction),
	    cmocka_unit_test(random_is_never_taken_for_order),
	    cmocka_unit_test(levels_help_with_small_objects),
	    cmocka_unit_test(little_is_inconclusive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
