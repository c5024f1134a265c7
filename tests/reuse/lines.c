/* Curves from a share of the lines, of streams whose curves are known. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "reuse/lines.h"

enum { ONE_IN = 32, GROUPS = 64, BITS = 4, BINS = FM_LINES_BINS(BITS) };

/* Lines are followed in pairs, by a hash of the pair. */
struct stream {
	struct fm_stack stack;
	uint64_t multiplier;
	double bins[GROUPS][BINS];
	double references;
};

static struct stream *begin(uint64_t seed)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct fm_random random;

	assert_non_null(stream);
	fm_random_seed(&random, seed);
	stream->multiplier = fm_random_next(&random) | 1;
	assert_int_equal(fm_stack_create(&stream->stack, &(struct fm_stack_options){0}), 0);
	return stream;
}

static void end(struct stream *stream)
{
	fm_stack_free(&stream->stack);
	free(stream);
}

static void touch(struct stream *stream, uint64_t line)
{
	uint64_t hash = (line >> 1) * 0x9e3779b97f4a7c15u ^ stream->multiplier;

	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;

	stream->references++;
	if (hash >> 59)
		return;
	assert_int_equal(fm_stack_touch(&stream->stack, line), 0);
	stream->bins[hash >> 53 & (GROUPS - 1)][fm_lines_bin(stream->stack.distance, BITS)]++;
}

static struct fm_lines_sample sample_of(const struct stream *stream)
{
	return (struct fm_lines_sample){.one_in = ONE_IN,
	                                .references = stream->references,
	                                .groups = GROUPS,
	                                .bits = BITS,
	                                .bins = stream->bins[0]};
}

static void is_in_order(const struct fm_miss_curve *curve)
{
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		const struct fm_miss_point *point = &curve->points[i];

		assert_true(point->low <= point->value && point->value <= point->high);
		assert_true(point->low >= 0 && point->high <= 1);
		assert_true(!i || (point->value <= point[-1].value + 1e-12 && point->low <= point[-1].low + 1e-12 &&
		                   point->high <= point[-1].high + 1e-12));
	}
	assert_int_equal(curve->origin, FM_ORIGIN_sampled);
	assert_true(curve->bootstrapped);
}

/* Again and again over 2 MiB: everything misses what is smaller, nothing what is larger. */
static void a_sweep_is_a_step(void **state)
{
	const uint64_t lines = 32768, rounds = 50;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct stream *stream = begin(seed);
		struct fm_lines_sample sample;
		struct fm_miss_curve curve;
		double cold = 1.0 / (double)rounds;

		for (uint64_t i = 0; i < lines * rounds; i++)
			touch(stream, 1000 + i % lines);
		sample = sample_of(stream);
		assert_int_equal(fm_miss_lines(&sample, &curve), 0);
		is_in_order(&curve);
		for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
			double bytes = fm_miss_bytes(i);
			const struct fm_miss_point *point = &curve.points[i];

			if (bytes < (32 << 10))
				continue;
			if (bytes < 0.75 * 64 * (double)lines) {
				assert_near(point->value, 1, 0.12);
				assert_true(point->high >= 0.999);
			} else if (bytes > 1.35 * 64 * (double)lines) {
				assert_near(point->value, cold, 0.2 * cold);
				assert_true(point->low <= cold && cold <= point->high && point->high < 0.03);
			} else if (bytes > 64 * (double)lines * 0.999 && bytes < 64 * (double)lines * 1.001) {
				/* it is somewhere here */
				assert_true(point->low <= cold && point->high > 0.9);
			}
		}
		end(stream);
	}
}

/* Anywhere in 4 MiB: what misses is what the cache lacks. */
static void random_lines_are_a_straight_line(void **state)
{
	const uint64_t lines = 65536, count = 3000000;
	unsigned held = 0, points = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct stream *stream = begin(seed);
		struct fm_lines_sample sample;
		struct fm_random random;
		struct fm_miss_curve curve;
		double cold = (double)lines / (double)count;

		fm_random_seed(&random, 100 + seed);
		for (uint64_t i = 0; i < count; i++)
			touch(stream, fm_random_below(&random, lines));
		sample = sample_of(stream);
		assert_int_equal(fm_miss_lines(&sample, &curve), 0);
		is_in_order(&curve);
		for (unsigned i = FM_MISS_PER_OCTAVE; i < FM_MISS_POINTS; i++, points++) {
			double share = fmax(0, 1 - fm_miss_bytes(i) / 64 / (double)lines);
			double expected = cold + (1 - cold) * share;

			assert_near(curve.points[i].value, expected, 0.09);
			held += curve.points[i].low <= expected && expected <= curve.points[i].high;
			/* an interval that holds everything says nothing */
			assert_true(curve.points[i].high - curve.points[i].low < 0.35);
		}
		assert_true(fm_miss_at(&curve, 16 << 20).high < 2 * cold + 0.002);
		end(stream);
	}
	assert_true(held >= 0.92 * points);
}

/* Half of the references to 64 KiB, half to 8 MiB: two steps. */
static void two_working_sets(void **state)
{
	struct stream *stream = begin(3);
	struct fm_lines_sample sample;
	struct fm_miss_curve curve;
	struct fm_miss_fit fit;

	(void)state;
	for (uint64_t i = 0; i < 4000000; i++)
		touch(stream, i % 2 ? i / 2 % 1024 : 1 << 20 | (i / 2 % 131072));
	sample = sample_of(stream);
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	is_in_order(&curve);
	/* the small set is met again after as many others of the large one */
	assert_near(fm_miss_at(&curve, 48 << 10).value, 1, 0.12);
	assert_near(fm_miss_at(&curve, 1 << 20).value, 0.5, 0.06);
	assert_near(fm_miss_at(&curve, 16 << 20).value, 132096.0 / 4000000, 0.01);
	fit = fm_miss_fit(&curve, 4 << 20);
	assert_true(fit.found && fit.shrink > 0.4 && fit.shrink < 0.65);
	end(stream);
}

static void what_is_not_known(void **state)
{
	double bins[GROUPS][BINS] = {{0}};
	struct fm_lines_sample sample = {
	    .one_in = ONE_IN, .references = 1e6, .groups = GROUPS, .bits = BITS, .bins = bins[0]};
	struct fm_miss_curve curve, wider;

	(void)state;
	/* below 32 KiB */
	bins[0][fm_lines_bin(20, BITS)] = 1000;
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	assert_near(curve.points[0].high, 1, 0);
	assert_near(curve.points[0].value, fm_miss_at(&curve, 32 << 10).value, 1e-9);
	/* all of it in one group of 64: it may as well be none, or several times as much */
	assert_near(fm_miss_at(&curve, 32 << 10).value, 0.032, 1e-9);
	assert_near(fm_miss_at(&curve, 32 << 10).low, 0, 0);
	assert_true(fm_miss_at(&curve, 32 << 10).high > 0.08);
	/* evenly: it is known */
	for (unsigned i = 0; i < GROUPS; i++)
		bins[i][fm_lines_bin(2000, BITS)] = 1000.0 / 64;
	bins[0][fm_lines_bin(20, BITS)] = 0;
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	assert_near(fm_miss_at(&curve, 1 << 20).value, 0.032, 1e-9);
	assert_true(fm_miss_at(&curve, 1 << 20).low > 0.028 && fm_miss_at(&curve, 1 << 20).high < 0.036);
	assert_near(fm_lines_long(&sample), 1000, 1e-9);
	/* some of it was not seen */
	sample.uncounted = 0.1;
	assert_int_equal(fm_miss_lines(&sample, &wider), 0);
	assert_near(fm_miss_at(&wider, 1 << 20).value, 0.032, 1e-9);
	assert_true(fm_miss_at(&wider, 1 << 20).low < fm_miss_at(&curve, 1 << 20).low - 0.0004 &&
	            fm_miss_at(&wider, 1 << 20).high > fm_miss_at(&curve, 1 << 20).high + 0.0004);
	/* nothing was touched: so little as could be overlooked */
	memset(bins, 0, sizeof(bins));
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	assert_true(fm_miss_at(&curve, 1 << 20).high > 0.0029 && fm_miss_at(&curve, 1 << 20).high < 0.0035);
	sample.references = 100;
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	assert_true(fm_miss_at(&curve, 1 << 20).high > 0.9);
	/* one group tells nothing of chance */
	sample.references = 1e6;
	sample.groups = 1;
	bins[0][fm_lines_bin(2000, BITS)] = 1000;
	assert_int_equal(fm_miss_lines(&sample, &curve), 0);
	assert_near(fm_miss_at(&curve, 1 << 20).low, 0, 0);
	assert_near(fm_miss_at(&curve, 1 << 20).high, 1, 0);
	sample.references = 0;
	assert_int_equal(fm_miss_lines(&sample, &curve), -ENODATA);
}

static void bins_have_room(void **state)
{
	(void)state;
	for (unsigned bits = 2; bits <= 4; bits++) {
		unsigned bins = FM_LINES_BINS(bits);

		assert_int_equal(fm_lines_bin((1u << FM_LINES_OCTAVES) - 1, bits), bins - 3);
		assert_int_equal(fm_lines_bin(1u << FM_LINES_OCTAVES, bits), bins - 2);
		assert_int_equal(fm_lines_bin(FM_DISTANCE_COLD, bits), bins - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sweep_is_a_step), cmocka_unit_test(random_lines_are_a_straight_line),
	    cmocka_unit_test(two_working_sets), cmocka_unit_test(what_is_not_known), cmocka_unit_test(bins_have_room)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
