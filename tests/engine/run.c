#include "engine/run.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fm_machine_description machine;

int prepare(void)
{
	struct fm_error error;

	if (system("qemu-x86_64 --version >/dev/null 2>&1")) {
		printf("SKIPPED: qemu-x86_64 is not installed\n");
		return 77;
	}
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error)) {
		printf("%s\n", error.message);
		return 1;
	}
	return 0;
}

struct fm_engine_run run_with(const struct fm_engine_options *options, const char *program, const char *argument)
{
	char path[512];
	char *const arguments[] = {path, (char *)argument, NULL};
	struct fm_engine_run run;
	struct fm_error error;

	snprintf(path, sizeof(path), PROGRAMS "%s", program);
	if (fm_engine_execute(options, arguments, &run, &error))
		fail_msg("%s", error.message);
	return run;
}

struct fm_engine_run run(const char *program, const char *argument)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};

	return run_with(&options, program, argument);
}

const struct fm_result_region *region(const struct fm_engine_run *run, const char *name)
{
	for (unsigned i = 0; i < run->results->region_count; i++)
		if (!strcmp(run->results->regions[i].name, name))
			return &run->results->regions[i];
	return NULL;
}
