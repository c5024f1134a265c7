#include "trust/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

/* Needed quantities without saturation: lines read for stores, instructions by kind. Only by an event that counts
   exactly that: the runs have too few kinds of stores for sums. */
static void add_quantity(const struct fm_validation *validation, json_t *array, const char *name, const char *unit,
                         const char *quantity)
{
	const struct fm_matrix *matrix = validation->matrix;
	int index = fm_quantity_find(&matrix->quantities, quantity);

	for (unsigned i = 0; i < matrix->event_count && index >= 0; i++) {
		const struct fm_judgement *judgement = &validation->judgements[i];
		struct fm_indicator indicator;

		if (judgement->quantity != index || judgement->class != FM_CLASS_exact)
			continue;
		indicator = fm_indicator_fit(matrix, (unsigned)index, judgement->socket, &i, 1);
		json_array_append_new(
		    array, json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:f, s:f}", "name", name, "unit", unit, "scope",
		                     judgement->socket ? "socket" : "core", "formula", matrix->events[i].name, "events",
		                     indicator_events(matrix, &indicator), "bytes",
		                     strcmp(unit, "transfers") ? 1 : (int)matrix->quantities.line_bytes, "error",
		                     indicator.error, "error_max", indicator.worst));
	}
}

static void add_quantities(const struct fm_validation *validation, json_t *array)
{
	const struct fm_quantities *all = &validation->matrix->quantities;
	char name[64], quantity[48];

	for (unsigned cache = 1; cache < all->cache_count; cache++) {
		snprintf(name, sizeof(name), "%s allocate", all->caches[cache]);
		snprintf(quantity, sizeof(quantity), "%s.lines_in_ownership", all->caches[cache - 1]);
		add_quantity(validation, array, name, "transfers", quantity);
	}
	add_quantity(validation, array, "memory allocate", "transfers", "memory.ownership");
	add_quantity(validation, array, "instructions", "operations", "instructions");
	add_quantity(validation, array, "stores", "operations", "stores");
	add_quantity(validation, array, "flops", "operations", "flops");
	add_quantity(validation, array, "vector calculations", "operations", "vector_calculations");
}

/* The events that the decomposition of cycles is made of. Of several, which may wait in the same cycles, the largest.
 */
static void add_role(const struct fm_validation *validation, json_t *array, const char *name, const int *events,
                     unsigned count)
{
	json_t *list = json_array(), *metric;
	char formula[320] = "", shorter[300];
	size_t used = 0;

	for (unsigned i = 0; i < count; i++) {
		if (events[i] < 0 || used >= sizeof(formula))
			continue;
		snprintf(shorter, sizeof(shorter), "%s", formula);
		used = (size_t)snprintf(formula, sizeof(formula), used ? "max(%s, %s)" : "%s%s", shorter,
		                        event_name(validation, events[i]));
		json_array_append_new(
		    list, json_pack("{s:s, s:f}", "name", event_name(validation, events[i]), "factor", 1.0));
	}
	if (used) {
		metric = json_pack("{s:s, s:s, s:s, s:s, s:O}", "name", name, "unit", "cycles", "scope", "core",
		                   "formula", formula, "events", list);
		if (json_array_size(list) > 1)
			json_object_set_new(metric, "combine", json_string("max"));
		json_array_append_new(array, metric);
	}
	json_decref(list);
}

json_t *fm_metrics_to_json(const struct fm_validation *validation)
{
	const struct fm_stalls *stalls = &validation->stalls;
	json_t *array = json_array();
	struct fm_cycle_formula formulas[FM_CYCLE_FORMULAS];
	unsigned cycles = fm_metrics_cycles(validation, formulas);
	char name[64], formula[320];

	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (!resource->indicator.count || !fm_indicator_holds(&resource->indicator))
			continue;
		snprintf(name, sizeof(name), "%s %s", resource->name, resource->write ? "write" : "read");
		json_array_append_new(
		    array,
		    json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:f, s:f, s:f, s:f}", "name", name, "unit", "transfers",
		              "scope", resource->socket ? "socket" : "core", "formula",
		              fm_indicator_text(validation->matrix, &resource->indicator, formula, sizeof(formula)),
		              "events", indicator_events(validation->matrix, &resource->indicator), "bytes",
		              (int)resource->transfer_bytes, "error", resource->indicator.error, "error_max",
		              resource->indicator.worst, "maximal_events_per_second", resource->maximal_events,
		              "maximal_gbs", resource->bandwidth_gbs));
	}
	add_quantities(validation, array);
	if (cycles) {
		add_role(validation, array, "active", &stalls->active, 1);
		add_role(validation, array, "stall", &stalls->total, 1);
		add_role(validation, array, "loads pending", &stalls->loads, 1);
		add_role(validation, array, "loads outstanding", &stalls->outstanding, 1);
		add_role(validation, array, "stores full", &stalls->stores, 1);
		add_role(validation, array, "queues full", stalls->queues, stalls->queue_count);
	}
	/* the first two stand there already */
	for (unsigned i = 2; i < cycles; i++)
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
