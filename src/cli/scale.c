#include <argp.h>
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "report/progress.h"
#include "scale/scale.h"

enum {
	KEY_MACHINE = FM_KEY_OWN,
	KEY_BY,
	KEY_VARIABLE,
	KEY_BUDGET,
	KEY_RECORD,
	KEY_TIMES,
};

static const struct argp_option options[] = {
    {"threads", 't', "LIST", 0,
     "Numbers of threads, such as 1,2,4 or 1-8 or 8-64:8; default: 1, 2, 4 … up to the number of processors", 0},
    {"by", KEY_BY, "WAY", 0,
     "threads: the program gets the number, in place of {threads} in the command or by variables such as "
     "OMP_NUM_THREADS; cpus: processor masks, for any program; default: threads",
     0},
    {"variable", KEY_VARIABLE, "NAME", 0,
     "Set only this variable to the number of threads, not OMP_NUM_THREADS and similar ones", 0},
    {"repeat", 'r', "N", 0,
     "Number of rounds; one round runs each number of threads once; default: 5 to 15, for about one second with the "
     "smallest number",
     0},
    {"budget", KEY_BUDGET, "TIME", 0, "Time limit; no new run starts that would exceed it; default 5min", 0},
    {"times-only", KEY_TIMES, NULL, 0, "Native runs only; bandwidth, spinning and source lines are not reported", 0},
    {"machine", KEY_MACHINE, "NAME", 0,
     "Run on this simulated machine instead: core2-quad, haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from the "
     "machine profile), or a file",
     0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also save all runs and results as a recording; 'fathom report FILE' prints it again", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_scale_wishes wishes;
	uint64_t rounds;
	const char *record;
};

static int check(void *target, struct fm_error *error)
{
	struct input *input = target;
	struct fm_scale_wishes *wishes = &input->wishes;

	wishes->rounds = (unsigned)input->rounds;

	if (!wishes->observation.program)
		return fm_error_set(error, EINVAL, "no program given: fathom scale -- ./program");
	if (wishes->by_cpus && wishes->observation.machine)
		return fm_error_set(error, EINVAL, "--by cpus limits processors of this machine: omit --machine");
	if (wishes->by_cpus && wishes->variable)
		return fm_error_set(error, EINVAL, "--by cpus sets no variable: omit --variable");
	if (wishes->by_cpus && fm_scale_has_placeholder(wishes->observation.program))
		return fm_error_set(error, EINVAL, "--by cpus conflicts with {threads}: omit one of the two");
	if (wishes->variable && (!*wishes->variable || strchr(wishes->variable, '=')))
		return fm_error_set(error, EINVAL, "--variable takes the name of a variable, not \"%s\"",
		                    wishes->variable);
	return 0;
}

static int parse_by(const char *text, bool *ret_by_cpus, struct fm_error *error)
{
	if (strcmp(text, "threads") != 0 && strcmp(text, "cpus") != 0)
		return fm_error_set(error, EINVAL, "--by is threads or cpus, not \"%s\"", text);
	*ret_by_cpus = !strcmp(text, "cpus");
	return 0;
}

static const struct fm_setting settings[] = {
    FM_TEXT(KEY_VARIABLE, wishes.variable),
    FM_NUMBER('r', rounds, 1, 100),
    FM_DURATION(KEY_BUDGET, wishes.budget),
    FM_FLAG(KEY_TIMES, wishes.times_only),
    FM_TEXT(KEY_MACHINE, wishes.observation.machine),
    FM_TEXT(KEY_RECORD, record),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;

	switch (key) {
	case 't':
		return fm_scale_counts_parse(argument, &input->wishes.counts, error);
	case KEY_BY:
		return parse_by(argument, &input->wishes.by_cpus, error);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.wishes.budget = 300};
	struct fm_progress progress;
	struct fm_recording *recording = NULL;
	struct fm_output output;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	fm_output_choose(&output, &input.common, 0);
	input.wishes.observation.interrupted = &fm_interrupted;
	input.wishes.observation.remark = fm_common_remark;
	input.wishes.observation.context = &input.common;
	fm_progress_begin(&progress, input.common.verbosity < 0);
	input.wishes.progress = fm_progress_update;
	input.wishes.progress_context = &progress;
	r = fm_run_check(input.record, &error);
	if (!r)
		r = fm_scale_run(&input.wishes, &recording, &error);
	fm_progress_end(&progress);
	code = r ? fm_run_failed(&input.common, recording, &error)
	         : fm_run_print(&output, recording, fm_output_scale, input.record);
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_scale = {
    .name = "scale",
    .summary = "run a program with 1, 2, 4 … threads, and find the cause that limits its scaling",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs a program with several numbers of threads, interleaved. Reports speed-up and bandwidth for each number, "
        "and one verdict: saturated (with the level), imbalanced, synchronising, serial, too-fine, scaling, "
        "oversubscribed, or inconclusive.\n\n"
        "The time of all processors is divided into components: useful work, extra time for the same work, one thread "
        "alone, imbalance, waiting, cache line transfers, delay without a processor. Kernel accounting of native runs "
        "supplies most components. Two observed runs, like those of 'fathom stat', add the traffic of each level, "
        "spinning, and source lines.\n\n"
        "The program must do the same work in every run. Its output is shown for the first run only. This run has the "
        "largest number of threads and is not measured.",
    .examples = "Examples:\n"
                "  fathom scale -- ./program                      OMP_NUM_THREADS and similar: 1, 2, 4 …\n"
                "  fathom scale -- xz -T{threads} -k file         the number is an argument\n"
                "  fathom scale --by cpus -t 1-4 -- ./program     any program, on 1 to 4 processors\n"
                "  fathom scale --machine haswell-ep -t 1,2,4,8 -- ./program    simulated\n"
                "  fathom scale --record s.fathom -- ./program    keep it; 'fathom report s.fathom'\n\n"
                "Exit status: that of the program's first run (128+n for a signal); 124 cannot be measured here, 125 "
                "failed, 126 and 127 the program cannot be run or is not there, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .program = offsetof(struct input, wishes.observation.program),
    .run = run,
};
