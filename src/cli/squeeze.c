#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranks.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
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
     "Squeeze it on this simulated machine instead: haswell-ep, xeon-e5-2670, icelake-sp, zen3, host (from the machine "
     "profile), or a file",
     0},
    {"backend", KEY_BACKEND, "NAME", 0,
     "How it is taken away: resctrl (by the processor), colours (memory of some page colours), threads (by threads on "
     "other CPUs), all on this machine, exact (the simulated machine has "
     "less); default: the most precise that works here",
     0},
    {"level", KEY_LEVEL, "NAME", 0, "The cache that is made smaller, L2 or L3; default: the last one", 0},
    {"only", KEY_ONLY, "AXIS", 0, "Take only capacity, or only bandwidth", 0},
    {"map", KEY_MAP, NULL, 0,
     "Also take both at once, for up to four amounts of each around the knees: a map of capacity and bandwidth; not "
     "with colours and threads",
     0},
    {"ranks", KEY_RANKS, "N", 0,
     "With --machine: N copies of the program, told apart by FATHOM_RANK in their environment, of which some share "
     "each "
     "last cache; tells what each of them uses",
     0},
    {"mapping", KEY_MAPPING, "LIST", 0,
     "With --ranks: how many share a last cache, as spread (one), packed (as many as there are cores), or numbers such "
     "as "
     "1,2,4; default spread,packed",
     0},
    {"predict", KEY_PREDICT, "WHAT", 0,
     "Foretell the time with less: l3=8M, l3=25%, bw=50% (of memory), bw=8 (GB/s), or l3=8M,bw=50%; may be given 8 "
     "times",
     0},
    {"budget", KEY_BUDGET, "TIME", 0, "Begin no run that would end later; default 60s", 0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also keep everything as a recording, NAME.fathom; 'fathom report FILE' prints it again, --pair compares two", 0},
    {"pair", KEY_PAIR, NULL, 0,
     "Instead of a program, two recordings: how much slower each gets when both share the cache", 0},
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

static int check(const struct input *input, struct fm_error *error)
{
	char *const *words = input->wishes.observation.program;

	if (input->pair) {
		if (!words || !words[0] || !words[1] || words[2])
			return fm_error_set(error, EINVAL,
			                    "--pair takes two recordings: fathom squeeze --pair a.fathom b.fathom");
		if (input->wishes.observation.machine || input->wishes.level || input->record ||
		    input->wishes.predict || input->wishes.backend || input->wishes.map || input->wishes.ranks ||
		    input->wishes.no_capacity || input->wishes.no_bandwidth)
			return fm_error_set(
			    error, EINVAL, "--pair reads two recordings and runs nothing: leave the other options out");
		return 0;
	}
	if (input->wishes.map && (input->wishes.no_capacity || input->wishes.no_bandwidth))
		return fm_error_set(error, EINVAL, "--map takes capacity and bandwidth at once: leave --only out");
	if (input->wishes.mapping && !input->wishes.ranks)
		return fm_error_set(error, EINVAL, "--mapping goes with --ranks");
	if (!words)
		return fm_error_set(error, EINVAL, "there is no program to run: fathom squeeze -- ./program");
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_squeeze_wishes *wishes = &input->wishes;
	struct fm_error error;
	int r = 0;

	switch (key) {
	case KEY_MACHINE:
		wishes->observation.machine = argument;
		break;
	case KEY_BACKEND:
		wishes->backend = argument;
		break;
	case KEY_LEVEL:
		wishes->level = argument;
		break;
	case KEY_MAP:
		wishes->map = true;
		break;
	case KEY_RANKS:
		r = parse_ranks(argument, &wishes->ranks, &error);
		break;
	case KEY_MAPPING:
		wishes->mapping = argument;
		break;
	case KEY_PREDICT:
		r = add_prediction(input, argument, &error);
		break;
	case KEY_BUDGET:
		r = fm_text_parse_duration(argument, &wishes->budget, &error);
		break;
	case KEY_ONLY:
		wishes->no_capacity = !strcmp(argument, "bandwidth");
		wishes->no_bandwidth = !strcmp(argument, "capacity");
		if (!wishes->no_capacity && !wishes->no_bandwidth)
			r = fm_error_set(&error, EINVAL, "--only is capacity or bandwidth, not \"%s\"", argument);
		break;
	case KEY_RECORD:
		input->record = argument;
		break;
	case KEY_PAIR:
		input->pair = true;
		break;
	case ARGP_KEY_ARG:
		wishes->observation.program = state->argv + state->next - 1;
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
			json_t *root = fm_squeeze_pair_json(both, &pair);

			json_dumpf(root, output, JSON_INDENT(1));
			fputc('\n', output);
			json_decref(root);
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
		/* the program is the first; the others are told in their own processes */
		fm_rank_set(0, input.wishes.ranks);
		if (!input.wishes.mapping)
			input.wishes.mapping = "spread,packed";
	}
	input.wishes.observation.interrupted = &fm_interrupted;
	input.wishes.observation.remark = fm_common_remark;
	input.wishes.observation.context = &input.common;
	fflush(NULL);
	fm_interrupt_install();
	fm_progress_begin(&progress, input.common.verbosity < 0);
	input.wishes.progress = fm_progress_update;
	input.wishes.progress_context = &progress;
	r = input.record ? fm_store_check(input.record, &error) : 0;
	if (r && error.code != EEXIST)
		error.code = EIO;
	if (!r)
		r = fm_squeeze_run(&input.wishes, &recording, &error);
	fm_progress_end(&progress);
	if (r && recording && error.code == ECANCELED) {
		fm_common_remark(&input.common, error.message);
		code = (int)recording->run.exit_status;
	} else if (r) {
		code = fm_report_error_of_run(&error);
	} else {
		code = (int)recording->run.exit_status;
		r = fm_output_squeeze(&output, recording);
		if (!r && input.record && fm_store_save(input.record, recording, &error)) {
			error.code = EIO;
			r = fm_report_error_of_run(&error);
		}
		code = r ? 125 : code;
	}
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_squeeze = {
    .name = "squeeze",
    .summary = "take cache and bandwidth away from a program, and see how much of each it uses",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs a program again and again with less of a cache, and with less of the memory's bandwidth. What it can do "
        "without, it does not use: the answer is an interval, from the largest amount with which it was slower to the "
        "smallest with which it was not. Runs go where the answer is uncertain, until the knee is located or the "
        "budget "
        "is spent; the report says which.\n\n"
        "A program that is not slower with little cache either needs little, or streams through more than any cache "
        "holds: the report tells which. The miss-ratio curve, an independent method, is shown beside it; where the two "
        "disagree it says so.\n\n"
        "From the runs follows what the program would take with other amounts (--predict), and, from two recordings, "
        "how two programs fare that share the cache (--pair).\n\n"
        "Without --machine this machine itself is used: the program gets memory of some page colours only, and with it "
        "a "
        "part of each core's L2 (colours). No rights, no PMU and nothing that runs beside it are needed. Runs come in "
        "pairs, one with everything and one with less, until intervals tell them apart; a control in which nothing is "
        "taken must not be slower. With --machine a simulated machine has less, exactly, and times are simulated.\n\n"
        "The program must do the same every time; its output is that of the first run.",
    .examples = "Examples:\n"
                "  fathom squeeze -- ./program                                   how much of this machine's L2?\n"
                "  fathom squeeze --predict l2=50% --budget 2min -- ./program\n"
                "  fathom squeeze --machine xeon-e5-2670 -- ./program            how much of 20 MiB, of 38 GB/s?\n"
                "  fathom squeeze --machine xeon-e5-2670 --map -- ./program      and with less of both?\n"
                "  fathom squeeze --machine xeon-e5-2670 --ranks 8 --mapping 1,2,4 -- ./program   of each process\n"
                "  fathom squeeze --machine zen3 --level L2 --only capacity -- ./program\n"
                "  fathom squeeze --machine host --predict l3=8M,bw=50% -- ./program   on a lesser machine\n"
                "  fathom squeeze --machine zen3 --record a.fathom -- ./a        keep it; the same for ./b, then\n"
                "  fathom squeeze --pair a.fathom b.fathom                       both in one cache\n\n"
                "Exit status: that of the program's first run (128+n for a signal); 124 cannot be measured here, 125 "
                "failed, 126 and 127 the program cannot be run or is not there, 2 wrong usage. With --pair: 0 done, 1 "
                "failed, 2 wrong usage.",
    .runs_program = true,
    .options = options,
    .parser = parse,
    .run = run,
};
