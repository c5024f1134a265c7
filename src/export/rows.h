/* The tables of a recording, cell by cell, with the columns of its file: docs/recording.md. */
#ifndef FATHOM_EXPORT_ROWS_H
#define FATHOM_EXPORT_ROWS_H

#include "recording/schema.h"

enum fm_cell_kind { FM_CELL_NONE, FM_CELL_INTEGER, FM_CELL_UNSIGNED, FM_CELL_REAL, FM_CELL_TEXT };

struct fm_cell {
	enum fm_cell_kind kind;
	union {
		int64_t integer;
		uint64_t natural;
		double real;
		const char *text;
	};
};

typedef void fm_cell_writer(void *context, const struct fm_cell *cell);

/* The table of that name; NULL: unknown. */
const struct fm_table_schema *fm_rows_table(const char *name);

/* Writes the names of the columns, `row` first, including counters of the simulator. */
void fm_rows_columns(const struct fm_table_schema *table, fm_cell_writer *write, void *context);
/* Writes the cells of a row, one per column. */
void fm_rows_row(const struct fm_recording *recording, const struct fm_table_schema *table, size_t row,
                 fm_cell_writer *write, void *context);

#endif
