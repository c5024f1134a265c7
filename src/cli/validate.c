#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "observe/machines.h"
#include "cli/command.h"
#include "counters/counting.h"
#include "counters/listing.h"
#include "doctor/doctor.h"
#include "profile/simulated_host.h"
#include "json/figure.h"
#include "report/progress.h"
#include "report/validate_text.h"
#include "trust/measure.h"
#include "trust/simulate.h"

enum {
	KEY_MACHINE = FM_KEY_OWN,
	KEY_SCALE,
	KEY_FROM,
	KEY_DUMP,
	KEY_EXPLAIN,
	KEY_HTML,
	KEY_QUICK,
	KEY_SEED,
	KEY_PROFILE,
	KEY_NO_SAVE,
	KEY_MISSING_ZERO,
	LIVE_EVENTS_MAX = 4096,
};

static const struct argp_option options[] = {
    {"machine", KEY_MACHINE, "NAME", 0,
     "Validate the events of a simulated machine: haswell-ep, or a file with NAME.events beside it", 0},
    {"events", 'e', "LIST", 0, "Only these events (default: all that open and count)", 0},
    {"repeat", 'r', "N", 0, "Repetitions of every run (default 10)", 0},
    {"cpus", 'C', "LIST", 0, "Use these CPUs; the counters of the first are read", 0},
    {"quick", KEY_QUICK, NULL, 0, "Short runs with the widest instruction set only; nothing is saved", 0},
    {"scale", KEY_SCALE, "N", 0, "With --machine: make the caches N times smaller, which is faster; nothing is saved",
     0},
    {"seed", KEY_SEED, "N", 0, "Seed for the order of runs and for simulated noise (default 1)", 0},
    {"from", KEY_FROM, "FILE", 0, "Validate counts from FILE instead of measuring (CSV, see docs/validate.md)", 2},
    {"missing-zero", KEY_MISSING_ZERO, NULL, 0,
     "With --from: a quantity without a true. or socket. column in the file is zero in every run", 2},
    {"dump", KEY_DUMP, "FILE", 0, "Write all counts to FILE, for --from", 2},
    {"explain", KEY_EXPLAIN, "EVENT", 0, "Show all details of one event, with a plot", 2},
    {"html", KEY_HTML, "FILE", 0, "Write the report as an HTML page", 2},
    {"profile", KEY_PROFILE, "FILE", 0, "Use FILE as machine profile, and save the metrics in it", 2},
    {"no-save", KEY_NO_SAVE, NULL, 0, "Do not change the machine profile", 2},
    FM_OPTIONS_PRINTING,
    {0},
};

struct input {
	struct fm_common common;
	const char *machine, *events, *cpus, *from, *dump, *explain, *html, *profile;
	uint64_t repeats, scale, seed;
	bool quick, no_save, missing_zero;
};

static const struct fm_setting settings[] = {
    FM_TEXT(KEY_MACHINE, machine),
    FM_TEXT('e', events),
    FM_NUMBER('r', repeats, 1, 1000),
    FM_TEXT('C', cpus),
    FM_FLAG(KEY_QUICK, quick),
    FM_NUMBER(KEY_SCALE, scale, 1, 1024),
    FM_NUMBER(KEY_SEED, seed, 0, UINT64_MAX),
    FM_TEXT(KEY_FROM, from),
    FM_TEXT(KEY_DUMP, dump),
    FM_TEXT(KEY_EXPLAIN, explain),
    FM_TEXT(KEY_HTML, html),
    FM_TEXT(KEY_PROFILE, profile),
    FM_FLAG(KEY_NO_SAVE, no_save),
    FM_FLAG(KEY_MISSING_ZERO, missing_zero),
    {0},
};

static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;

	if (input->missing_zero && !input->from)
		return fm_error_set(error, EINVAL,
		                    "--missing-zero concerns the columns of a file: name the file with --from");
	if (input->from && (input->machine || input->events || input->cpus || input->quick))
		return fm_error_set(error, EINVAL, "--from takes the counts from a file: omit the other options");
	if (input->scale > 1 && !input->machine)
		return fm_error_set(error, EINVAL, "--scale needs a simulated machine: name one with --machine");
	return 0;
}

/* Keeps only the columns that -e names. Unknown names are errors. */
static int keep_named(struct fm_matrix *matrix, const char *list, struct fm_error *error)
{
	char *names = strdup(list), *save, *name;
	unsigned kept = 0;

	if (!names)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		int index = fm_matrix_find_event(matrix, name);
		struct fm_event_column swap;

		if (index < 0) {
			fm_error_set(error, EINVAL,
			             "there is no event \"%s\" here: 'fathom events --machine' lists the events", name);
			free(names);
			return -EINVAL;
		}
		if ((unsigned)index < kept)
			continue;
		swap = matrix->events[kept];
		matrix->events[kept++] = matrix->events[index];
		matrix->events[index] = swap;
	}
	free(names);
	for (unsigned i = kept; i < matrix->event_count; i++) {
		free(matrix->events[i].counts);
		free(matrix->events[i].means);
	}
	matrix->event_count = kept;
	return 0;
}

/* Rejects unknown events before the simulation, which takes long. */
static int check_named(const struct fm_simulated_events *events, const char *list, struct fm_error *error)
{
	char *names = strdup(list), *save, *name;
	unsigned index, count = 0;
	int r = 0;

	if (!names)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (name = strtok_r(names, ",", &save); name && !r; name = strtok_r(NULL, ",", &save), count++)
		r = fm_simulated_find(events, name, &index, error);
	free(names);
	return r || count ? r : fm_error_set(error, EINVAL, "-e names no event");
}

static int simulate(const struct input *input, struct fm_progress *progress, struct fm_matrix **ret_matrix,
                    struct fm_error *error)
{
	const struct fm_plan_options wishes = {.isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2,
	                                       .unit = input->scale > 1 || input->quick ? 1024 : 4096,
	                                       .triangle = input->scale > 1 || input->quick ? 1024 : 8192,
	                                       .small = input->quick};
	struct fm_simulate_options simulation = {.repeats = (unsigned)input->repeats,
	                                         .seed = input->seed,
	                                         .watcher = {&fm_interrupted, fm_progress_update, progress}};
	struct fm_machine_description machine;
	struct fm_simulated_events *events = NULL;
	struct fm_floors *floors = NULL;
	struct fm_plan *plan = NULL;
	int r = fm_machine_chosen(input->machine, &machine, error);

	if (!r)
		r = fm_simulated_load(input->machine, &events, error);
	if (!r)
		r = fm_floors_load(input->machine, &floors, error);
	simulation.floors = floors;
	if (!r && input->events)
		r = check_named(events, input->events, error);
	if (!r && input->scale > 1)
		r = fm_plan_scale_machine(&machine, (unsigned)input->scale, error);
	if (!r)
		r = fm_plan_build(&machine, &wishes, &plan, error);
	if (!r)
		r = fm_simulate_matrix(&machine, plan, events, &simulation, ret_matrix, error);
	if (!r && input->events) {
		r = keep_named(*ret_matrix, input->events, error);
	}
	fm_plan_free(plan);
	fm_floors_free(floors);
	if (events)
		fm_simulated_free(events);
	return r;
}

/* The row of doctor with the reason for missing hardware events and the remedy. */
static void quote_doctor(struct fm_error *error)
{
	for (unsigned i = 0; i < fm_probe_count; i++) {
		struct fm_capability capability;

		if (strcmp(fm_probes[i].name, "pmu-core") != 0)
			continue;
		fm_probe_run(&fm_probes[i], &capability);
		if (!capability.available)
			fm_error_set(error, ENOTSUP, "events cannot be measured here: %s. Remedy: %s", capability.why,
			             capability.remedy);
	}
}

/* Every event that opens and counts. User mode only: the operating system's events do not belong to the test kernels.
 */
static int find_events(const struct input *input, struct fm_event **ret_events, unsigned *ret_count,
                       struct fm_error *error)
{
	struct fm_event *events = calloc(LIVE_EVENTS_MAX, sizeof(*events)), cycles;
	struct fm_counting *counting;
	struct fm_listing listing;
	unsigned count = 0;
	int r;

	*ret_events = events;
	if (!events)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (input->events) {
		r = fm_events_parse(input->events, events, LIVE_EVENTS_MAX, error);
		if (r < 0)
			return r;
		count = (unsigned)r;
	} else {
		r = fm_event_resolve("cycles", &cycles, error);
		if (!r)
			r = fm_counting_open(&cycles, 1, &(struct fm_target){.task = 0}, &counting, error);
		if (r)
			return r;
		fm_counting_close(counting);
		r = fm_listing_create(NULL, true, &listing);
		if (r)
			return fm_error_set(error, ENOMEM, "out of memory");
		for (size_t i = 0; i < listing.count && count < LIVE_EVENTS_MAX; i++)
			if (listing.events[i].opens == FM_ANSWER_YES &&
			    !fm_event_resolve(listing.events[i].name, &events[count], error) &&
			    fm_event_needs_pmu(&events[count]))
				count++;
		fm_listing_free(&listing);
	}
	for (unsigned i = 0; i < count; i++) {
		events[i].group = 0;
		if (events[i].cpu < 0 && fm_event_needs_pmu(&events[i]))
			events[i].attributes.exclude_kernel = events[i].attributes.exclude_hv = 1;
	}
	*ret_count = count;
	return count ? 0 : fm_error_set(error, ENOTSUP, "no hardware event counts here");
}

static int measure(const struct input *input, const char *profile_path, struct fm_progress *progress,
                   struct fm_matrix **ret_matrix, struct fm_error *error)
{
	struct fm_measure_options wishes = {.repeats = (unsigned)input->repeats,
	                                    .seed = input->seed,
	                                    .watcher = {&fm_interrupted, fm_progress_update, progress}};
	struct fm_plan_options shape = {.unit = input->quick ? 8192 : 65536, .small = input->quick};
	struct fm_machine_description machine;
	struct fm_machine *profile = NULL;
	struct fm_event *events = NULL;
	struct fm_plan *plan = NULL;
	char state[4200];
	int r = find_events(input, &events, &wishes.event_count, error);

	if (r) {
		if (error->code == ENOTSUP || error->code == EACCES || error->code == EPERM) {
			error->code = ENOTSUP;
			quote_doctor(error);
		}
		free(events);
		return -error->code;
	}
	wishes.events = events;
	r = input->cpus ? fm_cpu_list_parse(input->cpus, &wishes.cpus, error)
	                : fm_cpu_list_allowed(&wishes.cpus, error);
	if (!r)
		r = fm_profile_chosen(input->profile, &profile, error);
	if (!r)
		r = fm_description_from_profile(profile, &machine, error);
	if (!r) {
		wishes.frequency_ghz = machine.frequency_ghz;
		fm_measure_adapt(&wishes.cpus, &machine);
		for (unsigned isa = 0; isa < FM_ISA_COUNT; isa++)
			shape.isas |= (unsigned)fm_isa_available((enum fm_isa)isa) << isa;
		shape.triangle = input->quick ? 1024 : 8192;
		r = fm_plan_build(&machine, &shape, &plan, error);
	}
	if (!r) {
		snprintf(state, sizeof(state), "%s.validate", profile_path ? profile_path : "fathom");
		wishes.state = profile_path ? state : NULL;
		r = fm_measure_matrix(&machine, plan, &wishes, ret_matrix, error);
	}
	fm_plan_free(plan);
	fm_machine_free(profile);
	free(events);
	return r;
}

/* Writes a file of the user; a symbolic link is not followed. */
static int write_file(const char *path, const struct fm_matrix *matrix, const struct fm_validation *validation)
{
	const struct fm_common common = {.output = path};
	FILE *output = fm_common_open(&common);

	if (!output)
		return FM_EXIT_FAILED;
	if (validation)
		fm_validation_to_html(validation, output);
	else
		fm_matrix_write(matrix, output);
	return fm_common_close(&common, output);
}

static int print(const struct input *input, const struct fm_validation *validation)
{
	FILE *output = fm_common_open(&input->common);

	if (!output)
		return FM_EXIT_FAILED;
	if (input->common.json) {
		json_t *root = fm_json_document("validate");

		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:b}", "name", validation->matrix->machine, "simulated",
		                              !strcmp(validation->matrix->origin, "simulated")));
		fm_json_set_null(root, "disturbance", "disturbance changes times, not counts; see reproducibility");
		fm_validation_to_json(validation, root);
		fm_json_print(root, output);
	} else if (input->common.separator) {
		fm_validation_print_separated(validation, output, input->common.separator);
	} else if (input->explain) {
		fm_validation_explain(validation, (unsigned)fm_matrix_find_event(validation->matrix, input->explain),
		                      output, fm_common_width(output));
	} else {
		fm_validation_print(validation, output, fm_common_width(output), input->common.verbosity);
	}
	return fm_common_close(&input->common, output);
}

/* Results of other machines and of scaled caches do not enter the profile. */
static bool saves(const struct input *input)
{
	return !input->no_save && !input->from && input->scale <= 1 && !input->quick && !input->events;
}

static int judge(const struct input *input, struct fm_matrix *matrix, const char *path, struct fm_progress *progress)
{
	const struct fm_validation_options wishes = {.watcher = {&fm_interrupted, fm_progress_update, progress}};
	struct fm_validation *validation;
	struct fm_error error;
	int code;

	if (input->explain && fm_matrix_find_event(matrix, input->explain) < 0) {
		fm_error_set(&error, EINVAL, "the event \"%s\" was not among the tested events", input->explain);
		return fm_report_error(&error);
	}
	if (input->dump && (code = write_file(input->dump, matrix, NULL)))
		return code;
	if (fm_validation_create(matrix, &wishes, &validation, &error))
		return fm_report_error(&error);
	fm_progress_end(progress);
	code = print(input, validation);
	if (!code && input->html)
		code = write_file(input->html, matrix, validation);
	if (!code && saves(input) && path) {
		if (fm_metrics_save(validation, path, &error))
			code = fm_report_error(&error);
		else if (input->common.verbosity >= 0)
			fprintf(stderr, "fathom: metrics saved in %s\n", path);
	}
	fm_validation_free(validation);
	return code;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.repeats = 10, .seed = 1};
	struct fm_matrix *matrix = NULL;
	struct fm_progress progress;
	struct fm_error error;
	char *path = NULL;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	if (fm_isa_read_mask(&error))
		return fm_report_error(&error);
	/* without a home directory events are judged, but nothing is saved */
	if ((input.profile ? !(path = strdup(input.profile)) && fm_error_set(&error, ENOMEM, "out of memory")
	                   : fm_profile_path(input.machine, &path, &error)) &&
	    error.code == ENOMEM)
		return fm_report_error(&error);
	fm_interrupt_install();
	fm_progress_begin(&progress, input.common.verbosity < 0);
	r = input.from      ? fm_matrix_read(input.from, &matrix, &error)
	    : input.machine ? simulate(&input, &progress, &matrix, &error)
	                    : measure(&input, path, &progress, &matrix, &error);
	if (!r && input.missing_zero)
		fm_matrix_take_as_zero(matrix);
	if (r) {
		fm_progress_end(&progress);
		code = fm_report_error(&error);
		if (code == FM_EXIT_NOT_HERE && !input.machine)
			fprintf(stderr, "fathom: a simulated machine needs no counters: fathom validate --machine "
			                "haswell-ep\n");
	} else {
		code = judge(&input, matrix, path, &progress);
		fm_progress_end(&progress);
	}
	fm_matrix_free(matrix);
	free(path);
	return code;
}

const struct fm_command fm_verb_validate = {
    .name = "validate",
    .summary = "test which events count correctly, and identify the quantity each event counts",
    .description =
        "Run kernels with exactly known numbers of loads, stores, cache lines and operations. Their data "
        "are in every level, on one core and on all cores. The known numbers are compared with the count of "
        "every event. Each event gets its counted quantities, its error, a correction formula if "
        "there is one, and a class: exact, proportional, sum, uneven, overlapping, blind, saturating, "
        "conditional, leaking, offset, indicator, stall, noisy, or dead. The trusted events give the best indicator of "
        "each resource, with its rate at 100 % utilisation, and the decomposition of cycles. These metrics "
        "are saved in the machine profile.\n\n"
        "To continue an interrupted measurement, give the same command again.",
    .examples = "Examples:\n"
                "  fathom validate                         every event of this machine\n"
                "  fathom validate -e LLC-load-misses,cycles -r 100\n"
                "  fathom validate --machine haswell-ep    a simulated machine with known flaws\n"
                "  fathom validate --machine haswell-ep --explain L2_RQSTS:RFO_HIT\n"
                "  fathom validate --dump counts.csv\n"
                "  fathom validate --from counts.csv --html page.html\n\n"
                "Exit status: 0 done, 1 failed, 2 wrong usage, 3 cannot be measured here.",
    .options = options,
    .settings = settings,
    .check = check,
    .run = run,
};
