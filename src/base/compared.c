#include "base/compared.h"

#include <math.h>

const char *fm_change_name(enum fm_change change)
{
	static const char *const names[] = {
	    [FM_CHANGE_NONE] = "no difference shown",
	    [FM_CHANGE_LESS] = "less",
	    [FM_CHANGE_MORE] = "more",
	    [FM_CHANGE_ONLY_FIRST] = "only in the first",
	    [FM_CHANGE_ONLY_SECOND] = "only in the second",
	    [FM_CHANGE_INCOMPARABLE] = "incomparable",
	};

	return names[change];
}

/* Errors of both are independent: they add in quadrature, each side for itself. */
struct fm_compared fm_compared_make(const struct fm_figure *first, const struct fm_figure *second)
{
	struct fm_compared compared = {.first = *first, .second = *second};
	double difference = second->value - first->value, low, high, below, above;

	if (!first->available || !second->available) {
		compared.change = FM_CHANGE_INCOMPARABLE;
		compared.ratio = compared.difference =
		    fm_figure_unavailable("%s", !first->available ? first->why : second->why);
		return compared;
	}
	below = hypot(second->value - second->low, first->high - first->value);
	above = hypot(second->high - second->value, first->value - first->low);
	low = difference - below;
	high = difference + above;
	compared.difference = fm_figure_make(difference, low, high, first->unit, second->origin, second->backend,
	                                     first->trials < second->trials ? first->trials : second->trials);
	if (first->value > 0 && first->low > 0) {
		double ratio = second->value / first->value;

		below = hypot(second->value > 0 ? (second->value - second->low) / second->value : 0,
		              (first->high - first->value) / first->value);
		above = hypot(second->value > 0 ? (second->high - second->value) / second->value : 0,
		              (first->value - first->low) / first->value);
		compared.ratio = fm_figure_make(ratio, fmax(ratio * (1 - below), 0), ratio * (1 + above), "",
		                                second->origin, second->backend, compared.difference.trials);
	} else {
		compared.ratio = fm_figure_unavailable("the first value may be 0");
	}
	/* simulated figures repeat to the last digit, up to rounding */
	if (fabs(difference) <= 1e-9 * fmax(fabs(first->value), fabs(second->value)))
		compared.change = FM_CHANGE_NONE;
	else
		compared.change = high < 0 ? FM_CHANGE_LESS : low > 0 ? FM_CHANGE_MORE : FM_CHANGE_NONE;
	return compared;
}
