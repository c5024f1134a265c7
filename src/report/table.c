#include "report/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct fm_table {
	unsigned columns;
	char alignment[FM_TABLE_COLUMNS_MAX + 1];
	bool closes;
	char **cells;
	size_t count, capacity;
};

struct fm_table *fm_table_create(const char *columns)
{
	struct fm_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = (unsigned)strlen(columns);
	snprintf(table->alignment, sizeof(table->alignment), "%s", columns);
	return table;
}

void fm_table_free(struct fm_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void fm_table_cell(struct fm_table *table, const char *format, ...)
{
	va_list list;
	char *text = NULL;

	if (!table)
		return;
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		char **cells = realloc(table->cells, capacity * sizeof(*cells));

		if (!cells)
			return;
		table->cells = cells;
		table->capacity = capacity;
	}
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	table->cells[table->count++] = text;
}

void fm_table_texts(struct fm_table *table, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fm_table_cell(table, "%s", texts[i]);
}

static const char *cell(const struct fm_table *table, size_t row, unsigned column)
{
	size_t index = row * table->columns + column;

	return index < table->count && table->cells[index] ? table->cells[index] : "";
}

static void pad(FILE *output, size_t blanks)
{
	while (blanks-- > 0)
		fputc(' ', output);
}

/* Words of text, each line starting at column `start`. */
static void print_wrapped(FILE *output, const char *text, size_t start, size_t width)
{
	size_t column = start;

	bool joined = false; /* continues a word that is too long for a line */

	while (*text) {
		size_t length = strcspn(text, " "), room = width > start ? width - start : 1;
		char word[256];
		size_t columns;

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		columns = fm_text_width(word);
		if (columns > room && columns == length && room > 12) {
			/* names of events may be divided after their parts */
			for (length = room; length > room / 2 && !strchr(":_,+", text[length - 1]); length--)
				;
			word[length] = '\0';
			columns = length;
		}
		if (joined) {
			fputc('\n', output);
			pad(output, start);
			column = start;
		} else if (column > start && column + 1 + columns > width) {
			fputc('\n', output);
			pad(output, start);
			column = start;
		} else if (column > start) {
			fputc(' ', output);
			column++;
		}
		fputs(word, output);
		column += columns;
		text += length;
		joined = *text && *text != ' ';
		text += strspn(text, " ");
	}
}

void fm_table_may_close(struct fm_table *table)
{
	if (table)
		table->closes = true;
}

void fm_table_print(const struct fm_table *table, FILE *output, unsigned indent, unsigned width)
{
	size_t widths[FM_TABLE_COLUMNS_MAX] = {0}, natural = indent, gap = 2;
	size_t rows;

	if (!table)
		return;
	rows = (table->count + table->columns - 1) / table->columns;
	for (size_t row = 0; row < rows; row++)
		for (unsigned column = 0; column < table->columns; column++) {
			size_t length = fm_text_width(cell(table, row, column));

			if (length > widths[column])
				widths[column] = length;
		}
	for (unsigned column = 0; column < table->columns; column++)
		natural += widths[column] + (column ? gap : 0);
	/* large numbers: columns move closer together, to stay within the width */
	if (table->closes && natural > width)
		gap = 1;
	for (size_t row = 0; row < rows; row++) {
		size_t start = indent;
		size_t owed = indent; /* blanks not printed yet, so that no line ends in any */

		for (unsigned column = 0; column < table->columns; column++) {
			const char *text = cell(table, row, column);
			size_t length = fm_text_width(text);

			if (column) {
				owed += gap;
				start += gap;
			}
			if (table->alignment[column] == 'r')
				owed += widths[column] - length;
			if (*text) {
				pad(output, owed);
				owed = 0;
				if (table->alignment[column] == 'w')
					print_wrapped(output, text, start, width);
				else
					fputs(text, output);
			}
			if (table->alignment[column] != 'r')
				owed += widths[column] - length;
			start += widths[column];
		}
		fputc('\n', output);
	}
}

void fm_table_end(struct fm_table *table, FILE *output, unsigned indent, unsigned width)
{
	fm_table_print(table, output, indent, width);
	fm_table_free(table);
}
