#include "report/simulated_core.h"

#include <math.h>

#include "json/figure.h"
#include "report/table.h"

enum {
	FIRST_WAYS = FM_CORE_PARAMETERS + FM_TRANSLATION_PARAMETERS,
	FIRST_PREFETCH = FIRST_WAYS + FM_WAYS_COUNT,
	ALL = FIRST_PREFETCH + FM_PREFETCH_PARAMETERS
};

struct row {
	const char *name, *unit;
	const struct fm_figure *figure;
	double described;
};

static struct row row_of(const struct fm_machine_description *machine, const struct fm_found_core *found,
                         unsigned index)
{
	enum fm_core_parameter core = (enum fm_core_parameter)index;
	enum fm_translation_parameter translation = (enum fm_translation_parameter)(index - FM_CORE_PARAMETERS);

	if (index < FM_CORE_PARAMETERS)
		return (struct row){fm_core_parameters[core].name, fm_core_parameters[core].unit, &found->core[core],
		                    fm_core_described(machine, core)};
	if (index >= FIRST_PREFETCH) {
		enum fm_prefetch_parameter prefetch = (enum fm_prefetch_parameter)(index - FIRST_PREFETCH);

		return (struct row){fm_prefetch_parameters[prefetch].name, fm_prefetch_parameters[prefetch].unit,
		                    &found->prefetch[prefetch], fm_prefetch_described(machine, prefetch)};
	}
	if (index >= FIRST_WAYS) {
		enum fm_ways ways = (enum fm_ways)(index - FIRST_WAYS);

		return (struct row){fm_ways_parameters[ways].name, "ways", &found->ways[ways],
		                    fm_ways_described(machine, ways)};
	}
	return (struct row){fm_translation_parameters[translation].name, fm_translation_parameters[translation].unit,
	                    &found->translation[translation], fm_translation_described(machine, translation)};
}

void fm_simulated_core_print(const struct fm_machine_description *machine, const struct fm_found_core *found,
                             FILE *output)
{
	struct fm_table *table = fm_table_create("lrrrl");

	if (!table)
		return;
	fprintf(output, "Core of %s (simulated), measured with the kernels for real cores\n", machine->title);
	fm_table_cells(table, "", "found", "interval", "in the file", "");
	for (unsigned i = 0; i < ALL; i++) {
		struct row row = row_of(machine, found, i);

		fm_table_cell(table, "%s", row.name);
		if (row.figure->available) {
			fm_table_cell(table, "%.2f", row.figure->value);
			fm_table_cell(table, "%.2f … %.2f", row.figure->low, row.figure->high);
		} else {
			fm_table_cells(table, "-", "");
		}
		if (isnan(row.described))
			fm_table_cell(table, "-");
		else
			fm_table_cell(table, "%.2f", row.described);
		fm_table_cell(table, "%s", row.figure->available ? row.unit : row.figure->why);
	}
	fm_table_end(table, output, 2, 100);
}

json_t *fm_simulated_core_to_json(const struct fm_machine_description *machine, const struct fm_found_core *found)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:b}", "verb", "machine", "machine", machine->name, "title",
	                         machine->title, "simulated", 1),
	       *core = json_object(), *described = json_object();

	for (unsigned i = 0; i < ALL; i++) {
		struct row row = row_of(machine, found, i);

		fm_json_set_figure(core, row.name, row.figure);
		if (!isnan(row.described))
			json_object_set_new(described, row.name, json_real(row.described));
	}
	json_object_set_new(root, "core", core);
	json_object_set_new(root, "described", described);
	return root;
}
