#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
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

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	size_t used;

	switch (key) {
	case KEY_MACHINE:
		input->machine = argument;
		return 0;
	case KEY_NO_TRY:
		input->no_try = true;
		return 0;
	case ARGP_KEY_ARG:
		used = strlen(input->pattern);
		snprintf(input->pattern + used, sizeof(input->pattern) - used, "%s%s", used ? " " : "", argument);
		return 0;
	default:
		return fm_common_parse(key, argument, &input->common);
	}
}

/* Columns of the output, at most 100. */
static unsigned columns(FILE *output)
{
	unsigned width = fm_text_columns(output == stdout ? STDOUT_FILENO : -1);

	return width < 100 ? width : 100;
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
	json_object_set_new(root, "machine", json_null());
	json_object_set_new(root, "machine_why", json_string("the machine that Fathom runs on"));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("a list of names is not affected by disturbance"));
	json_object_set_new(root, "events", array);
	json_dumpf(root, output, JSON_INDENT(1));
	fputc('\n', output);
	json_decref(root);
}

/* Two lines per event, since names of events take up to 80 columns. The name of a PMU is left out where the name of the
   event begins with it. */
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
	fm_table_print(table, output, 16, width);
	fm_table_free(table);
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
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

/* A formula or a description, indented and wrapped. */
static void print_indented(const char *mark, const char *text, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create(*mark ? "lw" : "w");

	if (*mark)
		fm_table_cell(table, "%s", mark);
	fm_table_cell(table, "%s", text);
	fm_table_print(table, output, 4, width);
	fm_table_free(table);
}

static void print_simulated(const struct fm_simulated_events *events, unsigned index, FILE *output)
{
	unsigned width = columns(output);

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
			json_object_set_new(root, "disturbance", json_null());
			json_object_set_new(root, "disturbance_why", json_string("simulated"));
			json_object_set_new(root, "events", array);
			json_dumpf(root, output, JSON_INDENT(1));
			fputc('\n', output);
			json_decref(root);
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
		fm_error_set(&error, ENOENT, "no event matches \"%s\": try fewer words", input.pattern);
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
			print_text(&listing, output, columns(output));
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
    .description = "List the events that can be named on this machine: the kernel's generic events, the events of "
                   "its PMUs in sysfs, and the vendor's events (libpfm4). Each event is opened and given some work. "
                   "The result is \"counts\", \"opens\" (it stayed at zero, perhaps because nothing happened), "
                   "\"opens only\" (it stayed at zero although something happened: do not use it), or \"no\" with "
                   "the reason. PATTERN is one or more words; all of them must occur in the name or the description.",
    .examples = "Examples:\n"
                "  fathom events cache misses\n"
                "  fathom events --machine haswell-ep L2     of a simulated machine\n"
                "  fathom events --json | jq -r '.events[] | select(.counts).name'",
    .options = options,
    .parser = parse,
    .run = run,
};
