/* Findings, folded regions, streams and working sets, as JSON. */
#include <jansson.h>
#include <string.h>

#include "fold/findings.h"
#include "json/figure.h"
#include "report/parts.h"

static void set_object(json_t *entry, const struct fm_fold *fold, int64_t object)
{
	json_object_set_new(entry, "object", fm_json_text(object < 0 ? NULL : fold->samples->objects[object].name));
}

static void set_line(json_t *entry, const struct fm_fold *fold, int64_t index)
{
	const struct fm_sampled_line *line = index < 0 ? NULL : &fold->samples->lines[index];

	json_object_set_new(entry, "function", fm_json_text(line ? line->function : NULL));
	json_object_set_new(entry, "file", fm_json_text(line ? line->file : NULL));
	json_object_set_new(entry, "line", line && line->line ? json_integer((json_int_t)line->line) : json_null());
}

static void set_region(json_t *entry, const struct fm_fold *fold, int64_t region)
{
	json_object_set_new(entry, "region", fm_json_text(region < 0 ? NULL : fold->regions[region].name));
}

static json_t *findings_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->finding_count; i++) {
		const struct fm_fold_finding *finding = &fold->findings[i];
		json_t *entry = json_pack("{s:s, s:s, s:f, s:s, s:s}", "name", fm_fold_finding_name(finding->kind),
		                          "title", finding->title, "confidence", finding->confidence, "evidence",
		                          finding->evidence, "advice", finding->advice);

		set_object(entry, fold, finding->object);
		set_line(entry, fold, finding->line);
		set_region(entry, fold, finding->region);
		fm_json_set_figure(entry, "worth", &finding->worth);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *fields_json(const struct fm_stream *stream)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < stream->field_count; i++)
		json_array_append_new(array,
		                      json_pack("{s:I, s:I, s:f, s:b}", "offset", (json_int_t)stream->fields[i].offset,
		                                "bytes", (json_int_t)stream->fields[i].bytes, "share",
		                                stream->fields[i].share, "stores", stream->fields[i].stores));
	return array;
}

static json_t *streams_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *stream = &fold->streams[i];
		json_t *entry =
		    json_pack("{s:s, s:b, s:f, s:s, s:I, s:I, s:b, s:b, s:f, s:f, s:I, s:I, s:I}", "direction",
		              fm_direction_name(stream->direction), "falling", stream->falling, "confidence",
		              stream->confidence, "reason", stream->reason, "mode", (json_int_t)stream->mode, "phase",
		              (json_int_t)stream->phase, "load", stream->load, "store", stream->store, "begin",
		              stream->begin, "end", stream->end, "lowest", (json_int_t)stream->lowest, "highest",
		              (json_int_t)stream->highest, "together", (json_int_t)stream->together);

		set_object(entry, fold, stream->object);
		set_line(entry, fold, stream->line);
		set_region(entry, fold, stream->region);
		fm_json_set_figure(entry, "stride_bytes", &stream->stride_bytes);
		fm_json_set_figure(entry, "passes", &stream->passes);
		fm_json_set_figure(entry, "coverage", &stream->coverage);
		fm_json_set_figure(entry, "gbs", &stream->gbs);
		json_object_set_new(entry, "fields", fields_json(stream));
		fm_json_set_served(entry, fold->samples, &stream->served);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *working_sets_json(const struct fm_fold *fold)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->working_set_count; i++) {
		const struct fm_working_set *set = &fold->working_sets[i];
		json_t *entry = json_pack("{s:I}", "mode", (json_int_t)set->mode);

		set_region(entry, fold, set->region);
		set_object(entry, fold, set->object);
		fm_json_set_figure(entry, "bytes", &set->bytes);
		fm_json_set_figure(entry, "gbs", &set->gbs);
		json_object_set_new(entry, "fits", fm_json_text(set->fits));
		json_object_set_new(entry, "exceeds", fm_json_text(set->exceeds));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *phases_json(const struct fm_fold *fold, const struct fm_fold_mode *mode)
{
	json_t *array = json_array();

	for (size_t i = 0; i < mode->phase_count; i++) {
		const struct fm_fold_phase *phase = &mode->phases[i];
		json_t *entry = json_pack("{s:f, s:f, s:f}", "begin", phase->begin, "end", phase->end, "line_share",
		                          phase->line_share);

		set_line(entry, fold, phase->line);
		fm_json_set_figure(entry, "seconds", &phase->seconds);
		fm_json_set_served(entry, fold->samples, &phase->served);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *rates_json(const struct fm_fold_mode *mode)
{
	json_t *array = json_array();

	for (size_t i = 0; i < mode->rate_count; i++) {
		const struct fm_fold_rate *rate = &mode->rates[i];
		json_t *points = json_array();

		for (unsigned k = 0; k < FM_FOLD_POINTS; k++)
			json_array_append_new(points, rate->points[k].available
			                                  ? json_pack("[f, f, f]", rate->points[k].value,
			                                              rate->points[k].low, rate->points[k].high)
			                                  : json_null());
		json_array_append_new(
		    array, json_pack("{s:s, s:s, s:o}", "name", rate->name, "unit", rate->unit, "points", points));
	}
	return array;
}

static json_t *folded_json(const struct fm_fold *fold, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fold->region_count && i < most; i++) {
		const struct fm_fold_region *region = &fold->regions[i];
		json_t *modes = json_array(),
		       *entry =
		           json_pack("{s:s, s:b, s:f, s:I, s:I, s:I, s:f}", "name", region->name, "found",
		                     region->found, "confidence", region->confidence, "instances",
		                     (json_int_t)region->instance_count, "set_aside", (json_int_t)region->set_aside,
		                     "unfinished", (json_int_t)region->unfinished, "line_share", region->line_share);

		set_line(entry, fold, region->line);
		fm_json_set_figure(entry, "seconds", &region->seconds);
		fm_json_set_figure(entry, "length", &region->length);
		json_object_set_new(entry, "why", fm_json_text(region->why));
		for (size_t k = 0; k < region->mode_count; k++) {
			const struct fm_fold_mode *mode = &region->modes[k];
			json_t *row = json_pack("{s:I, s:I, s:I, s:f, s:f}", "instances", (json_int_t)mode->instances,
			                        "folded_samples", (json_int_t)mode->sample_count, "folded_references",
			                        (json_int_t)mode->references, "shortest", mode->shortest, "longest",
			                        mode->longest);

			fm_json_set_figure(row, "length", &mode->length);
			json_object_set_new(row, "why", fm_json_text(mode->why));
			json_object_set_new(row, "phases", phases_json(fold, mode));
			json_object_set_new(row, "rates", rates_json(mode));
			fm_json_set_served(row, fold->samples, &mode->served);
			json_array_append_new(modes, row);
		}
		json_object_set_new(entry, "modes", modes);
		json_array_append_new(array, entry);
	}
	return array;
}

void fm_fold_set_json(json_t *root, const struct fm_fold *fold, size_t most)
{
	json_object_set_new(root, "clock", json_string(fold->clock == FM_FOLD_SECONDS ? "seconds" : "references"));
	json_object_set_new(root, "folded", folded_json(fold, most));
	json_object_set_new(root, "folded_why", fm_json_text(fold->why));
	json_object_set_new(root, "streams", streams_json(fold));
	json_object_set_new(root, "working_sets", working_sets_json(fold));
	json_object_set_new(root, "findings", findings_json(fold));
}
