#include "trust/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "json/figure.h"

static const char *event_name(const struct fm_validation *validation, int event)
{
	return event < 0 ? "n/a" : validation->matrix->events[event].name;
}

unsigned fm_metrics_cycles(const struct fm_validation *validation, struct fm_cycle_formula *ret_formulas)
{
	const struct fm_stalls *stalls = &validation->stalls;
	char queues[200] = "", stores[120] = "";
	size_t used = 0;

	if (stalls->active < 0 || stalls->total < 0 || stalls->loads < 0)
		return 0;
	for (unsigned i = 0; i < stalls->queue_count && used < sizeof(queues); i++)
		used += (size_t)snprintf(queues + used, sizeof(queues) - used, "%s%s", i ? " + " : "",
		                         event_name(validation, stalls->queues[i]));
	if (!stalls->queue_count)
		snprintf(queues, sizeof(queues), "0");
	if (stalls->stores >= 0)
		snprintf(stores, sizeof(stores), "%s, ", event_name(validation, stalls->stores));
	ret_formulas[0].name = "active";
	snprintf(ret_formulas[0].formula, sizeof(ret_formulas[0].formula), "%s",
	         event_name(validation, stalls->active));
	ret_formulas[1].name = "stall";
	snprintf(ret_formulas[1].formula, sizeof(ret_formulas[1].formula), "%s", event_name(validation, stalls->total));
	ret_formulas[2].name = "productive";
	snprintf(ret_formulas[2].formula, sizeof(ret_formulas[2].formula), "active - stall");
	ret_formulas[3].name = "memory_bound";
	snprintf(ret_formulas[3].formula, sizeof(ret_formulas[3].formula), *stores ? "max(%s%s)" : "%s%s", stores,
	         event_name(validation, stalls->loads));
	ret_formulas[4].name = "bandwidth_bound";
	snprintf(ret_formulas[4].formula, sizeof(ret_formulas[4].formula), *stores ? "max(%s%s)" : "%s%s", stores,
	         queues);
	ret_formulas[5].name = "latency_bound";
	snprintf(ret_formulas[5].formula, sizeof(ret_formulas[5].formula), "memory_bound - bandwidth_bound");
	ret_formulas[6].name = "other_stall";
	snprintf(ret_formulas[6].formula, sizeof(ret_formulas[6].formula), "stall - memory_bound");
	return FM_CYCLE_FORMULAS;
}

static json_t *indicator_events(const struct fm_matrix *matrix, const struct fm_indicator *indicator)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < indicator->count; i++)
		json_array_append_new(array, json_pack("{s:s, s:f}", "name", matrix->events[indicator->events[i]].name,
		                                       "factor", indicator->coefficients[i]));
	return array;
}

json_t *fm_metrics_to_json(const struct fm_validation *validation)
{
	json_t *array = json_array();
	struct fm_cycle_formula formulas[FM_CYCLE_FORMULAS];
	unsigned cycles = fm_metrics_cycles(validation, formulas);
	char name[64], formula[320];

	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (!resource->indicator.count)
			continue;
		snprintf(name, sizeof(name), "%s %s", resource->name, resource->write ? "write" : "read");
		json_array_append_new(
		    array,
		    json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:f, s:f, s:f}", "name", name, "unit", "transfers",
		              "scope", resource->socket ? "socket" : "core", "formula",
		              fm_indicator_text(validation->matrix, &resource->indicator, formula, sizeof(formula)),
		              "events", indicator_events(validation->matrix, &resource->indicator), "bytes",
		              (int)resource->transfer_bytes, "error", resource->indicator.error,
		              "maximal_events_per_second", resource->maximal_events, "maximal_gbs",
		              resource->bandwidth_gbs));
	}
	for (unsigned i = 0; i < cycles; i++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s}", "name", formulas[i].name, "unit",
		                                       "cycles", "scope", "core", "formula", formulas[i].formula));
	return array;
}

int fm_metrics_save(const struct fm_validation *validation, const char *path, struct fm_error *error)
{
	json_t *root = NULL;
	int r;

	if (access(path, F_OK) == 0) {
		r = fm_json_read(path, &root, error);
		if (r)
			return r;
	} else {
		root = fm_json_document("validate");
		if (root)
			json_object_set_new(root, "machine", json_pack("{s:s}", "name", validation->matrix->machine));
	}
	if (!root)
		return fm_error_set(error, ENOMEM, "out of memory");
	json_object_set_new(root, "metrics", fm_metrics_to_json(validation));
	r = fm_json_replace(path, root, error);
	json_decref(root);
	return r;
}
