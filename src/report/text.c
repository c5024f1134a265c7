/* For people. */
#include <string.h>

#include "report/coverage.h"
#include "report/parts.h"
#include "report/scale.h"
#include "report/squeeze.h"

const char *fm_observed_words(const struct fm_recording *recording)
{
	return *recording->run.program        ? recording->run.program
	       : recording->asked.system_wide ? "the whole machine"
	                                      : recording->asked.processes;
}

const char *fm_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* With counters, moments come first, as in the live run. */
static void print_moments(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;

	if (options->moments_written)
		return;
	for (size_t i = 0; recording->asked.question == FM_QUESTION_COUNTED_LEVELS && i < analysis->moments.count; i++)
		fm_picture_print_moment(&analysis->moments.parts[i], output);
	for (size_t i = 0; recording->asked.question == FM_QUESTION_COUNTED_EVENTS && i < recording->intervals_count;
	     i++)
		if (!recording->intervals[i].part && !recording->intervals[i].event)
			fm_events_print_moment(recording, i, NULL, output);
}

static void print_exact(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	bool combined = analysis->recording->asked.question == FM_QUESTION_COMBINED;

	if (combined && options->verbosity < 2) {
		fm_picture_print(analysis, options, output);
	} else {
		fm_exact_print(analysis, options, output);
		if (analysis->whole.picture.active.available) {
			fputc('\n', output);
			fm_picture_print(analysis, options, output);
		}
	}
	fm_series_print(analysis, options, output);
	fm_coverage_draw(analysis->recording, options->width, output);
}

static void print_stat(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	print_moments(analysis, options, output);
	switch ((enum fm_question)analysis->recording->asked.question) {
	case FM_QUESTION_EXACT:
	case FM_QUESTION_COMBINED:
		print_exact(analysis, options, output);
		break;
	case FM_QUESTION_COUNTED_LEVELS:
	case FM_QUESTION_SIMULATED_LEVELS:
		fm_picture_print(analysis, options, output);
		break;
	default:
		fm_events_print(analysis, options, output);
		fm_metrics_print(analysis, options, output);
	}
}

static void print_moment(const struct fm_recording *recording, size_t first, const struct fm_judged *moment,
                         const struct fm_writer_options *options, FILE *output)
{
	(void)options;
	if (moment)
		fm_picture_print_moment(moment, output);
	else
		fm_events_print_moment(recording, first, NULL, output);
	fflush(output);
}

static void print_scale(const struct fm_scale *scale, const struct fm_writer_options *options, FILE *output)
{
	fm_scale_print(scale, options->width, options->verbosity, output);
}

static void print_squeeze(const struct fm_squeeze *squeeze, const struct fm_writer_options *options, FILE *output)
{
	fm_squeeze_print(squeeze, options->width, options->verbosity, output);
}

const struct fm_writer fm_writer_text = {.name = "text",
                                         .stat = print_stat,
                                         .samples = fm_samples_print_text,
                                         .compared = fm_comparison_print_text,
                                         .runs = fm_runs_print_text,
                                         .squeeze = print_squeeze,
                                         .scale = print_scale,
                                         .moment = print_moment};
