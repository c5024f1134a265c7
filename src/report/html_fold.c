/* Folded regions, streams, working sets and findings in `report --html`. */
#include <stdio.h>

#include "fold/findings.h"
#include "json/figure.h"
#include "report/html_parts.h"
#include "report/html_points.h"

enum {
	TIMELINES_MAX = 6,
	MODES_MAX = 2,
	STREAMS_MAX = 256,
	SETS_MAX = 12,
	REGIONS_MAX = 256,
	PHASES_MAX = 256,
	FEW = 30
};

static json_t *name_json(const struct fm_fold *fold, int64_t region)
{
	return region < 0 ? json_null() : json_string(fold->regions[region].name);
}

static json_t *findings_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->finding_count; i++) {
		const struct fm_fold_finding *finding = &fold->findings[i];

		json_array_append_new(
		    array, json_pack("{s:s, s:s, s:f, s:s, s:o, s:I, s:I, s:o, s:o}", "title", finding->title,
		                     "verdict", "present", "confidence", finding->confidence, "evidence",
		                     finding->evidence, "advice", fm_json_text(finding->advice), "object",
		                     (json_int_t)finding->object, "line", (json_int_t)finding->line, "region",
		                     name_json(fold, finding->region), "worth", fm_html_figure(&finding->worth)));
	}
	return array;
}

/* The region, and its mode if there are several. */
static json_t *stream_region(const struct fm_fold *fold, const struct fm_stream *stream)
{
	char name[FM_NAME + 40];

	if (stream->region < 0 || !stream->mode)
		return name_json(fold, stream->region);
	snprintf(name, sizeof(name), "%s (kind %u)", fold->regions[stream->region].name, stream->mode + 1);
	return json_string(name);
}

static json_t *streams_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->stream_count && i < STREAMS_MAX; i++) {
		const struct fm_stream *stream = &fold->streams[i];
		char direction[40];

		snprintf(direction, sizeof(direction), "%s%s", fm_direction_name(stream->direction),
		         stream->direction == FM_DIRECTION_STRIDED ? stream->falling ? " down" : " up" : "");
		json_array_append_new(
		    array,
		    json_pack("{s:I, s:I, s:o, s:I, s:s, s:s, s:f, s:o, s:o, s:o, s:i, s:s, s:o}", "object",
		              (json_int_t)stream->object, "line", (json_int_t)stream->line, "region",
		              stream_region(fold, stream), "phase", (json_int_t)stream->phase, "direction", direction,
		              "reason", stream->reason, "confidence", stream->confidence, "stride",
		              fm_html_figure(&stream->stride_bytes), "coverage", fm_html_figure(&stream->coverage),
		              "gbs", fm_html_figure(&stream->gbs), "together", (int)stream->together, "kind",
		              stream->load && stream->store ? "both"
		              : stream->store               ? "stores"
		                                            : "loads",
		              "served", fm_html_served(fold->samples, &stream->served)));
	}
	return array;
}

static json_t *sets_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->working_set_count && json_array_size(array) < SETS_MAX; i++) {
		const struct fm_working_set *set = &fold->working_sets[i];
		char name[FM_NAME + FM_FUNCTION + 40];

		/* only the most frequent mode of each region */
		if (!set->bytes.available || set->bytes.value <= 0 || set->mode)
			continue;
		if (set->object >= 0)
			snprintf(name, sizeof(name), "%s", fold->samples->objects[set->object].name);
		else
			snprintf(name, sizeof(name), "all of %s",
			         set->region < 0 ? "the program" : fold->regions[set->region].name);
		json_array_append_new(array,
		                      json_pack("{s:s, s:f, s:o, s:s, s:s, s:o}", "name", name, "size",
		                                set->bytes.value, "bytes", fm_html_figure(&set->bytes), "fits",
		                                set->fits, "exceeds", set->exceeds, "gbs", fm_html_figure(&set->gbs)));
	}
	return array;
}

/* Duration of instances, and the line with the most samples. */
static json_t *regions_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->region_count && i < REGIONS_MAX; i++) {
		const struct fm_fold_region *region = &fold->regions[i];

		json_array_append_new(
		    array,
		    json_pack("{s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:I, s:f, s:o}", "name", region->name, "found",
		              region->found, "instances", (json_int_t)region->instance_count, "set_aside",
		              (json_int_t)region->set_aside, "modes", (json_int_t)region->mode_count, "seconds",
		              fm_html_figure(&region->seconds), "length", fm_html_figure(&region->length), "line",
		              (json_int_t)region->line, "line_share", region->line_share, "served",
		              region->mode_count ? fm_html_served(fold->samples, &region->modes[0].served)
		                                 : json_null()));
	}
	return array;
}

static void add_phases(json_t *array, const struct fm_fold *fold, const struct fm_fold_region *region, size_t which)
{
	const struct fm_fold_mode *mode = &region->modes[which];

	for (size_t i = 0; i < mode->phase_count && json_array_size(array) < PHASES_MAX; i++) {
		const struct fm_fold_phase *phase = &mode->phases[i];

		json_array_append_new(array, json_pack("{s:s, s:I, s:I, s:f, s:f, s:o, s:I, s:f, s:o}", "region",
		                                       region->name, "mode", (json_int_t)which, "phase", (json_int_t)i,
		                                       "begin", phase->begin, "end", phase->end, "seconds",
		                                       fm_html_figure(&phase->seconds), "line", (json_int_t)phase->line,
		                                       "line_share", phase->line_share, "served",
		                                       fm_html_served(fold->samples, &phase->served)));
	}
}

static json_t *all_phases_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->region_count; i++)
		for (size_t k = 0; k < fold->regions[i].mode_count; k++)
			if (!*fold->regions[i].modes[k].why)
				add_phases(array, fold, &fold->regions[i], k);
	return array;
}

/* Timelines */

static struct fm_html_point point_of(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                     const struct fm_folded *folded)
{
	const struct fm_recorded_sample *recorded = &fold->samples->recording->samples[folded->sample];
	const struct fm_folded_sample here = fm_fold_sample(fold, mode, folded), *sample = &here;

	return (struct fm_html_point){
	    .at = sample->place,
	    .address = sample->address,
	    .object = sample->object < 0 ? UINT32_MAX : (uint32_t)sample->object,
	    .line = sample->line < 0 ? UINT32_MAX : (uint32_t)sample->line,
	    .thread = sample->thread,
	    .level = sample->level,
	    .load = sample->load,
	    .store = sample->store,
	    .reference = sample->weight > 0,
	    .cost = fm_html_cost(fold->samples, recorded),
	    .weight = recorded->weight,
	};
}

static json_t *rates_json(const struct fm_fold_mode *mode)
{
	json_t *array = json_array();

	for (size_t i = 0; i < mode->rate_count; i++) {
		json_t *points = json_array();

		for (unsigned k = 0; k < FM_FOLD_POINTS; k++)
			json_array_append_new(points, mode->rates[i].points[k].available
			                                  ? fm_html_figure(&mode->rates[i].points[k])
			                                  : json_null());
		json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "name", mode->rates[i].name, "unit",
		                                       mode->rates[i].unit, "points", points));
	}
	return array;
}

static json_t *phases_json(const struct fm_fold_mode *mode)
{
	json_t *array = json_array();

	for (size_t i = 0; i < mode->phase_count; i++)
		json_array_append_new(array, json_pack("{s:f, s:f, s:I}", "begin", mode->phases[i].begin, "end",
		                                       mode->phases[i].end, "line", (json_int_t)mode->phases[i].line));
	return array;
}

static void say(char *words, size_t size, const struct fm_fold_region *region, const struct fm_fold_mode *mode)
{
	int length = snprintf(words, size, "%llu instances folded into one, %zu samples (%zu of references).",
	                      (unsigned long long)mode->instances, mode->sample_count, mode->references);

	if (region->set_aside && (size_t)length < size)
		length += snprintf(words + length, size - (size_t)length, " %llu instances excluded: unusual duration.",
		                   (unsigned long long)region->set_aside);
	if (region->found && (size_t)length < size)
		snprintf(words + length, size - (size_t)length,
		         " The loop was detected without markers, confidence %.2f.", region->confidence);
}

static json_t *timeline_json(const struct fm_fold *fold, const struct fm_fold_region *region, size_t index, size_t most)
{
	const struct fm_fold_mode *mode = &region->modes[index];
	struct fm_html_points *points = fm_html_points_create(mode->sample_count, most, 0, 1);
	bool known = mode->length.available;
	char name[FM_NAME + 60], words[400];
	json_t *timeline;

	if (!points)
		return NULL;
	for (size_t i = 0; i < mode->sample_count; i++) {
		struct fm_html_point point = point_of(fold, mode, &mode->samples[i]);

		fm_html_points_extend(points, point.object, point.address);
		if (fm_html_points_wants(points))
			fm_html_points_add(points, &point);
	}
	snprintf(name, sizeof(name), index ? "%s, folded (kind %zu)" : "%s, folded", region->name, index + 1);
	say(words, sizeof(words), region, mode);
	timeline = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "name", name, "kind", "folded", "words", words, "unit",
	                     known ? mode->length.unit : "", "begin", 0.0, "end", known ? mode->length.value : 1.0);
	json_object_set_new(timeline, "rates", rates_json(mode));
	json_object_set_new(timeline, "phases", phases_json(mode));
	fm_html_points_finish(points, timeline);
	fm_html_points_free(points);
	return timeline;
}

void fm_html_set_folded(json_t *root, json_t *timelines, const struct fm_fold *fold)
{
	size_t room = FM_HTML_FOLDED_ALL;

	size_t references = fm_recording_references(fold->samples->recording);
	char why[160];

	json_object_set_new(root, "findings", findings_json(fold));
	if (references < FEW) {
		snprintf(why, sizeof(why),
		         "No findings: %zu samples are too few. Record longer, or with a higher --overhead.",
		         references);
		json_object_set_new(root, "findings_why", json_string(why));
	}
	json_object_set_new(root, "streams", streams_json(fold));
	json_object_set_new(root, "folded", regions_json(fold));
	json_object_set_new(root, "phases", all_phases_json(fold));
	json_object_set_new(root, "streams_why", fm_json_text(fold->why));
	if (fold->working_set_count)
		json_object_set_new(root, "working_sets", sets_json(fold));
	for (size_t i = 0; i < fold->region_count; i++)
		for (size_t k = 0; k < fold->regions[i].mode_count && k < MODES_MAX; k++) {
			const struct fm_fold_mode *mode = &fold->regions[i].modes[k];
			size_t most = room < FM_HTML_FOLDED_POINTS ? room : FM_HTML_FOLDED_POINTS;
			json_t *timeline;

			if (*mode->why || !mode->sample_count || !most || json_array_size(timelines) >= TIMELINES_MAX)
				continue;
			timeline = timeline_json(fold, &fold->regions[i], k, most);
			if (timeline)
				json_array_append_new(timelines, timeline);
			room -= mode->sample_count < most ? mode->sample_count : most;
		}
}
