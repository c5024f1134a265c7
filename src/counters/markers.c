#include "counters/markers.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define FATHOM_LAYOUT_ONLY_
#include "../include/fathom.h"
#include "base/leftovers.h"
#include "base/printable.h"
#include "counters/calls.h"

struct fm_markers {
	char path[4096];
	int descriptor;
	struct fathom_wishes_ wishes;
	int status; /* of the chosen instances: others are not reported */
	struct fm_error problem;
	struct fm_event *events;
	unsigned count;
	int counter_of[FM_EVENTS_MAX]; /* -1: none */
	bool user_only[FM_EVENTS_MAX];
};

_Static_assert(sizeof(struct perf_event_attr) <= sizeof(((struct fathom_wishes_ *)0)->counters[0]),
               "an event fits into the file");

/* Arguments for the kernel in the program's threads, as far as they are permitted. */
static void add_counter(struct fm_markers *markers, unsigned event)
{
	struct fathom_wishes_ *wishes = &markers->wishes;
	struct perf_event_attr attributes = markers->events[event].attributes;
	int probe;

	markers->counter_of[event] = -1;
	if (markers->events[event].cpu >= 0 || wishes->counter_count == FATHOM_COUNTERS_MAX_)
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
	markers->counter_of[event] = (int)wishes->counter_count;
	memcpy(wishes->counters[wishes->counter_count++], &attributes, sizeof(attributes));
}

static int make_file(struct fm_markers *markers, const char *folder, struct fm_error *error)
{
	int code;

	if (!folder)
		folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(markers->path, sizeof(markers->path), "%s/" FM_MARKERS_NAME "XXXXXX", folder);
	markers->descriptor = fm_leftovers_create(markers->path);
	if (markers->descriptor < 0)
		return fm_error_set(error, -markers->descriptor, "cannot make a file in %s: %s", folder,
		                    strerror(-markers->descriptor));
	/* all of it now: a full disk must not be the program's end */
	code = posix_fallocate(markers->descriptor, 0, sizeof(struct fathom_markers_));
	if (code) {
		close(markers->descriptor);
		unlink(markers->path);
		return fm_error_set(error, code, "cannot make room for regions in %s: %s", folder, strerror(code));
	}
	return 0;
}

/* The file is written and read, not mapped: truncation by the program must not kill the tool. */
static int write_at(const struct fm_markers *markers, size_t offset, const void *source, size_t size,
                    struct fm_error *error)
{
	errno = EIO;
	if (pwrite(markers->descriptor, source, size, (off_t)offset) != (ssize_t)size)
		return fm_error_set(error, errno, "cannot write %s: %s", markers->path, strerror(errno));
	return 0;
}

static int create(const struct fm_event *events, unsigned count, const char *folder, struct fm_markers **ret_markers,
                  struct fm_error *error)
{
	struct fm_markers *markers = count <= FM_EVENTS_MAX ? calloc(1, sizeof(*markers)) : NULL;
	const uint64_t magic = FATHOM_MARKERS_MAGIC_;
	struct rlimit files;
	int status;

	if (!markers)
		return fm_error_set(error, ENOMEM, "out of memory");
	markers->events = calloc(count + 1, sizeof(*events));
	status = markers->events ? make_file(markers, folder, error) : fm_error_set(error, ENOMEM, "out of memory");
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
	/* a quarter of the program's limit of open files */
	markers->wishes.files_max =
	    getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 4 > UINT32_MAX ? 64 : (uint32_t)(files.rlim_cur / 4);
	markers->wishes.filtered = prctl(PR_GET_SECCOMP) != 0;
	status = write_at(markers, offsetof(struct fathom_markers_, wishes), &markers->wishes, sizeof(markers->wishes),
	                  error);
	if (!status)
		status = write_at(markers, offsetof(struct fathom_markers_, magic), &magic, sizeof(magic), error);
	if (status)
		fm_markers_free(markers);
	else
		*ret_markers = markers;
	return status;
}

int fm_markers_create(const struct fm_event *events, unsigned count, struct fm_markers **ret_markers,
                      struct fm_error *error)
{
	return create(events, count, NULL, ret_markers, error);
}

int fm_markers_create_in(const char *folder, struct fm_markers **ret_markers, struct fm_error *error)
{
	return create(NULL, 0, folder, ret_markers, error);
}

/* Slot by slot: who is observed shares its caches with us. */
void fm_markers_sum(const struct fm_markers *markers, const char *region, uint64_t *ret_instances, double *ret_seconds)
{
	uint32_t slots = 0;

	*ret_instances = 0;
	*ret_seconds = 0;
	if (pread(markers->descriptor, &slots, sizeof(slots), offsetof(struct fathom_markers_, slot_count)) !=
	    (ssize_t)sizeof(slots))
		return;
	slots = slots < FATHOM_SLOTS_MAX_ ? slots : FATHOM_SLOTS_MAX_;
	for (uint32_t i = 0; i < slots; i++) {
		enum { BEGINNING = offsetof(struct fathom_slot_, spent) + sizeof(uint64_t) };
		off_t at = (off_t)(offsetof(struct fathom_markers_, slots) + i * sizeof(struct fathom_slot_));
		struct fathom_slot_ slot = {.thread = 0};
		char name[FATHOM_NAME_MAX_], raw[FATHOM_NAME_MAX_];

		if (pread(markers->descriptor, &slot, BEGINNING, at) != BEGINNING)
			return;
		if (!slot.thread || !slot.instances)
			continue;
		snprintf(raw, sizeof(raw), "%.*s", FATHOM_NAME_MAX_ - 1, slot.name);
		fm_printable_copy(name, sizeof(name), raw);
		if (strcmp(name, region) != 0)
			continue;
		*ret_instances += slot.instances;
		*ret_seconds += (double)slot.spent.nanoseconds * 1e-9;
	}
}

void fm_markers_choose(struct fm_markers *markers, const char *region, uint64_t first, uint64_t last)
{
	snprintf(markers->wishes.chosen, sizeof(markers->wishes.chosen), "%s", region);
	markers->wishes.first = first;
	markers->wishes.last = last;
	markers->status = write_at(markers, offsetof(struct fathom_markers_, wishes), &markers->wishes,
	                           sizeof(markers->wishes), &markers->problem);
}

void fm_markers_announce(const struct fm_markers *markers)
{
	setenv("FATHOM_MARKERS", markers->path, 1);
}

void fm_markers_conceal(void)
{
	unsetenv("FATHOM_MARKERS");
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
			marked->counts[i].figure =
			    fm_figure_unavailable("its counter was not there in every instance: too many files, or the "
			                          "program closed or forbade it");
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
	struct fathom_markers_ *file = markers->status ? NULL : malloc(sizeof(*file));
	struct fm_marked *marked;
	unsigned count = 0, kept = 0;
	uint32_t slots;

	if (markers->status)
		return fm_error_set(error, -markers->status, "%s", markers->problem.message);
	if (!file)
		return fm_error_set(error, ENOMEM, "out of memory");
	/* a copy, since the program or its children may still write while the content is checked and used */
	if (pread(markers->descriptor, file, sizeof(*file), 0) != (ssize_t)sizeof(*file)) {
		free(file);
		return fm_error_set(error, EBADMSG, "the program has damaged the file of its regions, %s",
		                    markers->path);
	}
	slots = file->slot_count < FATHOM_SLOTS_MAX_ ? file->slot_count : FATHOM_SLOTS_MAX_;
	marked = calloc(slots + 1, sizeof(*marked));
	if (!marked) {
		free(file);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < slots; i++) {
		const struct fathom_slot_ *slot = &file->slots[i];
		char raw[FATHOM_NAME_MAX_];

		if (!slot->thread || slot->thread > FATHOM_THREADS_MAX_ || !slot->instances)
			continue;
		marked[count].counts = calloc(markers->count + 1, sizeof(struct fm_count));
		if (!marked[count].counts) {
			fm_marked_free(marked, count);
			free(file);
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
	free(file);
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
	close(markers->descriptor);
	free(markers->events);
	free(markers);
}
