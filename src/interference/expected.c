#include "interference/expected.h"

#include <math.h>
#include <stdbool.h>

enum { STEPS = 100 };   /* of a bisection, at most */
#define PRECISION 1e-13 /* … which ends here */

void fm_expected_prepare(const struct fm_distribution *distribution, uint64_t lines, struct fm_expected *ret_expected)
{
	fm_expected_prepare_coarsely(distribution, lines, FM_EXPECTED_GROUPS, ret_expected);
}

void fm_expected_prepare_coarsely(const struct fm_distribution *distribution, uint64_t lines, unsigned groups,
                                  struct fm_expected *ret_expected)
{
	unsigned count = lines < groups ? (unsigned)lines : groups;
	uint64_t begin = 0;

	ret_expected->lines = (double)lines;
	ret_expected->count = count;
	for (unsigned i = 0; i < count; i++) {
		uint64_t end = lines * (i + 1) / count;

		ret_expected->group_lines[i] = (double)(end - begin);
		ret_expected->each[i] =
		    fm_distribution_share(distribution, (double)begin / (double)lines, (double)end / (double)lines) /
		    (double)(end - begin);
		begin = end;
	}
}

/* Sum over all lines of f · min(1, C · f), or without the minimum. */
static double sum_of_squares(const struct fm_expected *expected, double capacity, bool bounded)
{
	double sum = 0;

	for (unsigned i = 0; i < expected->count; i++) {
		double there = capacity * expected->each[i];

		sum += expected->group_lines[i] * expected->each[i] * (bounded ? fmin(there, 1) : there);
	}
	return sum;
}

static double seed_hits(const struct fm_expected *expected, double capacity)
{
	return fmin(sum_of_squares(expected, capacity, false), 1);
}

static double seed_capacity(const struct fm_expected *expected, double hits)
{
	return hits / sum_of_squares(expected, 1, false);
}

static double bounded_hits(const struct fm_expected *expected, double capacity)
{
	return sum_of_squares(expected, capacity, true);
}

static double bounded_capacity(const struct fm_expected *expected, double hits)
{
	double low = 0, high = expected->lines;

	/* a line that is never accessed would need no end of capacity */
	while (bounded_hits(expected, high) < hits && high < 1e3 * expected->lines)
		high *= 2;
	for (unsigned i = 0; i < STEPS && high - low > PRECISION * high; i++) {
		double middle = (low + high) / 2;

		if (bounded_hits(expected, middle) < hits)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Lines that are there, and the share of accesses that find theirs, when lines stay for a time in accesses. */
static double che_there(const struct fm_expected *expected, double time, bool accesses)
{
	double sum = 0;

	for (unsigned i = 0; i < expected->count; i++)
		sum -= expected->group_lines[i] * (accesses ? expected->each[i] : 1) * expm1(-expected->each[i] * time);
	return sum;
}

/* The time after which the cache holds that many lines; both grow together. */
static double che_time(const struct fm_expected *expected, double wanted, bool accesses)
{
	double low = 0, high = expected->lines;

	while (che_there(expected, high, accesses) < wanted && high < 1e6 * expected->lines)
		high *= 2;
	for (unsigned i = 0; i < STEPS && high - low > PRECISION * high; i++) {
		double middle = (low + high) / 2;

		if (che_there(expected, middle, accesses) < wanted)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double che_hits(const struct fm_expected *expected, double capacity)
{
	return capacity >= expected->lines ? 1 : che_there(expected, che_time(expected, capacity, false), true);
}

static double che_capacity(const struct fm_expected *expected, double hits)
{
	return che_there(expected, che_time(expected, hits, true), false);
}

static const struct {
	const char *name, *words;
	double (*hits)(const struct fm_expected *expected, double capacity);
	double (*capacity)(const struct fm_expected *expected, double hits);
} models[FM_EXPECTED_COUNT] = {
#define MODEL(identifier, words) {#identifier, words, identifier##_hits, identifier##_capacity},
#include "interference/models.def"
#undef MODEL
};

const char *fm_expected_name(enum fm_expected_model model)
{
	return models[model].name;
}

const char *fm_expected_words(enum fm_expected_model model)
{
	return models[model].words;
}

double fm_expected_hits(const struct fm_expected *expected, enum fm_expected_model model, double capacity)
{
	return models[model].hits(expected, fmax(capacity, 0));
}

double fm_expected_capacity(const struct fm_expected *expected, enum fm_expected_model model, double hits)
{
	double capacity = models[model].capacity(expected, fmin(fmax(hits, 0), 1));

	return fmin(capacity, expected->lines);
}
