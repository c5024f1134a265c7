/* The tables of a recording as data: where each column stands in its struct. Made of tables.def and numbers.def. */
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
	size_t rows, count; /* where the recording has them */
	struct fm_column columns[FM_SCHEMA_COLUMNS];
	unsigned column_count;
};

/* A number of the simulator's, by name. */
struct fm_number {
	enum fm_column_kind kind;
	char name[40];
	size_t offset;
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

/* What stands in a row: numbers of any width. A number that has no room becomes the nearest one that has, or the
   largest where the column has no negative ones: never one that refers to another row. */
int64_t fm_column_integer(const struct fm_column *column, const void *place);
void fm_column_set_integer(const struct fm_column *column, void *place, int64_t value);
double fm_column_real(const struct fm_column *column, const void *place);
void fm_column_set_real(const struct fm_column *column, void *place, double value);

/* The rows of a table. */
void *fm_schema_rows(const struct fm_table_schema *table, struct fm_recording *recording, size_t *ret_count);

/* Make all texts fit to print: they come from other people's programs, or files. */
void fm_schema_clean(struct fm_recording *recording);

#endif
