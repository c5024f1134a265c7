#include "counters/boxes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/sysfs.h"

/* Collecting: all PMUs whose name is the same but for the number at its end. */
struct search {
	const struct fm_event *event;
	char stem[64];
	struct fm_event *found;
	unsigned count, room;
};

static bool stem_of(const char *name, char *stem, size_t size)
{
	size_t length = strlen(name), digits = 0;

	while (digits < length && isdigit((unsigned char)name[length - digits - 1]))
		digits++;
	snprintf(stem, size, "%.*s", (int)(length - digits), name);
	return digits > 0;
}

static bool name_of_type(const char *pmu, void *context)
{
	struct search *search = context;

	if (fm_sysfs_type(pmu) != (int)search->event->attributes.type)
		return true;
	return !stem_of(pmu, search->stem, sizeof(search->stem));
}

static bool add_box(const char *pmu, void *context)
{
	struct search *search = context;
	char stem[64];
	int cpus[64];
	unsigned count;

	if (!stem_of(pmu, stem, sizeof(stem)) || strcmp(stem, search->stem) != 0)
		return true;
	count = fm_sysfs_cpus(pmu, cpus, 64);
	for (unsigned i = 0; i < count; i++) {
		struct fm_event *box = &search->found[search->count++];

		if (search->count > search->room)
			continue;
		*box = *search->event;
		box->attributes.type = (unsigned)fm_sysfs_type(pmu);
		box->cpu = cpus[i];
		snprintf(box->pmu, sizeof(box->pmu), "%s", pmu);
	}
	return true;
}

unsigned fm_event_boxes(const struct fm_event *event, struct fm_event *ret_events, unsigned room)
{
	struct search search = {.event = event, .found = ret_events, .room = room};

	if (!room)
		return 0;
	if (event->cpu >= 0) {
		fm_sysfs_each_pmu(name_of_type, &search);
		if (*search.stem)
			fm_sysfs_each_pmu(add_box, &search);
	}
	if (!search.count)
		ret_events[search.count++] = *event;
	return search.count;
}
