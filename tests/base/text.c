/* Errors, texts and figures. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/figure.h"
#include "base/random.h"
#include "base/text.h"

static void errors_carry_messages(void **state)
{
	struct fm_error error;
	char longer[1000];

	(void)state;
	assert_int_equal(fm_error_set(&error, ENOENT, "no %s", "file"), -ENOENT);
	assert_string_equal(error.message, "no file");
	assert_int_equal(fm_error_prefix(&error, "while reading %d", 7), -ENOENT);
	assert_string_equal(error.message, "while reading 7: no file");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(fm_error_set(&error, EIO, "%s", longer), -EIO);
	assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
	assert_int_equal(fm_error_prefix(&error, "%s", longer), -EIO);
	assert_int_equal(fm_error_set(NULL, EIO, "nobody listens"), -EIO);
}

static void sizes_and_numbers(void **state)
{
	static const struct {
		double value;
		const char *bytes;
		const char *number;
	} cases[] = {
	    {0, "0 B", "0"},
	    {512, "512 B", "512"},
	    {49152, "48 KiB", "49152"},
	    {1310720, "1.25 MiB", "1310720"},
	    {3.5 * (1 << 20), "3.5 MiB", "3670016"},
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(fm_text_bytes(text, sizeof(text), cases[i].value), cases[i].bytes);
		assert_string_equal(fm_text_number(text, sizeof(text), cases[i].value), cases[i].number);
	}
	assert_string_equal(fm_text_number(text, sizeof(text), 12.345), "12.3");
	assert_string_equal(fm_text_number(text, sizeof(text), 1.2345), "1.23");
	assert_string_equal(fm_text_number(text, sizeof(text), 0.012345), "0.0123");
	assert_int_equal(fm_text_width("±1 µs"), 5);
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		double seconds; /* 0: refused */
	} cases[] = {{"10", 10}, {"500ms", 0.5}, {"2min", 120}, {"1.5h", 5400}, {"3s", 3},     {"", 0},
	             {"-1s", 0}, {"10 s", 0},    {"nan", 0},    {"inf", 0},     {"10days", 0}, {"0", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double seconds = -1;
		struct fm_error error;
		int status = fm_text_parse_duration(cases[i].text, &seconds, &error);

		assert_int_equal(status, cases[i].seconds > 0 ? 0 : -EINVAL);
		assert_near(seconds, cases[i].seconds > 0 ? cases[i].seconds : -1, 1e-9);
	}
}

static void whole_numbers(void **state)
{
	struct fm_error error;
	uint64_t value = 42;

	(void)state;
	assert_int_equal(fm_text_parse_unsigned("7", "-r", 1, 10, &value, &error), 0);
	assert_int_equal(value, 7);
	assert_int_equal(fm_text_parse_unsigned("11", "-r", 1, 10, &value, &error), -EINVAL);
	assert_int_equal(fm_text_parse_unsigned("-1", "-r", 0, 10, &value, &error), -EINVAL);
	assert_int_equal(fm_text_parse_unsigned("7x", "-r", 0, 10, &value, &error), -EINVAL);
	assert_int_equal(fm_text_parse_unsigned("99999999999999999999", "-r", 0, UINT64_MAX, &value, &error), -EINVAL);
	assert_int_equal(value, 7);
	assert_non_null(strstr(error.message, "-r takes a whole number"));
}

static void figures(void **state)
{
	struct fm_figure time = fm_figure_make(4, 3.8, 4.4, "ns", FM_ORIGIN_measured, "kernels", 20);
	struct fm_figure rate = fm_figure_inverted(&time, 64, "GB/s");
	struct fm_figure none = fm_figure_unavailable("no %s", "PMU");
	struct fm_figure product, other;
	char text[64];

	(void)state;
	assert_string_equal(fm_figure_text(text, sizeof(text), &time), "4.00 ns ±7.5 %");
	assert_string_equal(fm_figure_text_bare(text, sizeof(text), &time), "4.00 ±7.5 %");
	other = fm_figure_make(4, 1, 6, "ns", FM_ORIGIN_measured, "kernels", 20);
	assert_string_equal(fm_figure_text(text, sizeof(text), &other), "inconclusive");
	assert_near(rate.value, 16, 1e-9);
	assert_near(rate.low, 64 / 4.4, 1e-9);
	assert_near(rate.high, 64 / 3.8, 1e-9);
	assert_string_equal(rate.unit, "GB/s");
	assert_string_equal(fm_figure_text(text, sizeof(text), &none), "n/a");
	assert_string_equal(none.why, "no PMU");
	assert_true(isinf(fm_figure_relative_width(&none)));
	product = fm_figure_product(&time, &none, "x");
	assert_false(product.available);
	product = fm_figure_product(&time, &rate, "B");
	assert_near(product.value, 64, 1e-9);
	assert_true(product.low < 64 && product.high > 64);
	other = fm_figure_make(4.3, 4.3, 4.5, "ns", FM_ORIGIN_measured, "kernels", 3);
	assert_true(fm_figure_agrees(&time, &other));
	other.low = 4.41;
	assert_false(fm_figure_agrees(&time, &other));
	assert_false(fm_figure_agrees(&time, &none));
	time.low = -1;
	rate = fm_figure_inverted(&time, 1, "1/ns");
	assert_false(rate.available);
	assert_int_equal(fm_origin_find("combined"), FM_ORIGIN_combined);
	assert_int_equal(fm_origin_find("guessed"), FM_ORIGIN_COUNT);
}

static void random_is_uniform_and_repeats(void **state)
{
	struct fm_random first, second;
	unsigned counts[10] = {0};

	(void)state;
	fm_random_seed(&first, 3);
	fm_random_seed(&second, 3);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t value = fm_random_below(&first, 10);

		assert_int_equal(value, fm_random_below(&second, 10));
		counts[value]++;
	}
	for (unsigned i = 0; i < 10; i++)
		assert_near(counts[i], 10000, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(errors_carry_messages),
	    cmocka_unit_test(sizes_and_numbers),
	    cmocka_unit_test(durations),
	    cmocka_unit_test(whole_numbers),
	    cmocka_unit_test(figures),
	    cmocka_unit_test(random_is_uniform_and_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
