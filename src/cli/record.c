#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/recording_name.h"
#include "observe/observe.h"
#include "observe/sampled.h"
#include "recording/store.h"
#include "report/coverage.h"

enum {
	KEY_OVERHEAD = FM_KEY_OWN,
	KEY_RATE,
	KEY_SAMPLER,
	KEY_NO_CHILDREN,
	KEY_DELAY,
	KEY_DURATION,
	KEY_MAX_SIZE,
	KEY_NO_ARGUMENTS,
	KEY_NO_ALLOCATIONS,
	KEY_CALIBRATE,
	KEY_EVERY,
	KEY_MACHINE,
	KEY_NO_CURVE,
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Name of the recording; default fathom.fathom. An earlier one becomes fathom.fathom.old",
     0},
    FM_OPTION_FORCE,
    {"overhead", KEY_OVERHEAD, "SHARE", 0,
     "Share of processor time that recording may take, 0.1% to 50%; determines the number of samples; default 3%", 0},
    {"rate", KEY_RATE, "N", 0,
     "Fixed number of samples per second of processor time, without a limit on overhead; "
     "instead of --overhead",
     0},
    {"sampler", KEY_SAMPLER, "NAME", 0,
     "Sampling method: "
#define OBSERVER(identifier)
#define SAMPLER(identifier, words) words ", "
#include "observe/observers.def"
#undef OBSERVER
     "auto; default auto",
     0},
    {"every", KEY_EVERY, "N", 0,
     "With --sampler exact: sampling period of N references, randomised; default 1000; 1 "
     "takes each reference",
     0},
    {"machine", KEY_MACHINE, "NAME", 0, "With --sampler exact: the simulated machine; default this machine", 0},
    {"delay", KEY_DELAY, "TIME", 0, "Start sampling after this time: 500ms, 10s, 2min", 0},
    {"duration", KEY_DURATION, "TIME", 0, "Sample for this time; the program continues afterwards", 0},
    {"max-size", KEY_MAX_SIZE, "BYTES", 0, "Stop sampling when the files reach this size: 500M, 2G; default 1G", 0},
    {"no-children", KEY_NO_CHILDREN, NULL, 0, "Record only the program, not its child processes", 0},
    {"no-arguments", KEY_NO_ARGUMENTS, NULL, 0, "Do not keep command lines in the recording", 0},
    {"no-allocations", KEY_NO_ALLOCATIONS, NULL, 0, "Do not track allocations: the heap is one object", 0},
    {"no-curve", KEY_NO_CURVE, NULL, 0, "Do not log windows of references; 'report --curve' needs these windows", 0},
    {"calibrate", KEY_CALIBRATE, NULL, 0,
     "Measure the cost of each level again now (4 seconds); otherwise once an hour", 0},
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_observation wanted;
	struct fm_sampling_wishes wishes;
	bool has_overhead, force;
};

/* "500M": multiples of 1024. */
static int parse_size(const char *text, uint64_t *ret_bytes, struct fm_error *error)
{
	static const char units[] = "kMGT";
	unsigned long long number;
	const char *unit;
	char *end;
	unsigned shift = 0;

	errno = 0;
	number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	unit = number && *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (!number || *end || errno || number > ((uint64_t)1 << 50) >> shift || number << shift < 1 << 20)
		return fm_error_set(error, EINVAL, "--max-size takes at least 1M, such as 500M or 2G, not \"%s\"",
		                    text);
	*ret_bytes = (uint64_t)number << shift;
	return 0;
}

static int parse_sampler(const char *text, const char **ret_name, struct fm_error *error)
{
	char names[128];

	if (strcmp(text, "auto") != 0 && !fm_sampler_find(text))
		return fm_error_set(error, EINVAL, "--sampler is one of %s, not \"%s\"",
		                    fm_sampler_names(names, sizeof(names)), text);
	*ret_name = text;
	return 0;
}

static int check(void *target, struct fm_error *error)
{
	struct input *input = target;
	const struct fm_observer *sampler = input->wishes.sampler ? fm_sampler_find(input->wishes.sampler) : NULL;

	if (!input->wanted.program)
		return fm_error_set(error, EINVAL, "no program given: fathom record -- ./program");
	if (input->has_overhead && input->wishes.rate > 0)
		return fm_error_set(error, EINVAL,
		                    "--rate fixes the number of samples, --overhead their cost: choose one");
	if ((input->wishes.every || input->wanted.machine) && !(sampler && sampler->simulates))
		return fm_error_set(error, EINVAL, "--every and --machine need --sampler exact");
	if (!input->wishes.every)
		input->wishes.every = 1000;
	if (input->wishes.rate > 0)
		input->wishes.overhead = 0;
	return 0;
}

static const struct fm_setting settings[] = {
    FM_TEXT('o', wishes.path),
    FM_FLAG(FM_KEY_FORCE, force),
    FM_NUMBER(KEY_EVERY, wishes.every, 1, 1000000000),
    FM_TEXT(KEY_MACHINE, wanted.machine),
    FM_FLAG(KEY_NO_CHILDREN, wishes.no_children),
    FM_DURATION(KEY_DELAY, wishes.delay),
    FM_DURATION(KEY_DURATION, wishes.duration),
    FM_FLAG(KEY_NO_ARGUMENTS, wishes.no_arguments),
    FM_FLAG(KEY_NO_ALLOCATIONS, wishes.no_allocations),
    FM_FLAG(KEY_CALIBRATE, wishes.calibrate),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;
	uint64_t number = 0;
	int r;

	switch (key) {
	case KEY_OVERHEAD:
		input->has_overhead = true;
		return fm_command_parse_overhead(argument, 0.5, &input->wishes.overhead, error);
	case KEY_RATE:
		r = fm_text_parse_unsigned(argument, "--rate", 1, 100000, &number, error);
		input->wishes.rate = (double)number;
		return r;
	case KEY_SAMPLER:
		return parse_sampler(argument, &input->wishes.sampler, error);
	case KEY_MAX_SIZE:
		return parse_size(argument, &input->wishes.max_bytes, error);
	case KEY_NO_CURVE:
		input->wishes.windows = false;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One or two lines: number of samples, overhead, losses, file. */
static void print_end(const struct input *input, const struct fm_recording *recording)
{
	const struct fm_recorded_sampling *sampling = &recording->sampling;
	char samples[32], rate[32], what[160] = "";

	if (input->common.verbosity < 0)
		return;
	fm_text_grouped(samples, sizeof(samples), fm_recording_references(recording));
	if (sampling->rate.available && sampling->overhead.available)
		snprintf(what, sizeof(what), ", %s per second of processor time, overhead %.1f %%",
		         fm_text_number(rate, sizeof(rate), sampling->rate.value), sampling->overhead.value * 100);
	if (fm_coverage_is_partial(recording))
		fprintf(stderr, "fathom: coverage: %.0f %% of the processor time. Not recorded: %s\n",
		        100 * recording->run.seen_share, recording->run.unseen_why);
	fprintf(stderr, "fathom: %s samples%s; 'fathom report %s' shows them\n", samples, what, input->wishes.path);
	if (*sampling->loss)
		fprintf(stderr, "fathom: not complete: %s\n", sampling->loss);
	if (input->common.verbosity > 0)
		fprintf(stderr,
		        "fathom: %zu processes, %zu threads, %zu objects, %lu allocations, of these %lu tracked\n",
		        recording->sampled_processes_count, recording->sampled_threads_count, recording->memories_count,
		        (unsigned long)sampling->allocations, (unsigned long)sampling->tracked);
}

/* The parts are removed after the recording is saved. Until then the unfinished recording can be opened. A full disk
 * therefore does not change the program's exit status. */
static bool keep(const struct input *input, const struct fm_recording *recording)
{
	struct fm_error error;

	if (!fm_store_save(input->wishes.path, recording, &error)) {
		fm_sampled_discard_parts(input->wishes.path);
		return true;
	}
	fprintf(stderr, "fathom: %s; the samples are in %s.parts: free disk space, then run 'fathom report %s'\n",
	        error.message, input->wishes.path, input->wishes.path);
	return false;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {
	    .wishes = {.overhead = 0.03, .max_bytes = (uint64_t)1 << 30, .windows = true},
	};
	struct fm_recording *recording = NULL;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	input.wanted.sampling = &input.wishes;
	input.wanted.interrupted = &fm_interrupted;
	input.wanted.remark = fm_common_remark;
	input.wanted.context = &input.common;
	r = fm_recording_name_prepare(&input.wishes.path, input.force, &input.common, &error);
	if (!r)
		r = fm_observe(&input.wanted, &recording, &error);
	if (r) {
		code = fm_run_failed(&input.common, recording, &error);
	} else {
		code = (int)recording->run.exit_status;
		if (keep(&input, recording))
			print_end(&input, recording);
	}
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_record = {
    .name = "record",
    .summary = "sample memory references of a program at native speed: object, line, level, cost",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs the program at native speed and samples its loads and stores. Each sample has its instruction, call "
        "stack, object, size, level and cost. Threads, forked and executed processes are followed. No hardware "
        "counters are needed.\n\n"
        "The recording is one file; 'fathom report' shows it. Samples are never lost: if the program or fathom is "
        "killed, 'fathom report' opens the samples so far.\n\n"
        "Programs must be dynamically linked with glibc, and must not be setuid. Fathom does not change the program's "
        "output and exit status.",
    .examples = "Examples:\n"
                "  fathom record -- ./program                  into fathom.fathom\n"
                "  fathom report fathom.fathom                 the results\n"
                "  fathom record --overhead 10% -- ./program   more samples\n"
                "  fathom record --rate 1000 -- ./program      a fixed rate\n"
                "  fathom record -o a.fathom -- make test      all processes of a job\n"
                "  fathom record --delay 5s --duration 10s -- ./server\n\n"
                "Exit status: that of the program (128+n for a signal); 124 cannot be recorded here, 125 failed, 126 "
                "and 127 the program cannot be run or is not there, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .program = offsetof(struct input, wanted.program),
    .run = run,
};
