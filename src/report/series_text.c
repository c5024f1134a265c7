#include "report/series_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/picture_text.h"

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

static void gather(const struct fm_series_source *source, struct strips *strips)
{
	struct fm_picture *picture = malloc(sizeof(*picture));

	strips->at = calloc(MOMENTS_MAX, sizeof(*strips->at));
	for (unsigned i = 0;
	     picture && strips->at && i < MOMENTS_MAX && source->moment(source->context, i, picture, &strips->at[i]);
	     i++) {
		unsigned row = 0;

		for (unsigned k = 1; k < picture->level_count; k++)
			note(strips, row++, picture->levels[k].name, "of what it can do",
			     picture->levels[k].utilisation.available ? picture->levels[k].utilisation.value : 0);
		note(strips, row++, "productive", "of the cycles", share_of(picture, &picture->productive));
		note(strips, row++, "bandwidth", "of the cycles", share_of(picture, &picture->bandwidth_bound));
		note(strips, row++, "latency", "of the cycles", share_of(picture, &picture->latency_bound));
		strips->moments++;
	}
	free(picture);
}

/* The mean of the moments that fall into a column, weighted by how long they took. */
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

void fm_series_print(const struct fm_series_source *source, FILE *output, unsigned width)
{
	static const char *const steps[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	struct strips strips = {0};
	unsigned columns = width > 60 && width - 44 < COLUMNS_MAX ? width - 44 : 56;

	gather(source, &strips);
	if (strips.moments > 1) {
		double end = strips.at[strips.moments - 1];

		fprintf(output, "\nOver %.3g s of %s, in %u steps:\n", end, source->time, strips.moments);
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

json_t *fm_series_to_json(const struct fm_series_source *source)
{
	struct fm_picture *picture = malloc(sizeof(*picture));
	json_t *array = json_array();
	double at;

	for (unsigned i = 0; picture && source->moment(source->context, i, picture, &at); i++) {
		json_t *entry = json_pack("{s:f}", "seconds", at);

		fm_picture_to_json(picture, entry);
		json_object_del(entry, "patterns");
		json_object_del(entry, "predicted");
		json_object_del(entry, "predicted_why");
		json_array_append_new(array, entry);
	}
	free(picture);
	return array;
}

static bool exact_moment(void *context, unsigned index, struct fm_picture *ret_picture, double *ret_at)
{
	return fm_picture_moment(context, index, ret_picture, ret_at);
}

struct fm_series_source fm_series_exact(struct fm_picture_source *source)
{
	return (struct fm_series_source){.context = source, .moment = exact_moment, .time = "simulated time"};
}
