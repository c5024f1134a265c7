/* Accesses per second when the hierarchy is fed directly: three levels, one core, no timing model. */
#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"
#include "simulator/hierarchy.h"

int main(int argc, char **argv)
{
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy;
	struct fm_simulated_core *core;
	struct fm_random random;
	struct fm_error error;
	uint64_t begin, count = 0;

	if (fm_description_find(argc > 1 ? argv[1] : "haswell-ep", &description, &error) ||
	    fm_hierarchy_create(&description, &hierarchy, &error)) {
		fprintf(stderr, "bench: %s\n", error.message);
		return 1;
	}
	core = fm_hierarchy_core(hierarchy, 0);
	hierarchy->prefetch = false;
	begin = fm_clock_now();
	for (unsigned round = 0; round < 10000; round++)
		for (uint64_t at = 0; at < 16384; at += 8, count++)
			fm_hierarchy_access(hierarchy, core, at, 8, FM_ACCESS_LOAD);
	printf("hits in the first cache: %.1f million accesses per second\n",
	       (double)count * 1e3 / (double)(fm_clock_now() - begin));
	for (unsigned order = 0; order < 2; order++) {
		fm_random_seed(&random, 1);
		count = 5000000;
		begin = fm_clock_now();
		for (uint64_t i = 0; i < count; i++)
			fm_hierarchy_access(hierarchy, core,
			                    order ? fm_random_below(&random, 1 << 24) * 64 : i * 64 % (1ull << 30), 8,
			                    FM_ACCESS_LOAD);
		printf("misses everywhere, %s: %.1f million accesses per second\n", order ? "random order" : "in order",
		       (double)count * 1e3 / (double)(fm_clock_now() - begin));
	}
	printf("memory of the simulator: %.1f MiB for one core of %s\n", (double)hierarchy->memory_bytes / 1048576,
	       description.name);
	fm_hierarchy_destroy(hierarchy);
	return 0;
}
