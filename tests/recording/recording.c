/* A recording that is kept and opened again is the same, column by column; and every number of the simulator's is in
 * it. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/schema.h"
#include "recording/store.h"

static char path[] = "/tmp/fathom-recording-XXXXXX";

static int set_up(void **state)
{
	int file = mkstemp(path);

	(void)state;
	close(file);
	return file < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static size_t numbers_of(enum fm_column_kind kind)
{
	const struct fm_schema *schema = fm_schema();
	size_t count = 0;

	for (unsigned i = 0; i < schema->number_count; i++)
		count += schema->numbers[i].kind == kind;
	return count;
}

static void every_number_has_a_name(void **state)
{
	const struct fm_schema *schema = fm_schema();

	(void)state;
	assert_int_equal(numbers_of(FM_COLUMN_WORK), sizeof(struct fm_work) / 8);
	assert_int_equal(numbers_of(FM_COLUMN_COUNTS), sizeof(struct fm_core_counts) / 8);
	assert_int_equal(numbers_of(FM_COLUMN_TIMING), sizeof(struct fm_timing_counts) / 8);
	for (unsigned i = 0; i < schema->number_count; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(schema->numbers[i].name, schema->numbers[k].name);
}

/* Something else in each column of each row. */
static void fill(const struct fm_column *column, char *place, uint64_t seed)
{
	struct fm_figure figure =
	    fm_figure_make(seed * 1.1, seed * 0.9, seed * 1.7, "GB/s", FM_ORIGIN_combined, "exact", 7);
	double real = (double)seed / 3;

	switch (column->kind) {
	case FM_COLUMN_FLAG:
		*(bool *)place = seed & 1;
		break;
	case FM_COLUMN_REAL:
		fm_column_set_real(column, place, real);
		break;
	case FM_COLUMN_TEXT:
		snprintf(place, column->bytes, "%s %lu", column->name, (unsigned long)seed);
		break;
	case FM_COLUMN_FIGURE:
		figure.set_aside = 3;
		*(struct fm_figure *)place =
		    seed % 3 ? figure : fm_figure_unavailable("because %lu", (unsigned long)seed);
		break;
	case FM_COLUMN_INTEGER:
		fm_column_set_integer(column, place, (int64_t)seed);
		break;
	default: /* nothing but numbers of 64 bits; some of them zero, some large */
		for (size_t i = 0; i < column->bytes / 8; i++)
			((uint64_t *)place)[i] = i % 5 == 4 ? 0 : i % 7 == 6 ? UINT64_MAX - i : seed * 1000 + i;
	}
}

static void assert_same(const struct fm_table_schema *table, const char *a, const char *b)
{
	for (unsigned i = 0; i < table->column_count; i++) {
		const struct fm_column *column = &table->columns[i];

		if (column->kind == FM_COLUMN_TEXT ? strcmp(a + column->offset, b + column->offset) != 0
		                                   : memcmp(a + column->offset, b + column->offset, column->bytes) != 0)
			fail_msg("%s.%s came back differently", table->name, column->name);
	}
}

/* Numbers of a file that have no room: never another valid one. */
static void numbers_without_room_are_the_outermost(void **state)
{
	const int64_t values[] = {0,     -1,    1,         127,        255,       256,      -129,
	                          65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN};
	const size_t widths[] = {1, 2, 4, 8};

	(void)state;
	for (size_t w = 0; w < 4; w++)
		for (int negative = 0; negative < 2; negative++)
			for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
				struct fm_column column = {FM_COLUMN_INTEGER, "number", 0, widths[w], negative};
				int64_t most = widths[w] == 8 ? INT64_MAX
				                              : (1ll << (8 * widths[w] - (size_t)negative)) - 1,
				        least = negative         ? -most - 1
				                : widths[w] == 8 ? INT64_MIN
				                                 : 0,
				        got;
				char place[8] = {0};

				fm_column_set_integer(&column, place, values[i]);
				got = fm_column_integer(&column, place);
				if (values[i] >= least && values[i] <= most)
					assert_int_equal(got, values[i]);
				else if (negative && values[i] == UINT32_MAX) /* as older files have it */
					assert_int_equal(got, -1);
				else
					assert_int_equal(got, negative && values[i] < 0 ? least : most);
			}
}

static void what_is_kept_comes_back(void **state)
{
	const struct fm_schema *schema = fm_schema();
	struct fm_recording *kept = fm_recording_create(), *back;
	struct fm_error error;
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < schema->table_count; i++) {
		const struct fm_table_schema *table = &schema->tables[i];
		char *base = (char *)kept;
		size_t rows;

		for (unsigned k = 0; k < 3 && !table->single; k++)
			assert_non_null(fm_recording_grow((void **)(base + table->rows),
			                                  (size_t *)(base + table->count), table->row_bytes));
		base = fm_schema_rows(table, kept, &rows);
		for (size_t row = 0; row < rows; row++)
			for (unsigned k = 0; k < table->column_count; k++)
				fill(&table->columns[k], base + row * table->row_bytes + table->columns[k].offset,
				     seed++);
	}
	/* what refers to rows must do so rightly, and there are as many counts as parts and events make */
	kept->asked.question = FM_QUESTION_EXACT;
	kept->run.engine[0] = '\0';
	kept->parts_count = kept->marked_count = 1;
	for (unsigned i = 0; i < 3; i++) {
		kept->threads[i].process = kept->regions[i].process = kept->users[i].shared = i;
		kept->positions[i].process = kept->positions[i].running = kept->positions[i].caller = i;
		kept->timed[i].process = kept->timed[i].running = i;
		kept->event_counts[i].owner = kept->marked_counts[i].owner = kept->intervals[i].part = 0;
		kept->event_counts[i].event = kept->marked_counts[i].event = kept->intervals[i].event = i;
		kept->sampled_threads[i].process = kept->codes[i].process = kept->frames[i].code = i;
		kept->frames[i].caller = (int)i - 1;
		kept->memories[i].kind = FM_MEMORY_KINDS - 1 - i;
		kept->memories[i].process = kept->memories[i].thread = kept->memories[i].frame = (int)i - 1;
		kept->instances[i].process = kept->instances[i].thread = i;
		kept->samples[i].process = kept->samples[i].thread = kept->samples[i].code = i;
		kept->samples[i].frame = kept->samples[i].memory = kept->samples[i].instance = (int)i - 1;
		kept->samples[i].level = i;
		kept->curves[i].kind = i;
		kept->curve_points[i].curve = i;
		kept->curve_points[i].low = 0;
		kept->curve_points[i].value = 0.5;
		kept->curve_points[i].high = 1;
		kept->calibration[i].level = i + 1;
		kept->calibration[i].kind = i / 2;
	}
	kept->sampling.levels = 4;
	assert_int_equal(fm_recording_set(kept, "group", "SHORT x\nEVENTSET\n"), 0);
	if (fm_store_save(path, kept, &error) || fm_store_load(path, &back, &error))
		fail_msg("%s", error.message);
	for (unsigned i = 0; i < schema->table_count; i++) {
		const struct fm_table_schema *table = &schema->tables[i];
		size_t rows, again;
		const char *a = fm_schema_rows(table, kept, &rows), *b = fm_schema_rows(table, back, &again);

		assert_int_equal(rows, again);
		for (size_t row = 0; row < rows; row++)
			assert_same(table, a + row * table->row_bytes, b + row * table->row_bytes);
	}
	assert_string_equal(fm_recording_get(back, "group"), "SHORT x\nEVENTSET\n");
	fm_recording_free(back);
	/* one reference too far, and it is refused */
	kept->users[1].shared = 3;
	assert_int_equal(fm_store_save(path, kept, &error), 0);
	assert_int_equal(fm_store_load(path, &back, &error), -EBADMSG);
	assert_non_null(strstr(error.message, "contradicts itself"));
	fm_recording_free(kept);
}

/* A sampled recording of one row each. */
static struct fm_recording *sampled(void)
{
	struct fm_recording *recording = fm_recording_create();

	assert_non_null(fm_recording_add(recording, sampled_processes));
	assert_non_null(fm_recording_add(recording, sampled_threads));
	assert_non_null(fm_recording_add(recording, codes));
	fm_recording_add(recording, frames)->caller = -1;
	assert_non_null(fm_recording_add(recording, memories));
	assert_non_null(fm_recording_add(recording, instances));
	assert_non_null(fm_recording_add(recording, samples));
	fm_recording_add(recording, calibration)->level = 1;
	return recording;
}

static void samples_refer_to_what_is_there(void **state)
{
	struct fm_recording *recording = sampled();
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_recording_settle(recording, &error), 0);
#define REFUSED(member, value)                                                      \
	do {                                                                        \
		__typeof__(recording->member) right = recording->member;            \
		recording->member = value;                                          \
		assert_int_equal(fm_recording_settle(recording, &error), -EBADMSG); \
		recording->member = right;                                          \
	} while (0)
	REFUSED(sampled_threads[0].process, 1);
	REFUSED(codes[0].process, 1);
	REFUSED(frames[0].code, 1);
	REFUSED(frames[0].caller, 0); /* its own caller */
	REFUSED(frames[0].caller, -2);
	REFUSED(memories[0].kind, FM_MEMORY_KINDS);
	REFUSED(memories[0].process, 1);
	REFUSED(memories[0].thread, 1);
	REFUSED(memories[0].frame, 1);
	REFUSED(memories[0].weight, -1);
	REFUSED(instances[0].process, 1);
	REFUSED(instances[0].thread, 1);
	REFUSED(instances[0].began, __builtin_nan(""));
	REFUSED(samples[0].process, 1);
	REFUSED(samples[0].thread, 1);
	REFUSED(samples[0].code, 1);
	REFUSED(samples[0].frame, 1);
	REFUSED(samples[0].memory, 1);
	REFUSED(samples[0].instance, 1);
	REFUSED(samples[0].level, FM_SIMULATED_CACHES_MAX + 2);
	REFUSED(samples[0].at, __builtin_inf());
	REFUSED(calibration[0].level, 0);
	REFUSED(calibration[0].kind, 2);
	REFUSED(sampling.levels, FM_SIMULATED_CACHES_MAX + 2);
#undef REFUSED
	assert_int_equal(fm_recording_settle(recording, &error), 0);
	fm_recording_free(recording);
}

static void texts_are_fit_to_print(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_process *process = fm_recording_add(recording, processes);
	struct fm_error error;

	(void)state;
	memset(process->program, '\x1b', sizeof(process->program));
	snprintf(recording->run.program, sizeof(recording->run.program), "a\nb\xff");
	assert_int_equal(fm_recording_settle(recording, &error), 0);
	assert_string_equal(recording->run.program, "a?b?");
	assert_int_equal(strlen(process->program), sizeof(process->program) - 1);
	assert_int_equal(process->program[0], '?');
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_number_has_a_name), cmocka_unit_test(numbers_without_room_are_the_outermost),
	    cmocka_unit_test(what_is_kept_comes_back), cmocka_unit_test(samples_refer_to_what_is_there),
	    cmocka_unit_test(texts_are_fit_to_print),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
