#include "report/plot.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LABEL_COLUMNS = 8, DOTS_ACROSS = 2, DOTS_DOWN = 4, TICKS_MAX = 32 };

/* Beside the data: shares of the largest value and of the range, and octaves on logarithmic axes. */
static const double MARGIN = 0.02, MARGIN_SPAN = 0.1, MARGIN_OCTAVES = 0.05;

struct canvas {
	unsigned columns, rows;
	uint8_t *cells; /* braille dot patterns */
	char *signs;    /* instead of them; 0: none */
};

static void set_dot(struct canvas *canvas, int x, int y)
{
	/* the bit of each dot in its character, by row and column: the order of the Unicode block */
	static const uint8_t bits[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

	if (x < 0 || y < 0 || x >= (int)(canvas->columns * DOTS_ACROSS) || y >= (int)(canvas->rows * DOTS_DOWN))
		return;
	canvas->cells[(unsigned)y / DOTS_DOWN * canvas->columns + (unsigned)x / DOTS_ACROSS] |=
	    bits[y % DOTS_DOWN][x % DOTS_ACROSS];
}

static void draw_line(struct canvas *canvas, double x0, double y0, double x1, double y1, unsigned every)
{
	unsigned steps = (unsigned)fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1;

	for (unsigned i = 0; i <= steps; i++) {
		double t = (double)i / steps;
		int x = (int)lround(x0 + (x1 - x0) * t);

		if ((unsigned)x % every == 0)
			set_dot(canvas, x, (int)lround(y0 + (y1 - y0) * t));
	}
}

static void print_cell(FILE *output, uint8_t pattern)
{
	unsigned code = 0x2800u + pattern;

	if (!pattern)
		fputc(' ', output);
	else
		fprintf(output, "%c%c%c", 0xe0 | (int)(code >> 12), 0x80 | (int)(code >> 6 & 0x3f),
		        0x80 | (int)(code & 0x3f));
}

/* A line of labels at positions. A label that would touch the previous one is omitted. */
static void print_labels(FILE *output, unsigned columns, const unsigned *positions, char (*labels)[16], unsigned count)
{
	size_t column = 0;

	fprintf(output, "%*s", LABEL_COLUMNS + 1, "");
	for (unsigned i = 0; i < count; i++) {
		size_t width = strlen(labels[i]);
		size_t start = positions[i] >= width / 2 ? positions[i] - width / 2 : 0;

		if (start + width > columns)
			start = columns > width ? columns - width : 0;
		if (start < column + (column ? 1 : 0))
			continue;
		fprintf(output, "%*s%s", (int)(start - column), "", labels[i]);
		column = start + width;
	}
	fputc('\n', output);
}

/* From values to dots. */
struct axes {
	bool linear;
	double x_low, y_high, x_scale, y_scale;
};

static double place(bool linear, double value)
{
	return linear ? value : log2(value);
}

static double x_of(const struct axes *axes, double value)
{
	return (place(axes->linear, value) - axes->x_low) * axes->x_scale;
}

static double y_of(const struct axes *axes, double value)
{
	return (axes->y_high - place(axes->linear, value)) * axes->y_scale;
}

static void set_sign(struct canvas *canvas, double x, double y, char sign)
{
	unsigned column = (unsigned)fmax(0, x) / DOTS_ACROSS, row = (unsigned)fmax(0, y) / DOTS_DOWN;

	if (column < canvas->columns && row < canvas->rows)
		canvas->signs[row * canvas->columns + column] = sign;
}

/* 1, 2 or 5 times a power of ten, for about `wanted` steps. */
static double even_step(double range, unsigned wanted)
{
	double step = pow(10, floor(log10(range / wanted)));

	return step * (range / step > 5 * wanted ? 10 : range / step > 2 * wanted ? 5 : range / step > wanted ? 2 : 1);
}

/* The limits of the data, with a margin; false: nothing to draw. */
static bool find_axes(const struct fm_plot *plot, const struct canvas *canvas, struct axes *ret_axes,
                      double *ret_x_high)
{
	double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;

	for (unsigned s = 0; s < plot->series_count; s++)
		for (unsigned i = 0; i < plot->series[s].count; i++) {
			x_low = fmin(x_low, place(plot->linear, plot->series[s].x[i]));
			x_high = fmax(x_high, place(plot->linear, plot->series[s].x[i]));
			y_low = fmin(y_low, place(plot->linear, plot->series[s].y[i]));
			y_high = fmax(y_high, place(plot->linear, plot->series[s].y[i]));
		}
	if (plot->linear) {
		double margin = fmax(MARGIN_SPAN * (y_high - y_low), MARGIN * y_high);

		x_low = fmin(x_low, 0);
		x_high *= 1 + MARGIN;
		y_low = fmax(0, y_low - margin);
		y_high += margin;
	} else {
		y_high += MARGIN_OCTAVES;
		y_low -= MARGIN_OCTAVES;
	}
	*ret_axes = (struct axes){.linear = plot->linear,
	                          .x_low = x_low,
	                          .y_high = y_high,
	                          .x_scale = (canvas->columns * DOTS_ACROSS - 1) / (x_high - x_low),
	                          .y_scale = (canvas->rows * DOTS_DOWN - 1) / (y_high - y_low)};
	*ret_x_high = x_high;
	return x_high > x_low && y_high > y_low;
}

static void draw_series(const struct fm_plot *plot, const struct axes *axes, struct canvas *canvas)
{
	for (unsigned s = 0; s < plot->series_count; s++) {
		const struct fm_plot_series *series = &plot->series[s];

		for (unsigned i = 0; series->sign && i < series->count; i++)
			set_sign(canvas, x_of(axes, series->x[i]), y_of(axes, series->y[i]), series->sign);
		for (unsigned i = 1; !series->sign && i < series->count; i++)
			draw_line(canvas, x_of(axes, series->x[i - 1]), y_of(axes, series->y[i - 1]),
			          x_of(axes, series->x[i]), y_of(axes, series->y[i]), s ? 3 : 1);
	}
}

static void print_canvas(const struct canvas *canvas, const struct axes *axes, FILE *output)
{
	for (unsigned row = 0; row < canvas->rows; row++) {
		/* a label on every other row, the value at its middle */
		double middle = axes->y_high - ((double)row + 0.5) * DOTS_DOWN / axes->y_scale,
		       value = axes->linear ? fmax(0, middle) : exp2(middle);
		char label[16] = "";

		if (row % 2 == 0)
			fm_text_number(label, sizeof(label), value);
		fprintf(output, "%*s \xe2\x94\x82", LABEL_COLUMNS - 1, label);
		for (unsigned column = 0; column < canvas->columns; column++) {
			char sign = canvas->signs[row * canvas->columns + column];

			if (sign)
				fputc(sign, output);
			else
				print_cell(output, canvas->cells[row * canvas->columns + column]);
		}
		fputc('\n', output);
	}
	fprintf(output, "%*s\xe2\x94\x94", LABEL_COLUMNS, "");
	for (unsigned column = 0; column < canvas->columns; column++)
		fputs("\xe2\x94\x80", output);
	fputc('\n', output);
}

static void print_ticks(const struct fm_plot *plot, const struct axes *axes, double x_high, unsigned columns,
                        FILE *output)
{
	double step = plot->linear ? even_step(x_high - axes->x_low, 8) : 1;
	unsigned positions[TICKS_MAX], ticks = 0;
	char labels[TICKS_MAX][16];

	for (double x = ceil(axes->x_low / step - 0.01) * step + 0.0; x <= x_high + 0.01 * step && ticks < TICKS_MAX;
	     x += step, ticks++) {
		positions[ticks] = (unsigned)((x - axes->x_low) * axes->x_scale / DOTS_ACROSS);
		if (plot->x_is_bytes) {
			char *blank;

			fm_text_bytes(labels[ticks], sizeof(labels[ticks]), exp2(x));
			blank = strchr(labels[ticks], ' '); /* "64 KiB" becomes "64K" */
			if (blank) {
				blank[0] = blank[1];
				blank[1] = 0;
			}
		} else {
			fm_text_number(labels[ticks], sizeof(labels[ticks]), plot->linear ? x : exp2(x));
		}
	}
	print_labels(output, columns, positions, labels, ticks);
	for (ticks = 0; ticks < plot->mark_count && ticks < TICKS_MAX; ticks++) {
		positions[ticks] = (unsigned)fmax(x_of(axes, plot->marks[ticks]) / DOTS_ACROSS, 0);
		snprintf(labels[ticks], sizeof(labels[ticks]), "%s", plot->mark_names[ticks]);
	}
	if (ticks)
		print_labels(output, columns, positions, labels, ticks);
}

void fm_plot_print(const struct fm_plot *plot, FILE *output)
{
	struct canvas canvas = {.columns = plot->width - LABEL_COLUMNS - 2, .rows = plot->height};
	struct axes axes;
	double x_high;

	canvas.cells = calloc((size_t)canvas.columns * canvas.rows, 1);
	canvas.signs = calloc((size_t)canvas.columns * canvas.rows, 1);
	if (canvas.cells && canvas.signs && find_axes(plot, &canvas, &axes, &x_high)) {
		draw_series(plot, &axes, &canvas);
		fprintf(output, "%s\n", plot->title);
		print_canvas(&canvas, &axes, output);
		print_ticks(plot, &axes, x_high, canvas.columns, output);
	}
	free(canvas.cells);
	free(canvas.signs);
}
