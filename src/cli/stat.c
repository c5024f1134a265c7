#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "counters/group.h"
#include "engine/engine.h"
#include "model/counted.h"
#include "observe/machines.h"
#include "observe/observe.h"
#include "recording/store.h"

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
	KEY_RECORD,
	KEY_ENGINE,
	KEY_SLOWDOWN,
	KEY_PRECISION,
	KEY_CURVE,
	KEY_BESIDE,
	KEY_BESIDE_AGAIN,
	KEY_BANDWIDTH_CURVE,
};

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
     "Source of the counts: perf (this machine's counters), windows (the program runs natively, once, and is looked at "
     "now and then), exact (the engine, every load and store), or with --machine simulated (what that machine's "
     "counters would say); default: perf where its counters can tell, else windows; with --machine exact",
     0},
    {"engine", KEY_ENGINE, "NAME", 0,
     "What runs the program for exact counts: native (its own code in a code cache; threads in parallel) or qemu "
     "(emulated; what cannot be preloaded, the same counts twice with threads); default: qemu",
     0},
    {"curve", KEY_CURVE, NULL, 0,
     "Also draw the misses of a cache of any size, of the program, its regions, objects and lines: in windows, from "
     "lines that are followed for the whole run; with --counters exact or --machine, from every load and store, of the "
     "program",
     0},
    {"bandwidth-curve", KEY_BANDWIDTH_CURVE, NULL, 0,
     "Also draw this machine's latency of memory against its traffic, by share of writes (from the profile), and the "
     "program's place there",
     0},
    {"slowdown", KEY_SLOWDOWN, "FACTOR", 0,
     "In windows: the program may take about this many times its own time; default 2", 0},
    {"precision", KEY_PRECISION, "PERCENT", 0,
     "In windows: once the traffic of every level is known within this, look more seldom; default 5", 0},
    {"pid", 'p', "PID", 0, "Count running processes, until they end, PROGRAM ends, or Ctrl-C; needs counters", 0},
    {"all", 'a', NULL, 0, "Count everything on all CPUs; needs counters", 0},
    {"per-thread", KEY_PER_THREAD, NULL, 0, "With -p: each thread by itself", 0},
    {"interval", 'I', "MS", 0,
     "Also every MS milliseconds: wall-clock time with counters, simulated time with the engine", 0},
    {"repeat", 'r', "N", 0,
     "Run PROGRAM N times in all, instead of once; its output appears once. The further runs measure its native time, "
     "and "
     "with N of 3 and more one of them sees every access if the program is too short for windows. Not with --machine",
     0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also keep what was observed as a recording, NAME.fathom; 'fathom report FILE' prints it again, on any machine",
     0},
    {"machine", KEY_MACHINE, "NAME", 0,
     "The simulated machine: haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from the machine profile), or a file",
     0},
    {"beside", KEY_BESIDE, "COMMAND", 0,
     "With --machine: COMMAND runs beside PROGRAM, on cores of its own, and both use the same simulated caches and "
     "memory; may be given up to 16 times. It starts before PROGRAM and is ended after it; its output is thrown away",
     0},
    {"beside-again", KEY_BESIDE_AGAIN, NULL, 0, "With --beside: a COMMAND that ends before PROGRAM is started again",
     0},
    {"cores", KEY_CORES, "LIST", 0, "Simulated cores (0-3+12): the n-th thread runs on the n-th; default all", 0},
    {"timing", KEY_TIMING, "KIND", OPTION_ARG_OPTIONAL,
     "Core timing as well: cycles and stalls by cause; of all instructions, several times slower, or with "
     "--timing=sampled of short stretches, by the native engine",
     0},
    {"no-timing", KEY_NO_TIMING, NULL, 0, "Without --machine: no core timing; several times faster, but no cycles", 0},
    {"region", KEY_REGION, "NAME", 0, "Count only inside the region (fathom.h) or function of that name", 0},
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
	struct fm_observation wanted;
	const char *record;
	const char *group_name;
	char *group_text;
	char group_events[4096];
	uint64_t top;
	/* --beside, as given and in words */
	const char *beside_texts[FM_ENGINE_BESIDE_MAX];
	wordexp_t beside_words[FM_ENGINE_BESIDE_MAX];
	char *const *beside[FM_ENGINE_BESIDE_MAX];
	bool bandwidth_curve;
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

static bool is_source(const struct input *input, const char *name)
{
	return input->wanted.counters && !strcmp(input->wanted.counters, name);
}

/* In words as a shell has them; what only a shell can do is for one that is asked for. */
static int parse_beside(struct input *input, const char *text, struct fm_error *error)
{
	unsigned at = input->wanted.beside_count;

	if (at == FM_ENGINE_BESIDE_MAX)
		return fm_error_set(error, EINVAL, "--beside may be given %d times", FM_ENGINE_BESIDE_MAX);
	if (wordexp(text, &input->beside_words[at], WRDE_NOCMD))
		return fm_error_set(error, EINVAL,
		                    "--beside takes a program with its arguments, not \"%s\": use sh -c '...' for what "
		                    "only a shell can do",
		                    text);
	if (!input->beside_words[at].we_wordc) {
		wordfree(&input->beside_words[at]);
		return fm_error_set(error, EINVAL, "--beside takes a program with its arguments");
	}
	input->beside_texts[at] = text;
	input->beside[at] = input->beside_words[at].we_wordv;
	input->wanted.beside_texts = input->beside_texts;
	input->wanted.beside = input->beside;
	input->wanted.beside_count++;
	return 0;
}

static void free_input(struct input *input)
{
	for (unsigned i = 0; i < input->wanted.beside_count; i++)
		wordfree(&input->beside_words[i]);
	free(input->group_text);
}

/* Programs side by side: every reference of all of them is seen, and nothing that one of them alone has. */
static int check_beside(const struct fm_observation *wanted, struct fm_error *error)
{
	if (!wanted->beside_count)
		return wanted->beside_again ? fm_error_set(error, EINVAL, "--beside-again goes with --beside") : 0;
	if (!wanted->machine)
		return fm_error_set(error, EINVAL,
		                    "--beside simulates all of it: --machine NAME, or --machine host for this one");
	if ((wanted->counters && strcmp(wanted->counters, "exact") != 0 && strcmp(wanted->counters, "auto") != 0) ||
	    wanted->events || (wanted->engine && strcmp(wanted->engine, "native") != 0))
		return fm_error_set(
		    error, EINVAL,
		    "--beside needs the native engine and every reference: no -e, -g, --engine qemu, and no "
		    "other --counters than exact");
	if (wanted->timing || wanted->sampled_timing || wanted->interval_ms || wanted->curve || wanted->region ||
	    wanted->window_end || wanted->free_running || wanted->skew)
		return fm_error_set(
		    error, EINVAL,
		    "--beside has no --timing, -I, --curve, --region, --window, --free-running and --skew");
	return 0;
}

/* Do the options go together? */
static int check(const struct input *input, struct fm_error *error)
{
	const struct fm_observation *wanted = &input->wanted;

	if (!wanted->program && !wanted->processes && !wanted->system_wide)
		return fm_error_set(error, EINVAL, "there is no program to run: fathom stat -- ./program");
	if (is_source(input, "simulated") && !wanted->machine)
		return fm_error_set(error, EINVAL, "--counters simulated goes with --machine");
	if (is_source(input, "perf") && wanted->machine)
		return fm_error_set(error, EINVAL,
		                    "a simulated machine has no counters of this one: no --counters perf");
	if (is_source(input, "exact") && (wanted->processes || wanted->system_wide))
		return fm_error_set(error, EINVAL, "the exact engine runs a program from its beginning: no -p, -a");
	if (wanted->processes && wanted->system_wide)
		return fm_error_set(error, EINVAL, "-p and -a exclude each other");
	if (wanted->per_thread && !wanted->processes)
		return fm_error_set(error, EINVAL, "--per-thread goes with -p");
	if (is_source(input, "windows") && wanted->engine && strcmp(wanted->engine, "native") != 0)
		return fm_error_set(error, EINVAL, "windows are the native engine's: no --engine qemu");
	if (is_source(input, "windows") &&
	    (wanted->processes || wanted->system_wide || wanted->window_end || wanted->events))
		return fm_error_set(error, EINVAL, "windows have no -p, -a, -e and --window");
	if (wanted->curve &&
	    (wanted->processes || wanted->system_wide || is_source(input, "perf") || is_source(input, "simulated") ||
	     wanted->events || (wanted->engine && strcmp(wanted->engine, "native") != 0)))
		return fm_error_set(error, EINVAL,
		                    "--curve needs the native engine: no -p, -a, -e, --engine qemu, and no other "
		                    "--counters than windows and exact");
	if (input->bandwidth_curve && (wanted->machine || wanted->events))
		return fm_error_set(error, EINVAL,
		                    "--bandwidth-curve is of this machine and of all traffic: no --machine, -e, -g");
	if ((wanted->interval_ms || wanted->window_end) && wanted->engine && !strcmp(wanted->engine, "native"))
		return fm_error_set(
		    error, EINVAL,
		    "the native engine has no simulated time that all threads share: no -I and --window");
	if ((wanted->slowdown > 0 || wanted->precision > 0) &&
	    (is_source(input, "exact") || is_source(input, "perf") || is_source(input, "simulated") || wanted->engine ||
	     (wanted->machine && !is_source(input, "windows"))))
		return fm_error_set(error, EINVAL, "--slowdown and --precision are for windows");
	if (wanted->sampled_timing && wanted->engine && strcmp(wanted->engine, "native") != 0)
		return fm_error_set(error, EINVAL, "--timing=sampled is the native engine's: no --engine qemu");
	if (wanted->sampled_timing && (wanted->interval_ms || wanted->window_end) && !is_source(input, "windows"))
		return fm_error_set(error, EINVAL, "--timing=sampled has no simulated time: no -I and --window");
	if (wanted->repeats > 1 && (!wanted->program || wanted->interval_ms || wanted->per_thread))
		return fm_error_set(error, EINVAL, "-r repeats a program, without -I and --per-thread");
	if (wanted->machine && (wanted->processes || wanted->system_wide || wanted->repeats))
		return fm_error_set(error, EINVAL,
		                    "a simulated machine runs a program from its beginning, once: no -p, -a, -r");
	if (wanted->machine && wanted->interval_ms && (wanted->events || is_source(input, "simulated")))
		return fm_error_set(error, EINVAL, "a simulated machine has no time series of events: no -I");
	if (!wanted->machine && !wanted->events && wanted->window_end)
		return fm_error_set(error, EINVAL, "the time of a window is not known: --window goes with --machine");
	if (wanted->interval_ms && (wanted->no_timing || wanted->free_running) && !wanted->events)
		return fm_error_set(error, EINVAL, "-I needs simulated time: no --no-timing, no --free-running");
	if (wanted->region && wanted->events && !wanted->machine)
		return fm_error_set(error, EINVAL, "--region is for the engine: with -e all regions are listed");
	if (wanted->region && (wanted->processes || wanted->system_wide || is_source(input, "perf")))
		return fm_error_set(error, EINVAL, "--region is for the engine: by counters all regions are listed");
	if (wanted->last_instance && !wanted->region)
		return fm_error_set(error, EINVAL, "--instances goes with --region");
	return check_beside(wanted, error);
}

static int read_group(struct input *input, struct fm_error *error)
{
	struct fm_group *group = malloc(sizeof(*group));
	char path[4096];
	int r;

	if (!group)
		return fm_error_set(error, ENOMEM, "out of memory");
	r = fm_group_path(input->group_name, path, sizeof(path))
	        ? fm_file_text(path, &input->group_text, error)
	        : fm_error_set(error, EINVAL,
	                       "there is no group \"%s\": neither a file (./NAME for one in this folder) nor one of "
	                       "ours (groups/)",
	                       input->group_name);
	if (!r)
		r = fm_group_parse(input->group_text, path, group, error);
	if (!r) {
		fm_group_list(group, input->group_events, sizeof(input->group_events));
		input->wanted.events = input->group_events;
		input->wanted.group = input->group_text;
	}
	free(group);
	error->code = EINVAL;
	return r ? -EINVAL : 0;
}

static int parse_counters(const char *name, const char **ret_counters, struct fm_error *error)
{
	const struct fm_observer *observer = fm_observer_find(name);
	char names[200];

	if (strcmp(name, "auto") != 0 && strcmp(name, "simulated") != 0 &&
	    (!observer || (observer->kind != FM_OBSERVER_COUNTERS && observer->kind != FM_OBSERVER_ENGINE)))
		return fm_error_set(error, EINVAL, "--counters is %s, not \"%s\"",
		                    fm_observer_names(names, sizeof(names)), name);
	*ret_counters = name;
	return 0;
}

static int parse_cores(const char *text, const char **ret_cores, struct fm_error *error)
{
	if (!*text || strspn(text, "0123456789-+") != strlen(text))
		return fm_error_set(error, EINVAL,
		                    "--cores takes numbers and ranges joined by +, such as 0-3+12, not \"%s\"", text);
	*ret_cores = text;
	return 0;
}

static int parse_pages(const char *text, uint64_t *ret_bytes, struct fm_error *error)
{
	int r = fm_text_parse_unsigned(text, "--pages", 1024, 1 << 30, ret_bytes, error);

	if (!r && *ret_bytes & (*ret_bytes - 1))
		r = fm_error_set(error, EINVAL, "--pages must be a power of two");
	return r;
}

static int parse_slowdown(const char *text, double *ret_slowdown, struct fm_error *error)
{
	char *end;
	double slowdown = strtod(text, &end);

	if (end == text || *end || !(slowdown > 1) || slowdown > 1000)
		return fm_error_set(error, EINVAL, "--slowdown takes a number above 1, such as 2, not \"%s\"", text);
	*ret_slowdown = slowdown;
	return 0;
}

static int parse_precision(const char *text, double *ret_precision, struct fm_error *error)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(percent > 0) || percent > 100)
		return fm_error_set(error, EINVAL, "--precision takes a percentage, such as 5, not \"%s\"", text);
	*ret_precision = percent / 100;
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_observation *wanted = &input->wanted;
	struct fm_error error;
	int r = 0;

	switch (key) {
	case KEY_MACHINE:
		wanted->machine = argument;
		break;
	case KEY_RECORD:
		input->record = argument;
		break;
	case KEY_NO_TIMING:
		wanted->no_timing = true;
		break;
	case KEY_ENGINE:
		if (strcmp(argument, "native") != 0 && strcmp(argument, "qemu") != 0)
			r = fm_error_set(&error, EINVAL, "--engine is native or qemu, not \"%s\"", argument);
		wanted->engine = argument;
		break;
	case KEY_BESIDE:
		r = parse_beside(input, argument, &error);
		break;
	case KEY_BESIDE_AGAIN:
		wanted->beside_again = true;
		break;
	case KEY_CURVE:
		wanted->curve = true;
		break;
	case KEY_BANDWIDTH_CURVE:
		input->bandwidth_curve = true;
		break;
	case KEY_SLOWDOWN:
		r = parse_slowdown(argument, &wanted->slowdown, &error);
		break;
	case KEY_PRECISION:
		r = parse_precision(argument, &wanted->precision, &error);
		break;
	case KEY_COUNTERS:
		r = parse_counters(argument, &wanted->counters, &error);
		break;
	case 'g':
		input->group_name = argument;
		r = read_group(input, &error);
		break;
	case 'e':
		wanted->events = argument;
		break;
	case 'p':
		wanted->processes = argument;
		break;
	case 'a':
		wanted->system_wide = true;
		break;
	case KEY_PER_THREAD:
		wanted->per_thread = true;
		break;
	case 'I':
		r = fm_text_parse_unsigned(argument, "-I", 1, 1000000, &wanted->interval_ms, &error);
		break;
	case 'r':
		r = fm_text_parse_unsigned(argument, "-r", 1, 10000, &wanted->repeats, &error);
		break;
	case KEY_CORES:
		r = parse_cores(argument, &wanted->cores, &error);
		break;
	case KEY_TIMING:
		wanted->sampled_timing = argument && !strcmp(argument, "sampled");
		wanted->timing = !wanted->sampled_timing;
		if (argument && strcmp(argument, "all") != 0 && !wanted->sampled_timing)
			r = fm_error_set(&error, EINVAL, "--timing is all or sampled, not \"%s\"", argument);
		break;
	case KEY_FREE:
		wanted->free_running = true;
		break;
	case KEY_NO_PREFETCH:
		wanted->no_prefetch = true;
		break;
	case KEY_REGION:
		wanted->region = argument;
		break;
	case KEY_SKEW:
		r = fm_text_parse_unsigned(argument, "--skew", 1, 1000000000, &wanted->skew, &error);
		break;
	case KEY_PAGES:
		r = parse_pages(argument, &wanted->page_bytes, &error);
		break;
	case KEY_TOP:
		r = fm_text_parse_unsigned(argument, "--top", 1, 100000, &input->top, &error);
		break;
	case KEY_INSTANCES:
		r = parse_range(argument, "--instances", &wanted->first_instance, &wanted->last_instance, &error);
		break;
	case KEY_WINDOW:
		r = parse_range(argument, "--window", &wanted->window_begin, &wanted->window_end, &error);
		break;
	case ARGP_KEY_ARG:
		wanted->program = state->argv + state->next - 1;
		state->next = state->argc;
		break;
	case ARGP_KEY_END:
		r = check(input, &error);
		break;
	default:
		return fm_common_parse(key, argument, &input->common);
	}
	return r ? fm_usage_error(&error) : 0;
}

/* While it is observed */

struct live {
	struct fm_common *common;
	struct fm_output output; /* opened with the first moment, or at the end: what the program printed comes first */
	struct fm_counted_view *view;
	unsigned moments;
};

static void print_remark(void *context, const char *text)
{
	const struct live *live = context;

	fm_common_remark(live->common, text);
}

/* Levels of the interval that has just ended, or its events. */
static void print_interval(void *context, const struct fm_recording *recording, size_t first)
{
	struct live *live = context;
	struct fm_judged *moment = NULL;
	struct fm_error ignored;

	if (!live->output.writer->moment || !fm_output_open(&live->output))
		return;
	if (recording->asked.question == FM_QUESTION_COUNTED_LEVELS) {
		moment = calloc(1, sizeof(*moment));
		if (!moment || (!live->view && fm_counted_open(recording, &live->view, &ignored)) ||
		    !fm_counted_interval(live->view, live->moments++, &moment->picture, &moment->at)) {
			free(moment);
			return;
		}
	}
	live->output.writer->moment(recording, first, moment, &live->output.options, live->output.file);
	live->output.options.moments_written = true;
	if (moment)
		fm_picture_free(&moment->picture);
	free(moment);
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.top = 10};
	struct live live = {.common = &input.common};
	struct fm_recording *recording = NULL;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0) {
		free_input(&input);
		return code;
	}
	fm_output_choose(&live.output, &input.common, (unsigned)input.top);
	live.output.options.bandwidth_curve = input.bandwidth_curve;
	input.wanted.interrupted = &fm_interrupted;
	input.wanted.remark = print_remark;
	input.wanted.interval = print_interval;
	input.wanted.context = &live;
	fflush(NULL);
	fm_interrupt_install();
	r = input.record ? fm_store_check(input.record, &error) : 0;
	if (r && error.code != EEXIST)
		error.code = EIO;
	if (!r)
		r = fm_observe(&input.wanted, &recording, &error);
	if (r && recording) { /* cancelled: it tells no more than how the program ended */
		print_remark(&live, error.message);
		code = (int)recording->run.exit_status;
	} else if (r) {
		code = fm_report_error_of_run(&error);
	} else {
		code = (int)recording->run.exit_status;
		r = fm_output_stat(&live.output, recording);
		if (!r && input.record && fm_store_save(input.record, recording, &error)) {
			error.code = EIO;
			r = fm_report_error_of_run(&error);
		}
		if (r)
			fprintf(stderr, "fathom: the program itself ended with %d\n", code);
		code = r ? 125 : code;
	}
	fm_counted_close(live.view);
	fm_recording_free(recording);
	free_input(&input);
	return code;
}

const struct fm_command fm_verb_stat = {
    .name = "stat",
    .summary = "what a program does to the memory hierarchy: levels, utilisation, cycles, patterns",
    .arguments = "[--] [PROGRAM [ARGUMENT...]]",
    .description =
        "For each level of the hierarchy: bytes moved, GB/s, and the share of the machine's peak; what the "
        "cycles were spent on; "
        "patterns of trouble, each present, absent or inconclusive, with evidence, place and what to try. "
        "For the program, its "
        "threads, and its regions (fathom.h).\n\n"
        "The program is executed once, whatever its length, unless -r asks for more. Its output, its exit status and "
        "the "
        "signals that it gets are its own; if this tool is killed, the program goes on.\n\n"
        "Where hardware counters can tell, they are used, with formulas that 'fathom validate' confirmed or "
        "the vendor's, and "
        "the report says which. Elsewhere the program runs natively from a code cache, in two to three times its own "
        "time; windows of it are simulated on a machine made from the profile ('fathom machine'), and estimates for "
        "the "
        "whole run have 95 % intervals. Its native time is that of the run less the cost of counting, which is "
        "measured. "
        "A short run has wide intervals: -r 5 narrows them. --counters exact sees every load and store; --engine qemu "
        "emulates programs that cannot be preloaded, such as static ones.\n\n"
        "With --machine everything is simulated: exact counts of that machine, per thread, region, "
        "function, source line and "
        "variable. Threads run one at a time in the order of simulated time, so that the same program gives "
        "the same counts "
        "again.\n\n"
        "With -e, named events: counted by the kernel and the hardware of this machine, or, with --machine, "
        "what the counters "
        "of the simulated one would say.",
    .examples = "Examples:\n"
                "  fathom stat -- ./program                                    levels, cycles, patterns\n"
                "  fathom stat -r 5 -- ./program                               five runs: narrower intervals\n"
                "  fathom stat -I 10 -- ./program                              and how they change over time\n"
                "  fathom stat --region sweep --instances 3-5 -- ./program     a part of it\n"
                "  fathom stat -p 4711 -I 1000                                 a running process; needs counters\n"
                "  fathom stat --machine haswell-ep -- ./program               exact counts of another machine\n"
                "  fathom stat --machine haswell-ep --counters simulated -- ./program   what its counters would say\n"
                "  fathom stat --machine zen3 --beside './other 5' -- ./program   two programs, one hierarchy\n"
                "  fathom stat -e task-clock,page-faults -r 5 -- ./program     events by name\n"
                "  fathom stat -g haswell-ep/L2 -- ./program                   a performance group\n"
                "  fathom stat --record run.fathom -- ./program                keep it; fathom report run.fathom\n\n"
                "Exit status: that of the program (128+n for a signal); 124 cannot be measured here, 125 failed, 126 "
                "and 127 the program "
                "cannot be run or is not there, 2 wrong usage.",
    .runs_program = true,
    .options = options,
    .parser = parse,
    .run = run,
};
