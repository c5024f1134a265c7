#include <math.h>
#include <string.h>

#include "json/figure.h"
#include "report/validate_text.h"

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *flaws_json(const struct fm_quantities *all, const struct fm_judgement *judgement)
{
	json_t *flaws = json_array();

	for (unsigned i = 0; i < judgement->flaw_count; i++) {
		const struct fm_flaw *flaw = &judgement->flaws[i];
		json_t *entry = json_pack("{s:s}", "class", fm_class_name(flaw->class)), *atoms = json_array();

		if (flaw->class != FM_CLASS_blind)
			json_object_set_new(entry, "size", json_real(flaw->size));
		if (flaw->other >= 0)
			json_object_set_new(entry, "other", json_string(all->quantities[flaw->other].name));
		for (uint64_t set = flaw->atoms; set; set &= set - 1)
			json_array_append_new(atoms, json_string(all->atoms[__builtin_ctzll(set)].name));
		if (flaw->atoms)
			json_object_set(entry, "atoms", atoms);
		json_decref(atoms);
		if (flaw->class == FM_CLASS_conditional)
			json_object_set_new(entry, "condition", json_string(fm_condition_words(flaw->condition)));
		json_array_append_new(flaws, entry);
	}
	return flaws;
}

static json_t *judgement_json(const struct fm_validation *validation, unsigned event)
{
	const struct fm_matrix *matrix = validation->matrix;
	const struct fm_quantities *all = &matrix->quantities;
	const struct fm_judgement *judgement = &validation->judgements[event];
	json_t *entry = json_pack("{s:s, s:s, s:s}", "name", matrix->events[event].name, "class",
	                          fm_class_name(judgement->class), "scope", judgement->socket ? "socket" : "core"),
	       *explains = json_array();
	char unseen[160];

	for (unsigned i = 0; i < judgement->term_count; i++) {
		const struct fm_term *term = &judgement->terms[i];

		json_array_append_new(explains, json_pack("{s:s, s:f}", "quantity",
		                                          term->is_atom ? all->atoms[term->index].name
		                                                        : all->quantities[term->index].name,
		                                          "per_unit", term->coefficient));
	}
	json_object_set_new(entry, "explains", explains);
	json_object_set_new(entry, "quantity",
	                    judgement->quantity < 0 ? json_null()
	                                            : json_string(all->quantities[judgement->quantity].name));
	json_object_set_new(entry, "error",
	                    json_pack("{s:o, s:o, s:o, s:i}", "mean", number_or_null(judgement->error_mean), "min",
	                              number_or_null(judgement->error_min), "max", number_or_null(judgement->error_max),
	                              "runs", (int)judgement->error_runs));
	json_object_set_new(entry, "misfit", number_or_null(judgement->misfit));
	json_object_set_new(entry, "misfit_left_out", number_or_null(judgement->misfit_left_out));
	json_object_set_new(entry, "reproducibility",
	                    matrix->repeats > 1 ? number_or_null(judgement->reproducibility) : json_null());
	if (judgement->unseen) {
		fm_judge_unseen_words(all, judgement->unseen, unseen, sizeof(unseen));
		json_object_set_new(entry, "blind_to", json_string(unseen));
	}
	json_object_set_new(entry, "flaws", flaws_json(all, judgement));
	json_object_set_new(entry, "floor",
	                    judgement->floor_runs ? json_pack("{s:f, s:f, s:i}", "median", judgement->floor, "max",
	                                                      judgement->floor_most, "runs", (int)judgement->floor_runs)
	                                          : json_null());
	if (!judgement->floor_runs)
		json_object_set_new(entry, "floor_why", json_string("no run with a known count of zero"));
	if (judgement->alternative >= 0)
		json_object_set_new(entry, "alternative",
		                    json_pack("{s:s, s:f}", "quantity", all->quantities[judgement->alternative].name,
		                              "per_unit", judgement->alternative_factor));
	json_object_set_new(entry, "formula", fm_json_text(judgement->formula));
	if (!*judgement->formula)
		json_object_set_new(entry, "formula_why", json_string(judgement->reason));
	json_object_set_new(entry, "reason", json_string(judgement->reason));
	return entry;
}

static struct fm_figure figure_of(const struct fm_validation *validation, double value, const char *unit)
{
	bool simulated = !strcmp(validation->matrix->origin, "simulated");

	return fm_figure_make(value, value, value, unit, simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured,
	                      simulated ? "exact" : "perf", validation->matrix->repeats);
}

static json_t *resource_json(const struct fm_validation *validation, const struct fm_resource *resource)
{
	struct fm_figure gbs = figure_of(validation, resource->bandwidth_gbs, "GB/s"),
	                 transfers = figure_of(validation, resource->transfers, "1/s"),
	                 events = figure_of(validation, resource->maximal_events, "1/s");
	json_t *entry = json_pack("{s:s, s:s, s:s, s:i, s:s}", "resource", resource->name, "access",
	                          resource->write ? "write" : "read", "scope", resource->socket ? "socket" : "core",
	                          "transfer_bytes", (int)resource->transfer_bytes, "seen_in", resource->run);
	char text[320];

	fm_json_set_figure(entry, "gbs", &gbs);
	fm_json_set_figure(entry, "transfers_per_second", &transfers);
	if (resource->indicator.count) {
		json_object_set_new(
		    entry, "indicator",
		    json_string(fm_indicator_text(validation->matrix, &resource->indicator, text, sizeof(text))));
		json_object_set_new(entry, "indicator_error", json_real(resource->indicator.error));
		if (*fm_indicator_limits(validation->matrix, &resource->indicator, text, sizeof(text)))
			json_object_set_new(entry, "indicator_limits", json_string(text));
		fm_json_set_figure(entry, "maximal_events_per_second", &events);
	} else {
		fm_json_set_null(entry, "indicator", "no event and no sum of up to three events matches");
	}
	return entry;
}

static json_t *stalls_json(const struct fm_validation *validation)
{
	const struct fm_stalls *stalls = &validation->stalls;
	json_t *array = json_array();

	for (unsigned i = 0; i < stalls->test_count; i++) {
		const struct fm_stall_test *test = &stalls->tests[i];
		json_t *levels = json_array();

		for (unsigned level = 0; level < stalls->level_count; level++)
			json_array_append_new(
			    levels, json_pack("{s:s, s:f, s:f, s:f, s:f}", "name", stalls->levels[level], "cycles",
			                      stalls->cycles_plain[level], "plain", test->plain[level], "independent",
			                      test->independent[level], "dependent", test->dependent[level]));
		json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:s}", "event",
		                                       validation->matrix->events[test->event].name, "role",
		                                       fm_stall_role_words(test->role), "levels", levels, "reason",
		                                       test->reason));
	}
	return array;
}

static json_t *errors_json(const struct fm_validation *validation)
{
	struct fm_error_cell cells[FM_CELLS_MAX];
	unsigned count = fm_table_errors(validation, cells);
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array,
		                      json_pack("{s:s, s:s, s:f, s:f, s:f, s:i}", "level", cells[i].level, "kernel",
		                                cells[i].kernel, "mean", cells[i].mean, "min", cells[i].least, "max",
		                                cells[i].most, "runs", (int)cells[i].runs));
	return array;
}

static json_t *imbalance_json(const struct fm_validation *validation)
{
	struct fm_imbalance_row rows[FM_IMBALANCE_MAX];
	unsigned count = fm_table_imbalance(validation, rows);
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(
		    array, *rows[i].refused
		               ? json_pack("{s:s, s:s, s:[n, n], s:n, s:n, s:s}", "metric", rows[i].metric, "formula",
		                           rows[i].formula, "threads", "ratio", "error", "refused", rows[i].refused)
		               : json_pack("{s:s, s:s, s:[f, f], s:f, s:f}", "metric", rows[i].metric, "formula",
		                           rows[i].formula, "threads", rows[i].values[0], rows[i].values[1], "ratio",
		                           rows[i].ratio, "error", rows[i].error));
	return array;
}

static json_t *sharing_json(const struct fm_validation *validation)
{
	struct fm_sharing_table sharing;
	json_t *array = json_array();

	fm_table_sharing(validation, &sharing);
	for (unsigned r = 0; r < sharing.row_count; r++) {
		const struct fm_sharing_row *row = &sharing.rows[r];
		json_t *counts = json_object();

		for (unsigned i = 0; i < sharing.event_count; i++)
			json_object_set_new(counts, validation->matrix->events[sharing.events[i]].name,
			                    number_or_null(row->counts[i]));
		json_array_append_new(array, json_pack("{s:i, s:s, s:b, s:f, s:o}", "lines_per_step", (int)row->lines,
		                                       "between", row->remote ? "sockets" : "cores", "smt", row->smt,
		                                       "model", row->model, "counts", counts));
	}
	return array;
}

void fm_validation_to_json(const struct fm_validation *validation, json_t *root)
{
	const struct fm_matrix *matrix = validation->matrix;
	json_t *events = json_array(), *resources = json_array();
	char missing[1600];

	for (unsigned i = 0; i < matrix->event_count; i++)
		json_array_append_new(events, judgement_json(validation, i));
	for (unsigned i = 0; i < validation->resource_count; i++)
		json_array_append_new(resources, resource_json(validation, &validation->resources[i]));
	json_object_set_new(root, "runs", json_integer((json_int_t)matrix->run_count));
	json_object_set_new(root, "repeats", json_integer((json_int_t)matrix->repeats));
	fm_validation_missing(matrix, missing, sizeof(missing));
	json_object_set_new(root, "missing", json_string(missing));
	json_object_set_new(root, "events", events);
	json_object_set_new(root, "resources", resources);
	json_object_set_new(root, "metrics", fm_metrics_to_json(validation));
	json_object_set_new(root, "stalls", stalls_json(validation));
	json_object_set_new(root, "errors", errors_json(validation));
	json_object_set_new(root, "imbalance", imbalance_json(validation));
	json_object_set_new(root, "sharing", sharing_json(validation));
}
