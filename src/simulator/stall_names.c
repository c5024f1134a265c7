#include <stdio.h>

#include "simulator/core.h"
#include "simulator/parts.h"

static const char *const stall_names[FM_STALL_COUNT] = {
#define STALL(identifier, words) #identifier,
#include "simulator/stalls.def"
#undef STALL
};

static const char *const stall_words[FM_STALL_COUNT] = {
#define STALL(identifier, words) words,
#include "simulator/stalls.def"
#undef STALL
};

const char *fm_stall_name(enum fm_stall stall)
{
	return stall_names[stall];
}

const char *fm_stall_words(enum fm_stall stall)
{
	return stall_words[stall];
}

static const char *name_of_served(const struct fm_machine_description *machine, unsigned served, const char *remote,
                                  const char *core)
{
	if (served < FM_SERVED_MEMORY)
		return machine->caches[served].name;
	return served == FM_SERVED_CORE ? core : served == FM_SERVED_REMOTE ? remote : "memory";
}

const char *fm_stall_level_name(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                char *text, size_t size)
{
	snprintf(text, size, "%s_%s", bandwidth ? "bandwidth" : "latency",
	         name_of_served(machine, served, "remote", "core"));
	return text;
}

const char *fm_stall_level_words(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                 char *text, size_t size)
{
	if (served == FM_SERVED_CORE && !bandwidth)
		snprintf(text, size, "a line from another core");
	else
		snprintf(text, size, "%s of %s", bandwidth ? "bandwidth" : "latency",
		         name_of_served(machine, served, "another socket's memory", "another core's cache"));
	return text;
}
