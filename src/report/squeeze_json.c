#include <math.h>

#include "json/figure.h"
#include "report/squeeze.h"

static const char *const kinds[] = {[FM_SQUEEZE_SENSITIVE] = "sensitive",
                                    [FM_SQUEEZE_SMALL] = "insensitive-small",
                                    [FM_SQUEEZE_STREAMING] = "insensitive-streaming",
                                    [FM_SQUEEZE_UNTOLD] = "insensitive"};

static json_t *number_or_null(double value)
{
	return value > 0 && isfinite(value) ? json_real(value) : json_null();
}

static void add_live_points(const struct fm_squeeze *squeeze, const struct fm_design *design, bool is_size,
                            json_t *curve)
{
	const struct fm_recorded_squeeze *how = squeeze->how;

	for (unsigned i = 0; i < design->count; i++) {
		const struct fm_design_point *from = &design->points[i];
		const struct fm_figure time = isfinite(from->high)
		                                  ? fm_figure_make(from->time, from->low, from->high, "s",
		                                                   FM_ORIGIN_measured, how->backend, from->runs)
		                                  : fm_figure_unavailable("one pair of runs has no interval"),
		                       slowdown = fm_figure_scaled(&time, 1 / squeeze->seconds, "times");
		json_t *point = json_object();

		/* only one point has the full amount */
		if (!is_size && from->amount >= how->gbs) {
			json_decref(point);
			continue;
		}
		json_object_set_new(point, "capacity_bytes", number_or_null(is_size ? from->amount : how->bytes));
		json_object_set_new(point, "gbs", number_or_null(is_size ? how->gbs : from->amount));
		json_object_set_new(point, "pairs", json_integer(from->amount < design->full ? from->runs : 0));
		fm_json_set_figure(point, "time", &time);
		fm_json_set_figure(point, "slowdown", &slowdown);
		json_array_append_new(curve, point);
	}
}

/* Every run with its measurements. */
static json_t *runs_of(const struct fm_squeeze *squeeze)
{
	static const char *const roles[] = {
	    [FM_SQUEEZE_WHOLE] = "whole", [FM_SQUEEZE_LESS] = "less", [FM_SQUEEZE_CONTROL] = "control"};
	json_t *runs = json_array();

	for (size_t i = 0; i < squeeze->recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &squeeze->recording->squeeze_steps[i];
		json_t *run = json_object();

		json_object_set_new(run, "role",
		                    json_string(step->role <= FM_SQUEEZE_CONTROL ? roles[step->role] : ""));
		json_object_set_new(run, "pair", json_integer((json_int_t)step->pair));
		json_object_set_new(run, "capacity_bytes", number_or_null(step->bytes));
		json_object_set_new(run, "gbs", number_or_null(step->gbs));
		json_object_set_new(run, "seconds", json_real(isfinite(step->seconds) ? step->seconds : 0));
		json_object_set_new(run, "disturbed", json_boolean(step->disturbed));
		json_object_set_new(run, "near_ns", number_or_null(step->near_ns));
		json_object_set_new(run, "beyond_ns", number_or_null(step->beyond_ns));
		json_object_set_new(run, "left_bytes", json_real(isfinite(step->left_bytes) ? step->left_bytes : 0));
		json_array_append_new(runs, run);
	}
	return runs;
}

static json_t *curve_of(const struct fm_squeeze *squeeze)
{
	json_t *curve = json_array();
	double hertz = squeeze->recording->machine.frequency_ghz * 1e9;

	if (squeeze->how->live) {
		add_live_points(squeeze, &squeeze->capacity, true, curve);
		add_live_points(squeeze, &squeeze->bandwidth, false, curve);
		return curve;
	}
	for (size_t i = 0; i < squeeze->recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &squeeze->recording->squeeze_steps[i];
		double seconds = (double)step->cycles / hertz;
		const struct fm_figure time = fm_figure_make(seconds, seconds, seconds, "s", FM_ORIGIN_simulated,
		                                             squeeze->how->backend, 1),
		                       slowdown = fm_figure_scaled(&time, 1 / squeeze->seconds, "times");
		json_t *point;

		/* belongs to the map */
		if (step->bytes < squeeze->how->bytes && step->gbs < squeeze->how->gbs)
			continue;
		point = json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "capacity_bytes", step->bytes, "gbs",
		                  step->gbs, "cycles", (json_int_t)step->cycles, "latency_cycles",
		                  (json_int_t)step->latency_cycles, "requests", (json_int_t)step->requests, "misses",
		                  (json_int_t)step->misses, "memory_bytes", (json_int_t)step->memory_bytes);
		fm_json_set_figure(point, "time", &time);
		fm_json_set_figure(point, "slowdown", &slowdown);
		json_array_append_new(curve, point);
	}
	return curve;
}

/* Cell by cell, from the full amounts on. */
static json_t *map_of(const struct fm_squeeze *squeeze)
{
	const struct fm_squeeze_map *map = &squeeze->map;
	json_t *cells = json_array();

	for (unsigned i = 0; i < map->capacities; i++)
		for (unsigned k = 0; k < map->bandwidths; k++) {
			json_t *cell = json_pack("{s:f, s:f}", "capacity_bytes", map->bytes[i], "gbs", map->gbs[k]);

			fm_json_set_figure(cell, "slowdown", &map->slowdown[i][k]);
			fm_json_set_figure(cell, "predicted", &map->predicted[i][k]);
			json_array_append_new(cells, cell);
		}
	return cells;
}

static json_t *mappings_of(const struct fm_squeeze *squeeze)
{
	json_t *mappings = json_array();

	for (unsigned i = 0; i < squeeze->mapping_count; i++) {
		const struct fm_squeeze_mapping *from = &squeeze->mappings[i];
		json_t *mapping = json_pack("{s:i, s:i, s:i}", "ranks_per_cache", (int)from->ranks, "caches",
		                            (int)from->caches, "runs", (int)from->runs);

		fm_json_set_figure(mapping, "time", &from->seconds);
		fm_json_set_figure(mapping, "slowdown", &from->sharing);
		fm_json_set_figure(mapping, "capacity_in_use_bytes", &from->capacity_in_use);
		fm_json_set_figure(mapping, "bandwidth_in_use_gbs", &from->bandwidth_in_use);
		fm_json_set_figure(mapping, "traffic_gbs", &from->traffic_gbs);
		json_array_append_new(mappings, mapping);
	}
	return mappings;
}

static json_t *predictions_of(const struct fm_squeeze *squeeze)
{
	json_t *predictions = json_array();

	for (unsigned i = 0; i < squeeze->prediction_count; i++) {
		const struct fm_squeeze_prediction *from = &squeeze->predictions[i];
		json_t *prediction = json_pack("{s:s, s:o, s:o}", "asked", from->text, "capacity_bytes",
		                               number_or_null(from->bytes), "gbs", number_or_null(from->gbs));

		fm_json_set_figure(prediction, "time", &from->seconds);
		fm_json_set_figure(prediction, "slowdown", &from->slowdown);
		if (squeeze->how->live)
			fm_json_set_figure(prediction, "from_half", &from->from_half);
		json_array_append_new(predictions, prediction);
	}
	return predictions;
}

static json_t *begin(const struct fm_squeeze *squeeze)
{
	json_t *root = fm_json_document("squeeze");

	if (squeeze->how->live) {
		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:s, s:b}", "name", "host", "title", squeeze->recording->run.host,
		                              "simulated", 0));
		json_object_set_new(
		    root, "disturbance",
		    json_pack("{s:i, s:i}", "pairs_set_aside", (int)squeeze->set_aside, "runs", (int)squeeze->runs));
		json_object_set_new(root, "level", json_string(squeeze->how->level));
		json_object_set_new(root, "level_bytes", json_real(squeeze->how->bytes));
		return root;
	}
	json_object_set_new(root, "machine",
	                    json_pack("{s:s, s:s, s:b, s:f}", "name", squeeze->recording->machine.name, "title",
	                              squeeze->recording->machine.title, "simulated", 1, "frequency_ghz",
	                              squeeze->recording->machine.frequency_ghz));
	fm_json_set_null(root, "disturbance", "simulated times do not depend on the load of the host");
	json_object_set_new(root, "level", json_string(squeeze->how->level));
	json_object_set_new(root, "level_bytes", json_real(squeeze->how->bytes));
	return root;
}

json_t *fm_squeeze_json(const struct fm_squeeze *squeeze)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	json_t *root = begin(squeeze);

	json_object_set_new(root, "program", json_string(squeeze->recording->run.program));
	json_object_set_new(root, "exit_status", json_integer(squeeze->recording->run.exit_status));
	json_object_set_new(root, "calibration",
	                    json_pack("{s:s, s:s, s:s}", "backend", how->backend, "takes",
	                              squeeze->backend ? squeeze->backend->takes : "", "statement", how->calibration));
	json_object_set_new(root, "memory_gbs", number_or_null(how->gbs));
	json_object_set_new(root, "noticeable", json_real(how->noticeable));
	json_object_set_new(root, "runs", json_integer((json_int_t)squeeze->recording->squeeze_steps_count));
	json_object_set_new(root, "region", fm_json_text(how->region));
	json_object_set_new(root, "complete", json_boolean(!*how->stopped));
	json_object_set_new(root, "stopped", fm_json_text(how->stopped));
	json_object_set_new(root, "kind",
	                    squeeze->capacity_in_use.available && !squeeze->control_fails
	                        ? json_string(kinds[squeeze->kind])
	                        : json_string("inconclusive"));
	fm_json_set_figure(root, "capacity_in_use_bytes", &squeeze->capacity_in_use);
	fm_json_set_figure(root, "bandwidth_in_use_gbs", &squeeze->bandwidth_in_use);
	if (how->live) {
		fm_json_set_null(root, "traffic_gbs", "no live counter for it");
		json_object_set_new(root, "footprint_bytes", json_real(how->footprint_bytes));
		fm_json_set_figure(root, "control", &squeeze->control);
		fm_json_set_figure(root, "near_ns", &how->near_ns);
		fm_json_set_figure(root, "beyond_ns", &how->beyond_ns);
		json_object_set_new(root, "every_run", runs_of(squeeze));
	} else {
		json_object_set_new(root, "traffic_gbs", json_real(squeeze->traffic_gbs));
	}
	fm_json_set_figure(root, "curve_need_bytes", &squeeze->curve_need);
	json_object_set_new(root, "methods_agree",
	                    squeeze->curve_need.available && squeeze->capacity_in_use.available
	                        ? json_boolean(squeeze->agrees)
	                        : json_null());
	json_object_set_new(root, "curve", curve_of(squeeze));
	json_object_set_new(root, "map", map_of(squeeze));
	json_object_set_new(root, "ranks", how->ranks ? json_integer(how->ranks) : json_null());
	json_object_set_new(root, "mappings", mappings_of(squeeze));
	json_object_set_new(root, "predictions", predictions_of(squeeze));
	return root;
}

json_t *fm_squeeze_pair_json(const struct fm_squeeze *const squeezes[2], const struct fm_squeeze_pair *pair)
{
	json_t *root = begin(squeezes[0]), *programs = json_array();

	for (unsigned i = 0; i < 2; i++) {
		json_t *program = json_pack("{s:s, s:f, s:f}", "program", squeezes[i]->recording->run.program,
		                            "share_bytes", pair->share[i], "miss_ratio", pair->misses[i]);

		fm_json_set_figure(program, "slowdown", &pair->slowdown[i]);
		fm_json_set_figure(program, "latency_slowdown", &pair->latency_slowdown[i]);
		json_array_append_new(programs, program);
	}
	json_object_set_new(root, "pair", programs);
	return root;
}
