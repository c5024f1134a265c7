#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "counters/listing.h"
#include "simulator/description.h"
#include "simulator/simulated.h"
#include "json/figure.h"
#include "report/table.h"

enum { KEY_MACHINE = FM_KEY_OWN, KEY_NO_TRY };

static const struct argp_option options[] = {
    {"machine", KEY_MACHINE, "NAME", 0, "List the events of a simulated machine, with their formulas", 0},
    {"no-try", KEY_NO_TRY, NULL, 0, "List only the names; do not try to open and count each event", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_SEPARATOR,
    FM_OPTION_QUIET,
    {0},
};

struct input {
	struct fm_common common;
	const char *machine;
	bool no_try;
	char pattern[512];
};

static const struct fm_setting settings[] = {
    FM_TEXT(KEY_MACHINE, machine),
    FM_FLAG(KEY_NO_TRY, no_try),
    {0},
};

/* All words of the pattern in one text. */
static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;
	size_t used = strlen(input->pattern);

	(void)error;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	snprintf(input->pattern + used, sizeof(input->pattern) - used, "%s%s", used ? " " : "", argument);
	return 0;
}

static const char *answer(const struct fm_listed *event)
{
	if (event->opens == FM_ANSWER_UNKNOWN)
		return "not tried";
	if (event->opens == FM_ANSWER_NO)
		return "no";
	return event->counts == FM_ANSWER_YES ? "counts" : event->counts == FM_ANSWER_NO ? "opens only" : "opens";
}

static json_t *answer_json(enum fm_answer given)
{
	return given == FM_ANSWER_UNKNOWN ? json_null() : json_boolean(given == FM_ANSWER_YES);
}

static void print_json(const struct fm_listing *listing, FILE *output)
{
	json_t *root = fm_json_document("events"), *array = json_array();

	for (size_t i = 0; i < listing->count; i++) {
		const struct fm_listed *event = &listing->events[i];
		json_t *entry = json_pack("{s:s, s:s, s:s}", "name", event->name, "pmu", event->pmu, "description",
		                          event->description);

		json_object_set_new(entry, "opens", answer_json(event->opens));
		json_object_set_new(entry, "counts", answer_json(event->counts));
		if (*event->why)
			json_object_set_new(entry, event->opens == FM_ANSWER_NO ? "opens_why" : "counts_why",
			                    json_string(event->why));
		json_array_append_new(array, entry);
	}
	fm_json_set_null(root, "machine", "the machine that Fathom runs on");
	fm_json_set_null(root, "disturbance", "not applicable: a list of events contains no measurement");
	json_object_set_new(root, "events", array);
	fm_json_print(root, output);
}

/* Two lines per event, because names of events have up to 80 columns. The PMU is omitted if the name of the event
 * begins with its name. */
static void print_event(const struct fm_listed *event, FILE *output, unsigned width)
{
	bool named = !strncmp(event->name, event->pmu, strlen(event->pmu));
	struct fm_table *table;

	fprintf(output, "%-10s  %s%s%s%s\n", answer(event), event->name, named ? "" : " (", named ? "" : event->pmu,
	        named ? "" : ")");
	if (!*event->description)
		return;
	table = fm_table_create("w");
	fm_table_cell(table, "%s", event->description);
	fm_table_end(table, output, 16, width);
}

static void print_text(const struct fm_listing *listing, FILE *output, unsigned width)
{
	struct fm_table *table;
	const char *why = NULL;
	size_t counts = 0, refused = 0;

	for (size_t i = 0; i < listing->count; i++) {
		const struct fm_listed *event = &listing->events[i];

		print_event(event, output, width);
		counts += event->counts == FM_ANSWER_YES;
		if (event->opens == FM_ANSWER_NO) {
			refused++;
			why = why ? why : event->why;
		}
	}
	fprintf(output, "\n%zu events, %zu count here, %zu are refused\n", listing->count, counts, refused);
	if (!why)
		return;
	table = fm_table_create("lw");
	fm_table_cell(table, "First refusal:");
	fm_table_cell(table, "%s", why);
	fm_table_end(table, output, 0, width);
}

/* A formula or a description, indented and wrapped. */
static void print_indented(const char *mark, const char *text, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create(*mark ? "lw" : "w");

	if (*mark)
		fm_table_cell(table, "%s", mark);
	fm_table_cell(table, "%s", text);
	fm_table_end(table, output, 4, width);
}

static void print_simulated(const struct fm_simulated_events *events, unsigned index, FILE *output)
{
	unsigned width = fm_common_width(output);

	fprintf(output, "%s\n", fm_simulated_name(events, index));
	print_indented("=", fm_simulated_formula(events, index), output, width);
	print_indented("", fm_simulated_description(events, index), output, width);
}

static int run_simulated(const struct input *input)
{
	struct fm_machine_description machine;
	struct fm_simulated_events *events;
	struct fm_error error;
	FILE *output;

	if (fm_description_find(input->machine, &machine, &error) || fm_simulated_load(input->machine, &events, &error))
		return fm_report_error(&error);
	output = fm_common_open(&input->common);
	if (output) {
		if (input->common.json) {
			json_t *root = fm_json_document("events"), *array = json_array();

			for (unsigned i = 0; i < fm_simulated_count(events); i++)
				if (fm_simulated_matches(events, i, input->pattern))
					json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:b, s:b, s:s}", "name",
					                                       fm_simulated_name(events, i), "pmu",
					                                       machine.name, "description",
					                                       fm_simulated_description(events, i),
					                                       "opens", 1, "counts", 1, "formula",
					                                       fm_simulated_formula(events, i)));
			json_object_set_new(root, "machine",
			                    json_pack("{s:s, s:b}", "name", machine.name, "simulated", 1));
			fm_json_set_null(root, "disturbance", "simulated");
			json_object_set_new(root, "events", array);
			fm_json_print(root, output);
		} else {
			const char *separator = input->common.separator;

			for (unsigned i = 0; i < fm_simulated_count(events); i++) {
				if (!fm_simulated_matches(events, i, input->pattern))
					continue;
				if (separator)
					fprintf(output, "%s%s%s%s%s\n", fm_simulated_name(events, i), separator,
					        fm_simulated_formula(events, i), separator,
					        fm_simulated_description(events, i));
				else
					print_simulated(events, i, output);
			}
		}
	}
	fm_simulated_free(events);
	return output ? fm_common_close(&input->common, output) : FM_EXIT_FAILED;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {0};
	struct fm_listing listing;
	struct fm_error error;
	FILE *output;
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (input.machine)
		return run_simulated(&input);
	if (fm_listing_create(*input.pattern ? input.pattern : NULL, !input.no_try, &listing)) {
		fm_error_set(&error, ENOMEM, "out of memory");
		return fm_report_error(&error);
	}
	if (!listing.count && !input.common.json) {
		fm_listing_free(&listing);
		fm_error_set(&error, ENOENT, "no event matches \"%s\": use fewer words", input.pattern);
		return fm_report_error(&error);
	}
	output = fm_common_open(&input.common);
	if (output) {
		if (input.common.json)
			print_json(&listing, output);
		else if (input.common.separator)
			for (size_t i = 0; i < listing.count; i++)
				fprintf(output, "%s%s%s%s%s%s%s\n", listing.events[i].name, input.common.separator,
				        listing.events[i].pmu, input.common.separator, answer(&listing.events[i]),
				        input.common.separator, listing.events[i].description);
		else
			print_text(&listing, output, fm_common_width(output));
		code = fm_common_close(&input.common, output);
	} else {
		code = FM_EXIT_FAILED;
	}
	fm_listing_free(&listing);
	return code;
}

const struct fm_command fm_verb_events = {
    .name = "events",
    .summary = "list and search events, and test whether they count here",
    .arguments = "[PATTERN...]",
    .description = "List the events of this machine: the kernel's generic events, the events of its PMUs in sysfs, "
                   "and the vendor's events (libpfm4). Each event is opened while a test load runs. The result is one "
                   "of four:\n\n"
                   "  counts      the event counted\n"
                   "  opens       the count stayed at zero; perhaps the load does not cause\n"
                   "              this event\n"
                   "  opens only  the count stayed at zero although the load causes this\n"
                   "              event: do not use it\n"
                   "  no          the event cannot be opened, with the reason\n\n"
                   "PATTERN is one or more words; all of them must occur in the name or the description.",
    .examples = "Examples:\n"
                "  fathom events cache misses\n"
                "  fathom events --machine haswell-ep L2     of a simulated machine\n"
                "  fathom events --json | jq -r '.events[] | select(.counts).name'",
    .options = options,
    .settings = settings,
    .parse = parse,
    .run = run,
};
