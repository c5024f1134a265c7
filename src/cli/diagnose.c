#include <errno.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/recording_name.h"
#include "observe/observe.h"

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Name of the recording; default fathom.fathom. An earlier one becomes fathom.fathom.old",
     0},
    FM_OPTION_FORCE,
    {"repeat", 'r', "N", 0, "Run PROGRAM N times, instead of once, for narrower intervals; its output appears once", 0},
    FM_OPTION_JSON,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_observation wanted;
	const char *recording;
	bool force;
};

static const struct fm_setting settings[] = {
    FM_TEXT('o', recording),
    FM_FLAG(FM_KEY_FORCE, force),
    FM_NUMBER('r', wanted.repeats, 1, 10000),
    {0},
};

static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;

	return input->wanted.program ? 0 : fm_error_set(error, EINVAL, "no program given: fathom -- ./program");
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {0};
	struct fm_recording *recording = NULL;
	struct fm_output output;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	fm_output_choose(&output, &input.common, 10);
	output.options.diagnosis = true;
	input.wanted.interrupted = &fm_interrupted;
	input.wanted.remark = fm_common_remark;
	input.wanted.context = &input.common;
	r = fm_recording_name_prepare(&input.recording, input.force, &input.common, &error);
	output.options.recording = input.recording;
	if (!r)
		r = fm_observe(&input.wanted, &recording, &error);
	code = r ? fm_run_failed(&input.common, recording, &error)
	         : fm_run_print(&output, recording, fm_output_stat, input.recording);
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_diagnose = {
    .name = "diagnose",
    .summary = "show what limits a program: one verdict, with evidence (also: fathom -- PROGRAM)",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs the program once and prints one verdict: the cause that takes most of the run time, the confidence, "
        "where, what to try, and the most that it can save. Then the evidence of each method, contradictions between "
        "methods, and the traffic of each level.\n\n"
        "Causes: compute, bandwidth:LEVEL, latency:LEVEL, tlb, numa, false-sharing, true-sharing, imbalance, "
        "synchronisation, branches, io, or inconclusive. All of them are shares of the same time, so they can be "
        "compared.\n\n"
        "The observation is that of 'fathom stat': counters where they suffice, otherwise windows of the run and the "
        "laboratory. If there is no machine profile, one is measured first (10 seconds). The recording is one file; "
        "'fathom report' shows all figures.",
    .examples = "Examples:\n"
                "  fathom -- ./program               verdict, evidence, levels\n"
                "  fathom diagnose -r 5 -- ./short   five runs of a short program\n"
                "  fathom report fathom.fathom       all figures of the same run\n\n"
                "Exit status: that of the program (128+n for a signal); 124 cannot be observed here, 125 failed, 126 "
                "and 127 the program cannot be run or is not there, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .check = check,
    .program = offsetof(struct input, wanted.program),
    .run = run,
};
