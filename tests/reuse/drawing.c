/* Drawings of miss-ratio curves, character by character, and their JSON. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/curve.h"

static const struct fm_curve_level levels[] = {{"L1", 32 << 10}, {"L2", 512 << 10}, {"L3", 32 << 20}};

/* 40 % up to some 300 KiB, then down to 6 %, and at 8 MiB to nothing. */
static struct fm_miss_curve invented(double uncertain)
{
	struct fm_miss_curve curve = {.origin = FM_ORIGIN_sampled,
	                              .clusters = 100,
	                              .samples = 5000,
	                              .phases = 1,
	                              .largest_bytes = INFINITY,
	                              .bootstrapped = uncertain > 0};

	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		double size = log2(fm_miss_bytes(i));
		double value = 0.34 / (1 + exp2(6 * (size - 19))) + 0.06 / (1 + exp2(12 * (size - 23)));
		double half = uncertain * sqrt(value);

		curve.points[i] = (struct fm_miss_point){value, fmax(value - half, 0), fmin(value + half, 1)};
	}
	return curve;
}

static char *drawn(const struct fm_miss_curve *curve, unsigned width)
{
	char *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	fm_curve_print(curve, "Miss ratio by cache size", levels, 3, width, output);
	fclose(output);
	return text;
}

static void check_golden(const char *name, char *text)
{
	char path[512], expected[16384];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN, name);
	if (getenv("FATHOM_RENEW")) {
		file = fopen(path, "we");
		assert_non_null(file);
		fputs(text, file);
		fclose(file);
	}
	file = fopen(path, "re");
	assert_non_null(file);
	size = fread(expected, 1, sizeof(expected) - 1, file);
	fclose(file);
	expected[size] = 0;
	assert_string_equal(text, expected);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(fm_text_width(line) <= (strstr(name, "80") ? 80 : 100));
	free(text);
}

static void at_80_columns(void **state)
{
	struct fm_miss_curve curve = invented(0.08);

	(void)state;
	check_golden("curve-80.txt", drawn(&curve, 80));
}

static void at_100_columns(void **state)
{
	struct fm_miss_curve curve = invented(0.03);

	(void)state;
	curve.clock_error = 0.12;
	check_golden("curve-100.txt", drawn(&curve, 100));
}

static void never_wider(void **state)
{
	struct fm_miss_curve curve = invented(0.03);

	(void)state;
	curve.clock_error = 0.12;
	check_golden("curve-100.txt", drawn(&curve, 200));
}

static void exact_and_flat(void **state)
{
	struct fm_miss_curve curve = invented(0);
	char text[1000];

	(void)state;
	check_golden("curve-exact-80.txt", drawn(&curve, 80));
	for (unsigned i = 0; i < FM_MISS_POINTS; i++)
		curve.points[i] = (struct fm_miss_point){0.001, 0.001, 0.001};
	assert_string_equal(fm_curve_words(text, sizeof(text), &curve, levels, 1),
	                    "0.10 % of references miss a cache of L1's size (32 KiB). The working set fits into L1.");
	curve.largest_bytes = 1 << 20;
	fm_curve_words(text, sizeof(text), &curve, levels, 1);
	assert_non_null(strstr(text, "Above 1 MiB the miss ratio is unknown"));
	fm_curve_words(text, 20, &curve, levels, 3);
	assert_true(strlen(text) < 20);
	assert_string_equal(fm_curve_words(text, sizeof(text), &curve, NULL, 0),
	                    "Above 1 MiB the miss ratio is unknown: no longer reuse distance was observed.");
}

static void as_json(void **state)
{
	struct fm_miss_curve curve = invented(0.05);
	json_t *json = fm_curve_json(&curve);
	json_t *point;

	(void)state;
	assert_non_null(json);
	assert_int_equal(json_array_size(json_object_get(json, "sizes_bytes")), 57);
	assert_int_equal(json_array_size(json_object_get(json, "miss_ratio")), 57);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "sizes_bytes"), 4)), 32768);
	point = json_array_get(json_object_get(json, "miss_ratio"), 4);
	assert_near(json_real_value(json_object_get(point, "value")), 0.4, 0.001);
	assert_true(json_real_value(json_object_get(point, "low")) < 0.4);
	assert_true(json_real_value(json_object_get(point, "high")) > 0.4);
	assert_string_equal(json_string_value(json_object_get(json, "origin")), "sampled");
	assert_true(json_is_null(json_object_get(json, "observed_to_bytes")));
	assert_int_equal(json_array_size(json_object_get(json, "working_sets")), 2);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(at_80_columns),  cmocka_unit_test(at_100_columns), cmocka_unit_test(never_wider),
	    cmocka_unit_test(exact_and_flat), cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("drawing", tests, NULL, NULL);
}
