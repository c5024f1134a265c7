#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranks.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "json/figure.h"
#include "recording/store.h"
#include "report/progress.h"
#include "report/squeeze.h"
#include "squeeze/ranks.h"

enum {
	KEY_MACHINE = FM_KEY_OWN,
	KEY_BACKEND,
	KEY_LEVEL,
	KEY_MAP,
	KEY_RANKS,
	KEY_MAPPING,
	KEY_PREDICT,
	KEY_BUDGET,
	KEY_ONLY,
	KEY_RECORD,
	KEY_PAIR,
};

static const struct argp_option options[] = {
    {"machine", KEY_MACHINE, "NAME", 0,
     "Squeeze the program on this simulated machine instead: haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from "
     "the machine profile), or a file",
     0},
    {"backend", KEY_BACKEND, "NAME", 0,
     "Method of limiting: resctrl (by the processor), colours (memory of some page colours), threads (load from "
     "threads on other CPUs), all on this machine, exact (a smaller simulated machine); default: the most precise "
     "method that works here",
     0},
    {"level", KEY_LEVEL, "NAME", 0, "The cache to limit, L2 or L3; default: the last-level cache", 0},
    {"only", KEY_ONLY, "AXIS", 0, "Limit only capacity, or only bandwidth", 0},
    {"map", KEY_MAP, NULL, 0,
     "Also limit both at once, for up to four amounts of each around the knees: a map of capacity and bandwidth; not "
     "with colours and threads",
     0},
    {"ranks", KEY_RANKS, "N", 0,
     "With --machine: run N copies of the program, distinguished by FATHOM_RANK in their environment; groups of copies "
     "share each last-level cache; the report shows the use of each copy",
     0},
    {"mapping", KEY_MAPPING, "LIST", 0,
     "With --ranks: number of copies per last-level cache: spread (one), packed (one per core), or numbers such as "
     "1,2,4; default spread,packed",
     0},
    {"predict", KEY_PREDICT, "WHAT", 0,
     "Predict the run time with less: l3=8M, l3=25%, bw=50% (of memory), bw=8 (GB/s), or l3=8M,bw=50%; may be given 8 "
     "times",
     0},
    {"budget", KEY_BUDGET, "TIME", 0, "Time limit; no new run starts that would exceed it; default 60s", 0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also keep everything as a recording, NAME.fathom; 'fathom report FILE' prints it again, --pair compares two", 0},
    {"pair", KEY_PAIR, NULL, 0,
     "Instead of a program, two recordings: predict the slowdown of each when both share the cache", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	struct fm_squeeze_wishes wishes;
	char predict[256];
	const char *record;
	bool pair;
};

static int add_prediction(struct input *input, const char *text, struct fm_error *error)
{
	size_t used = strlen(input->predict);

	if (!*text || strchr(text, ' ') || used + strlen(text) + 2 > sizeof(input->predict))
		return fm_error_set(error, EINVAL, "--predict takes l3=8M, bw=50%% or both with a comma, not \"%s\"",
		                    text);
	snprintf(input->predict + used, sizeof(input->predict) - used, "%s%s", used ? " " : "", text);
	input->wishes.predict = input->predict;
	return 0;
}

static int parse_ranks(const char *text, unsigned *ret_ranks, struct fm_error *error)
{
	char *end;
	unsigned long ranks = strtoul(text, &end, 10);

	if (end == text || *end || !ranks || ranks > FM_RANKS_MOST)
		return fm_error_set(error, EINVAL, "--ranks is a number from 1 to %d, not \"%s\"", FM_RANKS_MOST, text);
	*ret_ranks = (unsigned)ranks;
	return 0;
}

static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;
	char *const *words = input->wishes.observation.program;

	if (input->pair) {
		if (!words || !words[0] || !words[1] || words[2])
			return fm_error_set(error, EINVAL,
			                    "--pair takes two recordings: fathom squeeze --pair a.fathom b.fathom");
		if (input->wishes.observation.machine || input->wishes.level || input->record ||
		    input->wishes.predict || input->wishes.backend || input->wishes.map || input->wishes.ranks ||
		    input->wishes.no_capacity || input->wishes.no_bandwidth)
			return fm_error_set(error, EINVAL,
			                    "--pair reads two recordings and runs nothing: omit the other options");
		return 0;
	}
	if (input->wishes.map && (input->wishes.no_capacity || input->wishes.no_bandwidth))
		return fm_error_set(error, EINVAL, "--map limits capacity and bandwidth at once: omit --only");
	if (input->wishes.mapping && !input->wishes.ranks)
		return fm_error_set(error, EINVAL, "--mapping needs --ranks");
	if (!words)
		return fm_error_set(error, EINVAL, "no program given: fathom squeeze -- ./program");
	return 0;
}

static const struct fm_setting settings[] = {
    FM_TEXT(KEY_MACHINE, wishes.observation.machine),
    FM_TEXT(KEY_BACKEND, wishes.backend),
    FM_TEXT(KEY_LEVEL, wishes.level),
    FM_FLAG(KEY_MAP, wishes.map),
    FM_TEXT(KEY_MAPPING, wishes.mapping),
    FM_DURATION(KEY_BUDGET, wishes.budget),
    FM_TEXT(KEY_RECORD, record),
    FM_FLAG(KEY_PAIR, pair),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;
	struct fm_squeeze_wishes *wishes = &input->wishes;

	switch (key) {
	case KEY_RANKS:
		return parse_ranks(argument, &wishes->ranks, error);
	case KEY_PREDICT:
		return add_prediction(input, argument, error);
	case KEY_ONLY:
		wishes->no_capacity = !strcmp(argument, "bandwidth");
		wishes->no_bandwidth = !strcmp(argument, "capacity");
		return wishes->no_capacity || wishes->no_bandwidth
		           ? 0
		           : fm_error_set(error, EINVAL, "--only is capacity or bandwidth, not \"%s\"", argument);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print_pair(const struct input *input)
{
	char *const *files = input->wishes.observation.program;
	struct fm_recording *recordings[2] = {NULL, NULL};
	struct fm_squeeze *squeezes[2] = {NULL, NULL};
	struct fm_squeeze_pair pair;
	struct fm_error error;
	FILE *output;
	int r = 0, code;

	for (unsigned i = 0; i < 2 && !r; i++) {
		r = fm_store_load(files[i], &recordings[i], &error);
		if (!r)
			r = fm_squeeze_analyse(recordings[i], &squeezes[i], &error);
	}
	if (!r)
		r = fm_squeeze_pair(squeezes[0], squeezes[1], &pair, &error);
	if (r) {
		code = fm_report_error(&error);
	} else if (!(output = fm_common_open(&input->common))) {
		code = FM_EXIT_FAILED;
	} else {
		const struct fm_squeeze *const both[] = {squeezes[0], squeezes[1]};

		if (input->common.json) {
			fm_json_print(fm_squeeze_pair_json(both, &pair), output);
		} else {
			fm_squeeze_pair_print(both, &pair, output);
		}
		code = fm_common_close(&input->common, output);
	}
	for (unsigned i = 0; i < 2; i++) {
		fm_squeeze_free(squeezes[i]);
		fm_recording_free(recordings[i]);
	}
	return code;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.wishes.budget = 60};
	struct fm_progress progress;
	struct fm_recording *recording = NULL;
	struct fm_output output;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	if (input.pair)
		return print_pair(&input);
	fm_output_choose(&output, &input.common, 0);
	if (input.wishes.ranks) {
		/* the program is rank 0; other ranks are set in their processes */
		fm_rank_set(0, input.wishes.ranks);
		if (!input.wishes.mapping)
			input.wishes.mapping = "spread,packed";
	}
	input.wishes.observation.interrupted = &fm_interrupted;
	input.wishes.observation.remark = fm_common_remark;
	input.wishes.observation.context = &input.common;
	fm_progress_begin(&progress, input.common.verbosity < 0);
	input.wishes.progress = fm_progress_update;
	input.wishes.progress_context = &progress;
	r = fm_run_check(input.record, &error);
	if (!r)
		r = fm_squeeze_run(&input.wishes, &recording, &error);
	fm_progress_end(&progress);
	code = r ? fm_run_failed(&input.common, recording, &error)
	         : fm_run_print(&output, recording, fm_output_squeeze, input.record);
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_squeeze = {
    .name = "squeeze",
    .summary = "limit cache and bandwidth of a program, and see how much of each it uses",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs a program repeatedly with less capacity of a cache, and with less memory bandwidth. A resource whose "
        "removal causes no slowdown is not in use. The answer is an interval: from the largest amount that slowed the "
        "program down to the smallest amount that did not. Runs are placed where the answer is uncertain, until the "
        "knee is located or the budget is spent. The report states which of the two ended the search.\n\n"
        "A program that is not slower with little cache has a small working set, or streams through more data than any "
        "cache holds. The report distinguishes the two. The miss-ratio curve is an independent estimate; the report "
        "says if the two methods disagree.\n\n"
        "The runs also give predictions: the run time with other amounts (--predict), and, from two recordings, the "
        "slowdown of two programs that share a cache (--pair).\n\n"
        "Without --machine, the program runs on this machine. It gets memory of some page colours only, and so a part "
        "of each core's L2 (colours). No privileges, no PMU and no other load are needed. Runs come in pairs, one with "
        "full and one with limited capacity, until their confidence intervals separate. A control run without a limit "
        "must not be slower. With --machine, the simulated machine has less of the resource, and times are "
        "simulated.\n\n"
        "The program must do the same work in every run. Its output is shown for the first run only.",
    .examples = "Examples:\n"
                "  fathom squeeze -- ./program                           use of this machine's L2\n"
                "  fathom squeeze --predict l2=50% --budget 2min -- ./program\n"
                "  fathom squeeze --machine xeon-e5-2670 -- ./program            use of 20 MiB and of 38 GB/s\n"
                "  fathom squeeze --machine xeon-e5-2670 --map -- ./program   less of both at once\n"
                "  fathom squeeze --machine xeon-e5-2670 --ranks 8 --mapping 1,2,4 -- ./program   per process\n"
                "  fathom squeeze --machine zen3 --level L2 --only capacity -- ./program\n"
                "  fathom squeeze --machine host --predict l3=8M,bw=50% -- ./program   on a smaller machine\n"
                "  fathom squeeze --machine zen3 --record a.fathom -- ./a   save it; the same for ./b, then\n"
                "  fathom squeeze --pair a.fathom b.fathom               both in one cache\n\n"
                "Exit status: that of the program's first run (128+n for a signal); 124 cannot be measured here, 125 "
                "failed, 126 and 127 the program cannot be run or is not there, 2 wrong usage. With --pair: 0 done, 1 "
                "failed, 2 wrong usage.",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .program = offsetof(struct input, wishes.observation.program),
    .run = run,
};
