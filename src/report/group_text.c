#include "report/group_text.h"

#include <math.h>

#include "report/table.h"

void fm_group_print(const struct fm_group *group, const double *counts, double seconds, double frequency, FILE *output)
{
	struct fm_table *table = fm_table_create("rll");

	for (unsigned i = 0; i < group->metric_count; i++) {
		struct fm_error error;
		double value;
		int r = fm_group_metric(group, i, counts, seconds, frequency, &value, &error);

		fm_table_cell(table, r || !isfinite(value) ? "n/a" : "%.4g", value);
		fm_table_cell(table, "%s", group->metrics[i].name);
		fm_table_cell(table, "%s", r ? error.message : "");
	}
	fprintf(output, "\n%s\n", *group->title ? group->title : "Metrics");
	fm_table_print(table, output, 2, 100);
	fm_table_free(table);
}

json_t *fm_group_to_json(const struct fm_group *group, const double *counts, double seconds, double frequency)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < group->metric_count; i++) {
		struct fm_error error;
		double value;
		int r = fm_group_metric(group, i, counts, seconds, frequency, &value, &error);
		json_t *entry =
		    json_pack("{s:s, s:s}", "name", group->metrics[i].name, "formula", group->metrics[i].formula);

		json_object_set_new(entry, "value", r || !isfinite(value) ? json_null() : json_real(value));
		if (r || !isfinite(value))
			json_object_set_new(entry, "value_why", json_string(r ? error.message : "divided by nothing"));
		json_array_append_new(array, entry);
	}
	return array;
}
