#include "report/laboratory.h"

#include <stdlib.h>
#include <string.h>

#include "json/figure.h"
#include "report/table.h"
#include "windows/laboratory.h"

enum { MOST_PLACES = 10 };

/* A source line where rounds were. */
struct place {
	uint32_t running;
	struct fm_laboratory laboratory;
};

static int by_rounds(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->laboratory.rounds != b->laboratory.rounds)
		return a->laboratory.rounds < b->laboratory.rounds ? 1 : -1;
	return (a->running > b->running) - (a->running < b->running);
}

/* Returns their number; the list is to be freed. */
static size_t places_of(const struct fm_recording *recording, struct place **ret_places)
{
	bool *seen = calloc(recording->runnings_count + 1, sizeof(*seen));
	struct place *places = calloc(recording->runnings_count + 1, sizeof(*places));
	size_t count = 0;

	for (size_t i = 0; seen && places && i < recording->timed_count; i++) {
		const struct fm_recorded_timing *row = &recording->timed[i];

		if (seen[row->running] || !row->mark)
			continue;
		seen[row->running] = true;
		places[count].running = row->running;
		fm_laboratory_estimate(recording, row->running, &places[count].laboratory);
		count += places[count].laboratory.rounds > 0;
	}
	free(seen);
	if (count)
		qsort(places, count, sizeof(*places), by_rounds);
	*ret_places = places;
	return count < MOST_PLACES ? count : MOST_PLACES;
}

static void share_cell(struct fm_table *table, const struct fm_waiting_share *share)
{
	if (share->known)
		fm_table_cell(table, "%.0f %% (%.0f … %.0f)", 100 * share->value, 100 * share->low, 100 * share->high);
	else
		fm_table_cells(table, "-");
}

static void print_places(const struct fm_recording *recording, unsigned width, FILE *output)
{
	struct fm_table *table = fm_table_create("rrrw");
	struct place *places;
	size_t count = places_of(recording, &places);
	unsigned all = 0;

	for (size_t i = 0; i < recording->timed_count; i++)
		all += strcmp(recording->timed[i].kind, "natural") != 0;
	fm_table_cells(table, "time", "not in L1", "nor in L2", "up to the branch in");
	for (size_t i = 0; i < count; i++) {
		const struct fm_recorded_running *line = &recording->runnings[places[i].running];
		const char *file = strrchr(line->file, '/');

		fm_table_cell(table, "%.0f %%", 100.0 * places[i].laboratory.rounds / all);
		share_cell(table, &places[i].laboratory.first);
		share_cell(table, &places[i].laboratory.second);
		if (line->line)
			fm_table_cell(table, "%s (%s:%lld)", line->function, file ? file + 1 : line->file,
			              (long long)line->line);
		else
			fm_table_cell(table, "%s (%s)", line->function, line->module);
	}
	if (count) {
		fprintf(output, "\nWaiting by place, measured\n");
		fm_table_end(table, output, 2, width);
	} else {
		fm_table_free(table);
	}
	free(places);
}

void fm_laboratory_text(const struct fm_picture *picture, bool by_place, unsigned width, FILE *output)
{
	const struct fm_picture_laboratory *laboratory = &picture->laboratory;
	const struct fm_figure *first = &laboratory->waiting, *second = &laboratory->beyond_second;

	if (!laboratory->rounds)
		return;
	if (first->available) {
		fprintf(output, "Measured: %.0f %% (%.0f … %.0f) of the user time waits for lines that are not in L1",
		        100 * first->value, 100 * first->low, 100 * first->high);
		if (second->available)
			fprintf(output, ",\n%.0f %% (%.0f … %.0f) for lines in neither L1 nor L2", 100 * second->value,
			        100 * second->low, 100 * second->high);
		fputs(".\n", output);
	} else {
		fprintf(output, "Waiting for lines was not measured: %s.\n", first->why);
	}
	if (laboratory->covered < 0.95)
		fprintf(output, "In %.0f %% of the time lines could not be placed, mostly because of %s.\n",
		        100 * (1 - laboratory->covered), laboratory->problem);
	if (by_place)
		print_places(picture->recording, width, output);
}

static void set_share(json_t *object, const char *name, const struct fm_waiting_share *share)
{
	json_object_set_new(object, name,
	                    share->known ? json_pack("{s:f, s:f, s:f, s:i}", "value", share->value, "low", share->low,
	                                             "high", share->high, "rounds", (int)share->rounds)
	                                 : json_null());
}

json_t *fm_laboratory_json(const struct fm_picture *picture)
{
	const struct fm_picture_laboratory *laboratory = &picture->laboratory;
	const struct fm_recording *recording = picture->recording;
	json_t *object, *array;
	struct place *places;
	size_t count;

	if (!laboratory->rounds)
		return json_null();
	object = json_pack("{s:b, s:i, s:f, s:s}", "used", laboratory->used, "rounds", (int)laboratory->rounds,
	                   "covered", laboratory->covered, "problem", laboratory->problem);
	fm_json_set_figure(object, "waiting", &laboratory->waiting);
	fm_json_set_figure(object, "beyond_second", &laboratory->beyond_second);
	array = json_array();
	count = places_of(recording, &places);
	for (size_t i = 0; i < count; i++) {
		const struct fm_recorded_running *line = &recording->runnings[places[i].running];
		json_t *place = json_pack("{s:s, s:s, s:I, s:i}", "function", line->function, "file", line->file,
		                          "line", (json_int_t)line->line, "rounds", (int)places[i].laboratory.rounds);

		set_share(place, "waiting", &places[i].laboratory.first);
		set_share(place, "beyond_second", &places[i].laboratory.second);
		json_array_append_new(array, place);
	}
	json_object_set_new(object, "places", array);
	free(places);
	return object;
}
