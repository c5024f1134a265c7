/* Sampled references as separated values: one figure per line. */
#include <string.h>

#include "report/parts.h"
#include "report/sample_rows.h"

static void print_served(FILE *output, const char *separator, const char *place, const struct fm_samples *samples,
                         const struct fm_served *served)
{
	fprintf(output, "%s%ssamples%s%llu%s%s%s%s%s\n", place, separator, separator,
	        (unsigned long long)served->samples, separator, separator, separator, separator, separator);
	fm_separated_figure(output, separator, 6, place, "references_share", &served->share);
	fm_separated_figure(output, separator, 6, place, "loads", &served->loads);
	fm_separated_figure(output, separator, 6, place, "stores", &served->stores);
	for (unsigned i = 0; i < samples->model->classes; i++)
		fm_separated_figure(output, separator, 6, place, samples->model->class_names[i], &served->levels[i]);
	fm_separated_figure(output, separator, 6, place, "mean_cost_cycles", &served->mean_cost_cycles);
	fm_separated_figure(output, separator, 6, place, "mean_cost_ns", &served->mean_cost_ns);
	fm_separated_figure(output, separator, 6, place, "tlb_misses", &served->translation_misses);
	if (samples->recording->sampling.nodes > 1)
		fm_separated_figure(output, separator, 6, place, "local", &served->local);
}

void fm_samples_print_separated(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_samples *samples = fold->samples;
	const struct fm_recording *recording = samples->recording;
	const char *separator = options->separator;
	char place[640];

	fm_separated_head(output, separator, fm_separated_figures);
	fm_separated_figure(output, separator, 6, "total", "overhead", &recording->sampling.overhead);
	fm_separated_figure(output, separator, 6, "total", "rate", &recording->sampling.rate);
	print_served(output, separator, "total", samples, &samples->whole);
	for (const struct fm_sample_rows *kind = fm_sample_rows; kind < fm_sample_rows + FM_ROWS; kind++)
		for (size_t i = 0; i < fm_sample_rows_count(samples, kind); i++) {
			const char *row = fm_sample_row(samples, kind, i);

			snprintf(place, sizeof(place), "%s ", kind->singular);
			kind->say(samples, row, false, place + strlen(place), sizeof(place) - strlen(place));
			print_served(output, separator, place, samples, (const void *)(row + kind->served));
			if (!kind->inclusive)
				continue;
			snprintf(place + strlen(place), sizeof(place) - strlen(place), " with callees");
			print_served(output, separator, place, samples, (const void *)(row + kind->inclusive));
		}
	for (size_t i = 0; i < samples->sharing_count; i++) {
		const struct fm_sampled_sharing *row = &samples->sharing[i];

		snprintf(place, sizeof(place), "object %s by thread %u", samples->objects[row->object].name,
		         recording->sampled_threads[row->thread].thread);
		fm_separated_figure(output, separator, 6, place, "references_share", &row->share);
		fm_separated_figure(output, separator, 6, place, "stores", &row->stores);
	}
}
