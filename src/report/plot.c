#include "report/plot.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LABEL_COLUMNS = 8, DOTS_ACROSS = 2, DOTS_DOWN = 4 };

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

/* A line of labels at positions; a label that would touch the one before is left out. */
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

/* 1, 2 or 5 times a power of ten, so that there are about `wanted` of them. */
static double even_step(double range, unsigned wanted)
{
	double step = pow(10, floor(log10(range / wanted)));

	return step * (range / step > 5 * wanted ? 10 : range / step > 2 * wanted ? 5 : range / step > wanted ? 2 : 1);
}

void fm_plot_print(const struct fm_plot *plot, FILE *output)
{
	enum { TICKS_MAX = 32 };
	struct canvas canvas = {.columns = plot->width - LABEL_COLUMNS - 2, .rows = plot->height};
	double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
	struct axes axes = {.linear = plot->linear};
	double step;
	unsigned positions[TICKS_MAX], ticks = 0;
	char labels[TICKS_MAX][16];

	for (unsigned s = 0; s < plot->series_count; s++)
		for (unsigned i = 0; i < plot->series[s].count; i++) {
			x_low = fmin(x_low, place(plot->linear, plot->series[s].x[i]));
			x_high = fmax(x_high, place(plot->linear, plot->series[s].x[i]));
			y_low = fmin(y_low, place(plot->linear, plot->series[s].y[i]));
			y_high = fmax(y_high, place(plot->linear, plot->series[s].y[i]));
		}
	canvas.cells = calloc((size_t)canvas.columns * canvas.rows, 1);
	canvas.signs = calloc((size_t)canvas.columns * canvas.rows, 1);
	if (plot->linear) {
		double margin = fmax(0.1 * (y_high - y_low), 0.02 * y_high);

		x_low = fmin(x_low, 0);
		x_high *= 1.02;
		y_low = fmax(0, y_low - margin);
		y_high += margin;
	} else {
		y_high += 0.05;
		y_low -= 0.05;
	}
	if (!canvas.cells || !canvas.signs || !(x_high > x_low) || !(y_high > y_low))
		goto out;
	axes.x_low = x_low;
	axes.y_high = y_high;
	axes.x_scale = (canvas.columns * DOTS_ACROSS - 1) / (x_high - x_low);
	axes.y_scale = (canvas.rows * DOTS_DOWN - 1) / (y_high - y_low);
	for (unsigned s = 0; s < plot->series_count; s++) {
		const struct fm_plot_series *series = &plot->series[s];

		for (unsigned i = 0; series->sign && i < series->count; i++)
			set_sign(&canvas, x_of(&axes, series->x[i]), y_of(&axes, series->y[i]), series->sign);
		for (unsigned i = 1; !series->sign && i < series->count; i++)
			draw_line(&canvas, x_of(&axes, series->x[i - 1]), y_of(&axes, series->y[i - 1]),
			          x_of(&axes, series->x[i]), y_of(&axes, series->y[i]), s ? 3 : 1);
	}
	fprintf(output, "%s\n", plot->title);
	for (unsigned row = 0; row < canvas.rows; row++) {
		/* a label on every other row, the value at its middle */
		double middle = y_high - ((double)row + 0.5) * DOTS_DOWN / axes.y_scale,
		       value = plot->linear ? fmax(0, middle) : exp2(middle);
		char label[16] = "";

		if (row % 2 == 0)
			fm_text_number(label, sizeof(label), value);
		fprintf(output, "%*s \xe2\x94\x82", LABEL_COLUMNS - 1, label);
		for (unsigned column = 0; column < canvas.columns; column++) {
			char sign = canvas.signs[row * canvas.columns + column];

			if (sign)
				fputc(sign, output);
			else
				print_cell(output, canvas.cells[row * canvas.columns + column]);
		}
		fputc('\n', output);
	}
	fprintf(output, "%*s\xe2\x94\x94", LABEL_COLUMNS, "");
	for (unsigned column = 0; column < canvas.columns; column++)
		fputs("\xe2\x94\x80", output);
	fputc('\n', output);
	step = plot->linear ? even_step(x_high - x_low, 8) : 1;
	for (double x = ceil(x_low / step - 0.01) * step + 0.0; x <= x_high + 0.01 * step && ticks < TICKS_MAX;
	     x += step) {
		positions[ticks] = (unsigned)((x - x_low) * axes.x_scale / DOTS_ACROSS);
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
		ticks++;
	}
	print_labels(output, canvas.columns, positions, labels, ticks);
	for (ticks = 0; ticks < plot->mark_count && ticks < TICKS_MAX; ticks++) {
		double position = x_of(&axes, plot->marks[ticks]) / DOTS_ACROSS;

		positions[ticks] = position > 0 ? (unsigned)position : 0;
		snprintf(labels[ticks], sizeof(labels[ticks]), "%s", plot->mark_names[ticks]);
	}
	if (ticks)
		print_labels(output, canvas.columns, positions, labels, ticks);
out:
	free(canvas.cells);
	free(canvas.signs);
}
