#include "exact/simulated.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/text.h"

enum { EVENTS_MAX = 512, NAME = 96, FORMULA = 400, DESCRIPTION = 400, STEPS_MAX = 64, LARGEST = 1 << 18 };

/* Quantities */

enum {
#define QUANTITY(name, expression, words) +1
#define TIMING(name, expression, words) +1
#define CACHE(member, words)
	PLAIN = 0
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
	,
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) +1
	PER_CACHE = 0
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const char *const plain_names[] = {
#define QUANTITY(name, expression, words) name,
#define TIMING(name, expression, words) name,
#define CACHE(member, words)
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const bool plain_is_timing[] = {
#define QUANTITY(name, expression, words) false,
#define TIMING(name, expression, words) true,
#define CACHE(member, words)
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const char *const cache_names[] = {
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) #member,
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static void evaluate_quantities(const struct fm_truth *truth, double *plain, double (*cache)[PER_CACHE])
{
	static const struct fm_timing_counts none;
	const struct fm_core_counts *C = truth->counts;
	const struct fm_timing_counts *T = truth->timing ? truth->timing : &none;
	static const struct fm_work idle;
	const struct fm_work *W = truth->work ? truth->work : &idle;
	const bool smt = truth->smt;
	const double values[] = {
#define QUANTITY(name, expression, words) (double)(expression),
#define TIMING(name, expression, words) (double)(expression),
#define CACHE(member, words)
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
	};

	memcpy(plain, values, sizeof(values));
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++) {
		const double members[] = {
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) (double)C->caches[i].member,
#include "exact/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
		};

		memcpy(cache[i], members, sizeof(members));
	}
}

/* Formulas, as steps of a stack machine */

enum operation {
	PUSH_NUMBER,
	PUSH_PLAIN,
	PUSH_CACHE,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	MINIMUM,
	MAXIMUM,
	NOISE,
	NEGATE
};

struct step {
	enum operation operation;
	double number;
	unsigned cache, quantity;
};

struct event {
	char name[NAME], formula[FORMULA], description[DESCRIPTION];
	struct step steps[STEPS_MAX];
	unsigned step_count;
	bool needs_timing;
	bool noisy;
};

struct fm_simulated_events {
	struct event *events;
	unsigned count;
};

struct reader {
	const struct fm_machine_description *machine;
	const char *at;
	struct event *event;
	char problem[160];
	unsigned depth;
};

static bool problem(struct reader *reader, const char *words, const char *at)
{
	if (!*reader->problem)
		snprintf(reader->problem, sizeof(reader->problem), "%s%s%.40s%s", words, at ? " \"" : "", at ? at : "",
		         at ? "\"" : "");
	return false;
}

static bool emit(struct reader *reader, struct step step)
{
	if (reader->event->step_count == STEPS_MAX)
		return problem(reader, "the formula is too long", NULL);
	reader->event->steps[reader->event->step_count++] = step;
	return true;
}

static void blanks(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t");
}

static bool sum(struct reader *reader);

static bool take(struct reader *reader, char expected)
{
	blanks(reader);
	if (*reader->at != expected)
		return false;
	reader->at++;
	return true;
}

static bool quantity(struct reader *reader, const char *name)
{
	const char *dot = strchr(name, '.');

	for (unsigned i = 0; i < PLAIN; i++)
		if (!strcmp(plain_names[i], name)) {
			reader->event->needs_timing |= plain_is_timing[i];
			return emit(reader, (struct step){.operation = PUSH_PLAIN, .quantity = i});
		}
	for (unsigned cache = 0; dot && cache < reader->machine->cache_count; cache++) {
		const char *level = reader->machine->caches[cache].name;

		if (strlen(level) != (size_t)(dot - name) || strncmp(level, name, (size_t)(dot - name)))
			continue;
		for (unsigned i = 0; i < PER_CACHE; i++)
			if (!strcmp(cache_names[i], dot + 1))
				return emit(reader,
				            (struct step){.operation = PUSH_CACHE, .cache = cache, .quantity = i});
	}
	return problem(reader, "there is no quantity", name);
}

static bool operand(struct reader *reader)
{
	char name[NAME];
	size_t length;
	static const struct {
		const char *name;
		enum operation operation;
	} functions[] = {{"min", MINIMUM}, {"max", MAXIMUM}, {"noisy", NOISE}};
	unsigned which = 0;
	char *end;

	blanks(reader);
	if (++reader->depth > STEPS_MAX)
		return problem(reader, "the formula is nested too deeply", NULL);
	if (take(reader, '('))
		return sum(reader) && (take(reader, ')') || problem(reader, "a parenthesis is not closed", NULL));
	if (take(reader, '-'))
		return operand(reader) && emit(reader, (struct step){.operation = NEGATE});
	if (isdigit((unsigned char)*reader->at)) {
		double number = strtod(reader->at, &end);

		reader->at = end;
		return emit(reader, (struct step){.operation = PUSH_NUMBER, .number = number});
	}
	length = strspn(reader->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	if (!length || length >= sizeof(name))
		return problem(reader, "a quantity or number is missing at", reader->at);
	snprintf(name, sizeof(name), "%.*s", (int)length, reader->at);
	reader->at += length;
	while (which < 3 && strcmp(name, functions[which].name) != 0)
		which++;
	if (which == 3)
		return quantity(reader, name);
	reader->event->noisy |= functions[which].operation == NOISE;
	return (take(reader, '(') || problem(reader, "min, max and noisy take (a, b)", NULL)) && sum(reader) &&
	       (take(reader, ',') || problem(reader, "min, max and noisy take (a, b)", NULL)) && sum(reader) &&
	       (take(reader, ')') || problem(reader, "a parenthesis is not closed", NULL)) &&
	       emit(reader, (struct step){.operation = functions[which].operation});
}

static bool product(struct reader *reader)
{
	if (!operand(reader))
		return false;
	for (;;) {
		bool multiply = take(reader, '*');

		if (!multiply && !take(reader, '/'))
			return true;
		if (!operand(reader) || !emit(reader, (struct step){.operation = multiply ? MULTIPLY : DIVIDE}))
			return false;
	}
}

static bool sum(struct reader *reader)
{
	if (!product(reader))
		return false;
	for (;;) {
		bool plus = take(reader, '+');

		if (!plus && !take(reader, '-'))
			return true;
		if (!product(reader) || !emit(reader, (struct step){.operation = plus ? ADD : SUBTRACT}))
			return false;
	}
}

static double run(const struct event *event, const double *plain, double (*cache)[PER_CACHE], struct fm_random *random)
{
	double stack[STEPS_MAX + 1] = {0};
	unsigned top = 0;

	for (unsigned i = 0; i < event->step_count; i++) {
		const struct step *step = &event->steps[i];
		double right = top ? stack[top - 1] : 0;

		switch (step->operation) {
		case PUSH_NUMBER:
			stack[top++] = step->number;
			continue;
		case PUSH_PLAIN:
			stack[top++] = plain[step->quantity];
			continue;
		case PUSH_CACHE:
			stack[top++] = cache[step->cache][step->quantity];
			continue;
		case NEGATE:
			stack[top - 1] = -right;
			continue;
		default:
			top--;
		}
		stack[top - 1] = step->operation == ADD        ? stack[top - 1] + right
		                 : step->operation == SUBTRACT ? stack[top - 1] - right
		                 : step->operation == MULTIPLY ? stack[top - 1] * right
		                 : step->operation == DIVIDE   ? (right != 0 ? stack[top - 1] / right : 0)
		                 : step->operation == MINIMUM  ? fmin(stack[top - 1], right)
		                 : step->operation == NOISE
		                     ? stack[top - 1] * (1 + (random ? right * fm_random_normal(random) : 0))
		                     : fmax(stack[top - 1], right);
	}
	return top ? stack[top - 1] : 0;
}

/* Files */

static int read_line(struct fm_simulated_events *events, const struct fm_machine_description *machine, const char *line,
                     const char *file, unsigned number, struct fm_error *error)
{
	size_t blank = strspn(line, " \t");
	const char *equal = strstr(line, " = ");
	struct event *event;
	struct reader reader = {.machine = machine};

	if (!line[blank] || line[blank] == '#')
		return 0;
	if (blank) {
		size_t used;

		if (!events->count)
			return fm_error_set(error, EBADMSG, "%s:%u: a description comes after its event", file, number);
		event = &events->events[events->count - 1];
		used = strlen(event->description);
		snprintf(event->description + used, sizeof(event->description) - used, "%s%s", used ? " " : "",
		         line + blank);
		return 0;
	}
	if (!equal || (size_t)(equal - line) >= NAME || strlen(equal + 3) >= FORMULA)
		return fm_error_set(error, EBADMSG, "%s:%u: an event is written NAME = formula", file, number);
	if (events->count == EVENTS_MAX)
		return fm_error_set(error, EBADMSG, "%s:%u: more than %d events", file, number, EVENTS_MAX);
	event = &events->events[events->count];
	snprintf(event->name, sizeof(event->name), "%.*s", (int)(equal - line), line);
	if (strpbrk(event->name, " \t,{}"))
		return fm_error_set(error, EBADMSG, "%s:%u: a name has no blanks, commas or braces", file, number);
	for (unsigned i = 0; i < events->count; i++)
		if (!strcasecmp(events->events[i].name, event->name))
			return fm_error_set(error, EBADMSG, "%s:%u: %s is there already", file, number, event->name);
	snprintf(event->formula, sizeof(event->formula), "%s", equal + 3);
	reader.event = event;
	reader.at = event->formula;
	if (!sum(&reader) ||
	    (blanks(&reader), *reader.at && !problem(&reader, "this does not belong here:", reader.at)))
		return fm_error_set(error, EBADMSG, "%s:%u: %s: %s", file, number, event->name, reader.problem);
	events->count++;
	return 0;
}

int fm_simulated_parse(const char *text, const char *file, const struct fm_machine_description *machine,
                       struct fm_simulated_events **ret_events, struct fm_error *error)
{
	struct fm_simulated_events *events = calloc(1, sizeof(*events));
	int status = 0;

	if (events)
		events->events = calloc(EVENTS_MAX, sizeof(*events->events));
	if (!events || !events->events) {
		fm_simulated_free(events);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	for (unsigned number = 1; *text && !status; number++) {
		char line[1024];
		size_t length = strcspn(text, "\n");

		if (length >= sizeof(line))
			status = fm_error_set(error, EBADMSG, "%s:%u: the line is too long", file, number);
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		if (!status)
			status = read_line(events, machine, line, file, number, error);
		text += length + (text[length] == '\n');
	}
	if (status)
		fm_simulated_free(events);
	else
		*ret_events = events;
	return status;
}

int fm_simulated_load(const char *name, struct fm_simulated_events **ret_events, struct fm_error *error)
{
	struct fm_machine_description machine;
	char path[800], *text;
	size_t length;
	FILE *file;
	int status = fm_description_find(name, &machine, error);

	if (status)
		return status;
	if (fm_description_file(name, "events", path, sizeof(path)) || !(file = fopen(path, "re")))
		return fm_error_set(
		    error, ENOTSUP,
		    "the machine %s has no table of events (%s): its true quantities are what 'fathom stat "
		    "--machine %s' prints",
		    machine.name, path, machine.name);
	text = malloc(LARGEST);
	length = text ? fread(text, 1, LARGEST - 1, file) : 0;
	fclose(file);
	if (!text)
		return fm_error_set(error, ENOMEM, "out of memory");
	text[length] = 0;
	status = fm_simulated_parse(text, path, &machine, ret_events, error);
	free(text);
	return status;
}

void fm_simulated_free(struct fm_simulated_events *events)
{
	if (events)
		free(events->events);
	free(events);
}

unsigned fm_simulated_count(const struct fm_simulated_events *events)
{
	return events->count;
}

const char *fm_simulated_name(const struct fm_simulated_events *events, unsigned index)
{
	return events->events[index].name;
}

const char *fm_simulated_formula(const struct fm_simulated_events *events, unsigned index)
{
	return events->events[index].formula;
}

const char *fm_simulated_description(const struct fm_simulated_events *events, unsigned index)
{
	return events->events[index].description;
}

bool fm_simulated_is_noisy(const struct fm_simulated_events *events, unsigned index)
{
	return events->events[index].noisy;
}

bool fm_simulated_is_uncore(const struct fm_simulated_events *events, unsigned index)
{
	return !strncasecmp(events->events[index].name, "UNC_", 4);
}

bool fm_simulated_matches(const struct fm_simulated_events *events, unsigned index, const char *pattern)
{
	return fm_text_has_words(pattern, events->events[index].name, events->events[index].description);
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (tolower((unsigned char)(*a == '.' ? ':' : *a)) != tolower((unsigned char)(*b == '.' ? ':' : *b)))
			return false;
	return !*a && !*b;
}

int fm_simulated_find(const struct fm_simulated_events *events, const char *name, unsigned *ret_index,
                      struct fm_error *error)
{
	const char *names[EVENTS_MAX], *nearest;

	for (unsigned i = 0; i < events->count; i++) {
		names[i] = events->events[i].name;
		if (same_name(names[i], name)) {
			*ret_index = i;
			return 0;
		}
	}
	nearest = fm_suggest(name, names, events->count);
	return fm_error_set(error, EINVAL,
	                    nearest ? "there is no simulated event \"%s\"; did you mean \"%s\"?"
	                            : "there is no simulated event \"%s\"%s",
	                    name, nearest ? nearest : ": 'fathom events --machine' lists them");
}

struct fm_figure fm_simulated_value(const struct fm_simulated_events *events, unsigned index,
                                    const struct fm_truth *truth)
{
	const struct event *event = &events->events[index];
	double plain[PLAIN], cache[FM_SIMULATED_CACHES_MAX][PER_CACHE], value;

	if (event->needs_timing && (!truth->timing || !truth->timing->cycles))
		return fm_figure_unavailable("it counts cycles, which need --timing");
	evaluate_quantities(truth, plain, cache);
	value = fmax(run(event, plain, cache, truth->random), 0);
	return fm_figure_make(value, value, value, "events", FM_ORIGIN_simulated, "exact", 1);
}
