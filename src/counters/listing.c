#include "counters/listing.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "counters/counting.h"
#include "counters/library.h"
#include "counters/sysfs.h"

struct maker {
	struct fm_listing *listing;
	size_t room;
	const char *pattern;
	bool failed;
};

static bool add(struct maker *maker, const char *name, const char *pmu, const char *description)
{
	struct fm_listing *listing = maker->listing;
	struct fm_listed *event;

	if (!fm_text_has_words(maker->pattern, name, description))
		return true;
	if (!fm_array_grow(listing->events, listing->count, maker->room)) {
		maker->failed = true;
		return false;
	}
	event = &listing->events[listing->count];
	memset(event, 0, sizeof(*event));
	event->opens = event->counts = FM_ANSWER_UNKNOWN;
	event->name = strdup(name);
	event->pmu = strdup(pmu);
	event->description = strdup(description);
	listing->count++;
	maker->failed |= !event->name || !event->pmu || !event->description;
	return !maker->failed;
}

static bool on_sysfs_event(const char *pmu, const char *name, void *context)
{
	char full[FM_EVENT_NAME];

	snprintf(full, sizeof(full), "%s/%s/", pmu, name);
	return add(context, full, pmu, "named by the kernel for this PMU");
}

static bool on_sysfs_pmu(const char *pmu, void *context)
{
	fm_sysfs_each_event(pmu, on_sysfs_event, context);
	return !((struct maker *)context)->failed;
}

static bool on_library_event(const struct fm_library_event *event, void *context)
{
	/* the kernel's own names, which are in the list already */
	if (!strcmp(event->pmu, "perf") || !strcmp(event->pmu, "perf_raw"))
		return true;
	return add(context, event->name, event->pmu, event->description);
}

/* Something of most kinds: instructions, cache misses, page faults, a switch. */
static void work(void)
{
	static volatile unsigned numbers[1 << 16];
	char *pages = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned i = 0; i < 200000; i++)
		numbers[i * 61 % (1 << 16)] += i;
	for (unsigned i = 0; pages != MAP_FAILED && i < 1 << 18; i += 4096)
		((volatile char *)pages)[i] = 1;
	if (pages != MAP_FAILED)
		munmap(pages, 1 << 18);
	usleep(1);
}

/* Events that the test program certainly causes: at zero, they do not count. Others may. */
static bool must_have_happened(const struct fm_event *event)
{
	static const char *const sure[] = {"cycles",          "cpu-cycles",       "instructions", "task-clock",
	                                   "cpu-clock",       "page-faults",      "minor-faults", "branches",
	                                   "L1-dcache-loads", "L1-dcache-stores", "ref-cycles"};

	for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++)
		if (!strcasecmp(event->name, sure[i]))
			return true;
	return false;
}

static void try_event(struct fm_listed *listed)
{
	const struct fm_target ourselves = {.task = 0};
	struct fm_counting *counting;
	struct fm_event event;
	struct fm_error error;
	struct fm_count count;

	listed->opens = listed->counts = FM_ANSWER_NO;
	if (fm_event_resolve(listed->name, &event, &error) ||
	    fm_counting_open(&event, 1, &ourselves, &counting, &error)) {
		snprintf(listed->why, sizeof(listed->why), "%.*s", (int)sizeof(listed->why) - 1, error.message);
		return;
	}
	listed->opens = FM_ANSWER_YES;
	fm_counting_start(counting);
	work();
	fm_counting_stop(counting);
	fm_counting_read(counting, &count);
	fm_counting_close(counting);
	if (count.figure.available && count.value) {
		listed->counts = FM_ANSWER_YES;
	} else if (!count.figure.available) {
		snprintf(listed->why, sizeof(listed->why), "it opens, but does not count: %s", count.figure.why);
	} else if (must_have_happened(&event)) {
		snprintf(listed->why, sizeof(listed->why), "it opens, but stays at zero although the event occurs");
	} else {
		listed->counts = FM_ANSWER_UNKNOWN;
		snprintf(listed->why, sizeof(listed->why), "it stayed at zero; perhaps the event did not occur");
	}
}

int fm_listing_create(const char *pattern, bool try, struct fm_listing *ret_listing)
{
	struct fm_listing listing = {0};
	struct maker maker = {.listing = &listing, .pattern = pattern};
	const char *name, *description;

	for (unsigned i = 0; (name = fm_generic_event(i, &description)); i++) {
		struct fm_event event;
		struct fm_error error;

		if (!fm_event_resolve(name, &event, &error) && !add(&maker, name, event.pmu, description))
			break;
	}
	fm_sysfs_each_pmu(on_sysfs_pmu, &maker);
	fm_library_each(NULL, on_library_event, &maker);
	if (maker.failed) {
		fm_listing_free(&listing);
		return -ENOMEM;
	}
	for (size_t i = 0; try && i < listing.count; i++)
		try_event(&listing.events[i]);
	*ret_listing = listing;
	return 0;
}

void fm_listing_free(struct fm_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		free(listing->events[i].name);
		free(listing->events[i].pmu);
		free(listing->events[i].description);
	}
	free(listing->events);
	*listing = (struct fm_listing){0};
}
