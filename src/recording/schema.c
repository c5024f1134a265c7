#include "recording/schema.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "simulator/counters.h"

static struct fm_schema schema;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct fm_table_schema *begin_table(const char *name, const char *words, bool single, size_t row_bytes,
                                           size_t rows, size_t count)
{
	struct fm_table_schema *table = &schema.tables[schema.table_count++];

	*table = (struct fm_table_schema){
	    .name = name, .words = words, .single = single, .row_bytes = row_bytes, .rows = rows, .count = count};
	return table;
}

static void add_column(struct fm_table_schema *table, enum fm_column_kind kind, const char *name, size_t offset,
                       size_t bytes, bool negative)
{
	table->columns[table->column_count++] = (struct fm_column){kind, name, offset, bytes, negative};
}

#define IS_SIGNED(number) \
	_Generic((number), int8_t : true, int16_t : true, int32_t : true, int64_t : true, default : false)

#define SINGLE(table_name, type, words)                \
	static void describe_##table_name(void)        \
	{                                              \
		typedef struct fm_recorded_##type row; \
		struct fm_table_schema *table =        \
		    begin_table(#table_name, words, true, sizeof(row), offsetof(struct fm_recording, table_name), 0);
#define TABLE(table_name, type, words)                                                                             \
	static void describe_##table_name(void)                                                                    \
	{                                                                                                          \
		typedef struct fm_recorded_##type row;                                                             \
		struct fm_table_schema *table =                                                                    \
		    begin_table(#table_name, words, false, sizeof(row), offsetof(struct fm_recording, table_name), \
		                offsetof(struct fm_recording, table_name##_count));
#define COLUMN(kind, member)                                                                               \
	add_column(table, FM_COLUMN_##kind, #member, offsetof(row, member), sizeof(((row *)NULL)->member), \
	           IS_SIGNED(((row){0}).member));
#define TABLE_END }
#include "recording/tables.def"
#undef SINGLE
#undef TABLE
#undef COLUMN
#undef TABLE_END

static void add_number(enum fm_column_kind kind, const char *prefix, unsigned prefix_index, const char *name,
                       int element, unsigned index)
{
	struct fm_number *number = &schema.numbers[schema.number_count++];

	*number = (struct fm_number){.kind = kind, .index = index};
	if (*prefix)
		snprintf(number->name, sizeof(number->name), "%s%u.%s", prefix, prefix_index, name);
	else if (element >= 0)
		snprintf(number->name, sizeof(number->name), "%s.%d", name, element);
	else
		snprintf(number->name, sizeof(number->name), "%s%s", kind == FM_COLUMN_TIMING ? "timing." : "", name);
}

static void describe_numbers(void)
{
#define NUMBER(kind, member) add_number(FM_COLUMN_##kind, "", 0, #member, -1, FM_##kind##_##member);
#define ARRAY(kind, member, size)                       \
	for (unsigned i = 0; i < (unsigned)(size); i++) \
		add_number(FM_COLUMN_##kind, "", 0, #member, (int)i, FM_##kind##_##member + i);
#define CACHE(member)                                          \
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++) \
		add_number(FM_COLUMN_COUNTS, "cache", i, #member, -1, fm_counter_of_cache(i, FM_CACHE_##member));
#include "simulator/counters.def"
#undef NUMBER
#undef ARRAY
#undef CACHE
}

static void describe(void)
{
#define SINGLE(name, type, words) describe_##name();
#define TABLE(name, type, words) describe_##name();
#define COLUMN(kind, member)
#define TABLE_END
#include "recording/tables.def"
#undef SINGLE
#undef TABLE
#undef COLUMN
#undef TABLE_END
	describe_numbers();
}

int64_t fm_column_integer(const struct fm_column *column, const void *place)
{
	uint64_t value = 0;
	unsigned above = 64 - 8 * (unsigned)column->bytes;

	memcpy(&value, place, column->bytes);
	return column->negative ? (int64_t)(value << above) >> above : (int64_t)value;
}

void fm_column_set_integer(const struct fm_column *column, void *place, int64_t value)
{
	int64_t most = column->bytes == sizeof(value) ? INT64_MAX : (1ll << (8 * column->bytes - column->negative)) - 1;

	if (column->negative && value > INT32_MAX && value <= UINT32_MAX && column->bytes <= sizeof(int32_t))
		value = (int32_t)value; /* older files have them without their sign */
	if (column->negative)
		value = value > most ? most : value < -most - 1 ? -most - 1 : value;
	else if (column->bytes < sizeof(value))
		value = value < 0 || value > most ? most : value;
	memcpy(place, &value, column->bytes);
}

double fm_column_real(const struct fm_column *column, const void *place)
{
	float narrow;
	double wide;

	if (column->bytes == sizeof(narrow)) {
		memcpy(&narrow, place, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, place, sizeof(wide));
	return wide;
}

void fm_column_set_real(const struct fm_column *column, void *place, double value)
{
	/* beyond its range a number becomes infinite, which no check lets pass */
	float narrow = value > FLT_MAX ? INFINITY : value < -FLT_MAX ? -INFINITY : (float)value;

	memcpy(place, column->bytes == sizeof(narrow) ? (const void *)&narrow : (const void *)&value, column->bytes);
}

const struct fm_schema *fm_schema(void)
{
	pthread_once(&once, describe);
	return &schema;
}

void *fm_schema_rows(const struct fm_table_schema *table, struct fm_recording *recording, size_t *ret_count)
{
	char *base = (char *)recording;

	*ret_count = table->single ? 1 : *(size_t *)(base + table->count);
	return table->single ? base + table->rows : *(void **)(base + table->rows);
}

static void clean_row(const struct fm_table_schema *table, char *row)
{
	for (unsigned i = 0; i < table->column_count; i++) {
		const struct fm_column *column = &table->columns[i];
		char *place = row + column->offset, text[4096];
		struct fm_figure *figure = (struct fm_figure *)place;

		if (column->kind == FM_COLUMN_TEXT) {
			/* its own place may lack an end */
			snprintf(text, sizeof(text), "%.*s", (int)column->bytes - 1, place);
			fm_printable_copy(place, column->bytes, text);
		} else if (column->kind == FM_COLUMN_FIGURE) {
			snprintf(text, sizeof(text), "%.*s", (int)sizeof(figure->why) - 1, figure->why);
			fm_printable_copy(figure->why, sizeof(figure->why), text);
			snprintf(text, sizeof(text), "%.*s", (int)sizeof(figure->unit) - 1, figure->unit);
			fm_printable_copy(figure->unit, sizeof(figure->unit), text);
			snprintf(text, sizeof(text), "%.*s", (int)sizeof(figure->backend) - 1, figure->backend);
			fm_printable_copy(figure->backend, sizeof(figure->backend), text);
			/* no count or time is larger, and sums and whole numbers keep their precision */
			if (figure->available && !(fabs(figure->value) < 1e18))
				*figure = fm_figure_unavailable("the recording has no number there");
			if (isnan(figure->low) || isnan(figure->high))
				figure->low = figure->high = figure->value;
			if (figure->origin >= FM_ORIGIN_COUNT)
				figure->origin = (enum fm_origin)0;
		}
	}
}

void fm_schema_clean(struct fm_recording *recording)
{
	const struct fm_schema *all = fm_schema();

	for (unsigned i = 0; i < all->table_count; i++) {
		size_t count;
		char *rows = fm_schema_rows(&all->tables[i], recording, &count);

		for (size_t k = 0; k < count; k++)
			clean_row(&all->tables[i], rows + k * all->tables[i].row_bytes);
	}
}
