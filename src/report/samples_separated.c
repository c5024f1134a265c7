/* Sampled references, for spreadsheets: one figure per line. */
#include "report/parts.h"

static void print_figure(FILE *output, const char *separator, const char *place, const char *name,
                         const struct fm_figure *figure)
{
	fprintf(output, "%s%s%s%s", place, separator, name, separator);
	if (figure->available)
		fprintf(output, "%.6g%s%.6g%s%.6g%s%s%s%s%s\n", figure->value, separator, figure->low, separator,
		        figure->high, separator, figure->unit, separator, fm_origin_name(figure->origin), separator);
	else
		fprintf(output, "%s%s%s%s%s%s\n", separator, separator, separator, separator, separator, figure->why);
}

static void print_served(FILE *output, const char *separator, const char *place, const struct fm_samples *samples,
                         const struct fm_served *served)
{
	fprintf(output, "%s%ssamples%s%llu%s%s%s%s%s\n", place, separator, separator,
	        (unsigned long long)served->samples, separator, separator, separator, separator, separator);
	print_figure(output, separator, place, "references_share", &served->share);
	print_figure(output, separator, place, "loads", &served->loads);
	print_figure(output, separator, place, "stores", &served->stores);
	for (unsigned i = 0; i < samples->model->classes; i++)
		print_figure(output, separator, place, samples->model->class_names[i], &served->levels[i]);
	print_figure(output, separator, place, "mean_cost_cycles", &served->mean_cost_cycles);
	print_figure(output, separator, place, "mean_cost_ns", &served->mean_cost_ns);
	print_figure(output, separator, place, "tlb_misses", &served->translation_misses);
	if (samples->recording->sampling.nodes > 1)
		print_figure(output, separator, place, "local", &served->local);
}

void fm_samples_print_separated(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_samples *samples = fold->samples;
	const struct fm_recording *recording = samples->recording;
	const char *separator = options->separator;
	char place[640];

	fprintf(output, "place%squantity%svalue%slow%shigh%sunit%sorigin%swhy\n", separator, separator, separator,
	        separator, separator, separator, separator);
	print_figure(output, separator, "total", "overhead", &recording->sampling.overhead);
	print_figure(output, separator, "total", "rate", &recording->sampling.rate);
	print_served(output, separator, "total", samples, &samples->whole);
	for (size_t i = 0; i < samples->object_count; i++) {
		snprintf(place, sizeof(place), "object %s", samples->objects[i].name);
		print_served(output, separator, place, samples, &samples->objects[i].served);
	}
	for (size_t i = 0; i < samples->routine_count; i++) {
		snprintf(place, sizeof(place), "routine %s", samples->routines[i].function);
		print_served(output, separator, place, samples, &samples->routines[i].self);
		snprintf(place, sizeof(place), "routine %s with callees", samples->routines[i].function);
		print_served(output, separator, place, samples, &samples->routines[i].inclusive);
	}
	for (size_t i = 0; i < samples->region_count; i++) {
		snprintf(place, sizeof(place), "region %s", samples->regions[i].name);
		print_served(output, separator, place, samples, &samples->regions[i].served);
	}
	for (size_t i = 0; i < samples->line_count; i++) {
		const struct fm_sampled_line *line = &samples->lines[i];

		if (line->line)
			snprintf(place, sizeof(place), "line %s:%lld %s", line->file, (long long)line->line,
			         *line->inlined ? line->inlined : line->function);
		else
			snprintf(place, sizeof(place), "line of %s", line->function);
		print_served(output, separator, place, samples, &line->served);
	}
	for (size_t i = 0; i < samples->thread_count; i++) {
		snprintf(place, sizeof(place), "thread %u",
		         recording->sampled_threads[samples->threads[i].thread].thread);
		print_served(output, separator, place, samples, &samples->threads[i].served);
	}
	for (size_t i = 0; i < samples->sharing_count; i++) {
		const struct fm_sampled_sharing *row = &samples->sharing[i];

		snprintf(place, sizeof(place), "object %s by thread %u", samples->objects[row->object].name,
		         recording->sampled_threads[row->thread].thread);
		print_figure(output, separator, place, "references_share", &row->share);
		print_figure(output, separator, place, "stores", &row->stores);
	}
}
