#include "report/verdict.h"

#include <string.h>

#include "json/figure.h"
#include "report/table.h"

static void print_place(const struct fm_program_verdict *verdict, struct fm_table *table)
{
	bool placed = *verdict->place.function || verdict->place.line;

	if (!placed && !*verdict->object)
		return;
	fm_table_cells(table, "", "where");
	if (!placed)
		fm_table_cell(table, "%s", verdict->object);
	else if (verdict->place.line)
		fm_table_cell(table, "%s:%lld (%s), %.0f %% of it%s%s", verdict->place.file,
		              (long long)verdict->place.line, verdict->place.function, 100 * verdict->place.share,
		              *verdict->object ? ", data: " : "", verdict->object);
	else
		fm_table_cell(table, "%s, %.0f %% of it%s%s", verdict->place.function, 100 * verdict->place.share,
		              *verdict->object ? ", data: " : "", verdict->object);
}

static void print_answer(const struct fm_program_verdict *verdict, struct fm_table *table)
{
	if (!strcmp(verdict->cause, "inconclusive")) {
		fm_table_cells(table, "Verdict", "inconclusive", verdict->sentence);
		return;
	}
	fm_table_cell(table, "Verdict");
	fm_table_cell(table, "%s %.2f", verdict->cause, verdict->confidence);
	if (!verdict->share.available) {
		fm_table_cells(table, verdict->sentence);
		return;
	}
	fm_table_cell(table, "%.0f %% (%.0f … %.0f) %s", 100 * verdict->share.value, 100 * verdict->share.low,
	              100 * verdict->share.high, verdict->sentence);
}

static void print_rivals(const struct fm_program_verdict *verdict, struct fm_table *table)
{
	char text[300] = "";
	bool open = !strcmp(verdict->cause, "inconclusive");

	for (unsigned i = 0; i < verdict->rival_count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s %.0f %% (%.0f … %.0f)", i ? ", " : "",
		         verdict->rivals[i].cause, 100 * verdict->rivals[i].share.value,
		         100 * verdict->rivals[i].share.low, 100 * verdict->rivals[i].share.high);
	}
	if (*text) {
		fm_table_cells(table, "", open ? "candidates" : "also");
		fm_table_cells(table, text);
	}
}

void fm_verdict_text(const struct fm_analysis *analysis, bool evidence, unsigned width, FILE *output)
{
	const struct fm_program_verdict *verdict = &analysis->verdict;
	struct fm_table *table;

	if (!*verdict->cause)
		return;
	table = fm_table_create("llw");
	print_answer(verdict, table);
	print_place(verdict, table);
	if (*verdict->advice) {
		fm_table_cells(table, "", "try");
		fm_table_cells(table, verdict->advice);
	}
	if (verdict->worth > 0) {
		fm_table_cells(table, "", "worth");
		fm_table_cell(table, "at most %.0f %% of the run time (%.0f … %.0f)", 100 * verdict->worth,
		              100 * verdict->worth_low, 100 * verdict->worth_high);
	}
	print_rivals(verdict, table);
	if (*verdict->settle) {
		fm_table_cells(table, "", "next");
		fm_table_cells(table, verdict->settle);
	}
	for (unsigned i = 0; evidence && i < verdict->evidence_count; i++) {
		fm_table_cells(table, "", i ? "" : "evidence");
		fm_table_cell(table, "%s: %s", verdict->evidence[i].method, verdict->evidence[i].text);
	}
	for (unsigned i = 0; evidence && i < verdict->contradiction_count; i++) {
		fm_table_cells(table, "", i ? "" : "but");
		fm_table_cells(table, verdict->contradictions[i]);
	}
	fm_table_end(table, output, 0, width);
}

json_t *fm_verdict_json(const struct fm_analysis *analysis)
{
	const struct fm_program_verdict *verdict = &analysis->verdict;
	json_t *object, *evidence = json_array(), *contradictions = json_array(), *rivals = json_array();

	if (!*verdict->cause) {
		json_decref(evidence);
		json_decref(contradictions);
		json_decref(rivals);
		return json_null();
	}
	object = json_pack("{s:s, s:f, s:s, s:s?, s:s}", "cause", verdict->cause, "confidence", verdict->confidence,
	                   "sentence", verdict->sentence, "object", *verdict->object ? verdict->object : NULL, "advice",
	                   verdict->advice);
	fm_json_set_figure(object, "share", &verdict->share);
	if (*verdict->place.function || verdict->place.line)
		json_object_set_new(object, "line",
		                    json_pack("{s:s, s:I, s:s, s:f}", "file", verdict->place.file, "line",
		                              (json_int_t)verdict->place.line, "function", verdict->place.function,
		                              "share", verdict->place.share));
	else
		json_object_set_new(object, "line", json_null());
	json_object_set_new(object, "worth",
	                    verdict->worth > 0 ? json_pack("{s:f, s:f, s:f}", "value", verdict->worth, "low",
	                                                   verdict->worth_low, "high", verdict->worth_high)
	                                       : json_null());
	for (unsigned i = 0; i < verdict->evidence_count; i++)
		json_array_append_new(evidence, json_pack("{s:s, s:s, s:s}", "method", verdict->evidence[i].method,
		                                          "origin", fm_origin_name(verdict->evidence[i].origin), "text",
		                                          verdict->evidence[i].text));
	for (unsigned i = 0; i < verdict->contradiction_count; i++)
		json_array_append_new(contradictions, json_string(verdict->contradictions[i]));
	for (unsigned i = 0; i < verdict->rival_count; i++) {
		json_t *rival = json_pack("{s:s}", "cause", verdict->rivals[i].cause);

		fm_json_set_figure(rival, "share", &verdict->rivals[i].share);
		json_array_append_new(rivals, rival);
	}
	json_object_set_new(object, "also", rivals);
	json_object_set_new(object, "evidence", evidence);
	json_object_set_new(object, "contradictions", contradictions);
	json_object_set_new(object, "settle", *verdict->settle ? json_string(verdict->settle) : json_null());
	return object;
}
