/* Tables of simulated events. Those that are accepted are evaluated, with nothing counted and with a lot. */
#include "fuzz/fuzz.h"

#include <math.h>

#include "simulator/simulated.h"

static const char machine_text[] = "machine sockets=2 cores=4 frequency=2GHz\n"
                                   "cache L1 size=32KiB ways=8 latency=4\n"
                                   "cache L2 size=256KiB ways=8 latency=12\n"
                                   "cache L3 size=2560KiB ways=20 latency=34 shared=4 inclusion=inclusive\n"
                                   "memory latency=230 gbs=50\n"
                                   "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 "
                                   "super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fm_machine_description machine;
	static struct fm_core_counts none, many;
	static struct fm_timing_counts timing;
	struct fm_simulated_events *events = NULL;
	struct fm_error error = {0};
	char *text = fuzz_text(data, size);
	unsigned index = 0;
	int status;

	if (!machine.cores) {
		must(!fm_description_parse(machine_text, "fuzz.machine", &machine, &error));
		memset(&many, 0x3f, sizeof(many));
		memset(&timing, 0x3f, sizeof(timing));
	}
	status = fm_simulated_parse(text, "fuzz.events", &machine, &events, &error);
	free(text);
	if (status) {
		must(status < 0 && *error.message);
		return 0;
	}
	for (unsigned i = 0; i < fm_simulated_count(events); i++) {
		const struct fm_truth truths[] = {{.counts = &none}, {.counts = &many, .timing = &timing}};

		for (unsigned k = 0; k < 2; k++) {
			struct fm_figure figure = fm_simulated_value(events, i, &truths[k]);

			must(!figure.available || (isfinite(figure.value) && figure.value >= 0));
		}
		must(!fm_simulated_find(events, fm_simulated_name(events, i), &index, &error) && index <= i);
		fm_simulated_matches(events, i, "load hits");
		fm_simulated_is_uncore(events, i);
	}
	fm_simulated_free(events);
	return 0;
}
