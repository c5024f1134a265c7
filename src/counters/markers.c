#include "counters/markers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../include/fathom.h"
#include "base/printable.h"
#include "counters/calls.h"

struct fm_markers {
	char path[4096];
	struct fathom_markers_ *file;
	struct fm_event *events;
	unsigned count;
	int counter_of[FM_EVENTS_MAX]; /* -1: none */
	bool user_only[FM_EVENTS_MAX];
};

_Static_assert(sizeof(struct perf_event_attr) <= sizeof(((struct fathom_markers_ *)0)->counters[0]),
               "an event fits into the file");

/* What the program's threads will ask the kernel for, as far as they will be allowed to. */
static void add_counter(struct fm_markers *markers, unsigned event)
{
	struct fathom_markers_ *file = markers->file;
	struct perf_event_attr attributes = markers->events[event].attributes;
	int probe;

	markers->counter_of[event] = -1;
	if (markers->events[event].cpu >= 0 || file->counter_count == FATHOM_COUNTERS_MAX_)
		return;
	attributes.size = sizeof(attributes);
	attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP;
	probe = fm_call_open(&attributes, 0, -1, -1);
	if (probe < 0 && (errno == EACCES || errno == EPERM) && !attributes.exclude_user) {
		attributes.exclude_kernel = attributes.exclude_hv = 1;
		markers->user_only[event] = true;
		probe = fm_call_open(&attributes, 0, -1, -1);
	}
	if (probe < 0)
		return;
	close(probe);
	markers->counter_of[event] = (int)file->counter_count;
	memcpy(file->counters[file->counter_count++], &attributes, sizeof(attributes));
}

static int make_file(struct fm_markers *markers, struct fm_error *error)
{
	const char *folder = getenv("TMPDIR");
	void *mapping = MAP_FAILED;
	int file, code;

	if (!folder || !*folder)
		folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(markers->path, sizeof(markers->path), "%s/fathom-markers-XXXXXX", folder);
	file = mkstemp(markers->path);
	if (file < 0)
		return fm_error_set(error, errno, "cannot make a file in %s: %s", folder, strerror(errno));
	/* all of it now: a full disk must not be the program's end */
	code = posix_fallocate(file, 0, sizeof(struct fathom_markers_));
	if (!code) {
		mapping = mmap(NULL, sizeof(struct fathom_markers_), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		code = mapping == MAP_FAILED ? errno : 0;
	}
	close(file);
	if (code) {
		unlink(markers->path);
		return fm_error_set(error, code, "cannot make room for regions in %s: %s", folder, strerror(code));
	}
	markers->file = mapping;
	return 0;
}

int fm_markers_create(const struct fm_event *events, unsigned count, struct fm_markers **ret_markers,
                      struct fm_error *error)
{
	struct fm_markers *markers = count <= FM_EVENTS_MAX ? calloc(1, sizeof(*markers)) : NULL;
	struct rlimit files;
	int status;

	if (!markers)
		return fm_error_set(error, ENOMEM, "out of memory");
	markers->events = calloc(count + 1, sizeof(*events));
	status = markers->events ? make_file(markers, error) : fm_error_set(error, ENOMEM, "out of memory");
	if (status) {
		free(markers->events);
		free(markers);
		return status;
	}
	if (count)
		memcpy(markers->events, events, count * sizeof(*events));
	markers->count = count;
	for (unsigned i = 0; i < count; i++)
		add_counter(markers, i);
	/* a quarter of what the program may open is ours */
	markers->file->files_max = getrlimit(RLIMIT_NOFILE, &files) ? 64 : (uint32_t)(files.rlim_cur / 4);
	markers->file->magic = FATHOM_MARKERS_MAGIC_;
	*ret_markers = markers;
	return 0;
}

void fm_markers_choose(struct fm_markers *markers, const char *region, uint64_t first, uint64_t last)
{
	snprintf(markers->file->chosen, sizeof(markers->file->chosen), "%s", region);
	markers->file->first = first;
	markers->file->last = last;
}

void fm_markers_announce(const struct fm_markers *markers)
{
	setenv("FATHOM_MARKERS", markers->path, 1);
}

/* Threads are numbered upwards as they are made. */
static int by_name_and_age(const void *left, const void *right)
{
	const struct fm_marked *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void take_counts(const struct fm_markers *markers, const struct fathom_slot_ *slot, struct fm_marked *marked)
{
	for (unsigned i = 0; i < markers->count; i++) {
		int counter = markers->counter_of[i];

		if (counter >= 0 && slot->unread >> counter & 1) {
			marked->counts[i].figure = fm_figure_unavailable(
			    "its counter was not there in every instance: too many files, or the program closed it");
			continue;
		}
		if (counter < 0) {
			marked->counts[i].figure =
			    fm_figure_unavailable(markers->events[i].cpu >= 0
			                              ? "it is counted for CPUs, not for the thread that runs a region"
			                              : "a region has no counter for it");
			continue;
		}
		marked->counts[i] = (struct fm_count){.value = slot->spent.counters[counter][0],
		                                      .enabled = slot->spent.counters[counter][1],
		                                      .running = slot->spent.counters[counter][2],
		                                      .user_only = markers->user_only[i]};
		fm_count_conclude(&markers->events[i], &marked->counts[i]);
	}
}

/* One thread may have several places, when the program and its libraries have markers of their own. */
static void merge(struct fm_marked *into, struct fm_marked *from, const struct fm_markers *markers)
{
	into->instances += from->instances;
	into->seconds += from->seconds;
	for (unsigned i = 0; i < markers->count; i++) {
		into->counts[i].value += from->counts[i].value;
		into->counts[i].enabled += from->counts[i].enabled;
		into->counts[i].running += from->counts[i].running;
		if (markers->counter_of[i] >= 0 && into->counts[i].figure.available && from->counts[i].figure.available)
			fm_count_conclude(&markers->events[i], &into->counts[i]);
		else if (into->counts[i].figure.available)
			into->counts[i].figure = from->counts[i].figure;
	}
	free(from->counts);
}

int fm_markers_read(const struct fm_markers *markers, struct fm_marked **ret_marked, unsigned *ret_count,
                    uint64_t *ret_lost, struct fm_error *error)
{
	const struct fathom_markers_ *file = markers->file;
	uint32_t slots = file->slot_count < FATHOM_SLOTS_MAX_ ? file->slot_count : FATHOM_SLOTS_MAX_;
	struct fm_marked *marked = calloc(slots + 1, sizeof(*marked));
	unsigned count = 0, kept = 0;

	if (!marked)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < slots; i++) {
		const struct fathom_slot_ *slot = &file->slots[i];
		char raw[FATHOM_NAME_MAX_];

		if (!slot->thread || slot->thread > FATHOM_THREADS_MAX_ || !slot->instances)
			continue;
		marked[count].counts = calloc(markers->count + 1, sizeof(struct fm_count));
		if (!marked[count].counts) {
			fm_marked_free(marked, count);
			return fm_error_set(error, ENOMEM, "out of memory");
		}
		snprintf(raw, sizeof(raw), "%.*s", FATHOM_NAME_MAX_ - 1, slot->name);
		fm_printable_copy(marked[count].name, sizeof(marked[count].name), raw);
		marked[count].process = (pid_t)file->threads[slot->thread - 1].process;
		marked[count].thread = (pid_t)file->threads[slot->thread - 1].thread;
		marked[count].instances = slot->instances;
		marked[count].seconds = (double)slot->spent.nanoseconds * 1e-9;
		take_counts(markers, slot, &marked[count]);
		count++;
	}
	qsort(marked, count, sizeof(*marked), by_name_and_age);
	for (unsigned i = 0; i < count; i++) {
		if (kept && !by_name_and_age(&marked[kept - 1], &marked[i])) {
			merge(&marked[kept - 1], &marked[i], markers);
			continue;
		}
		marked[kept] = marked[i];
		marked[kept].ordinal =
		    kept && !strcmp(marked[kept - 1].name, marked[kept].name) ? marked[kept - 1].ordinal + 1 : 0;
		kept++;
	}
	*ret_marked = marked;
	*ret_count = kept;
	*ret_lost = file->lost;
	return 0;
}

void fm_marked_free(struct fm_marked *marked, unsigned count)
{
	for (unsigned i = 0; marked && i < count; i++)
		free(marked[i].counts);
	free(marked);
}

void fm_markers_free(struct fm_markers *markers)
{
	if (!markers)
		return;
	unlink(markers->path);
	munmap(markers->file, sizeof(*markers->file));
	free(markers->events);
	free(markers);
}
