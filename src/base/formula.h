/* Arithmetic over named values, as files have it (performance groups, events of simulated machines): + - * /,
   parentheses, unary minus, numbers such as 1.0E-06, min(a, b), max(a, b). A text is parsed once into steps and
   evaluated as often as wanted. What divides by nothing has no value: neither 0 nor infinite. */
#ifndef FATHOM_BASE_FORMULA_H
#define FATHOM_BASE_FORMULA_H

#include <stdbool.h>

#include "base/error.h"

/* Formulas come from files: longer or deeper ones are refused. */
enum { FM_FORMULA_STEPS_MAX = 256, FM_FORMULA_DEPTH_MAX = 64, FM_FORMULA_NAME_MAX = 128 };

/* The reason to show when fm_formula_run() says -EDOM. */
#define FM_FORMULA_DIVIDES "its formula divides by nothing"

/* A function of two values beside min and max. */
struct fm_formula_function {
	const char *name;
	double (*evaluate)(void *context, double left, double right);
};

/* What a formula may name. Names are made of letters, digits and _ : . and do not begin with a digit or a dot. */
struct fm_formula_names {
	/* where the value of a name will stand; negative when there is none */
	int (*index)(void *context, const char *name);
	void *context;
	const char *unknown; /* said before the name that is not known */
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

/* -EINVAL with the place of a mistake, -ENOENT with the name that is not known. */
int fm_formula_parse(const char *text, const struct fm_formula_names *names, struct fm_formula *ret_formula,
                     struct fm_error *error);

/* Values by their index; NaN stands for what is not available. `context` is for the functions. -EDOM when the formula
   divides by nothing, -ENODATA when a value it needs is not available, -ERANGE when the result is too large. */
int fm_formula_run(const struct fm_formula *formula, const double *values, void *context, double *ret_value);

/* Does it call this function? */
bool fm_formula_calls(const struct fm_formula *formula, const struct fm_formula_function *function);

/* Parsed and evaluated at once: the value of each name as it is met; false when it has none (-ENOENT). A formula
   without a value, because it divides by nothing or needs what is NaN, is 0 with NaN. */
typedef bool (*fm_formula_lookup)(void *context, const char *name, double *ret_value);
int fm_formula_evaluate(const char *text, fm_formula_lookup lookup, void *context, double *ret_value,
                        struct fm_error *error);

#endif
