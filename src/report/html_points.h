/* Points of the panels of `report --html`: columns of small integers, as text, 24 bytes per point. A page of a million
 * samples must stay small and quick, so each timeline has a budget. Beyond the budget, every n-th point is taken in the
 * order of the recording; tables and fitted rates include all. */
#ifndef FATHOM_REPORT_HTML_POINTS_H
#define FATHOM_REPORT_HTML_POINTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FM_HTML_POINTS = 120000,       /* of the whole run */
	FM_HTML_FOLDED_POINTS = 90000, /* of one folded region */
	FM_HTML_FOLDED_ALL = 150000,   /* of all of them */
	FM_HTML_LANES_MAX = 24,        /* objects with separate lanes in the panel of addresses */
};

struct fm_html_point {
	double at;        /* unit of the panels: seconds, or place in the folded instance */
	uint64_t address; /* relative to its object, if the object has a beginning */
	uint32_t object;  /* UINT32_MAX: none */
	uint32_t line;    /* UINT32_MAX: none */
	uint32_t thread;
	unsigned level; /* from 1; 0: not known */
	bool load, store;
	bool reference; /* a sample of a reference; others are for levels only */
	double cost;    /* cycles; negative: unknown */
	double weight;
};

struct fm_html_points;

/* At most `most` of `total` points. Points are offered one by one; only those that fm_html_points_wants() selects are
 * made and added. NULL: out of memory. */
struct fm_html_points *fm_html_points_create(size_t total, size_t most, double begin, double end);
void fm_html_points_free(struct fm_html_points *points);

/* Call this for all points: the extent of objects covers all points. */
void fm_html_points_extend(struct fm_html_points *points, uint32_t object, uint64_t address);
bool fm_html_points_wants(struct fm_html_points *points);
void fm_html_points_add(struct fm_html_points *points, const struct fm_html_point *point);

/* "points" and "lanes" become members of `timeline`. */
void fm_html_points_finish(struct fm_html_points *points, json_t *timeline);

#endif
