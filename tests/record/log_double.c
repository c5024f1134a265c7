#include "record/log_double.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "record/allocations.h"
#include "record/live.h"
#include "record/costs.h"
#include "record/log.h"
#include "record/mappings.h"
#include "preload/unwind.h"

enum { ENTRIES = 2500000, STACKS = 65536 };

static struct fm_session session = {.track = 1, .magic = FM_SESSION_MAGIC};
static struct fm_stream_process process;
static struct double_entry entries[ENTRIES];
static struct double_stack stacks[STACKS];
static size_t entry_count;
struct fm_session *fm_session;
struct fm_stream_process *fm_process;
__thread struct fm_self fm_self;

bool fm_is_alive(void)
{
	return fm_process;
}

void *fm_log_begin(enum fm_stream_kind kind, size_t size)
{
	size_t number = __atomic_fetch_add(&entry_count, 1, __ATOMIC_RELAXED);

	if (number >= ENTRIES || size > sizeof(struct fm_stream_allocation)) {
		__atomic_fetch_add(&process.lost_entries, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	entries[number].unused = kind;
	entries[number].time = fm_ticks();
	return &entries[number].allocation;
}

void fm_log_commit(void *body)
{
	struct double_entry *entry =
	    (struct double_entry *)(void *)((char *)body - offsetof(struct double_entry, allocation));

	__atomic_store_n(&entry->kind, entry->unused, __ATOMIC_RELEASE);
}

void fm_log_write(enum fm_stream_kind kind, const void *body, size_t size)
{
	void *to = fm_self.inside ? fm_log_begin(kind, size) : NULL;

	if (to) {
		memcpy(to, body, size);
		fm_log_commit(to);
	}
}

uint32_t fm_log_stack(const uint64_t *addresses, unsigned count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < count; i++)
		hash = (hash ^ addresses[i]) * 0x9e3779b97f4a7c15u;
	for (unsigned i = 0; i < STACKS; i++) {
		unsigned number = (unsigned)((hash >> 40) + i) % STACKS;
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&stacks[number].state, &none, 1, 0, __ATOMIC_ACQ_REL,
		                                __ATOMIC_ACQUIRE)) {
			stacks[number].count = count;
			memcpy(stacks[number].frames, addresses, count * sizeof(*addresses));
			__atomic_store_n(&stacks[number].state, 2, __ATOMIC_RELEASE);
			return number + 1;
		}
		if (none == 2 && stacks[number].count == count &&
		    !memcmp(stacks[number].frames, addresses, count * sizeof(*addresses)))
			return number + 1;
	}
	return 0;
}

struct walk {
	uint64_t *addresses;
	unsigned count, most, skip;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;

	if (walk->skip) {
		walk->skip--;
		return _URC_NO_REASON;
	}
	if (walk->count == walk->most || walk->count == 16)
		return _URC_END_OF_STACK;
	walk->addresses[walk->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

void fm_costs_poll(void)
{
}

void fm_mappings_changed(const void *address, size_t size)
{
	(void)address;
	(void)size;
}

void fm_mappings_of_file(const void *address, size_t size, int file)
{
	(void)address;
	(void)size;
	(void)file;
}

unsigned fm_unwind_here(uint64_t *addresses, unsigned most, unsigned skip)
{
	/* this function, and the one that calls it */
	struct walk walk = {.addresses = addresses, .most = most, .skip = skip + 2};

	_Unwind_Backtrace(step, &walk);
	return walk.count;
}

static void enter(void)
{
	fm_self_enter();
}

static void leave(void)
{
	fm_self_leave();
}

static void seed(uint64_t random)
{
	fm_self.random = random;
}

__attribute__((visibility("default"))) const struct record_double *record_double(void)
{
	static const struct record_double table = {&session,
	                                           &process,
	                                           entries,
	                                           &entry_count,
	                                           stacks,
	                                           fm_allocations_set_interval,
	                                           fm_allocations_cost,
	                                           fm_allocations_forked,
	                                           enter,
	                                           leave,
	                                           seed,
	                                           fm_live_bytes,
	                                           fm_live_insert,
	                                           fm_live_remove};

	return &table;
}

static __attribute__((constructor)) void open_double(void)
{
	const char *interval = getenv("FATHOM_DOUBLE_INTERVAL");

	if (interval)
		fm_allocations_set_interval(strtoull(interval, NULL, 10));
	if (!getenv("FATHOM_DOUBLE_OFF")) {
		fm_session = &session;
		fm_process = &process;
	}
	fm_allocations_open();
}

static __attribute__((destructor)) void close_double(void)
{
	const char *path = getenv("FATHOM_DOUBLE_REPORT");
	size_t counts[4] = {0}, releases = 0, wrong = 0;
	int file;

	if (!path || !fm_session)
		return;
	fm_allocations_cost();
	for (size_t i = 0; i < entry_count && i < ENTRIES; i++) {
		if (entries[i].kind == FM_STREAM_ALLOCATE) {
			counts[entries[i].allocation.allocator % 4]++;
			wrong += entries[i].allocation.stack == 0;
		} else if (entries[i].kind == FM_STREAM_RELEASE) {
			releases++;
		} else {
			wrong++;
		}
	}
	file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dprintf(file, "heap %zu new %zu mapped %zu arena %zu releases %zu wrong %zu calls %llu own %u\n", counts[0],
	        counts[1], counts[2], counts[3], releases, wrong, (unsigned long long)process.allocations,
	        process.own_allocator);
	close(file);
}
