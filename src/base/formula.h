/* Arithmetic over named values in files (performance groups, events of simulated machines): + - * /, parentheses, unary
   minus, numbers such as 1.0E-06, min(a, b), max(a, b). A text is parsed once and evaluated any number of times. A
   division by 0 has no value. */
#ifndef FATHOM_BASE_FORMULA_H
#define FATHOM_BASE_FORMULA_H

#include <stdbool.h>

#include "base/error.h"

/* Formulas come from files: longer or deeper ones are refused. */
enum { FM_FORMULA_STEPS_MAX = 256, FM_FORMULA_DEPTH_MAX = 64, FM_FORMULA_NAME_MAX = 128 };

/* The reason for -EDOM from fm_formula_run(). */
#define FM_FORMULA_DIVIDES "its formula divides by nothing"

/* A function of two values beside min and max. */
struct fm_formula_function {
	const char *name;
	double (*evaluate)(void *context, double left, double right);
};

/* Names in a formula consist of letters, digits and _ : . and do not begin with a digit or a dot. */
struct fm_formula_names {
	/* index of a name's value; negative if unknown */
	int (*index)(void *context, const char *name);
	void *context;
	const char *unknown; /* printed before an unknown name */
	const struct fm_formula_function *functions;
	unsigned function_count;
};

struct fm_formula {
	struct fm_formula_step {
		unsigned char operation;
		union {
			double number;
			unsigned index;
			double (*evaluate)(void *context, double left, double right);
		};
	} steps[FM_FORMULA_STEPS_MAX];
	unsigned step_count;
};

/* -EINVAL with the position of a syntax error, -ENOENT with an unknown name. */
int fm_formula_parse(const char *text, const struct fm_formula_names *names, struct fm_formula *ret_formula,
                     struct fm_error *error);

/* Evaluates a formula with values by index; NaN: not available. `context` is passed to the functions. -EDOM on a
   division by 0, -ENODATA if a value is not available, -ERANGE if the result is too large. */
int fm_formula_run(const struct fm_formula *formula, const double *values, void *context, double *ret_value);

/* True if the formula calls this function. */
bool fm_formula_calls(const struct fm_formula *formula, const struct fm_formula_function *function);

/* Parses and evaluates in one call. `lookup` returns false for an unknown name (-ENOENT). After a division by 0 or with
   a NaN, returns 0 and the value NaN. */
typedef bool (*fm_formula_lookup)(void *context, const char *name, double *ret_value);
int fm_formula_evaluate(const char *text, fm_formula_lookup lookup, void *context, double *ret_value,
                        struct fm_error *error);

#endif
