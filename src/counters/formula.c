#include "counters/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, NAME_MAX_LENGTH = 128 };

struct parser {
	const char *at;
	fm_formula_lookup lookup;
	void *context;
	struct fm_error *error;
	unsigned depth;
	int result;
};

static double fail(struct parser *parser, int code, const char *format, const char *what)
{
	char text[200];

	snprintf(text, sizeof(text), format, what);
	if (!parser->result)
		parser->result = fm_error_set(parser->error, code, "%s", text);
	return NAN;
}

static void blanks(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t");
}

static double sum(struct parser *parser);

static double operand(struct parser *parser)
{
	char name[NAME_MAX_LENGTH];
	double value;
	size_t length;
	char *end;

	blanks(parser);
	if (++parser->depth > DEPTH_MAX)
		return fail(parser, EINVAL, "the formula is nested too deeply%s", "");
	if (*parser->at == '(') {
		parser->at++;
		value = sum(parser);
		blanks(parser);
		if (*parser->at != ')')
			return fail(parser, EINVAL, "a parenthesis is not closed before \"%.40s\"", parser->at);
		parser->at++;
	} else if (*parser->at == '-') {
		parser->at++;
		value = -operand(parser);
	} else if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
		value = strtod(parser->at, &end);
		parser->at = end;
	} else {
		length = strspn(parser->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.");
		if (!length || length >= sizeof(name))
			return fail(parser, EINVAL, "a value is missing at \"%.40s\"", parser->at);
		snprintf(name, sizeof(name), "%.*s", (int)length, parser->at);
		parser->at += length;
		if (!parser->lookup(parser->context, name, &value))
			return fail(parser, ENOENT, "%s has no value here", name);
	}
	parser->depth--;
	return value;
}

static double product(struct parser *parser)
{
	double value = operand(parser);

	for (;;) {
		double right;
		char sign;

		blanks(parser);
		sign = *parser->at;
		if (parser->result || (sign != '*' && sign != '/'))
			return value;
		parser->at++;
		right = operand(parser);
		value = sign == '*' ? value * right : right != 0 ? value / right : NAN;
	}
}

static double sum(struct parser *parser)
{
	double value = product(parser);

	for (;;) {
		char sign;

		blanks(parser);
		sign = *parser->at;
		if (parser->result || (sign != '+' && sign != '-'))
			return value;
		parser->at++;
		value = sign == '+' ? value + product(parser) : value - product(parser);
	}
}

int fm_formula_evaluate(const char *text, fm_formula_lookup lookup, void *context, double *ret_value,
                        struct fm_error *error)
{
	struct parser parser = {.at = text, .lookup = lookup, .context = context, .error = error};

	*ret_value = sum(&parser);
	blanks(&parser);
	if (!parser.result && *parser.at)
		fail(&parser, EINVAL, "\"%.40s\" does not belong here", parser.at);
	return parser.result;
}
