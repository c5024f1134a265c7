/* Points of the panels of `report --html`: columns of small integers, as text. A page of a million samples must stay
   small and quick, so each timeline has a budget. Of more points than that every n-th is taken, evenly in the order of
   the recording; tables and fitted rates are of all. A point takes 24 bytes of the page. */
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
	FM_HTML_LANES_MAX = 24,        /* objects that have a place of their own in the panel of addresses */
};

struct fm_html_point {
	double at;        /* in the unit of the panels: seconds, or a place in the folded instance */
	uint64_t address; /* relative to its object where that has a beginning */
	uint32_t object;  /* UINT32_MAX: none */
	uint32_t line;    /* UINT32_MAX: none */
	uint32_t thread;
	unsigned level; /* from 1; 0: not known */
	bool load, store;
	bool reference; /* tells how often something is referred to; others tell of levels only */
	double cost;    /* cycles; negative: not known */
	double weight;
};

struct fm_html_points;

/* At most `most` of `total` points, which are then offered one by one; fm_html_points_wants() says which are wanted, so
   that others need not be made. NULL: no memory. */
struct fm_html_points *fm_html_points_create(size_t total, size_t most, double begin, double end);
void fm_html_points_free(struct fm_html_points *points);

/* All points must be noted, as the extent of objects is that of all. */
void fm_html_points_extend(struct fm_html_points *points, uint32_t object, uint64_t address);
bool fm_html_points_wants(struct fm_html_points *points);
void fm_html_points_add(struct fm_html_points *points, const struct fm_html_point *point);

/* "points" and "lanes" become members of `timeline`. */
void fm_html_points_finish(struct fm_html_points *points, json_t *timeline);

#endif
