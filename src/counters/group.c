#include "counters/group.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/formula.h"
#include "base/text.h"

enum { LARGEST = 1 << 18 };

static const struct {
	const char *likwid, *ours;
} names[] = {
#define LIKWID_NAME(likwid, ours) {likwid, ours},
#include "counters/likwid_names.def"
#undef LIKWID_NAME
};

static const char *our_name(const char *likwid)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcasecmp(names[i].likwid, likwid))
			return names[i].ours;
	return likwid;
}

enum section { SECTION_NONE, SECTION_EVENTS, SECTION_METRICS, SECTION_TEXT };

static char *trim(char *line)
{
	size_t length;

	line += strspn(line, " \t");
	length = strlen(line);
	while (length && isspace((unsigned char)line[length - 1]))
		line[--length] = '\0';
	return line;
}

static int add_event(struct fm_group *group, char *line, const char *file, unsigned number, struct fm_error *error)
{
	struct fm_group_event *event = &group->events[group->event_count];
	char *save, *counter = strtok_r(line, " \t", &save), *name = strtok_r(NULL, " \t", &save);

	if (!counter || !name)
		return fm_error_set(error, EBADMSG, "%s:%u: an event is a counter and a name", file, number);
	if (group->event_count == FM_GROUP_EVENTS_MAX)
		return fm_error_set(error, EBADMSG, "%s:%u: more than %d events", file, number, FM_GROUP_EVENTS_MAX);
	snprintf(event->counter, sizeof(event->counter), "%s", counter);
	/* options of a counter, as in PMC0:EDGEDETECT, are ignored */
	event->counter[strcspn(event->counter, ":")] = '\0';
	for (unsigned i = 0; i < group->event_count; i++)
		if (!strcmp(group->events[i].counter, event->counter))
			return fm_error_set(error, EBADMSG, "%s:%u: the counter %s already has an event", file, number,
			                    event->counter);
	snprintf(event->likwid, sizeof(event->likwid), "%s", name);
	snprintf(event->name, sizeof(event->name), "%s", our_name(name));
	group->event_count++;
	return 0;
}

/* The formula is the last word; what comes before it is the name. */
static int add_metric(struct fm_group *group, char *line, const char *file, unsigned number, struct fm_error *error)
{
	struct fm_group_metric *metric = &group->metrics[group->metric_count];
	char *formula = strrchr(line, ' ');

	if (!formula)
		formula = strrchr(line, '\t');
	if (!formula)
		return fm_error_set(error, EBADMSG, "%s:%u: a metric is a name and a formula", file, number);
	if (group->metric_count == FM_GROUP_METRICS_MAX)
		return fm_error_set(error, EBADMSG, "%s:%u: more than %d metrics", file, number, FM_GROUP_METRICS_MAX);
	*formula++ = '\0';
	snprintf(metric->name, sizeof(metric->name), "%s", trim(line));
	snprintf(metric->formula, sizeof(metric->formula), "%s", formula);
	group->metric_count++;
	return 0;
}

int fm_group_parse(const char *text, const char *file, struct fm_group *ret_group, struct fm_error *error)
{
	char *copy = strdup(text), *line, *rest = copy;
	enum section section = SECTION_NONE;
	unsigned number = 0;
	int r = 0;

	memset(ret_group, 0, sizeof(*ret_group));
	if (!copy)
		return fm_error_set(error, ENOMEM, "no memory for %s", file);
	while (!r && (line = strsep(&rest, "\n"))) {
		number++;
		line = trim(line);
		if (!*line || *line == '#' || (section == SECTION_TEXT && !fm_text_is_clean(line)))
			continue;
		if (!fm_text_is_clean(line)) {
			r = fm_error_set(error, EBADMSG, "%s:%u: the file is not UTF-8 text", file, number);
			break;
		}
		if (!strncmp(line, "SHORT", 5) && (line[5] == ' ' || line[5] == '\t'))
			snprintf(ret_group->title, sizeof(ret_group->title), "%s", trim(line + 5));
		else if (!strncmp(line, "REQUIRE_", 8))
			continue; /* what LIKWID wants of the machine's settings */
		else if (!strcmp(line, "EVENTSET"))
			section = SECTION_EVENTS;
		else if (!strcmp(line, "METRICS"))
			section = SECTION_METRICS;
		else if (!strcmp(line, "LONG"))
			section = SECTION_TEXT;
		else if (section == SECTION_EVENTS)
			r = add_event(ret_group, line, file, number, error);
		else if (section == SECTION_METRICS)
			r = add_metric(ret_group, line, file, number, error);
		else if (section == SECTION_NONE)
			r = fm_error_set(error, EBADMSG, "%s:%u: not a performance group: \"%.40s\"", file, number,
			                 line);
	}
	if (!r && !ret_group->event_count)
		r = fm_error_set(error, EBADMSG, "%s: the group has no event", file);
	free(copy);
	return r;
}

int fm_group_read(const char *path, struct fm_group *ret_group, struct fm_error *error)
{
	FILE *input = fopen(path, "re");
	char *text;
	size_t length;
	int r;

	if (!input)
		return fm_error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	text = calloc(1, LARGEST + 1);
	length = text ? fread(text, 1, LARGEST, input) : 0;
	fclose(input);
	if (!text)
		return fm_error_set(error, ENOMEM, "no memory for %s", path);
	text[length] = '\0';
	r = fm_group_parse(text, path, ret_group, error);
	free(text);
	return r;
}

void fm_group_list(const struct fm_group *group, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned i = 0; i < group->event_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", group->events[i].name);
}

/* Values stand in this order: the counters, then these. */
enum { TIME, FREQUENCY, INVERSE_CLOCK, OTHERS };
static const char *const others[OTHERS] = {
    [TIME] = "time", [FREQUENCY] = "frequency", [INVERSE_CLOCK] = "inverseClock"};

struct named {
	const struct fm_group *group;
	const double *values;
};

/* Missing counts are reported by name, and searched here. */
static int index_of(void *context, const char *name)
{
	const struct named *named = context;
	int found = -1;

	for (unsigned i = 0; i < OTHERS; i++)
		if (!strcmp(others[i], name))
			found = FM_GROUP_EVENTS_MAX + (int)i;
	for (unsigned i = 0; i < named->group->event_count; i++)
		if (!strcmp(named->group->events[i].counter, name))
			found = (int)i;
	return found >= 0 && isfinite(named->values[found]) ? found : -1;
}

int fm_group_metric(const struct fm_group *group, unsigned metric, const double *counts, double seconds,
                    double frequency, double *ret_value, struct fm_error *error)
{
	double values[FM_GROUP_EVENTS_MAX + OTHERS];
	struct named named = {group, values};
	const struct fm_formula_names known = {
	    .index = index_of, .context = &named, .unknown = "there is no value for"};
	struct fm_formula formula;
	int r;

	memcpy(values, counts, group->event_count * sizeof(*counts));
	values[FM_GROUP_EVENTS_MAX + TIME] = seconds;
	values[FM_GROUP_EVENTS_MAX + FREQUENCY] = frequency;
	values[FM_GROUP_EVENTS_MAX + INVERSE_CLOCK] = 1 / frequency;
	r = fm_formula_parse(group->metrics[metric].formula, &known, &formula, error);
	if (r)
		return r;
	r = fm_formula_run(&formula, values, NULL, ret_value);
	return r ? fm_error_set(error, -r, "%s", r == -EDOM ? FM_FORMULA_DIVIDES : "its formula has no value") : 0;
}
