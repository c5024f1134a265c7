#include "export/rows.h"

#include <stdio.h>
#include <string.h>

#include "simulator/counters.h"

const struct fm_table_schema *fm_rows_table(const char *name)
{
	const struct fm_schema *schema = fm_schema();

	for (unsigned i = 0; i < schema->table_count; i++)
		if (!strcmp(schema->tables[i].name, name))
			return &schema->tables[i];
	return NULL;
}

static void give_text(fm_cell_writer *write, void *context, const char *text)
{
	write(context, &(struct fm_cell){FM_CELL_TEXT, {.text = text}});
}

static void give_real(fm_cell_writer *write, void *context, double value)
{
	write(context, &(struct fm_cell){FM_CELL_REAL, {.real = value}});
}

static void give_natural(fm_cell_writer *write, void *context, uint64_t value)
{
	write(context, &(struct fm_cell){FM_CELL_UNSIGNED, {.natural = value}});
}

static const char *const figure_parts[] = {"",         "_low",    "_high",      "_unit", "_origin",
                                           "_backend", "_trials", "_set_aside", "_why"};
enum { FIGURE_PARTS = sizeof(figure_parts) / sizeof(figure_parts[0]) };

void fm_rows_columns(const struct fm_table_schema *table, fm_cell_writer *write, void *context)
{
	const struct fm_schema *schema = fm_schema();
	char name[96];

	give_text(write, context, "row");
	for (unsigned i = 0; i < table->column_count; i++) {
		const struct fm_column *column = &table->columns[i];

		if (column->kind == FM_COLUMN_FIGURE) {
			for (unsigned k = 0; k < FIGURE_PARTS; k++) {
				snprintf(name, sizeof(name), "%s%s", column->name, figure_parts[k]);
				give_text(write, context, name);
			}
		} else if (column->kind == FM_COLUMN_LEVELS) {
			for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++) {
				snprintf(name, sizeof(name), "%s_%u", column->name, k + 1);
				give_text(write, context, name);
			}
		} else if (fm_column_is_counts(column->kind)) {
			for (unsigned k = 0; k < schema->number_count; k++)
				if (schema->numbers[k].kind == column->kind)
					give_text(write, context, schema->numbers[k].name);
		} else {
			give_text(write, context, column->name);
		}
	}
}

static void give_figure(const struct fm_figure *figure, fm_cell_writer *write, void *context)
{
	const struct fm_cell none = {.kind = FM_CELL_NONE};

	if (!figure->available) {
		for (unsigned i = 0; i + 1 < FIGURE_PARTS; i++)
			write(context, &none);
		give_text(write, context, figure->why);
		return;
	}
	give_real(write, context, figure->value);
	give_real(write, context, figure->low);
	give_real(write, context, figure->high);
	give_text(write, context, figure->unit);
	give_text(write, context, fm_origin_name(figure->origin));
	give_text(write, context, figure->backend);
	give_natural(write, context, figure->trials);
	give_natural(write, context, figure->set_aside);
	write(context, &none);
}

static void give_integer(const char *place, const struct fm_column *column, fm_cell_writer *write, void *context)
{
	bool address = !strcmp(column->name, "address") || !strcmp(column->name, "offset");
	int64_t value = fm_column_integer(column, place);

	if (address)
		give_natural(write, context, (uint64_t)value);
	else
		write(context, &(struct fm_cell){FM_CELL_INTEGER, {.integer = value}});
}

void fm_rows_row(const struct fm_recording *recording, const struct fm_table_schema *table, size_t row,
                 fm_cell_writer *write, void *context)
{
	const struct fm_schema *schema = fm_schema();
	size_t count;
	const char *base = fm_schema_rows(table, (struct fm_recording *)recording, &count);

	base += row * table->row_bytes;
	give_natural(write, context, row);
	for (unsigned i = 0; i < table->column_count; i++) {
		const struct fm_column *column = &table->columns[i];
		const char *place = base + column->offset;
		uint64_t natural;

		switch (column->kind) {
		case FM_COLUMN_FIGURE:
			give_figure((const struct fm_figure *)place, write, context);
			break;
		case FM_COLUMN_LEVELS:
			for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++) {
				memcpy(&natural, place + 8 * (size_t)k, sizeof(natural));
				give_natural(write, context, natural);
			}
			break;
		case FM_COLUMN_FLAG:
			give_natural(write, context, *(const bool *)place);
			break;
		case FM_COLUMN_REAL:
			give_real(write, context, fm_column_real(column, place));
			break;
		case FM_COLUMN_TEXT:
			give_text(write, context, place);
			break;
		case FM_COLUMN_INTEGER:
			give_integer(place, column, write, context);
			break;
		default:
			for (unsigned k = 0; k < schema->number_count; k++) {
				if (schema->numbers[k].kind != column->kind)
					continue;
				natural = fm_counter_get(place, schema->numbers[k].index);
				give_natural(write, context, natural);
			}
		}
	}
}
