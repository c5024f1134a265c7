/* Formulas: arithmetic, what has no value, and texts that nobody wrote in good faith. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/formula.h"

enum { SEVEN, ZERO, UNKNOWN, LEVEL, VALUES };
static const char *const names[VALUES] = {"SEVEN", "ZERO", "UNKNOWN", "L2.load_hits:x"};
static const double values[VALUES] = {7, 0, NAN, 20};

static int index_of(void *context, const char *name)
{
	(void)context;
	for (int i = 0; i < VALUES; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static double twice_the_difference(void *context, double left, double right)
{
	return *(double *)context * (left - right);
}

static const struct fm_formula_function difference = {"difference", twice_the_difference};
static const struct fm_formula_names known = {
    .index = index_of, .unknown = "there is no", .functions = &difference, .function_count = 1};

static int evaluate(const char *text, double *ret_value, struct fm_error *error)
{
	struct fm_formula formula;
	double two = 2;
	int status = fm_formula_parse(text, &known, &formula, error);

	return status ? status : fm_formula_run(&formula, values, &two, ret_value);
}

static void arithmetic(void **state)
{
	static const struct {
		const char *text;
		double value;
	} right[] = {{"1+2*3", 7},
	             {"(1+2)*3", 9},
	             {"1.0E-06*SEVEN*1000000", 7},
	             {"2.5e+2", 250},
	             {".5*4", 2},
	             {"-SEVEN+10", 3},
	             {"2--1", 3},
	             {"-(1-4)", 3},
	             {"10-2-3", 5},
	             {"8/2/2", 2},
	             {"((((1))))", 1},
	             {"\tSEVEN / 2 ", 3.5},
	             {"min(SEVEN, 3)*2", 6},
	             {"max(min(1,2), -SEVEN)", 1},
	             {"SEVEN/max(ZERO,1)", 7},
	             {"ZERO/SEVEN", 0},
	             {"L2.load_hits:x/4", 5},
	             {"difference(SEVEN, 2)", 10}};
	struct fm_error error;
	double value;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		if (evaluate(right[i].text, &value, &error))
			fail_msg("%s", right[i].text);
		assert_near(value, right[i].value, 1e-9);
	}
}

static void what_has_no_value(void **state)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {{"1/0", EDOM},           {"ZERO/ZERO", EDOM},         {"SEVEN/ZERO", EDOM},
	             {"1/(1/ZERO)", EDOM},    {"0*(1/ZERO)", EDOM},        {"max(1/ZERO,5)", EDOM},
	             {"min(5,1/ZERO)", EDOM}, {"-(1/ZERO)", EDOM},         {"SEVEN/(SEVEN-7)", EDOM},
	             {"UNKNOWN", ENODATA},    {"max(UNKNOWN,1)", ENODATA}, {"1e308*10", ERANGE}};
	struct fm_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = 42;

		assert_int_equal(evaluate(cases[i].text, &value, &error), -cases[i].code);
		assert_true(value == 42);
	}
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *words;
		int code;
	} wrong[] = {{"1+", "missing", EINVAL},
	             {"", "missing", EINVAL},
	             {"*2", "missing", EINVAL},
	             {"(1", "not closed", EINVAL},
	             {"1)", "unexpected text", EINVAL},
	             {"1 2", "unexpected text", EINVAL},
	             {"1e", "unexpected text", EINVAL},
	             {".", "not a number", EINVAL},
	             {"1e999", "not a number", EINVAL},
	             {"EIGHT", "there is no \"EIGHT\"", ENOENT},
	             {"min(1)", "min takes (a, b)", EINVAL},
	             {"max(1,2", "not closed", EINVAL},
	             {"max(1,2,3)", "not closed", EINVAL},
	             {"root(1,2)", "unknown function \"root\"", EINVAL}};
	struct fm_error error;
	double value;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(evaluate(wrong[i].text, &value, &error), -wrong[i].code);
		if (!strstr(error.message, wrong[i].words))
			fail_msg("%s: %s", wrong[i].text, error.message);
	}
}

/* Long ones, deep ones, and any bytes at all: refused or evaluated, with the stack and the steps where they belong. */
static void limits(void **state)
{
	static const char alphabet[] = "()+-*/,.19eSEVNmaxi :\xff";
	char *text = malloc(4 * FM_FORMULA_STEPS_MAX + 1);
	struct fm_error error;
	unsigned seed = 1, accepted = 0;
	double value;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memset(text, "(-"[i], 4 * FM_FORMULA_STEPS_MAX);
		text[4 * FM_FORMULA_STEPS_MAX] = 0;
		assert_int_equal(evaluate(text, &value, &error), -EINVAL);
		assert_non_null(strstr(error.message, "too deeply"));
	}
	/* many operands side by side are not deep */
	for (unsigned i = 0; i < 2 * FM_FORMULA_STEPS_MAX; i++)
		text[i] = "1+"[i % 2];
	text[2 * FM_FORMULA_STEPS_MAX - 1] = 0;
	assert_int_equal(evaluate(text, &value, &error), -EINVAL);
	assert_non_null(strstr(error.message, "too long"));
	text[FM_FORMULA_STEPS_MAX - 1] = 0;
	assert_int_equal(evaluate(text, &value, &error), 0);
	assert_near(value, FM_FORMULA_STEPS_MAX / 2, 1e-9);
	memset(text, 'S', 300);
	text[300] = 0;
	assert_int_equal(evaluate(text, &value, &error), -EINVAL);
	for (unsigned i = 0; i < 200000; i++) {
		unsigned length = 0;

		do {
			seed = seed * 1103515245u + 12345;
			text[length++] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		} while (seed >> 24 & 15);
		text[length] = 0;
		value = 0;
		accepted += !evaluate(text, &value, &error);
		assert_true(isfinite(value));
	}
	print_message("%u of 200000 random texts are formulas\n", accepted);
	assert_true(accepted > 1000);
	free(text);
}

static bool look_up(void *context, const char *name, double *ret_value)
{
	++*(unsigned *)context;
	*ret_value = !strcmp(name, "ZERO") ? 0 : 7;
	return strcmp(name, "EIGHT") != 0;
}

static void at_once(void **state)
{
	struct fm_error error;
	unsigned asked = 0;
	double value;

	(void)state;
	assert_int_equal(fm_formula_evaluate("A*B+A", look_up, &asked, &value, &error), 0);
	assert_near(value, 56, 1e-9);
	assert_int_equal(asked, 3);
	assert_int_equal(fm_formula_evaluate("A/ZERO", look_up, &asked, &value, &error), 0);
	assert_true(isnan(value));
	assert_int_equal(fm_formula_evaluate("A+EIGHT", look_up, &asked, &value, &error), -ENOENT);
	assert_non_null(strstr(error.message, "EIGHT"));
}

static void functions_are_found(void **state)
{
	struct fm_formula formula;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_formula_parse("1+difference(2,1)", &known, &formula, &error), 0);
	assert_true(fm_formula_calls(&formula, &difference));
	assert_int_equal(fm_formula_parse("1+max(2,1)", &known, &formula, &error), 0);
	assert_false(fm_formula_calls(&formula, &difference));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic), cmocka_unit_test(what_has_no_value), cmocka_unit_test(mistakes),
	    cmocka_unit_test(limits),     cmocka_unit_test(at_once),           cmocka_unit_test(functions_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
