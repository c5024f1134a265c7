/* A figure is a value with its unit, its interval and its origin. An unavailable figure has a reason and no value; it
   is never 0. */
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
	double low; /* 95 % interval */
	double high;
	char unit[12];
	enum fm_origin origin;
	char backend[24];   /* name of the back end */
	unsigned trials;    /* undisturbed trials */
	unsigned set_aside; /* disturbed trials, which are excluded */
	char why[160];      /* if not available */
};

const char *fm_origin_name(enum fm_origin origin);

/* FM_ORIGIN_COUNT if the name is unknown. */
enum fm_origin fm_origin_find(const char *name);

struct fm_figure fm_figure_make(double value, double low, double high, const char *unit, enum fm_origin origin,
                                const char *backend, unsigned trials);

struct fm_figure fm_figure_unavailable(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* factor * figure in another unit; a negative factor is not allowed. */
struct fm_figure fm_figure_scaled(const struct fm_figure *figure, double factor, const char *unit);

/* Widens the interval to at least this relative half-width on both sides. */
void fm_figure_widen(struct fm_figure *figure, double relative);

/* numerator / figure: a rate from a time. */
struct fm_figure fm_figure_inverted(const struct fm_figure *figure, double numerator, const char *unit);

/* Product of two independent positive figures; relative half-widths add in quadrature. */
struct fm_figure fm_figure_product(const struct fm_figure *first, const struct fm_figure *second, const char *unit);

/* Relative half-width of the interval; infinity if not available. */
double fm_figure_relative_width(const struct fm_figure *figure);

/* True if the intervals overlap. */
bool fm_figure_agrees(const struct fm_figure *first, const struct fm_figure *second);

/* Above this relative half-width, texts call a figure inconclusive. */
#define FM_FIGURE_INCONCLUSIVE 0.5

/* "4.05 ns ±1.2 %", "inconclusive", "n/a". Returns buffer. */
const char *fm_figure_text(char *buffer, size_t size, const struct fm_figure *figure);

/* fm_figure_text() without the unit. */
const char *fm_figure_text_bare(char *buffer, size_t size, const struct fm_figure *figure);

#endif
