#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "windows/totals.h"
#include "report/parts.h"

enum { STRIPS_MAX = FM_PICTURE_LEVELS + 3, COLUMNS_MAX = 160, MOMENTS_MAX = 4096 };

/* One line: shares between 0 and 1, moment by moment. */
struct strip {
	char name[24];
	const char *words;
	double *values;
	double most;
};

struct strips {
	struct strip strips[STRIPS_MAX];
	unsigned count;
	double *at;
	unsigned moments;
};

static void note(struct strips *strips, unsigned index, const char *name, const char *words, double value)
{
	struct strip *strip = &strips->strips[index];

	if (!strip->values) {
		snprintf(strip->name, sizeof(strip->name), "%s", name);
		strip->words = words;
		strip->values = calloc(MOMENTS_MAX, sizeof(*strip->values));
	}
	if (index >= strips->count)
		strips->count = index + 1;
	if (!strip->values)
		return;
	strip->values[strips->moments] = value;
	strip->most = fmax(strip->most, value);
}

static double share_of(const struct fm_picture *picture, const struct fm_figure *cycles)
{
	return cycles->available && picture->active.value > 0 ? cycles->value / picture->active.value : 0;
}

static void gather(const struct fm_judged_list *moments, struct strips *strips)
{
	strips->at = calloc(MOMENTS_MAX, sizeof(*strips->at));
	for (size_t i = 0; strips->at && i < moments->count && i < MOMENTS_MAX; i++) {
		const struct fm_picture *picture = &moments->parts[i].picture;
		unsigned row = 0;

		strips->at[i] = moments->parts[i].at;
		for (unsigned k = 1; k < picture->level_count; k++)
			note(strips, row++, picture->levels[k].name, "of peak",
			     picture->levels[k].utilisation.available ? picture->levels[k].utilisation.value : 0);
		note(strips, row++, "productive", "of cycles", share_of(picture, &picture->productive));
		note(strips, row++, "bandwidth", "of cycles", share_of(picture, &picture->bandwidth_bound));
		note(strips, row++, "latency", "of cycles", share_of(picture, &picture->latency_bound));
		strips->moments++;
	}
}

/* The mean of the moments in a column, weighted by duration. */
static double mean(const struct strips *strips, const double *values, double from, double to)
{
	double sum = 0, time = 0;

	for (unsigned i = 0; i < strips->moments; i++) {
		double begin = fmax(i ? strips->at[i - 1] : 0, from), end = fmin(strips->at[i], to);

		if (end > begin) {
			sum += values[i] * (end - begin);
			time += end - begin;
		}
	}
	return time > 0 ? sum / time : 0;
}

void fm_series_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	static const char *const steps[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	struct strips strips = {0};
	unsigned columns = options->width > 60 && options->width - 44 < COLUMNS_MAX ? options->width - 44 : 56;

	gather(&analysis->moments, &strips);
	if (strips.moments > 1) {
		double end = strips.at[strips.moments - 1];

		fprintf(output, "\nOver %.3g s of %s, in %u steps:\n", end,
		        fm_windows_used(analysis->recording) ? "program time" : "simulated time", strips.moments);
		for (unsigned i = 0; i < strips.count; i++) {
			const struct strip *strip = &strips.strips[i];

			if (!strip->values)
				continue;
			fprintf(output, "%-10s ", strip->name);
			for (unsigned k = 0; k < columns; k++) {
				double value = mean(&strips, strip->values, end * k / columns, end * (k + 1) / columns);
				unsigned step = (unsigned)fmin(8, ceil(8 * value - 0.05));

				fputs(steps[value > 0.005 && !step ? 1 : step], output);
			}
			fprintf(output, " up to %3.0f %% %s\n", 100 * strip->most, strip->words);
		}
	}
	for (unsigned i = 0; i < strips.count; i++)
		free(strips.strips[i].values);
	free(strips.at);
}
