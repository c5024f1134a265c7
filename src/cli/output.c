#include "cli/output.h"

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

int fm_output_samples(struct fm_output *output, const struct fm_recording *recording,
                      const struct fm_samples_filter *filter)
{
	struct fm_samples *samples;
	struct fm_error error;

	/* before the file is opened: what matches nothing replaces nothing */
	if (fm_samples_analyse(recording, filter, &samples, &error))
		return fm_report_error(&error);
	if (!fm_output_open(output)) {
		fm_samples_free(samples);
		return FM_EXIT_FAILED;
	}
	output->writer->samples(samples, &output->options, output->file);
	fm_samples_free(samples);
	return fm_common_close(output->common, output->file);
}
