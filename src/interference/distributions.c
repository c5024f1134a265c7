#include "interference/distributions.h"

#include <math.h>

/* Standard deviation 1 / parameter, around the middle. */
static double normal_below(double parameter, double place)
{
	return 0.5 * erfc(-(place - 0.5) * parameter * M_SQRT1_2);
}

static double normal_draw(double parameter, struct fm_random *random)
{
	return 0.5 + fm_random_normal(random) / parameter;
}

static double exponential_below(double parameter, double place)
{
	return -expm1(-parameter * place);
}

static double exponential_draw(double parameter, struct fm_random *random)
{
	return -log(fm_random_uniform(random)) / parameter;
}

/* From 0 to 1, most of it at the parameter. */
static double triangular_below(double parameter, double place)
{
	return place < parameter ? place * place / parameter : 1 - (1 - place) * (1 - place) / (1 - parameter);
}

static double triangular_draw(double parameter, struct fm_random *random)
{
	double share = fm_random_uniform(random);

	return share < parameter ? sqrt(share * parameter) : 1 - sqrt((1 - share) * (1 - parameter));
}

static double uniform_below(double parameter, double place)
{
	(void)parameter;
	return place;
}

static double uniform_draw(double parameter, struct fm_random *random)
{
	(void)parameter;
	return fm_random_uniform(random);
}

const struct fm_distribution fm_distributions[FM_DISTRIBUTION_COUNT] = {
#define DISTRIBUTION(identifier, name, shape, parameter) {name, parameter, shape##_below, shape##_draw},
#include "interference/distributions.def"
#undef DISTRIBUTION
};

double fm_distribution_share(const struct fm_distribution *distribution, double from, double to)
{
	double parameter = distribution->parameter, first = distribution->below(parameter, 0),
	       all = distribution->below(parameter, 1) - first;

	return (distribution->below(parameter, to) - distribution->below(parameter, from)) / all;
}

double fm_distribution_draw(const struct fm_distribution *distribution, struct fm_random *random)
{
	double place;

	do
		place = distribution->draw(distribution->parameter, random);
	while (place < 0 || place >= 1);
	return place;
}
