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
	KEY_OVERHEAD,
	KEY_NO_LABORATORY,
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
     "A performance group in LIKWID's format, a file or an installed FAMILY/NAME: count its events, compute its "
     "metrics",
     0},
    {"counters", KEY_COUNTERS, "NAME", 0,
     "Source of the counts: perf (this machine's counters), windows (one native run, simulated in sampled windows), or "
     "exact (every load and store). With --machine also simulated (counters of that machine). Default: exact with "
     "--machine; otherwise perf if its counters suffice, or windows",
     0},
    {"engine", KEY_ENGINE, "NAME", 0,
     "Engine for exact counts: native (native code from a code cache; threads in parallel) or qemu (emulated; also "
     "runs programs that cannot be preloaded; reproducible counts with threads). Default: native without --machine if "
     "possible, otherwise qemu",
     0},
    {"curve", KEY_CURVE, NULL, 0,
     "Also draw the miss ratio over cache size. With windows: for the program, its regions, objects and lines, from "
     "followed cache lines. With --counters exact or --machine: for the program, from every load and store",
     0},
    {"bandwidth-curve", KEY_BANDWIDTH_CURVE, NULL, 0,
     "Also draw this machine's memory latency over memory traffic, by share of writes (from the profile), with the "
     "program's position",
     0},
    {"overhead", KEY_OVERHEAD, "SHARE", 0,
     "With windows: the program runs natively most of the time, so that counting takes this share of its processor "
     "time "
     "(10% or 0.1). Default: 10% for programs with several busy threads; others are counted all the time",
     0},
    {"slowdown", KEY_SLOWDOWN, "FACTOR", OPTION_HIDDEN, NULL, 0},
    {"no-laboratory", KEY_NO_LABORATORY, NULL, 0,
     "With windows and one thread: do not time parts of the program with all of its cache lines in L1 or L2. Waiting "
     "for cache lines is then simulated only",
     0},
    {"precision", KEY_PRECISION, "PERCENT", 0,
     "With windows: take fewer windows once the traffic of every level is known within this percentage; default 5", 0},
    {"pid", 'p', "PID", 0, "Count running processes, until they end, PROGRAM ends, or Ctrl-C; needs counters", 0},
    {"all", 'a', NULL, 0, "Count everything on all CPUs; needs counters", 0},
    {"per-thread", KEY_PER_THREAD, NULL, 0, "With -p: each thread separately", 0},
    {"interval", 'I', "MS", 0,
     "Also every MS milliseconds: wall-clock time with counters, simulated time with the engine", 0},
    {"repeat", 'r', "N", 0,
     "Run PROGRAM N times, instead of once; its output appears once. Additional runs measure the native run time. If "
     "the program is too short for windows and N is 3 or more, one run observes every access. Not with --machine",
     0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also save the results as a recording, NAME.fathom; 'fathom report FILE' prints it again, on any machine", 0},
    {"machine", KEY_MACHINE, "NAME", 0,
     "The simulated machine: haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from the machine profile), or a file",
     0},
    {"beside", KEY_BESIDE, "COMMAND", 0,
     "With --machine: run COMMAND at the same time as PROGRAM, on separate cores; both share the simulated caches and "
     "memory. COMMAND starts before PROGRAM and is ended after it; its output is discarded. Up to 16 times",
     0},
    {"beside-again", KEY_BESIDE_AGAIN, NULL, 0, "With --beside: restart a COMMAND that ends before PROGRAM", 0},
    {"cores", KEY_CORES, "LIST", 0, "Simulated cores (0-3+12): the n-th thread runs on the n-th; default all", 0},
    {"timing", KEY_TIMING, "KIND", OPTION_ARG_OPTIONAL,
     "Also simulate core timing: cycles and stalls by cause. For all instructions (several times slower), or with "
     "--timing=sampled in short windows, by the native engine",
     0},
    {"no-timing", KEY_NO_TIMING, NULL, 0, "Without --machine: no core timing; several times faster, but without cycles",
     0},
    {"region", KEY_REGION, "NAME", 0, "Count only inside the region (fathom.h) or function NAME", 0},
    {"instances", KEY_INSTANCES, "N-M", 0, "With --region: only its N-th to M-th instance", 0},
    {"window", KEY_WINDOW, "A-B", 0, "Count only from instruction A to B of each thread", 0},
    {"no-prefetch", KEY_NO_PREFETCH, NULL, 0, "Switch the simulated prefetchers off", 0},
    {"pages", KEY_PAGES, "BYTES", 0, "Page size of the simulated machine: 4096, 2097152", 0},
    {"skew", KEY_SKEW, "CYCLES", 0, "Limit of the simulated time that a thread may run ahead of another; default 1000",
     0},
    {"free-running", KEY_FREE, NULL, 0, "Run threads in parallel: faster, but counts vary between runs", 0},
    {"top", KEY_TOP, "N", 0, "List the N heaviest functions, lines and shared lines; default 10", 0},
    FM_OPTIONS_PRINTING,
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
	/* --beside: the text, and its words */
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

/* Splits words like a shell. Other shell syntax needs sh -c. */
static int parse_beside(struct input *input, const char *text, struct fm_error *error)
{
	unsigned at = input->wanted.beside_count;

	if (at == FM_ENGINE_BESIDE_MAX)
		return fm_error_set(error, EINVAL, "--beside may be given %d times", FM_ENGINE_BESIDE_MAX);
	if (wordexp(text, &input->beside_words[at], WRDE_NOCMD))
		return fm_error_set(error, EINVAL,
		                    "--beside takes a program with its arguments, not \"%s\": use sh -c '...' for "
		                    "shell syntax",
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

/* Programs side by side: exact counts only, without options that need a single program. */
static int check_beside(const struct fm_observation *wanted, struct fm_error *error)
{
	if (!wanted->beside_count)
		return wanted->beside_again ? fm_error_set(error, EINVAL, "--beside-again needs --beside") : 0;
	if (!wanted->machine)
		return fm_error_set(
		    error, EINVAL,
		    "--beside needs a simulated machine: --machine NAME, or --machine host for this one");
	if ((wanted->counters && strcmp(wanted->counters, "exact") != 0 && strcmp(wanted->counters, "auto") != 0) ||
	    wanted->events || (wanted->engine && strcmp(wanted->engine, "native") != 0))
		return fm_error_set(
		    error, EINVAL,
		    "--beside needs the native engine and exact counts: omit -e, -g, --engine qemu and other "
		    "--counters than exact");
	if (wanted->timing || wanted->sampled_timing || wanted->interval_ms || wanted->curve || wanted->region ||
	    wanted->window_end || wanted->free_running || wanted->skew)
		return fm_error_set(
		    error, EINVAL,
		    "--beside excludes --timing, -I, --curve, --region, --window, --free-running and --skew");
	return 0;
}

/* Rejects combinations of options: the first rule that is broken. */
static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;
	const struct fm_observation *wanted = &input->wanted;
	bool running = wanted->processes || wanted->system_wide, perf = is_source(input, "perf"),
	     simulated = is_source(input, "simulated"), windows = is_source(input, "windows"),
	     exact = is_source(input, "exact"), native = wanted->engine && !strcmp(wanted->engine, "native"),
	     emulator = wanted->engine && !native, simulated_time = wanted->interval_ms || wanted->window_end;
	const struct {
		bool broken;
		const char *message;
	} rules[] = {
	    {!wanted->program && !running, "no program given: fathom stat -- ./program"},
	    {simulated && !wanted->machine, "--counters simulated needs --machine"},
	    {perf && wanted->machine, "--counters perf reads this machine's counters: omit --machine"},
	    {exact && running, "the emulator runs a program from its beginning: omit -p and -a"},
	    {wanted->processes && wanted->system_wide, "-p and -a exclude each other"},
	    {wanted->per_thread && !wanted->processes, "--per-thread needs -p"},
	    {windows && emulator, "windows need the native engine: omit --engine qemu"},
	    {windows && (running || wanted->window_end || wanted->events),
	     "--counters windows excludes -p, -a, -e and --window"},
	    {wanted->curve && (running || perf || simulated || wanted->events || emulator),
	     "--curve needs the native engine: omit -p, -a, -e, --engine qemu and other --counters than windows and "
	     "exact"},
	    {input->bandwidth_curve && (wanted->machine || wanted->events),
	     "--bandwidth-curve needs this machine and its total traffic: omit --machine, -e and -g"},
	    {native && simulated_time,
	     "the native engine has no simulated time common to all threads: omit -I and --window"},
	    {(wanted->slowdown > 0 || wanted->precision > 0 || wanted->overhead > 0) &&
	         (exact || perf || simulated || wanted->engine || (wanted->machine && !windows)),
	     "--overhead and --precision need --counters windows"},
	    {wanted->overhead > 0 && (wanted->curve || wanted->region),
	     "--curve and --region need lines that are followed all the time: omit --overhead"},
	    {wanted->sampled_timing && emulator, "--timing=sampled needs the native engine: omit --engine qemu"},
	    {wanted->sampled_timing && simulated_time && !windows,
	     "--timing=sampled has no simulated time: omit -I and --window"},
	    {wanted->repeats > 1 && (!wanted->program || wanted->interval_ms || wanted->per_thread),
	     "-r repeats a program: omit -I and --per-thread"},
	    {wanted->machine && (running || wanted->repeats),
	     "a simulated machine runs a program once, from its beginning: omit -p, -a and -r"},
	    {wanted->machine && wanted->interval_ms && (wanted->events || simulated),
	     "a simulated machine has no time series of events: omit -I"},
	    {!wanted->machine && !wanted->events && wanted->window_end,
	     "--window needs --machine: otherwise the time of a window is unknown"},
	    {wanted->interval_ms && (wanted->no_timing || wanted->free_running) && !wanted->events,
	     "-I needs simulated time: omit --no-timing and --free-running"},
	    {wanted->region && wanted->events && !wanted->machine,
	     "--region needs the engine: with -e all regions are listed"},
	    {wanted->region && (running || perf), "--region needs the engine: with counters all regions are listed"},
	    {wanted->last_instance && !wanted->region, "--instances needs --region"},
	};

	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].broken)
			return fm_error_set(error, EINVAL, "%s", rules[i].message);
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
	                       "there is no group \"%s\": neither a file (./NAME for a file in this directory) nor an "
	                       "installed group (groups/)",
	                       input->group_name);
	if (!r)
		r = fm_group_parse(input->group_text, path, group, error);
	if (!r) {
		fm_group_list(group, input->group_events, sizeof(input->group_events));
		input->wanted.events = input->group_events;
		input->wanted.group = input->group_text;
	}
	free(group);
	return r;
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

static const struct fm_setting settings[] = {
    FM_TEXT(KEY_MACHINE, wanted.machine),
    FM_TEXT(KEY_RECORD, record),
    FM_FLAG(KEY_NO_TIMING, wanted.no_timing),
    FM_FLAG(KEY_BESIDE_AGAIN, wanted.beside_again),
    FM_FLAG(KEY_CURVE, wanted.curve),
    FM_FLAG(KEY_BANDWIDTH_CURVE, bandwidth_curve),
    FM_TEXT('e', wanted.events),
    FM_TEXT('p', wanted.processes),
    FM_FLAG('a', wanted.system_wide),
    FM_FLAG(KEY_PER_THREAD, wanted.per_thread),
    FM_NUMBER('I', wanted.interval_ms, 1, 1000000),
    FM_NUMBER('r', wanted.repeats, 1, 10000),
    FM_FLAG(KEY_FREE, wanted.free_running),
    FM_FLAG(KEY_NO_PREFETCH, wanted.no_prefetch),
    FM_TEXT(KEY_REGION, wanted.region),
    FM_NUMBER(KEY_SKEW, wanted.skew, 1, 1000000000),
    FM_NUMBER(KEY_TOP, top, 1, 100000),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;
	struct fm_observation *wanted = &input->wanted;

	switch (key) {
	case KEY_ENGINE:
		wanted->engine = argument;
		return !strcmp(argument, "native") || !strcmp(argument, "qemu")
		           ? 0
		           : fm_error_set(error, EINVAL, "--engine is native or qemu, not \"%s\"", argument);
	case KEY_BESIDE:
		return parse_beside(input, argument, error);
	case KEY_SLOWDOWN:
		return parse_slowdown(argument, &wanted->slowdown, error);
	case KEY_OVERHEAD:
		return fm_command_parse_overhead(argument, 10, &wanted->overhead, error);
	case KEY_NO_LABORATORY:
		wanted->no_laboratory = true;
		return 0;
	case KEY_PRECISION:
		return parse_precision(argument, &wanted->precision, error);
	case KEY_COUNTERS:
		return parse_counters(argument, &wanted->counters, error);
	case 'g':
		input->group_name = argument;
		return read_group(input, error);
	case KEY_CORES:
		return parse_cores(argument, &wanted->cores, error);
	case KEY_TIMING:
		wanted->sampled_timing = argument && !strcmp(argument, "sampled");
		wanted->timing = !wanted->sampled_timing;
		return !argument || !strcmp(argument, "all") || wanted->sampled_timing
		           ? 0
		           : fm_error_set(error, EINVAL, "--timing is all or sampled, not \"%s\"", argument);
	case KEY_PAGES:
		return parse_pages(argument, &wanted->page_bytes, error);
	case KEY_INSTANCES:
		return parse_range(argument, "--instances", &wanted->first_instance, &wanted->last_instance, error);
	case KEY_WINDOW:
		return parse_range(argument, "--window", &wanted->window_begin, &wanted->window_end, error);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* During observation */

struct live {
	struct fm_common *common;
	struct fm_output
	    output; /* opened at the first moment or at the end, so that the program's output comes first */
	struct fm_counted_view *view;
	unsigned moments;
};

static void print_remark(void *context, const char *text)
{
	const struct live *live = context;

	fm_common_remark(live->common, text);
}

/* Levels or events of the latest interval. */
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
	r = fm_run_check(input.record, &error);
	if (!r)
		r = fm_observe(&input.wanted, &recording, &error);
	if (r) {
		code = fm_run_failed(&input.common, recording, &error);
	} else {
		code = fm_run_print(&live.output, recording, fm_output_stat, input.record);
		if (code == FM_EXIT_RUN_FAILED)
			fprintf(stderr, "fathom: the program ended with exit status %d\n",
			        (int)recording->run.exit_status);
	}
	fm_counted_close(live.view);
	fm_recording_free(recording);
	free_input(&input);
	return code;
}

const struct fm_command fm_verb_stat = {
    .name = "stat",
    .summary = "show the memory behaviour of a program: levels, utilisation, cycles, patterns",
    .arguments = "[--] [PROGRAM [ARGUMENT...]]",
    .description =
        "The report has three parts. For each level of the memory hierarchy: bytes moved, GB/s, and share of the "
        "machine's peak. For the cycles: productive, bandwidth-bound, latency-bound, other stalls. For each known "
        "problem pattern: present, absent or inconclusive, with evidence, place and advice. Threads and marked regions "
        "(fathom.h) have the same figures.\n\n"
        "The program runs once, unless -r asks for more runs. Its output, exit status and signals are unchanged. If "
        "fathom is killed, the program continues.\n\n"
        "If the hardware counters suffice, they are used, with formulas confirmed by 'fathom validate' or the vendor's "
        "formulas; the report states the source. Otherwise the program runs natively from a code cache, two to three "
        "times slower. Windows of this instrumented run are simulated on a machine from the profile ('fathom "
        "machine'). Estimates for the whole run have 95 % confidence intervals. The native run time is estimated from "
        "the instrumented run and its measured overhead. A short run has wide intervals: -r 5 narrows them. --counters "
        "exact observes every load and store. --engine qemu emulates programs that cannot be preloaded, such as static "
        "ones.\n\n"
        "With --machine, all counts are exact counts of the simulated machine, per thread, region, function, source "
        "line and variable. Threads run one at a time in the order of simulated time, so the counts are "
        "reproducible.\n\n"
        "With -e, named events are counted by the kernel and the hardware of this machine, or, with --machine, by the "
        "simulated counters.",
    .examples = "Examples:\n"
                "  fathom stat -- ./program                      levels, cycles, patterns\n"
                "  fathom stat -r 5 -- ./program                 five runs: narrower intervals\n"
                "  fathom stat -I 10 -- ./program                and their course over time\n"
                "  fathom stat --region sweep --instances 3-5 -- ./program   only a region\n"
                "  fathom stat -p 4711 -I 1000                   a running process; needs counters\n"
                "  fathom stat --machine haswell-ep -- ./program   exact counts of another machine\n"
                "  fathom stat --machine haswell-ep --counters simulated -- ./program   its simulated counters\n"
                "  fathom stat --machine zen3 --beside './other 5' -- ./program   two programs, one hierarchy\n"
                "  fathom stat -e task-clock,page-faults -r 5 -- ./program   events by name\n"
                "  fathom stat -g haswell-ep/L2 -- ./program     a performance group\n"
                "  fathom stat --record run.fathom -- ./program  save it; fathom report run.fathom\n\n"
                "Exit status: that of the program (128+n for a signal); 124 cannot be measured here, 125 failed, 126 "
                "and 127 the program cannot be run or is not there, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .program = offsetof(struct input, wanted.program),
    .run = run,
};
