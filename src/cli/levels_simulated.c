#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "cli/chosen_machine.h"
#include "cli/group_file.h"
#include "cli/stat_levels.h"
#include "exact/simulated.h"
#include "json/figure.h"
#include "model/counted.h"
#include "report/picture_text.h"

struct simulated {
	const struct fm_recipe *recipe;
	const struct fm_simulated_events *events;
	const struct fm_stat *stat;
	struct fm_figure counts[FM_EVENTS_MAX];
	char name[FM_RESULT_NAME];
};

static bool is_simulated(void *context, const char *name)
{
	struct fm_error ignored;
	unsigned index;

	return !fm_simulated_find(context, name, &index, &ignored);
}

static void build(struct simulated *simulated, const struct fm_part *part, struct fm_picture *ret_picture)
{
	fm_picture_from_simulated(simulated->recipe, simulated->events, simulated->stat->machine, simulated->stat->run,
	                          part, simulated->counts, ret_picture);
}

static bool simulated_thread(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct simulated *simulated = context;

	if (index >= simulated->stat->run->results->thread_count)
		return false;
	build(simulated, &(struct fm_part){.thread = (int)index}, ret_picture);
	return true;
}

static bool simulated_region(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct simulated *simulated = context;

	if (!fm_part_region_name(simulated->stat->run, index, simulated->name))
		return false;
	build(simulated, &(struct fm_part){.region = simulated->name, .thread = -1}, ret_picture);
	return true;
}

static bool simulated_region_thread(void *context, unsigned index, struct fm_picture *ret_picture)
{
	struct simulated *simulated = context;
	const struct fm_results *results = simulated->stat->run->results;

	if (index >= results->region_count || index >= FM_RESULT_REGIONS_MAX)
		return false;
	snprintf(simulated->name, sizeof(simulated->name), "%.*s", FM_RESULT_NAME - 1, results->regions[index].name);
	build(simulated, &(struct fm_part){.region = simulated->name, .thread = (int)results->regions[index].thread},
	      ret_picture);
	return true;
}

static int print_simulated(const struct fm_stat_request *request, struct simulated *simulated,
                           struct fm_picture *picture)
{
	const struct fm_picture_parts parts = {.context = simulated,
	                                       .thread = simulated_thread,
	                                       .region = simulated_region,
	                                       .region_thread = simulated_region_thread};
	FILE *output = fm_common_open(request->common);
	char program[300];

	if (!output)
		return 125;
	build(simulated, &(struct fm_part){.thread = -1}, picture);
	if (request->common->json) {
		json_t *root = fm_stat_to_json(simulated->stat, 0), *events = json_array();

		/* the engine's own account of levels and cycles is not what counters say */
		json_object_del(root, "levels");
		json_object_del(root, "cycles");
		json_object_del(root, "cycles_why");
		for (unsigned i = 0; i < simulated->recipe->event_count; i++) {
			json_t *entry = json_pack("{s:s, s:s}", "name", simulated->recipe->events[i], "pmu",
			                          simulated->stat->machine->name);

			fm_json_set_figure(entry, "count", &simulated->counts[i]);
			json_array_append_new(events, entry);
		}
		json_object_set_new(root, "events", events);
		fm_picture_to_json(picture, root);
		fm_picture_add_parts(picture, &parts, root);
		json_dumpf(root, output, JSON_INDENT(1));
		fputc('\n', output);
		json_decref(root);
	} else {
		snprintf(program, sizeof(program), "%.200s on the simulated %.60s", simulated->stat->program,
		         simulated->stat->machine->name);
		fm_picture_print_counted(picture, &parts, program, output, 100, request->common->verbosity);
	}
	return fm_common_close(request->common, output) ? 125 : 0;
}

int fm_stat_levels_simulated(const struct fm_stat_request *request, const char *machine, const struct fm_stat *stat)
{
	struct simulated *simulated = calloc(1, sizeof(*simulated));
	struct fm_picture *picture = malloc(sizeof(*picture));
	struct fm_simulated_events *events = NULL;
	struct fm_recipe *recipe = NULL;
	char *profile = NULL, vendor[4096];
	json_t *metrics = NULL;
	struct fm_error error = {0};
	int code = 125;

	if (!simulated || !picture || fm_simulated_load(machine, &events, &error) ||
	    fm_chosen_profile_path(machine, &profile, &error)) {
		if (error.code == ENOENT)
			error.code = ENOTSUP;
		code = error.code ? fm_report_error_of_run(&error) : 125;
		goto out;
	}
	metrics = fm_levels_metrics(profile);
	if (fm_recipe_create(
	        &(struct fm_recipe_wishes){
	            .metrics = metrics,
	            .vendor_file = fm_vendor_file(stat->machine->name, vendor, sizeof(vendor)) ? vendor : NULL,
	            .exists = is_simulated,
	            .context = events},
	        &recipe, &error)) {
		code = fm_report_error_of_run(&error);
		goto out;
	}
	simulated->recipe = recipe;
	simulated->events = events;
	simulated->stat = stat;
	code = print_simulated(request, simulated, picture);
out:
	fm_recipe_free(recipe);
	json_decref(metrics);
	free(profile);
	if (events)
		fm_simulated_free(events);
	free(picture);
	free(simulated);
	return code;
}
