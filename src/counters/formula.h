/* Arithmetic over named values, as performance groups have it: + - * /, parentheses, numbers such as 1.0E-06. */
#ifndef FATHOM_COUNTERS_FORMULA_H
#define FATHOM_COUNTERS_FORMULA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The value of a name; false when it is not known. */
typedef bool (*fm_formula_lookup)(void *context, const char *name, double *ret_value);

/* -EINVAL with the place of a mistake, -ENOENT with the name that has no value; divided by zero is not a number. */
int fm_formula_evaluate(const char *text, fm_formula_lookup lookup, void *context, double *ret_value,
                        struct fm_error *error);

#endif
