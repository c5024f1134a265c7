#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/chosen_machine.h"
#include "cli/command.h"
#include "cli/group_file.h"
#include "cli/native.h"
#include "cli/stat_events.h"
#include "cli/stat_levels.h"
#include "counters/group.h"
#include "exact/engine.h"
#include "exact/host.h"
#include "machine/machine.h"
#include "report/picture_text.h"
#include "report/series_text.h"
#include "report/stat_text.h"

enum {
	KEY_MACHINE = FM_KEY_OWN,
	KEY_CORES,
	KEY_TIMING,
	KEY_FREE,
	KEY_NO_PREFETCH,
	KEY_SKEW,
	KEY_PAGES,
	KEY_REGION,
	KEY_INSTANCES,
	KEY_WINDOW,
	KEY_TOP,
	KEY_PER_THREAD,
	KEY_NO_TIMING,
	KEY_COUNTERS,
};

/* Where counts come from; --counters names one. */
enum counters { COUNTERS_CHOOSE, COUNTERS_PERF, COUNTERS_EXACT, COUNTERS_SIMULATED };
static const char *const counters_names[] = {"auto", "perf", "exact", "simulated"};

static const struct argp_option options[] = {
    {"event", 'e', "LIST", 0,
     "Count these events, separated by commas, groups in braces ('fathom events' lists them): with this machine's "
     "counters, or with --machine those of the simulated one",
     0},
    {"group", 'g', "FILE", 0,
     "A performance group in LIKWID's format, a file or FAMILY/NAME of ours: its events are counted, its metrics "
     "computed",
     0},
    {"counters", KEY_COUNTERS, "NAME", 0,
     "Where counts come from: perf (this machine's counters), exact (the engine), or with --machine simulated (what "
     "that "
     "machine's counters would say); default perf where its counters can tell, else exact",
     0},
    {"pid", 'p', "PID", 0, "Count running processes, until they end, PROGRAM ends, or Ctrl-C; needs counters", 0},
    {"all", 'a', NULL, 0, "Count everything on all CPUs; needs counters", 0},
    {"per-thread", KEY_PER_THREAD, NULL, 0, "With -p: each thread by itself", 0},
    {"interval", 'I', "MS", 0, "Also every MS milliseconds: by counters of real time, by the engine of simulated time",
     0},
    {"repeat", 'r', "N", 0, "Run PROGRAM N times by itself, medians with their intervals; with --machine: not", 0},
    {"machine", KEY_MACHINE, "NAME", 0,
     "The simulated machine: haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from the machine profile), or a file",
     0},
    {"cores", KEY_CORES, "LIST", 0, "Simulated cores (0-3+12): the n-th thread runs on the n-th; default all", 0},
    {"timing", KEY_TIMING, NULL, 0, "Core timing as well: cycles and what the stalls were for; several times slower",
     0},
    {"no-timing", KEY_NO_TIMING, NULL, 0,
     "Without --machine: no core timing, which is several times faster; then no cycles", 0},
    {"region", KEY_REGION, "NAME", 0, "Count only inside the region of that name (fathom.h)", 0},
    {"instances", KEY_INSTANCES, "N-M", 0, "With --region: only its N-th to M-th instance", 0},
    {"window", KEY_WINDOW, "A-B", 0, "Count only from instruction A to B of each thread", 0},
    {"no-prefetch", KEY_NO_PREFETCH, NULL, 0, "Switch the simulated prefetchers off", 0},
    {"pages", KEY_PAGES, "BYTES", 0, "Page size of the simulated machine: 4096, 2097152", 0},
    {"skew", KEY_SKEW, "CYCLES", 0, "How far a thread may run ahead of another; default 1000", 0},
    {"free-running", KEY_FREE, NULL, 0, "Threads in parallel: faster, not the same twice", 0},
    {"top", KEY_TOP, "N", 0, "List the N heaviest functions, lines and shared lines; default 10", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_SEPARATOR,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_stat_request request;
	struct fm_engine_options engine;
	const char *machine;
	const char *group_name;
	struct fm_group group;
	char group_events[4096];
	enum counters counters;
	bool combined; /* counts from the engine, time from the program by itself */
	bool no_timing;
	uint64_t top;
	char **program;
};

/* "3-7", or "5" for one. */
static int parse_range(const char *text, const char *what, uint64_t *ret_first, uint64_t *ret_last,
                       struct fm_error *error)
{
	char *end;
	unsigned long long first, last;

	if (*text < '0' || *text > '9')
		goto wrong;
	first = last = strtoull(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		last = strtoull(end + 1, &end, 10);
	if (*end || last < first || last == 0)
		goto wrong;
	*ret_first = first;
	*ret_last = last;
	return 0;
wrong:
	return fm_error_set(error, EINVAL, "%s takes a range such as 3-7, not \"%s\"", what, text);
}

static unsigned long largest_number(const char *list)
{
	unsigned long largest = 0;

	while (*list) {
		char *end;
		unsigned long number = strtoul(list, &end, 10);

		largest = number > largest ? number : largest;
		list = end + (*end != '\0');
	}
	return largest;
}

/* Do the options go together? */
static int check(const struct input *input, struct fm_error *error)
{
	const struct fm_stat_request *request = &input->request;

	if (!input->program && !request->process && !request->system_wide)
		return fm_error_set(error, EINVAL,
		                    "there is no program to run: fathom stat --machine haswell-ep -- ./program");
	if (input->counters == COUNTERS_SIMULATED && !input->machine)
		return fm_error_set(error, EINVAL, "--counters simulated goes with --machine");
	if (input->counters == COUNTERS_PERF && input->machine)
		return fm_error_set(error, EINVAL,
		                    "a simulated machine has no counters of this one: no --counters perf");
	if (input->counters == COUNTERS_EXACT && (request->process || request->system_wide))
		return fm_error_set(error, EINVAL, "the exact engine runs a program from its beginning: no -p, -a");
	if (request->process && request->system_wide)
		return fm_error_set(error, EINVAL, "-p and -a exclude each other");
	if (request->per_thread && !request->process)
		return fm_error_set(error, EINVAL, "--per-thread goes with -p");
	if (request->repeats > 1 && (!input->program || request->interval_ms || request->per_thread))
		return fm_error_set(error, EINVAL, "-r repeats a program, without -I and --per-thread");
	if (input->machine && (request->process || request->system_wide || request->repeats))
		return fm_error_set(error, EINVAL,
		                    "a simulated machine runs a program from its beginning, once: no -p, -a, -r");
	if (input->machine && request->interval_ms && (request->events || input->counters == COUNTERS_SIMULATED))
		return fm_error_set(error, EINVAL, "a simulated machine has no time series of events: no -I");
	if (!input->machine && !request->events && input->engine.window_end)
		return fm_error_set(error, EINVAL, "the time of a window is not known: --window goes with --machine");
	if (request->interval_ms && (input->no_timing || input->engine.free_running) && !request->events)
		return fm_error_set(error, EINVAL, "-I needs simulated time: no --no-timing, no --free-running");
	if (input->engine.region && request->events && !input->machine)
		return fm_error_set(error, EINVAL, "--region is for the engine: with -e all regions are listed");
	if (input->engine.region && (request->process || request->system_wide || input->counters == COUNTERS_PERF))
		return fm_error_set(error, EINVAL, "--region is for the engine: by counters all regions are listed");
	if (input->engine.last_instance && !input->engine.region)
		return fm_error_set(error, EINVAL, "--instances goes with --region");
	return 0;
}

static int read_group(struct input *input, struct fm_error *error)
{
	char path[4096];

	if (!fm_group_file(input->group_name, path, sizeof(path)))
		return fm_error_set(error, EINVAL, "there is no group \"%s\": neither a file nor one of ours (groups/)",
		                    input->group_name);
	if (fm_group_read(path, &input->group, error)) {
		error->code = EINVAL;
		return -EINVAL;
	}
	fm_group_list(&input->group, input->group_events, sizeof(input->group_events));
	input->request.events = input->group_events;
	input->request.group = &input->group;
	return 0;
}

static int parse_counters(const char *name, enum counters *ret_counters, struct fm_error *error)
{
	for (size_t i = 0; i < sizeof(counters_names) / sizeof(counters_names[0]); i++)
		if (!strcmp(name, counters_names[i])) {
			*ret_counters = (enum counters)i;
			return 0;
		}
	return fm_error_set(error, EINVAL, "--counters is auto, perf, exact or simulated, not \"%s\"", name);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_error error;

	switch (key) {
	case KEY_MACHINE:
		input->machine = argument;
		return 0;
	case KEY_NO_TIMING:
		input->no_timing = true;
		return 0;
	case KEY_COUNTERS:
		return parse_counters(argument, &input->counters, &error) ? fm_usage_error(&error) : 0;
	case 'g':
		input->group_name = argument;
		return read_group(input, &error) ? fm_usage_error(&error) : 0;
	case 'e':
		input->request.events = argument;
		return 0;
	case 'p':
		input->request.process = argument;
		return 0;
	case 'a':
		input->request.system_wide = true;
		return 0;
	case KEY_PER_THREAD:
		input->request.per_thread = true;
		return 0;
	case 'I':
		return fm_text_parse_unsigned(argument, "-I", 1, 1000000, &input->request.interval_ms, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case 'r':
		return fm_text_parse_unsigned(argument, "-r", 1, 10000, &input->request.repeats, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case KEY_CORES:
		if (!*argument || strspn(argument, "0123456789-+") != strlen(argument)) {
			fm_error_set(&error, EINVAL,
			             "--cores takes numbers and ranges joined by +, such as 0-3+12, not \"%s\"",
			             argument);
			return fm_usage_error(&error);
		}
		input->engine.cores = argument;
		return 0;
	case KEY_TIMING:
		input->engine.timing = true;
		return 0;
	case KEY_FREE:
		input->engine.free_running = true;
		return 0;
	case KEY_NO_PREFETCH:
		input->engine.no_prefetch = true;
		return 0;
	case KEY_REGION:
		input->engine.region = argument;
		return 0;
	case KEY_SKEW:
		return fm_text_parse_unsigned(argument, "--skew", 1, 1000000000, &input->engine.skew, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case KEY_PAGES:
		if (fm_text_parse_unsigned(argument, "--pages", 1024, 1 << 30, &input->engine.page_bytes, &error))
			return fm_usage_error(&error);
		if (input->engine.page_bytes & (input->engine.page_bytes - 1)) {
			fm_error_set(&error, EINVAL, "--pages must be a power of two");
			return fm_usage_error(&error);
		}
		return 0;
	case KEY_TOP:
		return fm_text_parse_unsigned(argument, "--top", 1, 100000, &input->top, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case KEY_INSTANCES:
		return parse_range(argument, "--instances", &input->engine.first_instance, &input->engine.last_instance,
		                   &error)
		           ? fm_usage_error(&error)
		           : 0;
	case KEY_WINDOW:
		return parse_range(argument, "--window", &input->engine.window_begin, &input->engine.window_end, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case ARGP_KEY_ARG:
		input->program = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		return check(input, &error) ? fm_usage_error(&error) : 0;
	default:
		return fm_common_parse(key, argument, &input->common);
	}
}

/* The program by itself. The exit code when nothing more is to be done, else -1. */
static int run_natively(const struct input *input, struct fm_native *native, int64_t *output_bytes)
{
	const struct fm_native_options wishes = {.least = input->request.repeats ? (unsigned)input->request.repeats : 2,
	                                         .most = input->request.repeats ? (unsigned)input->request.repeats : 7,
	                                         .seconds = 1.5,
	                                         .region = input->engine.region,
	                                         .first_instance = input->engine.first_instance,
	                                         .last_instance = input->engine.last_instance};
	struct fm_error error;

	fm_interrupt_install();
	if (fm_native_run(input->program, &wishes, native, output_bytes, &error))
		return fm_report_error_of_run(&error);
	if (native->signalled || fm_interrupted) {
		if (input->common.verbosity >= 0)
			fprintf(stderr,
			        "fathom: the program ended with %d after %.3g s by itself; it was not run again\n",
			        native->exit_status, native->seconds.value);
		return native->exit_status;
	}
	return -1;
}

/* The same program in the engine; its output was seen already. */
static int run_in_engine(const struct input *input, struct fm_native *native, int64_t output_bytes,
                         struct fm_engine_run *ret_result, struct fm_error *error)
{
	int64_t engine_bytes;
	int saved, r;

	if (!input->combined)
		return fm_engine_execute(&input->engine, input->program, ret_result, error);
	if (!fm_input_rewind() && !isatty(STDIN_FILENO) && input->common.verbosity >= 0)
		fprintf(stderr, "fathom: standard input cannot be read twice: the engine's run finds it empty\n");
	saved = fm_output_divert();
	r = fm_engine_execute(&input->engine, input->program, ret_result, error);
	engine_bytes = fm_output_restore(saved);
	if (r)
		return r;
	fm_native_compare_regions(native, ret_result);
	if (ret_result->exit_status != native->exit_status) {
		native->differs = true;
		snprintf(native->difference, sizeof(native->difference),
		         "it ended with %d by itself, and with %d in the engine", native->exit_status,
		         ret_result->exit_status);
	} else if (output_bytes >= 0 && engine_bytes >= 0 && output_bytes != engine_bytes) {
		native->differs = true;
		snprintf(native->difference, sizeof(native->difference),
		         "it wrote %lld bytes by itself, and %lld in the engine", (long long)output_bytes,
		         (long long)engine_bytes);
	}
	return 0;
}

static int print(const struct input *input, const struct fm_stat *stat, const struct fm_picture *picture,
                 const struct fm_picture_source *source)
{
	struct fm_exact_parts each = {.source = source, .region = input->engine.region};
	const struct fm_picture_parts parts = fm_picture_exact_parts(&each);
	/* moments are of simulated time */
	struct fm_picture_source alone = {.machine = source->machine, .profile = source->profile, .run = source->run};
	const struct fm_series_source series = fm_series_exact(&alone);
	/* what the program printed comes first */
	FILE *output = fm_common_open(&input->common);

	if (!output)
		return FM_EXIT_FAILED;
	if (input->common.json) {
		json_t *root = fm_stat_to_json(stat, (unsigned)input->top);

		if (root && picture)
			fm_picture_add_to_document(picture, source, stat, root);
		if (root && input->engine.interval)
			json_object_set_new(root, "intervals", fm_series_to_json(&series));
		if (root && !json_dumpf(root, output, JSON_INDENT(1)))
			fputc('\n', output);
		json_decref(root);
	} else if (input->common.separator) {
		fm_stat_print_separated(stat, output, input->common.separator);
	} else if (input->combined && picture && input->common.verbosity < 2) {
		fm_picture_print(picture, &parts, stat, output, 100, input->common.verbosity);
	} else {
		fm_stat_print(stat, output, 100, (unsigned)input->top);
		if (picture && picture->active.available) {
			fputc('\n', output);
			fm_picture_print(picture, &parts, stat, output, 100, input->common.verbosity);
		}
	}
	if (input->engine.interval && !input->common.json && !input->common.separator)
		fm_series_print(&series, output, 100);
	return fm_common_close(&input->common, output);
}

/* By this machine's counters, where they can tell. The exit code, or -1 when the engine has to. */
static int count_levels(const struct input *input)
{
	const struct fm_stat_request *request = &input->request;
	bool only_perf = input->counters == COUNTERS_PERF || request->process || request->system_wide;
	struct fm_recipe *recipe;
	struct fm_error error;
	int code;

	if (input->counters == COUNTERS_EXACT || input->engine.region)
		return -1;
	if (fm_levels_recipe(request->system_wide, &recipe, &error)) {
		if (error.code == ENOTSUP && !only_perf)
			return -1;
		return fm_report_error_of_run(&error);
	}
	code = fm_stat_levels(request, recipe);
	fm_recipe_free(recipe);
	return code;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.top = 10};
	struct fm_machine_description machine = {0};
	struct fm_engine_run result;
	struct fm_machine *profile = NULL;
	struct fm_native native = {0};
	struct fm_picture *picture;
	struct fm_stat stat;
	struct fm_error error;
	int64_t output_bytes = -1;
	char all_cores[32];
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	input.request.common = &input.common;
	input.request.program = input.program;
	if (!input.machine && input.request.events)
		return fm_stat_count(&input.request);
	if (!input.machine && (code = count_levels(&input)) >= 0)
		return code;
	if (!input.machine) {
		input.combined = true;
		input.machine = "host";
		input.engine.timing = !input.no_timing;
		if (fm_chosen_profile(NULL, &profile, &error))
			return fm_report_error_of_run(&error);
	}
	if (fm_chosen_machine(input.machine, &machine, &error)) {
		/* a machine that is not there is no program that is not there */
		if (error.code == ENOENT || error.code == EBADMSG)
			error.code = EINVAL;
		return fm_report_error_of_run(&error);
	}
	if (input.request.group && !input.combined && fm_stat_check_group(&input.group, input.machine, &error))
		return fm_report_error_of_run(&error);
	/* what counters say of stalls needs cycles */
	input.engine.timing |= input.counters == COUNTERS_SIMULATED && !input.no_timing;
	if (input.request.interval_ms) {
		input.engine.timing = true;
		input.engine.interval = (uint64_t)((double)input.request.interval_ms * machine.frequency_ghz * 1e6);
	}
	if (input.engine.cores && largest_number(input.engine.cores) >= machine.sockets * machine.cores) {
		fm_error_set(&error, EINVAL, "--cores %s: %s has cores 0 to %u", input.engine.cores, machine.name,
		             machine.sockets * machine.cores - 1);
		fm_machine_free(profile);
		return fm_report_error_of_run(&error);
	}
	if (input.engine.page_bytes)
		machine.page_bytes = (unsigned)input.engine.page_bytes;
	input.engine.machine = &machine;
	if (!input.engine.cores) {
		snprintf(all_cores, sizeof(all_cores), "0-%u", machine.sockets * machine.cores - 1);
		input.engine.cores = all_cores;
	}
	fflush(stdout);
	if (input.combined && (code = run_natively(&input, &native, &output_bytes)) >= 0) {
		fm_machine_free(profile);
		return code;
	}
	if (run_in_engine(&input, &native, output_bytes, &result, &error)) {
		fm_machine_free(profile);
		return fm_report_error_of_run(&error);
	}
	if (result.signal == 4)
		fprintf(stderr, "fathom: the program met an instruction that the engine does not have, such as "
		                "AVX-512: build it for AVX2 "
		                "(-march=x86-64-v3), or mask it (GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F)\n");
	code = !input.combined ? result.exit_status : fm_interrupted ? result.exit_status : native.exit_status;
	picture = calloc(1, sizeof(*picture));
	if (fm_stat_build(&machine, &input.engine, &result, input.program[0], &stat, &error)) {
		code = fm_report_error_of_run(&error);
	} else {
		const struct fm_picture_source source = {
		    .machine = &machine, .profile = profile, .run = &result, .native = &native};
		int failed;

		if (picture)
			fm_picture_build(&source, &(struct fm_part){.region = input.engine.region, .thread = -1},
			                 picture);
		failed = input.counters == COUNTERS_SIMULATED && !input.request.events
		             ? fm_stat_levels_simulated(&input.request, input.machine, &stat)
		         : input.request.events ? fm_stat_count_simulated(&input.request, input.machine, &stat)
		         : print(&input, &stat, picture, &source) ? 125
		                                                  : 0;

		code = failed ? failed : code;
		for (unsigned i = 0; i < result.results->exec_count && input.common.verbosity >= 0; i++)
			fprintf(stderr, "fathom: the program executed %s, which was not followed\n",
			        result.results->execs[i]);
		fm_stat_free(&stat);
	}
	free(picture);
	fm_native_free(&native);
	fm_machine_free(profile);
	fm_engine_run_free(&result);
	return code;
}

const struct fm_command fm_verb_stat = {
    .name = "stat",
    .summary = "what a program does to the memory hierarchy: levels, utilisation, cycles, patterns",
    .arguments = "[--] [PROGRAM [ARGUMENT...]]",
    .description =
        "For each level of the hierarchy: what was moved, how fast, and how much of what this machine was measured to "
        "achieve that is; what the cycles were spent on; patterns of trouble, each present, absent or inconclusive, "
        "with "
        "evidence, place and what to try. For the program, its threads, and its regions (fathom.h).\n\n"
        "Where there are hardware counters that tell, they are used, by formulas that 'fathom validate' found to hold, "
        "or "
        "the vendor's, and the report says which. Where there are none, the program runs by itself for its time and in "
        "the "
        "exact engine for its counts: every load and store, on a simulated machine made from the profile ('fathom "
        "machine').\n\n"
        "With --machine everything is simulated: exact counts of that machine, per thread, region, function, source "
        "line "
        "and variable, and labelled so. Threads run one at a time in the order of simulated time, so that the same "
        "program "
        "gives the same counts again.\n\n"
        "With -e, named events: counted by the kernel and the hardware of this machine, or, with --machine, what the "
        "counters of the simulated one would say.",
    .examples = "Examples:\n"
                "  fathom stat -- ./program                                    levels, cycles, patterns\n"
                "  fathom stat -I 10 -- ./program                              and how they change over time\n"
                "  fathom stat --region sweep --instances 3-5 -- ./program     a part of it\n"
                "  fathom stat -p 4711 -I 1000                                 a running process; needs counters\n"
                "  fathom stat --machine haswell-ep -- ./program               exact counts of another machine\n"
                "  fathom stat --machine haswell-ep --counters simulated -- ./program   what its counters would say\n"
                "  fathom stat -e task-clock,page-faults -r 5 -- ./program     events by name\n"
                "  fathom stat -g haswell-ep/L2 -- ./program                   a performance group\n\n"
                "Exit status: that of the program (128+n for a signal); 124 cannot be measured here, 125 failed, 126 "
                "and 127 the program "
                "cannot be run or is not there, 2 wrong usage.",
    .runs_program = true,
    .options = options,
    .parser = parse,
    .run = run,
};
