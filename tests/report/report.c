/* Tables, plots, and what the HTML page is made of. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_points.h"
#include "report/plot.h"
#include "report/table.h"

static char *print_table(const struct fm_table *table, unsigned indent, unsigned width)
{
	char *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	fm_table_print(table, output, indent, width);
	fclose(output);
	return text;
}

static void tables_align(void **state)
{
	struct fm_table *table = fm_table_create("lrl");
	char *text;

	(void)state;
	fm_table_cell(table, "Level");
	fm_table_cell(table, "ns");
	fm_table_cell(table, "note");
	fm_table_cell(table, "L1");
	fm_table_cell(table, "%.1f", 1.25);
	fm_table_cell(table, "±1 µs");
	fm_table_cell(table, "memory");
	fm_table_cell(table, "100");
	text = print_table(table, 1, 80);
	assert_string_equal(text, " Level    ns  note\n L1      1.2  ±1 µs\n memory  100\n");
	free(text);
	fm_table_free(table);
}

static void last_column_wraps(void **state)
{
	struct fm_table *table = fm_table_create("lw");
	char *text;

	(void)state;
	fm_table_cell(table, "why");
	fm_table_cell(table, "one two three four five six seven");
	text = print_table(table, 0, 20);
	assert_string_equal(text, "why  one two three\n     four five six\n     seven\n");
	free(text);
	fm_table_free(table);
}

static void plots_fit(void **state)
{
	const double x[] = {16384, 32768, 65536, 1 << 20, 1 << 26};
	const double y[] = {1, 1, 4, 5, 100};
	const double mark = 40000;
	const char *const name = "L1|";
	const struct fm_plot_series series = {.name = "a", .x = x, .y = y, .count = 5};
	const struct fm_plot plot = {.title = "t",
	                             .x_is_bytes = true,
	                             .width = 80,
	                             .height = 10,
	                             .series = &series,
	                             .series_count = 1,
	                             .marks = &mark,
	                             .mark_names = &name,
	                             .mark_count = 1};
	char *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);
	unsigned lines = 0;

	(void)state;
	fm_plot_print(&plot, output);
	fclose(output);
	assert_non_null(strstr(text, "16K"));
	assert_non_null(strstr(text, "64M"));
	assert_non_null(strstr(text, "L1|"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
		assert_true(fm_text_width(line) <= 80);
	assert_int_equal(lines, 1 + 10 + 1 + 1 + 1);
	free(text);
}

/* Signs where the points are, on axes that begin at 0. */
static void plots_of_signs(void **state)
{
	const double x[] = {0.5, 20}, y[] = {100, 200}, middle[] = {10, 150};
	const struct fm_plot_series series[] = {{.name = "a", .x = x, .y = y, .count = 2, .sign = 'o'},
	                                        {.name = "b", .x = middle, .y = middle + 1, .count = 1, .sign = '@'}};
	const struct fm_plot plot = {
	    .title = "t", .linear = true, .width = 60, .height = 10, .series = series, .series_count = 2};
	char *text = NULL, *line;
	size_t size;
	FILE *output = open_memstream(&text, &size);
	unsigned row = 0, found = 0;

	(void)state;
	fm_plot_print(&plot, output);
	fclose(output);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), row++) {
		const char *bar = strstr(line, "\xe2\x94\x82");

		if (!bar)
			continue;
		for (const char *c = bar + 3; *c; c++) {
			long column = c - bar - 3;

			if (*c == '@')
				found += row == 5 && column >= 22 && column <= 26;
			else if (*c == 'o')
				found += row < 5 ? column >= 46 && column < 50 : row > 8 && column <= 2;
		}
	}
	assert_int_equal(found, 3);
	free(text);
}

static void empty_plots_are_nothing(void **state)
{
	const struct fm_plot plot = {.title = "t", .width = 80, .height = 10};
	char *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	(void)state;
	fm_plot_print(&plot, output);
	fclose(output);
	assert_string_equal(text, "");
	free(text);
}

static void tables_of_recordings_become_objects(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_cache *cache = fm_recording_add(recording, caches);
	json_t *rows;

	(void)state;
	snprintf(cache->name, sizeof(cache->name), "L1");
	cache->bytes = 32768;
	rows = fm_html_table(recording, "caches");
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")), "L1");
	assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "bytes")) == 32768);
	json_decref(rows);
	rows = fm_html_table(recording, "samples");
	assert_true(json_is_null(rows));
	json_decref(rows);
	rows = fm_html_table(recording, "no such table");
	assert_true(json_is_null(rows));
	json_decref(rows);
	fm_recording_free(recording);
}

/* Of 1000 points 100 are taken, evenly, and the extent of the object is that of all. */
static void points_are_thinned_evenly(void **state)
{
	struct fm_html_points *points = fm_html_points_create(1000, 100, 0, 1000);
	json_t *timeline = json_object(), *lane;
	unsigned taken = 0, in_half = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct fm_html_point point = {
		    .at = i, .address = 8 * i, .line = 1, .load = true, .cost = 10, .weight = 1};

		fm_html_points_extend(points, point.object, point.address);
		if (fm_html_points_wants(points)) {
			fm_html_points_add(points, &point);
			taken++;
			in_half += i < 500;
		}
	}
	fm_html_points_finish(points, timeline);
	assert_int_equal(taken, 100);
	assert_int_equal(in_half, 50);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(timeline, "points"), "total")), 1000);
	/* four bytes each, base64 */
	assert_int_equal(json_string_length(json_object_get(json_object_get(timeline, "points"), "time")), 536);
	lane = json_array_get(json_object_get(timeline, "lanes"), 0);
	assert_true(json_real_value(json_object_get(lane, "high")) == 7992);
	json_decref(timeline);
	fm_html_points_free(points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tables_align),
	    cmocka_unit_test(last_column_wraps),
	    cmocka_unit_test(plots_fit),
	    cmocka_unit_test(plots_of_signs),
	    cmocka_unit_test(empty_plots_are_nothing),
	    cmocka_unit_test(tables_of_recordings_become_objects),
	    cmocka_unit_test(points_are_thinned_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
