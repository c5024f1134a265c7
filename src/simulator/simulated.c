#include "simulator/simulated.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/formula.h"
#include "base/suggest.h"
#include "base/text.h"

enum { EVENTS_MAX = 512, NAME = 96, FORMULA = 400, DESCRIPTION = 400, LARGEST = 1 << 18 };

/* Quantities */

enum {
#define QUANTITY(name, expression, words) +1
#define TIMING(name, expression, words) +1
#define CACHE(member, words)
	PLAIN = 0
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
	,
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) +1
	PER_CACHE = 0
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const char *const plain_names[] = {
#define QUANTITY(name, expression, words) name,
#define TIMING(name, expression, words) name,
#define CACHE(member, words)
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const bool plain_is_timing[] = {
#define QUANTITY(name, expression, words) false,
#define TIMING(name, expression, words) true,
#define CACHE(member, words)
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

static const char *const cache_names[] = {
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) #member,
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
};

/* All of them, in the order in which formulas know them: the plain ones, then those of each cache. */
static void evaluate_quantities(const struct fm_truth *truth, double *quantities)
{
	static const struct fm_timing_counts none;
	const struct fm_core_counts *C = truth->counts;
	const struct fm_timing_counts *T = truth->timing ? truth->timing : &none;
	static const struct fm_work idle;
	const struct fm_work *W = truth->work ? truth->work : &idle;
	const bool smt = truth->smt;
	const double plain[] = {
#define QUANTITY(name, expression, words) (double)(expression),
#define TIMING(name, expression, words) (double)(expression),
#define CACHE(member, words)
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
	};

	memcpy(quantities, plain, sizeof(plain));
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++) {
		const double members[] = {
#define QUANTITY(name, expression, words)
#define TIMING(name, expression, words)
#define CACHE(member, words) (double)C->caches[i].member,
#include "simulator/quantities.def"
#undef QUANTITY
#undef TIMING
#undef CACHE
		};

		memcpy(quantities + PLAIN + i * PER_CACHE, members, sizeof(members));
	}
}

/* Formulas */

struct event {
	char name[NAME], formula[FORMULA], description[DESCRIPTION];
	struct fm_formula steps;
	bool needs_timing;
};

struct fm_simulated_events {
	struct event *events;
	unsigned count;
};

struct reader {
	const struct fm_machine_description *machine;
	struct event *event;
};

static int index_of(void *context, const char *name)
{
	const struct reader *reader = context;
	const char *dot = strchr(name, '.');

	for (unsigned i = 0; i < PLAIN; i++)
		if (!strcmp(plain_names[i], name)) {
			reader->event->needs_timing |= plain_is_timing[i];
			return (int)i;
		}
	for (unsigned cache = 0; dot && cache < reader->machine->cache_count; cache++) {
		const char *level = reader->machine->caches[cache].name;

		if (strlen(level) != (size_t)(dot - name) || strncmp(level, name, (size_t)(dot - name)))
			continue;
		for (unsigned i = 0; i < PER_CACHE; i++)
			if (!strcmp(cache_names[i], dot + 1))
				return (int)(PLAIN + cache * PER_CACHE + i);
	}
	return -1;
}

static double add_noise(void *random, double value, double deviation)
{
	return value * (1 + (random ? deviation * fm_random_normal(random) : 0));
}

static const struct fm_formula_function noisy = {"noisy", add_noise};

/* Files */

static int read_line(struct fm_simulated_events *events, const struct fm_machine_description *machine, const char *line,
                     const char *file, unsigned number, struct fm_error *error)
{
	size_t blank = strspn(line, " \t");
	const char *equal = strstr(line, " = ");
	struct event *event;
	struct reader reader = {.machine = machine};
	const struct fm_formula_names names = {.index = index_of,
	                                       .context = &reader,
	                                       .unknown = "there is no quantity",
	                                       .functions = &noisy,
	                                       .function_count = 1};
	struct fm_error problem;

	if (!line[blank] || line[blank] == '#')
		return 0;
	if (!fm_text_is_clean(line))
		return fm_error_set(error, EBADMSG, "%s:%u: this is no text in UTF-8", file, number);
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
	event = reader.event = &events->events[events->count];
	snprintf(event->name, sizeof(event->name), "%.*s", (int)(equal - line), line);
	if (strpbrk(event->name, " \t,{}"))
		return fm_error_set(error, EBADMSG, "%s:%u: a name has no blanks, commas or braces", file, number);
	for (unsigned i = 0; i < events->count; i++)
		if (!strcasecmp(events->events[i].name, event->name))
			return fm_error_set(error, EBADMSG, "%s:%u: %s is there already", file, number, event->name);
	snprintf(event->formula, sizeof(event->formula), "%s", equal + 3);
	if (fm_formula_parse(event->formula, &names, &event->steps, &problem))
		return fm_error_set(error, EBADMSG, "%s:%u: %s: %s", file, number, event->name, problem.message);
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
	length = text ? fread(text, 1, LARGEST, file) : 0;
	fclose(file);
	if (!text)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (length == LARGEST) {
		status = fm_error_set(error, EBADMSG, "%s: larger than any table of events", path);
	} else {
		text[length] = 0;
		status = fm_simulated_parse(text, path, &machine, ret_events, error);
	}
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
	return fm_formula_calls(&events->events[index].steps, &noisy);
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
	double quantities[PLAIN + FM_SIMULATED_CACHES_MAX * PER_CACHE], value;
	int status;

	if (event->needs_timing && (!truth->timing || !truth->timing->cycles))
		return fm_figure_unavailable("it counts cycles, which need --timing");
	evaluate_quantities(truth, quantities);
	status = fm_formula_run(&event->steps, quantities, truth->random, &value);
	if (status)
		return fm_figure_unavailable("%s", status == -EDOM ? FM_FORMULA_DIVIDES : "its formula has no value");
	value = fmax(value, 0);
	if (!isfinite(value))
		return fm_figure_unavailable("its formula gives no finite number");
	return fm_figure_make(value, value, value, "events", FM_ORIGIN_simulated, "exact", 1);
}
