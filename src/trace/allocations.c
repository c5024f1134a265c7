#include "trace/allocations.h"

#include <stddef.h>

#include "preload/hooks.h"
#include "preload/unwind.h"
#include "trace/place.h"

enum {
	BLOCK = 64, /* entries that are made writable together */
	FAR = 1 << 20,
	OWN_FRAMES = 4, /* at most, between the unwinder and the program */
};

__thread int64_t fm_allocations_left __attribute__((tls_model("initial-exec")));
static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));
static bool opened, unwinds;

/* Called before any constructor of ours: nothing to note, the free() of ours knows the reserve. */
void fm_hook_reserved(const void *address)
{
	(void)address;
}

static uint64_t draw(void)
{
	uint64_t x = random_state ? random_state : (fm_ticks() ^ (uintptr_t)&random_state) | 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return random_state = x;
}

/* What runs in a window is logged as the program's own, and a stretch that stores to shared memory cannot be repeated.
 */
static bool is_disturbing(size_t size)
{
	const struct fm_place *place = fm_place_own();

	if (!place || !place->begun)
		return false;
	return place->current == FM_UNDO || place->current == FM_TIMED ||
	       (place->epoch && size < FM_TRACE_ALLOCATION_LARGE);
}

static struct fm_trace_allocation *take_entry(uint64_t *ret_number)
{
	struct fm_trace_allocations *all = &fm_file->allocations;
	uint64_t number = __atomic_load_n(&all->written, __ATOMIC_RELAXED), block;

	do {
		if (number - __atomic_load_n(&all->read, __ATOMIC_ACQUIRE) >= FM_TRACE_ALLOCATIONS) {
			fm_add(&all->lost, 1);
			return NULL;
		}
		block = number % FM_TRACE_ALLOCATIONS / BLOCK * BLOCK;
		/* each block once, by the first thread that needs it */
		if (number < FM_TRACE_ALLOCATIONS && number >= __atomic_load_n(&all->reserved, __ATOMIC_ACQUIRE)) {
			if (fm_file_reserve(&all->list[block], BLOCK * sizeof(all->list[0]))) {
				fm_add(&all->lost, 1);
				opened = false; /* there is no room, and each attempt costs the program time */
				return NULL;
			}
			__atomic_store_n(&all->reserved, block + BLOCK, __ATOMIC_RELEASE);
		}
	} while (!__atomic_compare_exchange_n(&all->written, &number, number + 1, false, __ATOMIC_ACQ_REL,
	                                      __ATOMIC_RELAXED));
	*ret_number = number;
	return &all->list[number % FM_TRACE_ALLOCATIONS];
}

/* From the caller on, without our own frames. */
static unsigned find_stack(uint64_t *frames, const void *caller)
{
	uint64_t all[FM_TRACE_ALLOCATION_FRAMES + OWN_FRAMES];
	unsigned count = fm_unwind_here(all, FM_TRACE_ALLOCATION_FRAMES + OWN_FRAMES, 0), begin = 0;

	while (begin < count && begin < OWN_FRAMES && all[begin] != (uintptr_t)caller)
		begin++;
	if (begin == count || all[begin] != (uintptr_t)caller) {
		frames[0] = (uintptr_t)caller;
		return 1;
	}
	for (unsigned i = 0; i < FM_TRACE_ALLOCATION_FRAMES && begin + i < count; i++)
		frames[i] = all[begin + i];
	return count - begin < FM_TRACE_ALLOCATION_FRAMES ? count - begin : FM_TRACE_ALLOCATION_FRAMES;
}

bool fm_allocations_can_unwind(void)
{
	return unwinds;
}

void fm_allocations_keep(const void *address, size_t size, const void *caller)
{
	uint64_t frames[FM_TRACE_ALLOCATION_FRAMES], number = 0;
	struct fm_trace_allocation *entry;
	unsigned count;

	fm_allocations_left = FAR;
	if (!address || !opened || !fm_is_alive())
		return;
	fm_allocations_left = (int64_t)(draw() % (2 * FM_TRACE_ALLOCATION_STEP));
	if (is_disturbing(size))
		return;
	count = find_stack(frames, caller);
	entry = take_entry(&number);
	if (!entry)
		return;
	entry->address = (uintptr_t)address;
	entry->size = size;
	for (unsigned i = 0; i < FM_TRACE_ALLOCATION_FRAMES; i++)
		entry->frames[i] = i < count ? frames[i] : 0;
	__atomic_store_n(&entry->ready, (uint32_t)number + 1, __ATOMIC_RELEASE);
}

void fm_allocations_forked(void)
{
	const size_t first = offsetof(struct fm_trace_allocations, list) + BLOCK * sizeof(struct fm_trace_allocation);

	opened = opened && !fm_file_reserve(&fm_file->allocations, first);
	if (!opened)
		return;
	fm_file->allocations.reserved = BLOCK;
	__atomic_store_n(&fm_head()->objects, 1, __ATOMIC_RELEASE);
}

void fm_allocations_open(void)
{
	unwinds = !fm_unwind_open();
	opened = fm_session->objects && unwinds;
	fm_allocations_forked();
}
