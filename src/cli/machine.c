#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "trust/combination.h"
#include "cli/command.h"
#include "measure/characterise.h"
#include "profile/profile.h"
#include "json/figure.h"
#include "report/machine_text.h"
#include "report/simulated_core.h"
#include "report/progress.h"
#include "trust/simulated_core.h"

enum {
	KEY_QUICK = FM_KEY_OWN,
	KEY_FULL,
	KEY_BUDGET,
	KEY_SHOW,
	KEY_PROFILE,
	KEY_SEED,
	KEY_TOLERATE,
	KEY_CHECK,
	KEY_CORE,
	KEY_MACHINE,
};

static const struct argp_option options[] = {
    {"quick", KEY_QUICK, NULL, 0, "Measure fewer sizes and kernels, within 10 seconds", 0},
    {"full", KEY_FULL, NULL, 0, "Measure every kernel, vector width and thread count, without a time limit", 0},
    {"budget", KEY_BUDGET, "TIME", 0, "Stop measuring after TIME (30s, 5min) and keep the results so far", 0},
    {"core", KEY_CORE, NULL, 0,
     "Print the core's parameters: width, ports, latencies, reorder buffer, load and store queue, fill buffers; with "
     "--show: from the saved profile",
     0},
    {"machine", KEY_MACHINE, "NAME", 0,
     "Measure the core of a simulated machine instead, with the same kernels, and compare with its description file",
     0},
    {"cpus", 'C', "LIST", 0, "Measure on these CPUs (0-3,8); single-core figures come from the first one", 0},
    {"check", KEY_CHECK, NULL, 0,
     "Also check the emulator: run test kernels natively and in the engine and compare, about 10 seconds. This is "
     "the default without --quick and --budget",
     0},
    {"show", KEY_SHOW, NULL, 0, "Print the saved profile instead of measuring", 0},
    {"profile", KEY_PROFILE, "FILE", 0, "Save the profile to FILE instead of the default place; with --show: read FILE",
     0},
    {"tolerate", KEY_TOLERATE, "PCT", 0,
     "Fail with more than PCT % disturbed trials (default: never, intervals are then wide)", 0},
    {"seed", KEY_SEED, "N", 0, "Seed for the random orders (default 1)", 0},
    FM_OPTIONS_PRINTING,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_characterise_options characterise;
	bool quick, full, show, cpus, check, core;
	const char *profile, *machine;
};

static const struct fm_setting settings[] = {
    FM_FLAG(KEY_QUICK, quick),
    FM_FLAG(KEY_CHECK, check),
    FM_FLAG(KEY_CORE, core),
    FM_TEXT(KEY_MACHINE, machine),
    FM_FLAG(KEY_FULL, full),
    FM_FLAG(KEY_SHOW, show),
    FM_TEXT(KEY_PROFILE, profile),
    FM_DURATION(KEY_BUDGET, characterise.budget_seconds),
    FM_NUMBER(KEY_SEED, characterise.seed, 0, INT64_MAX),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;
	uint64_t number;
	int r;

	switch (key) {
	case 'C':
		input->cpus = true;
		return fm_cpu_list_parse(argument, &input->characterise.cpus, error);
	case KEY_TOLERATE:
		r = fm_text_parse_unsigned(argument, "--tolerate", 0, 100, &number, error);
		if (!r)
			input->characterise.tolerate = (double)number / 100;
		return r;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int check_options(void *target, struct fm_error *error)
{
	const struct input *input = target;
	bool limited = input->quick || input->full || input->cpus || input->characterise.budget_seconds > 0;

	if (input->quick && input->full)
		return fm_error_set(error, EINVAL, "--quick and --full exclude each other");
	if (input->machine && (input->show || limited || input->check || input->profile))
		return fm_error_set(error, EINVAL, "--machine allows no other options: the simulated machine is fixed");
	if (input->show && limited)
		return fm_error_set(error, EINVAL, "--show only prints the saved profile: omit the other options");
	return 0;
}

static int print(const struct input *input, const struct fm_machine *machine)
{
	FILE *output = fm_common_open(&input->common);

	if (!output)
		return FM_EXIT_FAILED;
	if (input->common.json) {
		fm_json_print(fm_machine_to_json(machine), output);
	} else if (input->common.separator) {
		fm_machine_print_separated(machine, output, input->common.separator);
	} else {
		unsigned width = fm_common_width(output);

		if (input->core)
			fm_machine_print_core(machine, output, width);
		else
			fm_machine_print(machine, output, width, input->common.verbosity);
	}
	return fm_common_close(&input->common, output);
}

/* Home directories and images get copied, and with them the profile of another machine. */
static void warn_if_foreign(const struct fm_machine *machine, const char *path)
{
	struct fm_topology here;

	if (!fm_topology_read(&here, NULL) && strcmp(here.processor, machine->topology.processor))
		fprintf(stderr,
		        "fathom: %s was measured on another processor (%s; this one is %s): run 'fathom machine' "
		        "again\n",
		        path, machine->topology.processor, here.processor);
}

static int show(const struct input *input, const char *path)
{
	struct fm_machine *machine;
	struct fm_error error;
	int code;

	if (access(path, F_OK)) {
		fprintf(stderr,
		        "fathom: no machine profile at %s: 'fathom machine --quick' measures one in 10 "
		        "seconds\n",
		        path);
		return FM_EXIT_FAILED;
	}
	if (fm_profile_load(path, &machine, &error))
		return fm_report_error(&error);
	if (input->common.verbosity >= 0)
		warn_if_foreign(machine, path);
	code = print(input, machine);
	fm_machine_free(machine);
	return code;
}

/* Compares the engine with the machine. A profile without this check is complete. */
static void tell_case(void *context, const struct fm_checked_case *checked)
{
	(void)context;
	fprintf(stderr, "  %-13s %-7s bytes %+6.1f %%   time %9.3g s, predicted %9.3g s, %+6.1f %%\n", checked->kernel,
	        checked->level, 100 * checked->count_error, checked->seconds, checked->predicted_seconds,
	        100 * checked->time_error);
}

static void check(const struct input *input, struct fm_machine *machine)
{
	struct fm_check_options wishes = {.quick = input->quick};
	struct fm_progress progress;
	struct fm_error error;

	if (!input->check && (input->quick || input->characterise.budget_seconds > 0))
		return;
	fm_progress_begin(&progress, input->common.verbosity < 0);
	wishes.watcher = (struct fm_watcher){&fm_interrupted, fm_progress_update, &progress};
	wishes.each = input->common.verbosity > 0 ? tell_case : NULL;
	if (fm_check_combination(machine, &wishes, &error) && (input->check || input->common.verbosity > 0))
		fprintf(stderr, "fathom: the emulator was not checked: %s\n", error.message);
	fm_progress_end(&progress);
}

/* The profile at `path`, if it belongs to this machine. */
static struct fm_machine *earlier_profile(const char *path)
{
	struct fm_machine *machine = NULL;
	struct fm_topology here;
	struct fm_error ignored;

	if (access(path, F_OK) || fm_profile_load(path, &machine, &ignored))
		return NULL;
	if (fm_topology_read(&here, &ignored) || strcmp(here.processor, machine->topology.processor) != 0 ||
	    strcmp(here.host, machine->topology.host) != 0) {
		fm_machine_free(machine);
		return NULL;
	}
	return machine;
}

#define REMARKABLE 0.5 /* share of disturbed trials */

static int measure(struct input *input, const char *path)
{
	struct fm_machine *earlier = input->quick ? earlier_profile(path) : NULL;
	struct fm_progress progress;
	struct fm_machine *machine = NULL;
	struct fm_error error;
	int status, code;

	fm_interrupt_install();
	fm_progress_begin(&progress, input->common.verbosity < 0);
	input->characterise.effort = input->quick ? FM_EFFORT_QUICK : input->full ? FM_EFFORT_FULL : FM_EFFORT_DEFAULT;
	input->characterise.watcher = (struct fm_watcher){&fm_interrupted, fm_progress_update, &progress};
	input->characterise.earlier = earlier;
	status = fm_machine_characterise(&input->characterise, &machine, &error);
	fm_machine_free(earlier);
	fm_progress_end(&progress);
	if (status == -EINTR) {
		fprintf(stderr, "fathom: interrupted; nothing was saved\n");
		return FM_EXIT_FAILED;
	}
	if (status) {
		code = fm_report_error(&error);
		if (status == -EBUSY && !access(path, F_OK))
			fprintf(stderr, "fathom: the previous profile %s is kept\n", path);
		return code;
	}
	if (input->common.verbosity >= 0 && fm_disturbance_share(&machine->disturbance) > REMARKABLE)
		fprintf(stderr,
		        "fathom: %.0f %% of the trials were disturbed and excluded: intervals are wide. Repeat on a "
		        "quieter "
		        "machine, or on other CPUs (-C)\n",
		        100 * fm_disturbance_share(&machine->disturbance));
	check(input, machine);
	status = fm_profile_save(path, machine, &error);
	code = print(input, machine);
	if (status)
		code = fm_report_error(&error);
	else if (input->common.verbosity >= 0)
		fprintf(stderr, "fathom: saved to %s\n", path);
	fm_machine_free(machine);
	return code;
}

/* The simulator, by the same kernels. Nothing is saved. */
static int simulate(const struct input *input)
{
	struct fm_machine_description description;
	struct fm_found_core found;
	struct fm_error error;
	FILE *output;

	if (fm_description_find(input->machine, &description, &error) || fm_core_simulate(&description, &found, &error))
		return fm_report_error(&error);
	output = fm_common_open(&input->common);
	if (!output)
		return FM_EXIT_FAILED;
	if (input->common.json) {
		fm_json_print(fm_simulated_core_to_json(&description, &found), output);
	} else {
		fm_simulated_core_print(&description, &found, output);
	}
	return fm_common_close(&input->common, output);
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.characterise = {.seed = 1, .tolerate = 1}};
	char *path = NULL;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (input.machine)
		return simulate(&input);
	input.characterise.choose_first = !input.cpus;
	if (!input.cpus && fm_cpu_list_allowed(&input.characterise.cpus, &error))
		return fm_report_error(&error);
	if (input.profile)
		path = strdup(input.profile);
	else if (fm_profile_default_path(&path, &error))
		return fm_report_error(&error);
	if (!path)
		return FM_EXIT_FAILED;
	code = input.show ? show(&input, path) : measure(&input, path);
	free(path);
	return code;
}

const struct fm_command fm_verb_machine = {
    .name = "machine",
    .summary = "measure latency, bandwidth and effective cache sizes; save the machine profile",
    .description = "Measure the memory hierarchy: latency and effective capacity of every level, bandwidth per kernel "
                   "and instruction set, outstanding misses, latency under load, core-to-core latency. The result is "
                   "saved as the machine profile; other verbs compare programs with it.\n\n"
                   "Every figure has a 95 % interval. \"Effective\" is the capacity available to a program. In a "
                   "virtual machine or with a shared cache, the effective capacity is often much smaller than the "
                   "advertised one. Trials disturbed by another task or by the hypervisor are discarded; the report "
                   "shows their number.",
    .examples = "Examples:\n"
                "  fathom machine --quick            a first look, 10 seconds\n"
                "  fathom machine -C 0-7             one socket of several\n"
                "  fathom machine --show             print the saved profile\n"
                "  fathom machine --machine zen3     the same kernels on a simulated core\n"
                "  fathom machine --json | jq '.levels[] | {name, latency_ns}'\n\n"
                "Exit status: 0 done, 1 failed, or more disturbed trials than --tolerate accepts, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check_options,
    .run = run,
};
