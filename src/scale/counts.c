#include "scale/counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
#define VARIABLE(name) name,
#include "scale/variables.def"
#undef VARIABLE
};

enum { VARIABLES = sizeof(variables) / sizeof(*variables) };

/* Keeps the list ascending and without repetition. */
static int add(struct fm_scale_counts *counts, unsigned value, struct fm_error *error)
{
	unsigned at = 0;

	while (at < counts->count && counts->values[at] < value)
		at++;
	if (at < counts->count && counts->values[at] == value)
		return 0;
	if (counts->count == FM_SCALE_COUNTS_MAX)
		return fm_error_set(error, EINVAL, "-t takes up to %d numbers of threads", FM_SCALE_COUNTS_MAX);
	memmove(&counts->values[at + 1], &counts->values[at], (counts->count - at) * sizeof(*counts->values));
	counts->values[at] = value;
	counts->count++;
	return 0;
}

static bool parse_number(const char **at, unsigned *ret_value)
{
	char *end;
	unsigned long value;

	if (**at < '0' || **at > '9')
		return false;
	value = strtoul(*at, &end, 10);
	if (!value || value > FM_SCALE_MOST)
		return false;
	*at = end;
	*ret_value = (unsigned)value;
	return true;
}

int fm_scale_counts_parse(const char *text, struct fm_scale_counts *ret_counts, struct fm_error *error)
{
	struct fm_scale_counts counts = {0};
	const char *at = text;

	do {
		unsigned first, last, step = 1;
		int r;

		if (!parse_number(&at, &first))
			goto wrong;
		last = first;
		if (*at == '-' && (at++, !parse_number(&at, &last) || last < first))
			goto wrong;
		if (*at == ':' && (at++, !parse_number(&at, &step)))
			goto wrong;
		for (unsigned value = first; value <= last; value = value - value % step + step) {
			r = add(&counts, value, error);
			if (r)
				return r;
		}
	} while (*at++ == ',');
	at--;
	if (*at)
		goto wrong;
	*ret_counts = counts;
	return 0;
wrong:
	return fm_error_set(error, EINVAL, "-t takes numbers from 1 to %d such as 1,2,4 or 1-8 or 8-64:8, not \"%s\"",
	                    FM_SCALE_MOST, text);
}

struct fm_scale_counts fm_scale_counts_default(unsigned most, bool may_exceed)
{
	struct fm_scale_counts counts = {0};

	most = most > FM_SCALE_MOST ? FM_SCALE_MOST : most;
	for (unsigned value = 1; value < most; value *= 2)
		counts.values[counts.count++] = value;
	counts.values[counts.count++] = most ? most : 1;
	/* a serial part has the same length for two and for more threads: that distinguishes it from imbalance */
	if (most == 2 && may_exceed)
		counts.values[counts.count++] = 4;
	return counts;
}

bool fm_scale_has_placeholder(char *const *program)
{
	for (unsigned i = 0; program && program[i]; i++)
		if (strstr(program[i], FM_SCALE_PLACEHOLDER))
			return true;
	return false;
}

static char *replace(const char *argument, unsigned count)
{
	const size_t length = strlen(FM_SCALE_PLACEHOLDER);
	size_t size = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);
	const char *found;

	if (!stream)
		return NULL;
	while ((found = strstr(argument, FM_SCALE_PLACEHOLDER))) {
		fprintf(stream, "%.*s%u", (int)(found - argument), argument, count);
		argument = found + length;
	}
	fputs(argument, stream);
	if (fclose(stream)) {
		free(text);
		return NULL;
	}
	return text;
}

char **fm_scale_program(char *const *program, unsigned count)
{
	unsigned words = 0;
	char **result;

	while (program[words])
		words++;
	result = calloc(words + 1, sizeof(*result));
	for (unsigned i = 0; result && i < words; i++) {
		result[i] = replace(program[i], count);
		if (!result[i]) {
			fm_scale_program_free(result);
			return NULL;
		}
	}
	return result;
}

void fm_scale_program_free(char **program)
{
	for (unsigned i = 0; program && program[i]; i++)
		free(program[i]);
	free(program);
}

/* The variable as it was when it was first set here. */
static void set(const char *name, unsigned count, char **kept, bool *known)
{
	const char *before = getenv(name);
	char text[16];

	if (!*known) {
		*kept = before ? strdup(before) : NULL;
		*known = true;
	}
	snprintf(text, sizeof(text), "%u", count);
	if (count)
		setenv(name, text, 1);
	else if (*kept)
		setenv(name, *kept, 1);
	else
		unsetenv(name);
}

void fm_scale_set_variables(const char *variable, unsigned count)
{
	static char *kept[VARIABLES + 1];
	static bool known[VARIABLES + 1];

	if (variable) {
		set(variable, count, &kept[VARIABLES], &known[VARIABLES]);
		return;
	}
	for (unsigned i = 0; i < VARIABLES; i++)
		set(variables[i], count, &kept[i], &known[i]);
}

const char *fm_scale_variables_text(const char *variable, char *text, size_t size)
{
	if (variable)
		snprintf(text, size, "%s", variable);
	else
		snprintf(text, size, "%s, %s and %d others", variables[0], variables[1], VARIABLES - 2);
	return text;
}
