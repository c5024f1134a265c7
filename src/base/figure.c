#include "base/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const origin_names[FM_ORIGIN_COUNT] = {
#define ORIGIN(identifier) #identifier,
#include "base/origins.def"
#undef ORIGIN
};

const char *fm_origin_name(enum fm_origin origin)
{
	return origin_names[origin];
}

enum fm_origin fm_origin_find(const char *name)
{
	int origin;

	for (origin = 0; origin < FM_ORIGIN_COUNT; origin++)
		if (!strcmp(origin_names[origin], name))
			break;
	return (enum fm_origin)origin;
}

static void set_text(char *target, size_t size, const char *source)
{
	snprintf(target, size, "%s", source);
	fm_text_complete(target);
}

struct fm_figure fm_figure_make(double value, double low, double high, const char *unit, enum fm_origin origin,
                                const char *backend, unsigned trials)
{
	struct fm_figure figure = {
	    .available = true, .value = value, .low = low, .high = high, .origin = origin, .trials = trials};

	set_text(figure.unit, sizeof(figure.unit), unit);
	set_text(figure.backend, sizeof(figure.backend), backend);
	return figure;
}

struct fm_figure fm_figure_unavailable(const char *format, ...)
{
	struct fm_figure figure = {.available = false};
	va_list list;

	va_start(list, format);
	vsnprintf(figure.why, sizeof(figure.why), format, list);
	va_end(list);
	fm_text_complete(figure.why);
	return figure;
}

struct fm_figure fm_figure_scaled(const struct fm_figure *figure, double factor, const char *unit)
{
	struct fm_figure scaled = *figure;

	scaled.value *= factor;
	scaled.low *= factor;
	scaled.high *= factor;
	set_text(scaled.unit, sizeof(scaled.unit), unit);
	return scaled;
}

void fm_figure_widen(struct fm_figure *figure, double relative)
{
	if (!figure->available)
		return;
	figure->low = fmin(figure->low, figure->value * (1 - relative));
	figure->high = fmax(figure->high, figure->value * (1 + relative));
}

struct fm_figure fm_figure_inverted(const struct fm_figure *figure, double numerator, const char *unit)
{
	struct fm_figure inverted = *figure;

	if (!figure->available)
		return inverted;
	if (!(figure->low > 0))
		return fm_figure_unavailable("the interval of the time includes zero");
	inverted.value = numerator / figure->value;
	inverted.low = numerator / figure->high;
	inverted.high = numerator / figure->low;
	set_text(inverted.unit, sizeof(inverted.unit), unit);
	return inverted;
}

struct fm_figure fm_figure_product(const struct fm_figure *first, const struct fm_figure *second, const char *unit)
{
	struct fm_figure product;
	double below, above;

	if (!first->available)
		return *first;
	if (!second->available)
		return *second;
	product = *first;
	product.value = first->value * second->value;
	below = hypot(1 - first->low / first->value, 1 - second->low / second->value);
	above = hypot(first->high / first->value - 1, second->high / second->value - 1);
	product.low = product.value * (1 - below);
	product.high = product.value * (1 + above);
	if (second->trials < product.trials)
		product.trials = second->trials;
	set_text(product.unit, sizeof(product.unit), unit);
	return product;
}

double fm_figure_relative_width(const struct fm_figure *figure)
{
	if (!figure->available || figure->value == 0)
		return INFINITY;
	return (figure->high - figure->low) / 2 / fabs(figure->value);
}

bool fm_figure_agrees(const struct fm_figure *first, const struct fm_figure *second)
{
	return first->available && second->available && first->low <= second->high && second->low <= first->high;
}

static const char *print_figure(char *buffer, size_t size, const struct fm_figure *figure, const char *unit)
{
	char number[32];
	double percent;

	if (!figure->available) {
		snprintf(buffer, size, "n/a");
		return buffer;
	}
	fm_text_number(number, sizeof(number), figure->value);
	percent = 100 * fm_figure_relative_width(figure);
	if (figure->value == 0)
		snprintf(buffer, size, "%s%s%s", number, *unit ? " " : "", unit);
	else if (percent > 100 * FM_FIGURE_INCONCLUSIVE)
		snprintf(buffer, size, "inconclusive");
	else
		snprintf(buffer, size, "%s%s%s ±%.*f %%", number, *unit ? " " : "", unit, percent < 9.95 ? 1 : 0,
		         percent);
	return buffer;
}

const char *fm_figure_text(char *buffer, size_t size, const struct fm_figure *figure)
{
	return print_figure(buffer, size, figure, figure->unit);
}

const char *fm_figure_text_bare(char *buffer, size_t size, const struct fm_figure *figure)
{
	return print_figure(buffer, size, figure, "");
}
