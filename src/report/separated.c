/* Separated values: one figure per line. */
#include "report/numbers.h"
#include "report/parts.h"

void fm_separated_head(FILE *output, const char *separator, const char *names)
{
	for (; *names; names++)
		if (*names == ' ')
			fputs(separator, output);
		else
			fputc(*names, output);
	fputc('\n', output);
}

void fm_separated_figure(FILE *output, const char *separator, int digits, const char *place, const char *name,
                         const struct fm_figure *figure)
{
	fprintf(output, "%s%s%s%s", place, separator, name, separator);
	if (figure->available)
		fprintf(output, "%.*g%s%.*g%s%.*g%s%s%s%s%s\n", digits, figure->value, separator, digits, figure->low,
		        separator, digits, figure->high, separator, figure->unit, separator,
		        fm_origin_name(figure->origin), separator);
	else
		fprintf(output, "%s%s%s%s%s%s\n", separator, separator, separator, separator, separator, figure->why);
}

static void print_named(FILE *output, const char *separator, const char *place, const struct fm_named_number *list,
                        unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fprintf(output, "%s%s%s%s%llu%s%s\n", place, separator, list[i].name, separator,
		        (unsigned long long)list[i].value, separator, list[i].unit);
}

static void print_all(const struct fm_recording *recording, FILE *output, const char *separator, const char *where,
                      const struct fm_work *work, const struct fm_core_counts *counts,
                      const struct fm_timing_counts *timing)
{
	struct fm_named_number list[FM_NAMED_MAX];
	char place[160];

	print_named(output, separator, where, list, fm_named_work(work, list));
	print_named(output, separator, where, list, fm_named_counts(counts, list));
	for (unsigned i = 0; i < recording->machine.cache_count; i++) {
		snprintf(place, sizeof(place), "%s/%s", where, recording->machine.caches[i].name);
		print_named(output, separator, place, list, fm_named_cache(counts, i, list));
	}
	if (timing->cycles)
		print_named(output, separator, where, list, fm_named_cycles(timing, list));
}

static void print_exact(const struct fm_analysis *analysis, const char *separator, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;
	char where[160];

	fm_separated_head(output, separator, "place quantity value unit");
	print_all(recording, output, separator, "total", &analysis->work, &analysis->total, &analysis->timing);
	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];

		if (thread->process)
			continue;
		snprintf(where, sizeof(where), thread->others ? "threads from %u on" : "thread %u", thread->thread);
		print_all(recording, output, separator, where, &thread->work, &thread->counts, &thread->timing);
	}
	for (size_t i = 0; i < recording->regions_count; i++) {
		const struct fm_recorded_region *region = &recording->regions[i];

		if (region->process)
			continue;
		snprintf(where, sizeof(where), "region %s (%u)", region->name, region->thread);
		print_all(recording, output, separator, where, &region->work, &region->counts, &region->timing);
	}
}

static void print_events(const struct fm_recording *recording, const char *separator, FILE *output)
{
	fm_separated_head(output, separator, "thread event count low high unit running why");
	for (size_t i = 0; i < recording->event_counts_count; i++) {
		const struct fm_recorded_count *count = &recording->event_counts[i];
		const struct fm_recorded_event *event = &recording->events[count->event];
		const struct fm_figure *figure = &count->figure;

		fprintf(output, "%lld%s%s%s", (long long)recording->parts[count->owner].thread, separator, event->name,
		        separator);
		if (figure->available)
			fprintf(output, "%.0f%s%.0f%s%.0f", figure->value, separator, figure->low, separator,
			        figure->high);
		else
			fprintf(output, "%s%s", separator, separator);
		fprintf(output, "%s%s%s%.4f%s%s\n", separator, event->unit, separator,
		        count->enabled ? (double)count->running / (double)count->enabled : 0, separator,
		        figure->available ? "" : figure->why);
	}
}

static void print_simulated_events(const struct fm_analysis *analysis, const char *separator, FILE *output)
{
	for (size_t i = 0; i < analysis->event_count; i++) {
		const struct fm_event_value *event = &analysis->events[i];

		if (event->thread >= 0)
			fprintf(output, "thread %d", event->thread);
		else
			fprintf(output, "total");
		fprintf(output, "%s%s%s%.0f%s%s\n", separator, event->name, separator,
		        event->figure.available ? event->figure.value : 0, separator,
		        event->figure.available ? "" : event->figure.why);
	}
}

static void print_picture(const struct fm_picture *picture, const char *place, const char *separator, FILE *output)
{
	const struct {
		const char *name;
		const struct fm_figure *figure;
	} figures[] = {{"elapsed", &picture->seconds},
	               {"active", &picture->active},
	               {"productive", &picture->productive},
	               {"bandwidth_bound", &picture->bandwidth_bound},
	               {"latency_bound", &picture->latency_bound},
	               {"other_stall", &picture->other_stall}};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		fm_separated_figure(output, separator, 9, place, figures[i].name, figures[i].figure);
	for (unsigned i = 0; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];
		char where[160];

		snprintf(where, sizeof(where), "%s/%s", place, level->name);
		fm_separated_figure(output, separator, 9, where, "read_bytes", &level->read_bytes);
		fm_separated_figure(output, separator, 9, where, "allocate_bytes", &level->allocate_bytes);
		fm_separated_figure(output, separator, 9, where, "write_bytes", &level->write_bytes);
		fm_separated_figure(output, separator, 9, where, "gbs", &level->gbs);
		fm_separated_figure(output, separator, 9, where, "utilisation", &level->utilisation);
	}
}

static void print_levels(const struct fm_analysis *analysis, const char *separator, FILE *output)
{
	fm_separated_head(output, separator, fm_separated_figures);
	print_picture(&analysis->whole.picture, "total", separator, output);
	for (size_t i = 0; i < analysis->regions.count; i++) {
		char place[128];

		snprintf(place, sizeof(place), "region %s", analysis->regions.parts[i].picture.part.region);
		print_picture(&analysis->regions.parts[i].picture, place, separator, output);
	}
}

static void print_moment(const struct fm_recording *recording, size_t first, const struct fm_judged *moment,
                         const struct fm_writer_options *options, FILE *output)
{
	char place[40];

	if (moment) {
		snprintf(place, sizeof(place), "%.3f s", moment->at);
		print_picture(&moment->picture, place, options->separator, output);
	} else {
		fm_events_print_moment(recording, first, options->separator, output);
	}
	fflush(output);
}

static void print_moments(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;

	for (size_t i = 0; i < recording->intervals_count; i++)
		if (!recording->intervals[i].part && !recording->intervals[i].event &&
		    recording->asked.question == FM_QUESTION_COUNTED_EVENTS)
			print_moment(recording, i, NULL, options, output);
	for (size_t i = 0; recording->asked.question == FM_QUESTION_COUNTED_LEVELS && i < analysis->moments.count; i++)
		print_moment(recording, 0, &analysis->moments.parts[i], options, output);
}

static void print_stat(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const char *separator = options->separator;

	if (!options->moments_written)
		print_moments(analysis, options, output);
	switch ((enum fm_question)analysis->recording->asked.question) {
	case FM_QUESTION_COUNTED_EVENTS:
		print_events(analysis->recording, separator, output);
		break;
	case FM_QUESTION_SIMULATED_EVENTS:
		print_simulated_events(analysis, separator, output);
		break;
	case FM_QUESTION_COUNTED_LEVELS:
	case FM_QUESTION_SIMULATED_LEVELS:
		print_levels(analysis, separator, output);
		break;
	default:
		print_exact(analysis, separator, output);
	}
}

const struct fm_writer fm_writer_separated = {
    .name = "separated", .stat = print_stat, .samples = fm_samples_print_separated, .moment = print_moment};
