#include "report/curve.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "report/table.h"

enum { LABELS = 8, COLUMNS_MAX = 100, ROWS = 10, ACROSS = 2, DOWN = 4 };
#define SMALLEST 15.0 /* logarithms of the sizes at both ends: 32 KiB, 64 MiB */
#define LARGEST 26.0

struct picture {
	const struct fm_miss_curve *curve;
	unsigned columns;
	double top; /* the miss ratio at the upper edge */
	uint8_t dots[ROWS][COLUMNS_MAX];
	bool mark[COLUMNS_MAX];
};

/* Position of a size, in columns. */
static double column_of(const struct picture *picture, double bytes)
{
	return (log2(bytes) - SMALLEST) / (LARGEST - SMALLEST) * (picture->columns - 1);
}

static struct fm_miss_point point_at(const struct picture *picture, double column)
{
	return fm_miss_at(picture->curve, exp2(SMALLEST + column / (picture->columns - 1) * (LARGEST - SMALLEST)));
}

static void set_dot(struct picture *picture, unsigned x, int y)
{
	/* the bit of each dot in its character, by row and column: the order of the Unicode block */
	static const uint8_t bits[DOWN][ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

	y = y < 0 ? 0 : y >= ROWS * DOWN ? ROWS * DOWN - 1 : y;
	picture->dots[y / DOWN][x / ACROSS] |= bits[y % DOWN][x % ACROSS];
}

static void draw_curve(struct picture *picture)
{
	int before = -1;

	for (unsigned x = 0; x < picture->columns * ACROSS; x++) {
		double column = ((double)x + 0.5) / ACROSS - 0.5;
		double value = point_at(picture, column > 0 ? column : 0).value;
		int y = (int)lround((1 - value / picture->top) * (ROWS * DOWN - 1));

		set_dot(picture, x, y);
		/* joined where it is steep */
		if (before >= 0)
			for (int between = before; between != y; between += between < y ? 1 : -1)
				set_dot(picture, x, between);
		before = y;
	}
}

/* A round number for the upper edge. */
static double top_of(const struct picture *picture)
{
	static const double tops[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8};
	double highest = 0;

	for (unsigned i = 0; i < picture->columns; i++)
		highest = fmax(highest, point_at(picture, i).high);
	for (unsigned i = 0; i < sizeof(tops) / sizeof(*tops); i++)
		if (highest <= tops[i])
			return tops[i];
	return 1;
}

static void print_dots(uint8_t pattern, FILE *output)
{
	unsigned code = 0x2800u + pattern;

	fprintf(output, "%c%c%c", 0xe0 | (int)(code >> 12), 0x80 | (int)(code >> 6 & 0x3f), 0x80 | (int)(code & 0x3f));
}

static void print_row(const struct picture *picture, unsigned row, FILE *output)
{
	double middle = (1 - ((double)row + 0.5) / ROWS) * picture->top;
	double half = picture->top / ROWS / 2;
	unsigned end = picture->columns;

	/* blanks at the end of a line are omitted */
	while (end > 0 && !picture->dots[row][end - 1] && !picture->mark[end - 1]) {
		struct fm_miss_point point = point_at(picture, end - 1);

		if (point.low < middle + half && point.high > middle - half && point.high > point.low)
			break;
		end--;
	}
	for (unsigned column = 0; column < end; column++) {
		struct fm_miss_point point = point_at(picture, column);

		if (picture->dots[row][column])
			print_dots(picture->dots[row][column], output);
		else if (picture->mark[column])
			fputs("┊", output);
		else if (picture->curve->bootstrapped && point.low < middle + half / 2 &&
		         point.high > middle - half / 2)
			fputs("░", output);
		else
			fputc(' ', output);
	}
	fputc('\n', output);
}

/* Names centred at columns, in the order of the columns. A name that would touch the previous one is omitted. */
static void print_names(const double *columns, char (*names)[16], unsigned count, unsigned width, FILE *output)
{
	size_t printed = 0;

	fprintf(output, "%*s", LABELS + 1, "");
	for (unsigned i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		double start = round(columns[i] - (double)(length - 1) / 2);

		start = fmax(fmin(start, (double)width - (double)length), 0);
		if (columns[i] < -0.5 || columns[i] > width - 0.5 || (size_t)start < printed + (printed > 0))
			continue;
		fprintf(output, "%*s%s", (int)((size_t)start - printed), "", names[i]);
		printed = (size_t)start + length;
	}
	fputc('\n', output);
}

static const char *percent(char *buffer, size_t size, double share)
{
	double value = 100 * share;

	snprintf(buffer, size, value >= 9.95 ? "%.0f" : value >= 0.995 ? "%.1f" : value >= 0.005 ? "%.2f" : "0", value);
	return buffer;
}

static void print_picture(struct picture *picture, const struct fm_curve_level *levels, unsigned level_count,
                          FILE *output)
{
	double columns[16];
	char names[16][16], text[16];
	unsigned count = 0;

	for (unsigned i = 0; i < level_count; i++) {
		double column = round(column_of(picture, levels[i].bytes));

		if (column >= 0 && column < picture->columns)
			picture->mark[(unsigned)column] = true;
	}
	draw_curve(picture);
	for (unsigned row = 0; row < ROWS; row++) {
		/* at the top, in the middle and at the bottom */
		double value = row == 0 ? picture->top : row == ROWS / 2 ? picture->top / 2 : 0;

		if (row == 0 || row == ROWS / 2 || row == ROWS - 1)
			fprintf(output, "%*s %% │", LABELS - 3, percent(text, sizeof(text), value));
		else
			fprintf(output, "%*s│", LABELS, "");
		print_row(picture, row, output);
	}
	fprintf(output, "%*s└", LABELS, "");
	for (unsigned i = 0; i < picture->columns; i++)
		fputs(picture->mark[i] ? "┴" : "─", output);
	fputc('\n', output);
	for (; SMALLEST + count <= LARGEST; count++) {
		double size = SMALLEST + count;

		columns[count] = column_of(picture, exp2(size));
		snprintf(names[count], sizeof(names[count]), "%.0f%c", exp2(size - (size < 20 ? 10 : 20)),
		         size < 20 ? 'K' : 'M');
	}
	print_names(columns, names, count, picture->columns, output);
	for (count = 0; count < level_count && count < 16; count++) {
		columns[count] = column_of(picture, levels[count].bytes);
		snprintf(names[count], sizeof(names[count]), "%s", levels[count].name);
	}
	if (count)
		print_names(columns, names, count, picture->columns, output);
}

struct words {
	char *buffer;
	size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) say(struct words *words, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(words->buffer + words->used, words->size - words->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		words->used =
		    words->used + (size_t)length < words->size ? words->used + (size_t)length : words->size - 1;
}

/* "6.1 % (5.2–7 %)". */
static void say_point(struct words *words, const struct fm_miss_point *point, bool interval)
{
	char value[16], low[16], high[16];

	say(words, "%s %%", percent(value, sizeof(value), point->value));
	if (interval && point->high >= 0.00005)
		say(words, " (%s–%s %%)", percent(low, sizeof(low), point->low),
		    percent(high, sizeof(high), point->high));
}

const char *fm_curve_words(char *buffer, size_t size, const struct fm_miss_curve *curve,
                           const struct fm_curve_level *levels, unsigned level_count)
{
	struct words words = {.buffer = buffer, .size = size};
	const struct fm_curve_level *nearest = NULL;
	struct fm_miss_fit fit = {0};
	char bytes[32], now[16], then[16];

	buffer[0] = 0;
	for (unsigned i = 0; i < level_count; i++) {
		struct fm_miss_point point = fm_miss_at(curve, levels[i].bytes);
		struct fm_miss_fit own = fm_miss_fit(curve, levels[i].bytes);

		fm_text_bytes(bytes, sizeof(bytes), levels[i].bytes);
		say_point(&words, &point, curve->bootstrapped);
		if (i == 0)
			say(&words, " of references miss a cache of %s's size (%s)", levels[i].name, bytes);
		else
			say(&words, " one of %s's (%s)", levels[i].name, bytes);
		say(&words, i + 1 < level_count ? ", " : ". ");
		/* the smallest reduction, if the fall exceeds the interval */
		if (own.found && (!nearest || own.shrink < fit.shrink) && point.low > own.then) {
			nearest = &levels[i];
			fit = own;
		}
	}
	if (nearest)
		say(&words,
		    "The working set would fit into %s if it were %.0f %% smaller: %s %% would miss instead of %s %%. ",
		    nearest->name, 100 * fit.shrink, percent(then, sizeof(then), fit.then),
		    percent(now, sizeof(now), fit.now));
	else if (level_count && fm_miss_at(curve, levels[0].bytes).high < 0.01)
		say(&words, "The working set fits into %s. ", levels[0].name);
	if (curve->largest_bytes < exp2(LARGEST))
		say(&words, "Above %s the miss ratio is unknown: no longer reuse distance was observed. ",
		    fm_text_bytes(bytes, sizeof(bytes), curve->largest_bytes));
	if (curve->clock_error >= 0.3)
		say(&words, "Sizes are uncertain by a factor of %.1f. ", exp(1.96 * curve->clock_error));
	else if (curve->clock_error >= 0.1)
		say(&words, "Sizes are uncertain by ±%.0f %%. ", 196 * curve->clock_error);
	if (words.used && buffer[words.used - 1] == ' ')
		buffer[words.used - 1] = 0;
	return buffer;
}

void fm_curve_print(const struct fm_miss_curve *curve, const char *title, const struct fm_curve_level *levels,
                    unsigned level_count, unsigned width, FILE *output)
{
	struct picture picture = {.curve = curve};
	struct fm_table *table;
	char text[1200];

	width = width > COLUMNS_MAX ? COLUMNS_MAX : width < 40 ? 40 : width;
	picture.columns = width - LABELS - 1;
	picture.top = top_of(&picture);
	fprintf(output, "%s\n", title);
	print_picture(&picture, levels, level_count, output);
	fm_curve_words(text, sizeof(text), curve, levels, level_count);
	table = fm_table_create("w");
	if (!table || !*text)
		goto out;
	fm_table_cell(table, "%s", text);
	fm_table_print(table, output, 0, width);
out:
	fm_table_free(table);
}
