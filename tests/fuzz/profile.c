/* Machine profiles. One that is accepted is written and read back, and makes a simulated machine that the simulator
   accepts or a refusal. */
#include "fuzz/fuzz.h"

#include <unistd.h>

#include "profile/peak.h"
#include "profile/profile.h"
#include "profile/simulated_host.h"
#include "streams/streams.h"

static void simulate(const struct fm_machine *machine)
{
	struct fm_machine_description description = {0}, again;
	struct fm_error error = {0};
	char path[64];
	int status = fm_description_from_profile(machine, &description, &error);

	if (status) {
		must(status < 0 && *error.message);
		return;
	}
	snprintf(path, sizeof(path), "/dev/shm/fathom-fuzz-%d.host", (int)getpid());
	unlink(path);
	if (fm_description_write(&description, path, &error))
		return; /* no such file system here */
	status = fm_description_read(path, &again, &error);
	unlink(path);
	if (status)
		fprintf(stderr, "%s\n", error.message);
	must(!status);
}

/* Whatever the profile says, a figure is inside its interval. */
static void look_up(const struct fm_machine *machine)
{
	for (unsigned threads = 0; threads < 70; threads += 1 + threads / 2)
		for (double written = 0; written <= 1; written += 0.2) {
			struct fm_figure share = fm_figure_make(written, written / 2, written, "", FM_ORIGIN_sampled,
			                                        "", 1),
			                 gbs = fm_figure_make(9, 8, 12, "GB/s", FM_ORIGIN_combined, "", 1);
			struct fm_peak peak = fm_peak_find(machine, "memory", threads, &share);
			struct fm_loaded_latency latency = fm_peak_latency(machine, threads, &share, &gbs);

			must(peak.gbs.available ? peak.gbs.low <= peak.gbs.value && peak.gbs.value <= peak.gbs.high &&
			                              peak.threads && peak.gbs.value > 0
			                        : *peak.gbs.why);
			must(latency.ns.available
			         ? latency.ns.low <= latency.ns.value && latency.ns.value <= latency.ns.high
			         : *latency.ns.why);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL), *written;
	struct fm_machine *machine = NULL, *again = NULL;
	struct fm_error error = {0};
	int status;

	if (!root)
		return 0;
	status = fm_machine_from_json(root, &machine, &error);
	json_decref(root);
	if (status) {
		must(status < 0 && *error.message);
		return 0;
	}
	must(machine->level_count && machine->level_count <= FM_LEVELS_MAX);
	written = fm_machine_to_json(machine);
	must(written && json_is_object(json_object_get(written, "machine")));
	must(!fm_machine_from_json(written, &again, &error));
	must(again->level_count == machine->level_count && again->bandwidth_count == machine->bandwidth_count);
	json_decref(written);
	look_up(machine);
	simulate(machine);
	fm_machine_free(machine);
	fm_machine_free(again);
	return 0;
}
