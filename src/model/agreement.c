#include "model/agreement.h"

#include <stdio.h>
#include <string.h>

#include "model/part.h"

static uint64_t engine_instances(const struct fm_recording *recording, const char *name, unsigned *ret_threads)
{
	uint64_t instances = 0;

	*ret_threads = 0;
	for (size_t i = 0; i < recording->regions_count; i++)
		if (!strcmp(recording->regions[i].name, name) && recording->regions[i].instances) {
			instances += recording->regions[i].instances;
			++*ret_threads;
		}
	return instances;
}

static bool region_differs(const struct fm_recording *recording, const char *name, char *difference, size_t size)
{
	uint64_t own = 0, engine;
	unsigned threads = 0, engine_threads;

	for (size_t i = 0; i < recording->native_regions_count; i++)
		if (!strcmp(recording->native_regions[i].name, name)) {
			own += recording->native_regions[i].instances;
			threads++;
		}
	engine = engine_instances(recording, name, &engine_threads);
	if (own == engine && threads == engine_threads)
		return false;
	snprintf(difference, size,
	         "region %.60s was passed %llu times by %u thread%s in native runs, %llu times by %u in the engine",
	         name, (unsigned long long)own, threads, threads == 1 ? "" : "s", (unsigned long long)engine,
	         engine_threads);
	return true;
}

static bool regions_differ(const struct fm_recording *recording, char *difference, size_t size)
{
	const char *name;

	if (recording->native.regions_lost)
		return false;
	for (size_t i = 0; i < recording->native_regions_count; i++)
		if (region_differs(recording, recording->native_regions[i].name, difference, size))
			return true;
	for (unsigned i = 0; (name = fm_part_region_name(recording, i)); i++)
		if (region_differs(recording, name, difference, size))
			return true;
	return false;
}

void fm_agreement(const struct fm_recording *recording, char *difference, size_t size)
{
	const struct fm_recorded_native *native = &recording->native;
	const struct fm_recorded_run *run = &recording->run;

	*difference = '\0';
	if (!native->runs || native->same_run)
		return;
	if (native->differs)
		snprintf(difference, size, "%s", native->difference);
	else if (run->engine_exit_status != native->exit_status)
		snprintf(difference, size, "its exit status was %lld in a native run and %lld in the engine",
		         (long long)native->exit_status, (long long)run->engine_exit_status);
	else if (native->output_bytes >= 0 && run->engine_output_bytes >= 0 &&
	         native->output_bytes != run->engine_output_bytes)
		snprintf(difference, size, "it wrote %lld bytes in a native run and %lld in the engine",
		         (long long)native->output_bytes, (long long)run->engine_output_bytes);
	else
		regions_differ(recording, difference, size);
}
