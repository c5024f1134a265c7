#include "report/simulated_core.h"

#include <math.h>

#include "json/figure.h"
#include "report/table.h"
#include "trust/simulated_core.h"

void fm_simulated_core_print(const struct fm_machine_description *machine, const struct fm_figure *figures,
                             FILE *output)
{
	struct fm_table *table = fm_table_create("lrrrl");

	if (!table)
		return;
	fprintf(output, "Core of %s (simulated), by the kernels that measure real ones\n", machine->title);
	fm_table_cell(table, "%s", "");
	fm_table_cell(table, "found");
	fm_table_cell(table, "interval");
	fm_table_cell(table, "in the file");
	fm_table_cell(table, "%s", "");
	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++) {
		enum fm_core_parameter parameter = (enum fm_core_parameter)i;
		double described = fm_core_described(machine, parameter);

		fm_table_cell(table, "%s", fm_core_parameter_name(parameter));
		if (figures[i].available) {
			fm_table_cell(table, "%.2f", figures[i].value);
			if (figures[i].high > figures[i].low)
				fm_table_cell(table, "%.2f … %.2f", figures[i].low, figures[i].high);
			else
				fm_table_cell(table, "%s", "");
		} else {
			fm_table_cell(table, "-");
			fm_table_cell(table, "%s", "");
		}
		if (isnan(described))
			fm_table_cell(table, "-");
		else
			fm_table_cell(table, "%.2f", described);
		fm_table_cell(table, "%s", figures[i].available ? fm_core_parameter_unit(parameter) : figures[i].why);
	}
	fm_table_print(table, output, 2, 100);
	fm_table_free(table);
}

json_t *fm_simulated_core_to_json(const struct fm_machine_description *machine, const struct fm_figure *figures)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:b}", "verb", "machine", "machine", machine->name, "title",
	                         machine->title, "simulated", 1),
	       *core = json_object(), *described = json_object();

	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++) {
		const char *name = fm_core_parameter_name((enum fm_core_parameter)i);
		double value = fm_core_described(machine, (enum fm_core_parameter)i);

		fm_json_set_figure(core, name, &figures[i]);
		if (!isnan(value))
			json_object_set_new(described, name, json_real(value));
	}
	json_object_set_new(root, "core", core);
	json_object_set_new(root, "described", described);
	return root;
}
