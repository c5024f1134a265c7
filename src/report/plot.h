/* Curves in the terminal, drawn with braille dots: two dots across and four down in each character. */
#ifndef FATHOM_REPORT_PLOT_H
#define FATHOM_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>

struct fm_plot_series {
	const char *name;
	const double *x;
	const double *y;
	unsigned count;
	char sign; /* drawn at every point, without lines; 0: lines */
};

struct fm_plot {
	const char *title; /* names the unit of y */
	bool x_is_bytes;   /* label the axis with KiB and MiB */
	bool linear;       /* both axes; x from 0 on */
	unsigned width;    /* of the whole picture in characters */
	unsigned height;   /* of the drawing area */
	const struct fm_plot_series *series;
	unsigned series_count;
	const double *marks; /* x positions to mark below the axis */
	const char *const *mark_names;
	unsigned mark_count;
};

/* Axes are logarithmic unless `linear` is set. Points are joined by lines unless the series has a sign; a later sign
 * covers an earlier one. Later series are dotted. */
void fm_plot_print(const struct fm_plot *plot, FILE *output);

#endif
