#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "counters/listing.h"
#include "exact/description.h"
#include "exact/simulated.h"
#include "json/figure.h"
#include "report/table.h"

enum { KEY_MACHINE = FM_KEY_OWN, KEY_NO_TRY };

static const struct argp_option options[] = {
    {"machine", KEY_MACHINE, "NAME", 0, "The events of a simulated machine, and what they are made of", 0},
    {"no-try", KEY_NO_TRY, NULL, 0, "Only the names: do not try whether each opens and counts", 0},
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
	json_object_set_new(root, "machine_why", json_string("the one Fathom runs on"));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("a list of names does not depend on the moment"));
	json_object_set_new(root, "events", array);
	json_dumpf(root, output, JSON_INDENT(1));
	fputc('\n', output);
	json_decref(root);
}

static void print_text(const struct fm_listing *listing, FILE *output)
{
	struct fm_table *table = fm_table_create("llll");
	const char *why = NULL;
	size_t counts = 0, refused = 0;

	fm_table_cell(table, "Event");
	fm_table_cell(table, "PMU");
	fm_table_cell(table, "here");
	fm_table_cell(table, "what it counts");
	for (size_t i = 0; i < listing->count; i++) {
		const struct fm_listed *event = &listing->events[i];

		fm_table_cell(table, "%s", event->name);
		fm_table_cell(table, "%s", event->pmu);
		fm_table_cell(table, "%s", answer(event));
		fm_table_cell(table, "%.80s", event->description);
		counts += event->counts == FM_ANSWER_YES;
		if (event->opens == FM_ANSWER_NO) {
			refused++;
			why = why ? why : event->why;
		}
	}
	fm_table_print(table, output, 0, 140);
	fm_table_free(table);
	fprintf(output, "\n%zu events, %zu count here, %zu are refused\n", listing->count, counts, refused);
	if (why)
		fprintf(output, "The first refusal: %s\n", why);
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
					fprintf(output, "%s\n    = %s\n    %s\n", fm_simulated_name(events, i),
					        fm_simulated_formula(events, i), fm_simulated_description(events, i));
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
		fm_error_set(&error, ENOENT, "no event matches \"%s\": fewer words find more", input.pattern);
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
			print_text(&listing, output);
		code = fm_common_close(&input.common, output);
	} else {
		code = FM_EXIT_FAILED;
	}
	fm_listing_free(&listing);
	return code;
}

const struct fm_command fm_verb_events = {
    .name = "events",
    .summary = "list and search events, and whether they count here",
    .arguments = "[PATTERN...]",
    .description =
        "List the events this machine can be asked for: those every kernel names, those its PMUs name in sysfs, "
        "and the vendor's names (libpfm4). Each is opened and given some work: \"counts\", \"opens only\" "
        "(a trap: it stays at zero), or \"no\" with the reason. A pattern is words that must all occur in name "
        "or description.",
    .examples = "Examples:\n"
                "  fathom events cache misses\n"
                "  fathom events --machine haswell-ep L2        simulated ones, with their formulas\n"
                "  fathom events --json | jq -r '.events[] | select(.counts).name'",
    .options = options,
    .parser = parse,
    .run = run,
};
