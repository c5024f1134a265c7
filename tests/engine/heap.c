/* Heap memory by allocation: the latest one of an address wins. */
#include "check.h"

#include "engine/account/heap.h"

static const uint64_t first[FM_RESULT_ALLOCATION_FRAMES] = {10, 20}, second[FM_RESULT_ALLOCATION_FRAMES] = {10, 21};

/* Index of the site at the address; -1: none. */
static int site_at(const struct fm_heap *heap, uint64_t address)
{
	size_t at = fm_heap_find(heap, address);

	return at < heap->count && heap->segments[at].begin <= address ? (int)heap->segments[at].site : -1;
}

static void large_blocks_are_exact(void **state)
{
	struct fm_heap heap = {0};

	(void)state;
	fm_heap_add(&heap, 100000, 50000, false, first);
	fm_heap_add(&heap, 200000, 10000, false, second);
	assert_true(fm_heap_settle(&heap, false));
	assert_false(fm_heap_settle(&heap, true));
	assert_int_equal(site_at(&heap, 99999), -1);
	assert_int_equal(site_at(&heap, 100000), 0);
	assert_int_equal(site_at(&heap, 149999), 0);
	assert_int_equal(site_at(&heap, 150000), -1);
	assert_int_equal(site_at(&heap, 200000), 1);
	assert_int_equal(heap.sites[0].largest, 50000);
	fm_heap_free(&heap);
}

static void the_latest_wins(void **state)
{
	struct fm_heap heap = {0};

	(void)state;
	fm_heap_add(&heap, 0x10000, 0x10000, false, first);
	fm_heap_settle(&heap, false);
	/* the middle of it was released, and is used again */
	fm_heap_add(&heap, 0x14000, 0x2000, false, second);
	fm_heap_settle(&heap, false);
	assert_int_equal(site_at(&heap, 0x13fff), 0);
	assert_int_equal(site_at(&heap, 0x14000), 1);
	assert_int_equal(site_at(&heap, 0x15fff), 1);
	assert_int_equal(site_at(&heap, 0x16000), 0);
	/* in any order of addresses, within one settling */
	fm_heap_add(&heap, 0x18000, 0x1000, false, second);
	fm_heap_add(&heap, 0x10000, 0x10000, false, first);
	fm_heap_settle(&heap, false);
	assert_int_equal(heap.count, 1);
	assert_int_equal(site_at(&heap, 0x14000), 0);
	fm_heap_free(&heap);
}

static void small_ones_stand_for_pages_and_neighbours(void **state)
{
	struct fm_heap heap = {0};

	(void)state;
	fm_heap_add(&heap, 0x100010, 48, true, first);
	fm_heap_add(&heap, 0x104010, 48, true, first);
	fm_heap_add(&heap, 0x108010, 48, true, second);
	fm_heap_add(&heap, 0x200010, 48, true, second);
	assert_true(fm_heap_settle(&heap, false));
	assert_int_equal(site_at(&heap, 0x100000), 0);
	assert_int_equal(site_at(&heap, 0x102000), 0);
	assert_int_equal(site_at(&heap, 0x104fff), 0);
	assert_int_equal(site_at(&heap, 0x106000), -1);
	assert_int_equal(site_at(&heap, 0x108000), 1);
	assert_int_equal(site_at(&heap, 0x180000), -1);
	assert_int_equal(site_at(&heap, 0x200000), 1);
	fm_heap_free(&heap);
}

/* Against a map with an entry for each byte. */
static void random_allocations_agree_with_a_plain_map(void **state)
{
	enum { BYTES = 4096, ROUNDS = 400 };
	static int plain[BYTES];
	struct fm_heap heap = {0};
	uint64_t x = 88172645463325252u;

	(void)state;
	for (unsigned i = 0; i < BYTES; i++)
		plain[i] = -1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < 1 + round % 7; i++) {
			uint64_t begin, size;

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			begin = x % BYTES;
			size = 1 + (x >> 20) % (round % 5 ? 60 : 2000);
			if (begin + size > BYTES)
				size = BYTES - begin;
			fm_heap_add(&heap, begin, size, false, x >> 50 & 1 ? second : first);
			for (uint64_t k = begin; k < begin + size; k++)
				plain[k] = heap.sites[0].frames[1] == (x >> 50 & 1 ? 21u : 20u) ? 0 : 1;
		}
		fm_heap_settle(&heap, false);
		for (unsigned i = 0; i < BYTES; i++)
			assert_int_equal(site_at(&heap, i), plain[i]);
	}
	fm_heap_free(&heap);
}

static void few_small_ones_wait_beside_many(void **state)
{
	struct fm_heap heap = {0};

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		fm_heap_add(&heap, 0x100000 + 0x40000ull * i, 48, true, first);
	assert_true(fm_heap_settle(&heap, false));
	fm_heap_add(&heap, 0x100000, 48, true, second);
	assert_false(fm_heap_settle(&heap, false));
	assert_int_equal(site_at(&heap, 0x100000), 0);
	assert_true(fm_heap_settle(&heap, true));
	assert_int_equal(site_at(&heap, 0x100000), 1);
	fm_heap_add(&heap, UINT64_MAX - 5, 100, false, first);
	assert_false(fm_heap_settle(&heap, true));
	fm_heap_free(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(large_blocks_are_exact),
	    cmocka_unit_test(the_latest_wins),
	    cmocka_unit_test(small_ones_stand_for_pages_and_neighbours),
	    cmocka_unit_test(random_allocations_agree_with_a_plain_map),
	    cmocka_unit_test(few_small_ones_wait_beside_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
