/* The tables of a recording as data: the place of each column in its struct. Made from tables.def and
   simulator/counters.def. */
#ifndef FATHOM_RECORDING_SCHEMA_H
#define FATHOM_RECORDING_SCHEMA_H

#include "recording/recording.h"

enum fm_column_kind {
	FM_COLUMN_INTEGER,
	FM_COLUMN_FLAG,
	FM_COLUMN_REAL,
	FM_COLUMN_TEXT,
	FM_COLUMN_FIGURE,
	FM_COLUMN_LEVELS,
	/* rows of the table `counts` */
	FM_COLUMN_WORK,
	FM_COLUMN_COUNTS,
	FM_COLUMN_TIMING,
};

struct fm_column {
	enum fm_column_kind kind;
	const char *name;
	size_t offset, bytes;
	bool negative; /* an INTEGER of a signed type */
};

enum { FM_SCHEMA_COLUMNS = 64, FM_SCHEMA_TABLES = 64, FM_SCHEMA_NUMBERS = 256 };

struct fm_table_schema {
	const char *name, *words;
	bool single; /* one row, in the recording itself */
	size_t row_bytes;
	size_t rows, count; /* offsets of both in the recording */
	struct fm_column columns[FM_SCHEMA_COLUMNS];
	unsigned column_count;
};

/* A counter of the simulator, by name. */
struct fm_number {
	enum fm_column_kind kind;
	char name[40];
	unsigned index; /* enum fm_counter */
};

struct fm_schema {
	struct fm_table_schema tables[FM_SCHEMA_TABLES];
	unsigned table_count;
	struct fm_number numbers[FM_SCHEMA_NUMBERS];
	unsigned number_count;
};

const struct fm_schema *fm_schema(void);

static inline bool fm_column_is_counts(enum fm_column_kind kind)
{
	return kind >= FM_COLUMN_WORK;
}

/* The number of a row in a column of any width. A number outside of the column's range becomes the nearest one inside,
   or the largest if the column is unsigned: never a reference to another row. */
int64_t fm_column_integer(const struct fm_column *column, const void *place);
void fm_column_set_integer(const struct fm_column *column, void *place, int64_t value);
double fm_column_real(const struct fm_column *column, const void *place);
void fm_column_set_real(const struct fm_column *column, void *place, double value);

/* The rows of a table. *ret_count: their number. */
void *fm_schema_rows(const struct fm_table_schema *table, struct fm_recording *recording, size_t *ret_count);

/* Makes all texts printable: they come from other programs or files. */
void fm_schema_clean(struct fm_recording *recording);

#endif
