#include <jansson.h>
#include <string.h>

#include "cli/command.h"
#include "doctor/doctor.h"
#include "json/figure.h"
#include "profile/topology.h"
#include "report/table.h"

static const struct argp_option options[] = {
    FM_OPTION_OUTPUT, FM_OPTION_JSON, FM_OPTION_SEPARATOR, FM_OPTION_QUIET, {0},
};

enum { CAPABILITIES_MAX = 64 };

static void print_text(const struct fm_capability *list, unsigned count, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("llw");
	unsigned available = 0;

	for (unsigned i = 0; i < count; i++) {
		available += list[i].available;
		fm_table_cell(table, "%s", list[i].name);
		fm_table_cell(table, "%s", list[i].available ? "yes" : "NO");
		fm_table_cell(table, "%s", list[i].available ? list[i].found : list[i].why);
		fm_table_cells(table, "", "");
		fm_table_cell(table, "enables: %s", list[i].enables);
		if (list[i].available)
			continue;
		fm_table_cells(table, "", "");
		fm_table_cell(table, "remedy:  %s", list[i].remedy);
	}
	fm_table_end(table, output, 0, width);
	fprintf(output, "\n%u of %u capabilities available; each row is the result of a trial.\n", available, count);
}

static json_t *to_json(const struct fm_capability *list, unsigned count)
{
	json_t *root = fm_json_document("doctor");
	json_t *array = json_array();
	struct fm_topology topology;

	if (!fm_topology_read(&topology, NULL))
		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:s, s:s, s:i}", "host", topology.host, "processor",
		                              topology.processor, "hypervisor", topology.hypervisor, "cpus",
		                              (int)topology.cpus));
	/* no trials are run here; the row "quiet" shows disturbance */
	fm_json_set_null(root, "disturbance", "doctor runs no trials; see the capability \"quiet\"");
	for (unsigned i = 0; i < count; i++) {
		json_t *entry = json_pack("{s:s, s:b, s:s}", "name", list[i].name, "available", (int)list[i].available,
		                          "enables", list[i].enables);

		json_object_set_new(entry, "found", list[i].available ? json_string(list[i].found) : json_null());
		json_object_set_new(entry, "why", list[i].available ? json_null() : json_string(list[i].why));
		json_object_set_new(entry, "remedy", list[i].available ? json_null() : json_string(list[i].remedy));
		json_array_append_new(array, entry);
	}
	json_object_set_new(root, "capabilities", array);
	return root;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct fm_common common = {0};
	struct fm_capability list[CAPABILITIES_MAX];
	unsigned count = fm_probe_count < CAPABILITIES_MAX ? fm_probe_count : CAPABILITIES_MAX;
	FILE *output;
	int code = fm_command_parse(command, argc, argv, &common);

	if (code >= 0)
		return code;
	for (unsigned i = 0; i < count; i++)
		fm_probe_run(&fm_probes[i], &list[i]);
	output = fm_common_open(&common);
	if (!output)
		return FM_EXIT_FAILED;
	if (common.json) {
		fm_json_print(to_json(list, count), output);
	} else if (common.separator) {
		fprintf(output, "name%savailable%sdetail%sremedy\n", common.separator, common.separator,
		        common.separator);
		for (unsigned i = 0; i < count; i++)
			fprintf(output, "%s%s%s%s%s%s%s\n", list[i].name, common.separator,
			        list[i].available ? "yes" : "no", common.separator,
			        list[i].available ? list[i].found : list[i].why, common.separator, list[i].remedy);
	} else {
		print_text(list, count, output, fm_common_width(output));
	}
	return fm_common_close(&common, output);
}

const struct fm_command fm_verb_doctor = {
    .name = "doctor",
    .summary = "show the measurements that work here, and how to enable the rest",
    .description = "Test every facility that Fathom can use on a machine. A row says \"yes\" only after a successful "
                   "test; for a PMU, an event was opened and counted. Otherwise the row gives the reason and the "
                   "command or setting that would enable it.",
    .examples = "Examples:\n"
                "  fathom doctor\n"
                "  fathom doctor --json | jq '.capabilities[] | select(.available == false)'",
    .options = options,
    .run = run,
};
