#include "base/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps of a stack machine. */
enum operation { PUSH_NUMBER, PUSH_VALUE, NEGATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM, CALL };

struct parser {
	const char *at;
	const struct fm_formula_names *names;
	struct fm_formula *formula;
	struct fm_error *error;
	unsigned depth;
	int result;
};

static bool fail(struct parser *parser, int code, const char *words, const char *what)
{
	if (!parser->result)
		parser->result = fm_error_set(parser->error, code, "%s%s%.60s%s", words, what ? " \"" : "",
		                              what ? what : "", what ? "\"" : "");
	return false;
}

static bool emit(struct parser *parser, struct fm_formula_step step)
{
	if (parser->formula->step_count == FM_FORMULA_STEPS_MAX)
		return fail(parser, EINVAL, "the formula is too long", NULL);
	parser->formula->steps[parser->formula->step_count++] = step;
	return true;
}

static bool take(struct parser *parser, char expected)
{
	parser->at += strspn(parser->at, " \t");
	if (*parser->at != expected)
		return false;
	parser->at++;
	return true;
}

static bool sum(struct parser *parser);

static bool close_parenthesis(struct parser *parser)
{
	return take(parser, ')') || fail(parser, EINVAL, "a parenthesis is not closed before", parser->at);
}

static bool number(struct parser *parser)
{
	char *end;
	double value = strtod(parser->at, &end);

	if (end == parser->at || !isfinite(value))
		return fail(parser, EINVAL, "not a number:", parser->at);
	parser->at = end;
	return emit(parser, (struct fm_formula_step){.operation = PUSH_NUMBER, .number = value});
}

static bool call(struct parser *parser, const char *name)
{
	struct fm_formula_step step = {.operation = !strcmp(name, "min") ? MINIMUM : MAXIMUM};
	char words[FM_FORMULA_NAME_MAX + 20];

	if (strcmp(name, "min") != 0 && strcmp(name, "max") != 0) {
		unsigned i = 0;

		while (i < parser->names->function_count && strcmp(parser->names->functions[i].name, name) != 0)
			i++;
		if (i == parser->names->function_count)
			return fail(parser, EINVAL, "unknown function", name);
		step = (struct fm_formula_step){.operation = CALL, .evaluate = parser->names->functions[i].evaluate};
	}
	if (!sum(parser))
		return false;
	if (!take(parser, ',')) {
		snprintf(words, sizeof(words), "%s takes (a, b)", name);
		return fail(parser, EINVAL, words, NULL);
	}
	return sum(parser) && close_parenthesis(parser) && emit(parser, step);
}

static bool name_or_call(struct parser *parser)
{
	size_t length = strspn(parser->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.");
	char name[FM_FORMULA_NAME_MAX];
	int index;

	if (!length || length >= sizeof(name))
		return fail(parser, EINVAL, "a number or name is missing at", parser->at);
	memcpy(name, parser->at, length);
	name[length] = 0;
	parser->at += length;
	if (take(parser, '('))
		return call(parser, name);
	index = parser->names->index(parser->names->context, name);
	if (index < 0)
		return fail(parser, ENOENT, parser->names->unknown, name);
	return emit(parser, (struct fm_formula_step){.operation = PUSH_VALUE, .index = (unsigned)index});
}

static bool operand(struct parser *parser)
{
	bool right;

	if (++parser->depth > FM_FORMULA_DEPTH_MAX)
		return fail(parser, EINVAL, "the formula is nested too deeply", NULL);
	if (take(parser, '('))
		right = sum(parser) && close_parenthesis(parser);
	else if (take(parser, '-'))
		right = operand(parser) && emit(parser, (struct fm_formula_step){.operation = NEGATE});
	else if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
		right = number(parser);
	else
		right = name_or_call(parser);
	parser->depth--;
	return right;
}

/* One level of precedence: what binds closer, and the two signs that join it. */
static bool chain(struct parser *parser, bool (*part)(struct parser *), const char signs[2],
                  const enum operation operations[2])
{
	if (!part(parser))
		return false;
	for (;;) {
		bool first = take(parser, signs[0]);

		if (!first && !take(parser, signs[1]))
			return true;
		if (!part(parser) || !emit(parser, (struct fm_formula_step){.operation = operations[!first]}))
			return false;
	}
}

static bool product(struct parser *parser)
{
	return chain(parser, operand, "*/", (const enum operation[]){MULTIPLY, DIVIDE});
}

static bool sum(struct parser *parser)
{
	return chain(parser, product, "+-", (const enum operation[]){ADD, SUBTRACT});
}

int fm_formula_parse(const char *text, const struct fm_formula_names *names, struct fm_formula *ret_formula,
                     struct fm_error *error)
{
	struct fm_formula formula = {.step_count = 0};
	struct parser parser = {.at = text, .names = names, .formula = &formula, .error = error};

	if (sum(&parser) && !take(&parser, 0))
		fail(&parser, EINVAL, "unexpected text:", parser.at);
	if (parser.result)
		return parser.result;
	ret_formula->step_count = formula.step_count;
	memcpy(ret_formula->steps, formula.steps, formula.step_count * sizeof(formula.steps[0]));
	return 0;
}

/* An unavailable operand makes the result unavailable; fmin and fmax would hide it. */
static double apply(const struct fm_formula_step *step, void *context, double left, double right)
{
	if (isnan(left) || isnan(right))
		return NAN;
	switch ((enum operation)step->operation) {
	case ADD:
		return left + right;
	case SUBTRACT:
		return left - right;
	case MULTIPLY:
		return left * right;
	case DIVIDE:
		return right != 0 ? left / right : NAN;
	case MINIMUM:
		return fmin(left, right);
	case MAXIMUM:
		return fmax(left, right);
	case CALL:
		return step->evaluate(context, left, right);
	default:
		return NAN;
	}
}

int fm_formula_run(const struct fm_formula *formula, const double *values, void *context, double *ret_value)
{
	double stack[FM_FORMULA_STEPS_MAX];
	bool divides = false, missing = false;
	unsigned top = 0;

	for (unsigned i = 0; i < formula->step_count; i++) {
		const struct fm_formula_step *step = &formula->steps[i];

		if (step->operation == PUSH_NUMBER) {
			stack[top++] = step->number;
		} else if (step->operation == PUSH_VALUE) {
			stack[top] = values[step->index];
			missing |= isnan(stack[top]);
			top++;
		} else if (step->operation == NEGATE && top) {
			stack[top - 1] = -stack[top - 1];
		} else if (top > 1) {
			top--;
			divides |= step->operation == DIVIDE && stack[top] == 0;
			stack[top - 1] = apply(step, context, stack[top - 1], stack[top]);
		} else { /* fm_formula_parse() makes none that lacks an operand */
			return -EINVAL;
		}
	}
	if (!top || missing)
		return -ENODATA;
	if (divides)
		return -EDOM;
	if (!isfinite(stack[0]))
		return -ERANGE;
	*ret_value = stack[0];
	return 0;
}

bool fm_formula_calls(const struct fm_formula *formula, const struct fm_formula_function *function)
{
	for (unsigned i = 0; i < formula->step_count; i++)
		if (formula->steps[i].operation == CALL && formula->steps[i].evaluate == function->evaluate)
			return true;
	return false;
}

struct looked_up {
	fm_formula_lookup lookup;
	void *context;
	double values[FM_FORMULA_STEPS_MAX];
	unsigned count;
};

static int look_up(void *context, const char *name)
{
	struct looked_up *values = context;

	if (values->count == FM_FORMULA_STEPS_MAX ||
	    !values->lookup(values->context, name, &values->values[values->count]))
		return -1;
	return (int)values->count++;
}

int fm_formula_evaluate(const char *text, fm_formula_lookup lookup, void *context, double *ret_value,
                        struct fm_error *error)
{
	struct looked_up values = {.lookup = lookup, .context = context};
	const struct fm_formula_names names = {
	    .index = look_up, .context = &values, .unknown = "there is no value for"};
	struct fm_formula formula;
	double value;
	int result = fm_formula_parse(text, &names, &formula, error);

	if (!result)
		*ret_value = fm_formula_run(&formula, values.values, NULL, &value) ? NAN : value;
	return result;
}
