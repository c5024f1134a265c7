#include "record/live.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/log.h"

enum {
	PLACES = 8, /* of a bucket: one cache line */
	FIRST_BITS = 10,
	TABLES = 11, /* 8192 places, 16384 …: together nearly FM_LIVE_MOST */
	STUCK = 255, /* a counter of the filter that has been there cannot count down any more */
};

/* An address is in one of the two buckets that its hash names, in any of the tables, newest first. So nothing ever
   moves, a place is free again as soon as it is 0, and a table is nearly full before the next is needed. */
struct bucket {
	uintptr_t places[PLACES];
} __attribute__((aligned(64)));

uint8_t fm_live_filter[FM_LIVE_FILTER] __attribute__((aligned(64)));
static struct bucket first[1 << FIRST_BITS];
static struct bucket *tables[TABLES] = {first};
static unsigned newest;

static void find_buckets(unsigned table, uintptr_t address, struct bucket *ret_buckets[2])
{
	struct bucket *base = __atomic_load_n(&tables[table], __ATOMIC_ACQUIRE);
	unsigned shift = 64 - FIRST_BITS - table;
	uint64_t hash = (address >> 3) * 0x9e3779b97f4a7c15u;

	ret_buckets[0] = base + (hash >> shift);
	ret_buckets[1] = base + ((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u >> shift);
}

static void filter_add(const void *address)
{
	uint8_t *counter = &fm_live_filter[fm_live_place(address)], old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (old != STUCK &&
	       !__atomic_compare_exchange_n(counter, &old, old + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void filter_subtract(const void *address)
{
	uint8_t *counter = &fm_live_filter[fm_live_place(address)], old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (old != STUCK && old != 0 &&
	       !__atomic_compare_exchange_n(counter, &old, old - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static uintptr_t *find(uintptr_t address)
{
	int last = (int)__atomic_load_n(&newest, __ATOMIC_ACQUIRE);
	struct bucket *all[TABLES][2];

	/* misses of the cache at the same time, not one after the other */
	for (int table = last; table >= 0; table--) {
		find_buckets((unsigned)table, address, all[table]);
		__builtin_prefetch(all[table][0]);
		__builtin_prefetch(all[table][1]);
	}
	for (int table = last; table >= 0; table--) {
		struct bucket *const *buckets = all[table];

		for (unsigned i = 0; i < 2 * PLACES; i++) {
			uintptr_t *place = &buckets[i / PLACES]->places[i % PLACES];

			if (__atomic_load_n(place, __ATOMIC_RELAXED) == address)
				return place;
		}
	}
	return NULL;
}

static unsigned used(const struct bucket *bucket)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PLACES; i++)
		count += __atomic_load_n(&bucket->places[i], __ATOMIC_RELAXED) != 0;
	return count;
}

/* The emptier one of its two buckets: that is what fills a table evenly. */
static bool put(unsigned table, uintptr_t address)
{
	struct bucket *buckets[2], *bucket;

	find_buckets(table, address, buckets);
	bucket = buckets[used(buckets[1]) < used(buckets[0])];
	for (unsigned i = 0; i < PLACES; i++) {
		uintptr_t empty = 0;

		if (__atomic_compare_exchange_n(&bucket->places[i], &empty, address, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool grow(unsigned last)
{
	size_t size = sizeof(struct bucket) << (FIRST_BITS + last + 1);
	struct bucket *none = NULL;

	if (last + 1 == TABLES)
		return false;
	if (!__atomic_load_n(&tables[last + 1], __ATOMIC_ACQUIRE)) {
		long result =
		    fm_system_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (result < 0 && result > -4096)
			return false;
		if (!__atomic_compare_exchange_n(&tables[last + 1], &none, (struct bucket *)result, false,
		                                 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			fm_system_call(SYS_munmap, result, (long)size, 0, 0, 0, 0);
	}
	/* whoever installed it may not have come so far */
	__atomic_compare_exchange_n(&newest, &last, last + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return true;
}

int fm_live_insert(const void *address)
{
	if (fm_live_maybe(address) && find((uintptr_t)address))
		return -EEXIST;
	filter_add(address);
	for (;;) {
		unsigned last = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);

		for (int table = (int)last; table >= 0; table--) {
			if (put((unsigned)table, (uintptr_t)address))
				return 0;
		}
		if (!grow(last)) {
			filter_subtract(address);
			return -ENOMEM;
		}
	}
}

bool fm_live_remove(const void *address)
{
	uintptr_t expected = (uintptr_t)address, *place = expected ? find(expected) : NULL;

	/* a program that releases twice in two threads must not make us count down twice */
	if (!place || !__atomic_compare_exchange_n(place, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	filter_subtract(address);
	return true;
}

void fm_live_suspect(const void *address)
{
	__atomic_store_n(&fm_live_filter[fm_live_place(address)], STUCK, __ATOMIC_RELAXED);
}

unsigned fm_live_tables(void)
{
	return __atomic_load_n(&newest, __ATOMIC_RELAXED) + 1;
}

size_t fm_live_bytes(void)
{
	unsigned last = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);

	return sizeof(fm_live_filter) + (sizeof(struct bucket) << FIRST_BITS) * (((size_t)2 << last) - 1);
}
