/* A figure is a value with its unit, its interval, and how it was obtained. "Not available" is never 0: such a figure
   says why instead. */
#ifndef FATHOM_BASE_FIGURE_H
#define FATHOM_BASE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

enum fm_origin {
#define ORIGIN(identifier) FM_ORIGIN_##identifier,
#include "base/origins.def"
#undef ORIGIN
	FM_ORIGIN_COUNT
};

struct fm_figure {
	bool available;
	double value;
	double low; /* the interval holds the true value in 95 % of cases */
	double high;
	char unit[12];
	enum fm_origin origin;
	char backend[24];   /* which back end made it */
	unsigned trials;    /* how many undisturbed trials it rests on */
	unsigned set_aside; /* how many disturbed ones were left out */
	char why[160];      /* if not available */
};

const char *fm_origin_name(enum fm_origin origin);

/* FM_ORIGIN_COUNT when the name is unknown. */
enum fm_origin fm_origin_find(const char *name);

struct fm_figure fm_figure_make(double value, double low, double high, const char *unit, enum fm_origin origin,
                                const char *backend, unsigned trials);

struct fm_figure fm_figure_unavailable(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* factor * figure in another unit; a negative factor is not allowed. */
struct fm_figure fm_figure_scaled(const struct fm_figure *figure, double factor, const char *unit);

/* numerator / figure: a rate from a time. */
/* Its interval reaches at least so far on both sides, relative to the value. */
void fm_figure_widen(struct fm_figure *figure, double relative);

struct fm_figure fm_figure_inverted(const struct fm_figure *figure, double numerator, const char *unit);

/* Product of two independent positive figures; relative half-widths add in quadrature. */
struct fm_figure fm_figure_product(const struct fm_figure *first, const struct fm_figure *second, const char *unit);

/* Half the width of the interval relative to the value; infinity when not available. */
double fm_figure_relative_width(const struct fm_figure *figure);

/* Do the intervals overlap? */
bool fm_figure_agrees(const struct fm_figure *first, const struct fm_figure *second);

/* Wider than this on either side and a figure says nothing: texts call it inconclusive. */
#define FM_FIGURE_INCONCLUSIVE 0.5

/* "4.05 ns ±1.2 %", "inconclusive", "n/a". Returns buffer. */
const char *fm_figure_text(char *buffer, size_t size, const struct fm_figure *figure);

/* The same without the unit, for tables whose heading has it. */
const char *fm_figure_text_bare(char *buffer, size_t size, const struct fm_figure *figure);

#endif
