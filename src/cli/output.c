#include "cli/output.h"

#include <errno.h>

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
		fm_error_set(&error, EINVAL, "what was squeezed is printed as text or with --json: no -x");
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

int fm_output_samples(struct fm_output *output, const struct fm_recording *recording,
                      const struct fm_samples_filter *filter)
{
	struct fm_samples *samples;
	struct fm_fold *fold = NULL;
	struct fm_error error;

	/* before the file is opened: what matches nothing replaces nothing */
	if (fm_samples_analyse(recording, filter, &samples, &error))
		return fm_report_error(&error);
	if (fm_fold_make(samples, &fold, &error) || (output->writer->rates && fm_fold_tell_rates(fold, &error))) {
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
