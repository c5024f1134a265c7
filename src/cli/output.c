#include "cli/output.h"

#include <errno.h>

#include "observe/sampled.h"
#include "recording/store.h"

enum { WIDTH = 100 };

void fm_output_choose(struct fm_output *output, const struct fm_common *common, unsigned top)
{
	*output = (struct fm_output){
	    .common = common,
	    .writer = fm_writer_find(common->json        ? "json"
	                             : common->separator ? "separated"
	                                                 : "text"),
	    .options = {.width = WIDTH, .top = top, .verbosity = common->verbosity, .separator = common->separator}};
}

bool fm_output_open(struct fm_output *output)
{
	if (!output->file && !output->failed)
		output->file = fm_common_open(output->common);
	output->failed = !output->file;
	return output->file != NULL;
}

int fm_output_stat(struct fm_output *output, const struct fm_recording *recording)
{
	struct fm_analysis *analysis;
	struct fm_error error;

	if (!fm_output_open(output))
		return FM_EXIT_FAILED;
	if (fm_analyse(recording, &analysis, &error)) {
		fm_common_close(output->common, output->file);
		fm_report_error(&error);
		return FM_EXIT_FAILED;
	}
	output->writer->stat(analysis, &output->options, output->file);
	fm_analysis_free(analysis);
	return fm_common_close(output->common, output->file);
}

int fm_output_squeeze(struct fm_output *output, const struct fm_recording *recording)
{
	struct fm_squeeze *squeeze;
	struct fm_error error;

	if (!output->writer->squeeze) {
		fm_error_set(&error, EINVAL, "squeeze prints text or --json: omit -x");
		return fm_report_error(&error);
	}
	if (fm_squeeze_analyse(recording, &squeeze, &error))
		return fm_report_error(&error);
	if (!fm_output_open(output)) {
		fm_squeeze_free(squeeze);
		return FM_EXIT_FAILED;
	}
	output->writer->squeeze(squeeze, &output->options, output->file);
	fm_squeeze_free(squeeze);
	return fm_common_close(output->common, output->file);
}

int fm_output_scale(struct fm_output *output, const struct fm_recording *recording)
{
	struct fm_scale *scale;
	struct fm_error error;

	if (!output->writer->scale) {
		fm_error_set(&error, EINVAL, "scale prints text or --json: omit -x");
		return fm_report_error(&error);
	}
	if (fm_scale_analyse(recording, &scale, &error))
		return fm_report_error(&error);
	if (!fm_output_open(output)) {
		fm_scale_free(scale);
		return FM_EXIT_FAILED;
	}
	output->writer->scale(scale, &output->options, output->file);
	fm_scale_free(scale);
	return fm_common_close(output->common, output->file);
}

int fm_output_samples(struct fm_output *output, const struct fm_recording *recording,
                      const struct fm_samples_filter *filter)
{
	struct fm_samples *samples;
	struct fm_fold *fold = NULL;
	struct fm_error error;

	/* before the file is opened, so that a filter without matches replaces no file */
	if (fm_samples_analyse(recording, filter, &samples, &error))
		return fm_report_error(&error);
	if (fm_fold_make(samples, &fold, &error) || (output->writer->rates && fm_fold_add_rates(fold, &error))) {
		fm_fold_free(fold);
		fm_samples_free(samples);
		return fm_report_error(&error);
	}
	if (!fm_output_open(output)) {
		fm_fold_free(fold);
		fm_samples_free(samples);
		return FM_EXIT_FAILED;
	}
	output->writer->samples(fold, &output->options, output->file);
	fm_fold_free(fold);
	fm_samples_free(samples);
	return fm_common_close(output->common, output->file);
}

int fm_output_comparison(struct fm_output *output, const struct fm_recording *first, const struct fm_recording *second,
                         const struct fm_samples_filter *filter)
{
	const struct fm_recording *recordings[] = {first, second};
	struct fm_samples *samples[2] = {NULL, NULL};
	struct fm_fold *folds[2] = {NULL, NULL};
	struct fm_comparison *comparison = NULL;
	struct fm_error error;
	int r = 0, code;

	for (unsigned i = 0; !r && i < 2; i++) {
		r = fm_samples_analyse(recordings[i], filter, &samples[i], &error);
		if (!r)
			r = fm_fold_make(samples[i], &folds[i], &error);
	}
	if (!r)
		r = fm_compare(folds[0], folds[1], &comparison, &error);
	if (r) {
		code = fm_report_error(&error);
	} else if (!fm_output_open(output)) {
		code = FM_EXIT_FAILED;
	} else {
		output->writer->compared(comparison, &output->options, output->file);
		code = fm_common_close(output->common, output->file);
	}
	fm_comparison_free(comparison);
	for (unsigned i = 0; i < 2; i++) {
		fm_fold_free(folds[i]);
		fm_samples_free(samples[i]);
	}
	return code;
}

static int analyse_both(const struct fm_recording *first, const struct fm_recording *second,
                        struct fm_analysis *analyses[2])
{
	const struct fm_recording *recordings[] = {first, second};
	struct fm_error error;

	for (unsigned i = 0; i < 2 && recordings[i]; i++)
		if (fm_analyse(recordings[i], &analyses[i], &error)) {
			fm_report_error(&error);
			return FM_EXIT_FAILED;
		}
	return FM_EXIT_DONE;
}

int fm_output_runs(struct fm_output *output, const struct fm_recording *first, const struct fm_recording *second)
{
	struct fm_analysis *analyses[2] = {NULL, NULL};
	struct fm_runs runs;
	int code = analyse_both(first, second, analyses);

	if (!code && !fm_output_open(output))
		code = FM_EXIT_FAILED;
	if (!code) {
		fm_runs_compare(analyses[0], analyses[1], &runs);
		output->writer->runs(&runs, &output->options, output->file);
		code = fm_common_close(output->common, output->file);
	}
	fm_analysis_free(analyses[0]);
	fm_analysis_free(analyses[1]);
	return code;
}

static int test(const struct fm_condition *condition, const struct fm_analysis *analysis, const struct fm_runs *runs)
{
	struct fm_figure share;
	enum fm_condition_state state =
	    runs ? fm_condition_test_runs(condition, runs, &share) : fm_condition_test(condition, analysis, &share);

	if (state == FM_CONDITION_FALSE)
		return FM_EXIT_DONE;
	if (!share.available)
		fprintf(stderr, "fathom: %s>%g is not decided: %s\n", condition->name, condition->percent, share.why);
	else
		fprintf(stderr, "fathom: %s>%g %s: %.0f %% (%.0f ... %.0f)\n", condition->name, condition->percent,
		        state == FM_CONDITION_TRUE ? "holds" : "is not decided", 100 * share.value, 100 * share.low,
		        100 * share.high);
	return state == FM_CONDITION_TRUE ? FM_EXIT_CONDITION : FM_EXIT_DONE;
}

int fm_output_conditions(const struct fm_condition *conditions, unsigned count, const struct fm_recording *first,
                         const struct fm_recording *second)
{
	struct fm_analysis *analyses[2] = {NULL, NULL};
	struct fm_runs runs;
	int code = analyse_both(first, second, analyses);

	if (!code) {
		if (second)
			fm_runs_compare(analyses[0], analyses[1], &runs);
		for (unsigned i = 0; i < count; i++) {
			int each = test(&conditions[i], analyses[0], second ? &runs : NULL);

			code = each ? each : code;
		}
	}
	fm_analysis_free(analyses[0]);
	fm_analysis_free(analyses[1]);
	return code;
}

int fm_output_load(const char *path, const struct fm_common *common, struct fm_recording **ret_recording)
{
	struct fm_recording *recording;
	struct fm_error error;
	char remark[4400];

	if (fm_store_load(path, &recording, &error))
		return fm_report_error(&error);
	if (fm_sampled_recover(path, recording, remark, sizeof(remark), &error)) {
		fm_recording_free(recording);
		fm_report_error(&error);
		return FM_EXIT_FAILED;
	}
	if (*remark)
		fm_common_remark((struct fm_common *)common, remark);
	*ret_recording = recording;
	return FM_EXIT_DONE;
}

int fm_run_check(const char *path, struct fm_error *error)
{
	int r;

	fflush(NULL);
	fm_interrupt_install();
	r = path ? fm_store_check(path, error) : 0;
	/* 125, not wrong usage */
	if (r && error->code != EEXIST)
		error->code = EIO;
	return r;
}

int fm_run_failed(const struct fm_common *common, const struct fm_recording *recording, const struct fm_error *error)
{
	if (!recording || error->code != ECANCELED)
		return fm_report_error_of_run(error);
	fm_common_remark((struct fm_common *)common, error->message);
	return (int)recording->run.exit_status;
}

int fm_run_print(struct fm_output *output, const struct fm_recording *recording,
                 int (*print)(struct fm_output *output, const struct fm_recording *recording), const char *path)
{
	struct fm_error error;

	if (print(output, recording))
		return FM_EXIT_RUN_FAILED;
	if (!path || !fm_store_save(path, recording, &error))
		return (int)recording->run.exit_status;
	error.code = EIO;
	return fm_report_error_of_run(&error);
}
