/* What the interposed functions log. The program starts itself again with the stand-in (log_double.h) preloaded. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "record/log_double.h"

static const struct record_double *runtime;

/* Aligned so that an address tells which one it is in. */
#define SITE __attribute__((noinline, aligned(256)))

static size_t now(void)
{
	return *runtime->count;
}

/* The only entry of this kind for this address since `begin`; NULL: none. */
static const struct double_entry *find(size_t begin, uint32_t kind, const void *address)
{
	const struct double_entry *found = NULL;

	for (size_t i = begin; i < now(); i++) {
		const struct double_entry *entry = &runtime->entries[i];

		if (entry->kind == kind && entry->allocation.address == (uintptr_t)address) {
			assert_null(found);
			found = entry;
		}
	}
	return found;
}

static const struct double_entry *allocated(size_t begin, const void *address)
{
	return find(begin, FM_STREAM_ALLOCATE, address);
}

static const struct double_entry *released(size_t begin, const void *address)
{
	return find(begin, FM_STREAM_RELEASE, address);
}

/* The innermost frame of its stack is in this function. */
static int is_from(const struct double_entry *entry, void *(*site)(size_t))
{
	const struct double_stack *stack = &runtime->stacks[entry->allocation.stack - 1];

	return entry->allocation.stack && stack->count > 1 && stack->frames[0] - (uintptr_t)site < 256;
}

SITE static void *by_malloc(size_t size)
{
	void *volatile address = malloc(size);
	return address;
}

SITE static void *by_calloc(size_t size)
{
	void *volatile address = calloc(1, size);
	return address;
}

SITE static void *by_realloc(size_t size)
{
	void *volatile address = realloc(NULL, size);
	return address;
}

SITE static void *by_reallocarray(size_t size)
{
	void *volatile address = reallocarray(NULL, 1, size);
	return address;
}

SITE static void *by_memalign(size_t size)
{
	void *volatile address = memalign(64, size);
	return address;
}

SITE static void *by_aligned_alloc(size_t size)
{
	void *volatile address = aligned_alloc(64, size);
	return address;
}

SITE static void *by_posix_memalign(size_t size)
{
	void *volatile address;
	void *got = NULL;
	int error = posix_memalign(&got, 64, size);

	address = got;
	return error ? NULL : address;
}

SITE static void *by_valloc(size_t size)
{
	void *volatile address = valloc(size);
	return address;
}

SITE static void *by_pvalloc(size_t size)
{
	void *volatile address = pvalloc(size);
	return address;
}

static void every_function_logs_what_it_allocates(void **state)
{
	static void *(*const sites[])(size_t) = {by_malloc,         by_calloc,   by_realloc,
	                                         by_reallocarray,   by_memalign, by_aligned_alloc,
	                                         by_posix_memalign, by_valloc,   by_pvalloc};
	static const size_t sizes[] = {1, 128, 4032, 4096, 10048, 1 << 20};
	void (*cfree)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");

	(void)state;
	assert_non_null(cfree);
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			size_t begin = now();
			void *address = sites[i](sizes[s]);
			const struct double_entry *entry = allocated(begin, address), *end;

			assert_non_null(address);
			assert_non_null(entry);
			memset(address, 1, sizes[s]);
			assert_int_equal(entry->allocation.size, sizes[s]);
			assert_int_equal(entry->allocation.allocator, FM_ALLOCATED_HEAP);
			assert_true(entry->allocation.weight == 1);
			assert_true(is_from(entry, sites[i]));
			assert_null(released(begin, address));
			(i % 2 ? cfree : free)(address);
			end = released(begin, address);
			assert_non_null(end);
			assert_true(end->time >= entry->time);
			assert_int_equal(end->release.size, 0);
		}
	}
}

static void realloc_releases_and_allocates(void **state)
{
	void *volatile address = NULL;

	(void)state;
	for (size_t size = 10; size < 3000000; size = size * 3 / 2) {
		void *old = address;
		size_t begin = now();
		const struct double_entry *entry;

		address = realloc(old, size);
		assert_non_null(address);
		entry = allocated(begin, address);
		assert_non_null(entry);
		assert_int_equal(entry->allocation.size, size);
		if (old) {
			assert_non_null(released(begin, old));
			assert_true(released(begin, old) < entry);
			assert_true(released(begin, old)->time <= entry->time);
		}
		memset(address, 7, size);
	}
	for (size_t size = 2000000; size; size /= 7) {
		void *old = address;
		size_t begin = now();

		address = realloc(old, size);
		assert_non_null(released(begin, old));
		assert_int_equal(allocated(begin, address)->allocation.size, size);
		assert_int_equal(((char *)address)[size - 1], 7);
	}
	/* too large for anybody: it stays as it was */
	size_t begin = now();
	void *volatile failed = realloc(address, (size_t)PTRDIFF_MAX + 1);
	assert_null(failed);
	assert_int_equal(errno, ENOMEM);
	failed = reallocarray(address, SIZE_MAX / 2, 3);
	assert_null(failed);
	assert_int_equal(errno, ENOMEM);
	assert_null(released(begin, address));
	assert_null(allocated(begin, address));
	/* too large for this machine: it ends and begins again */
	failed = realloc(address, (size_t)1 << 61);
	assert_null(failed);
	assert_non_null(released(begin, address));
	assert_non_null(allocated(begin, address));
	begin = now();
	failed = realloc(address, 0);
	assert_null(failed);
	assert_non_null(released(begin, address));
}

static void errno_and_failures_are_those_of_the_allocator(void **state)
{
	static const size_t sizes[] = {16, 5000, 1 << 20};
	void *volatile address;
	size_t begin;
	void *untouched = &begin;

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		errno = E2BIG;
		address = malloc(sizes[s]);
		address = realloc(address, sizes[s] + 1);
		free(address);
		address = calloc(sizes[s], 2);
		free(address);
		assert_int_equal(errno, E2BIG);
	}
	begin = now();
	assert_int_equal(posix_memalign(&untouched, 3, 100), EINVAL);
	assert_int_equal(errno, E2BIG);
	assert_int_equal(posix_memalign(&untouched, 64, SIZE_MAX / 2 + 2), ENOMEM);
	assert_ptr_equal(untouched, &begin);
	address = malloc(SIZE_MAX / 2 + 2);
	assert_null(address);
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	address = calloc(SIZE_MAX / 2, 3);
	assert_null(address);
	assert_int_equal(errno, ENOMEM);
	free(address);
	assert_int_equal(now(), begin);
	errno = 0;
	address = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(address, MAP_FAILED);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(munmap((void *)1, 4096), -1);
	assert_int_equal(now(), begin);
}

static void mappings_are_logged(void **state)
{
	size_t begin = now();
	char *mapped = mmap(NULL, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *moved;
	const struct double_entry *entry = allocated(begin, mapped);

	(void)state;
	assert_non_null(entry);
	assert_int_equal(entry->allocation.size, 40960);
	assert_int_equal(entry->allocation.allocator, FM_ALLOCATED_MAPPED);
	mapped[0] = 42;

	/* another mapping at the same place ends the first */
	begin = now();
	assert_ptr_equal(
	    mmap64(mapped + 8192, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	    mapped + 8192);
	assert_int_equal(released(begin, mapped + 8192)->release.size, 4096);
	assert_true(allocated(begin, mapped + 8192) > released(begin, mapped + 8192));

	begin = now();
	assert_int_equal(munmap(mapped + 20480, 20000), 0);
	assert_int_equal(released(begin, mapped + 20480)->release.size, 20480);

	begin = now();
	moved = mremap(mapped, 8192, 1 << 20, 0); /* there is something behind it */
	assert_ptr_equal(moved, MAP_FAILED);
	assert_int_equal(errno, ENOMEM);
	assert_null(released(begin, mapped));
	moved = mremap(mapped, 8192, 1 << 20, MREMAP_MAYMOVE);
	assert_ptr_not_equal(moved, mapped);
	assert_int_equal(moved[0], 42);
	assert_int_equal(released(begin, mapped)->release.size, 8192);
	assert_int_equal(allocated(begin, moved)->allocation.size, 1 << 20);
	assert_int_equal(munmap(moved, 1 << 20), 0);
	assert_int_equal(munmap(mapped + 8192, 4096 * 3), 0);
}

static void nothing_is_logged_inside(void **state)
{
	size_t begin;
	void *volatile before = malloc(5000), *volatile large, *volatile small;

	(void)state;
	begin = now();
	runtime->enter();
	large = malloc(1 << 20);
	small = malloc(16);
	free(large);
	free(before);
	runtime->leave();
	assert_int_equal(now(), begin);
	free(small);
	assert_int_equal(now(), begin);
	/* what was released inside is not there any more either: its address is like any other */
	before = malloc(5000);
	assert_non_null(allocated(begin, before));
	assert_null(released(begin, before));
	free(before);
}

SITE static void *site_a(size_t size)
{
	void *volatile address = malloc(size);
	return address;
}

SITE static void *site_b(size_t size)
{
	void *volatile address = calloc(1, size);
	return address;
}

SITE static void *site_c(size_t size)
{
	void *volatile address = realloc(NULL, size);
	return address;
}

static double weight_since(size_t begin, void *(*site)(size_t), size_t *ret_kept)
{
	double sum = 0;

	*ret_kept = 0;
	for (size_t i = begin; i < now(); i++) {
		if (runtime->entries[i].kind == FM_STREAM_ALLOCATE && is_from(&runtime->entries[i], site)) {
			sum += runtime->entries[i].allocation.weight;
			++*ret_kept;
		}
	}
	return sum;
}

/* `count` calls of which each is kept with a chance of 1 / interval: the sum of weights has a variance of
   count * (interval - 1). */
static void assert_unbiased(double sum, double count, double interval)
{
	double deviation = sum - count;

	print_message("weights %.0f for %.0f allocations: %+.2f sigma\n", sum, count,
	              deviation / __builtin_sqrt(count * (interval - 1)));
	assert_true(deviation * deviation < 9 * count * (interval - 1));
}

static void sampled_weights_are_unbiased(void **state)
{
	size_t begin = now(), kept, calls;

	(void)state;
	runtime->set_interval(100);
	runtime->seed(12345);
	runtime->cost();
	calls = runtime->process->allocations;
	for (unsigned i = 0; i < 1000000; i++) {
		/* 1 : 3 : 6, in a fixed pattern, which a count down of fixed length would follow */
		void *(*site)(size_t) = i % 10 == 0 ? site_a : i % 10 < 4 ? site_b : site_c;

		free(site(16 + i % 900));
	}
	runtime->cost();
	calls = runtime->process->allocations - calls;
	print_message("%zu calls\n", calls);
	assert_true(calls >= 1999000 && calls < 2010000);
	runtime->set_interval(1);
	assert_unbiased(weight_since(begin, site_a, &kept), 100000, 100);
	assert_unbiased(weight_since(begin, site_b, &kept), 300000, 100);
	assert_unbiased(weight_since(begin, site_c, &kept), 600000, 100);
	assert_true(kept > 5500 && kept < 6500);
}

static void an_interval_may_change_at_any_time(void **state)
{
	static const uint64_t intervals[] = {10, 1000000, 300, 1, 77};
	size_t begin = now(), kept;
	double variance = 0, deviation;

	(void)state;
	runtime->seed(999);
	for (unsigned i = 0; i < 100000; i++) {
		if (i % 20000 == 0)
			runtime->set_interval(intervals[i / 20000]);
		free(site_a(100));
	}
	runtime->set_interval(1);
	for (unsigned i = 0; i < 5; i++)
		variance += 20000. * (double)(intervals[i] == 1000000 ? 100 : intervals[i]);
	deviation = weight_since(begin, site_a, &kept) - 100000;
	/* 20,000 of them had a chance of 1 in 1,000,000 each, after a step of the interval before: likely none was kept
	 */
	print_message("weights %+.0f, kept %zu\n", deviation, kept);
	assert_true((deviation + 20000) * (deviation + 20000) < 9 * variance + 2. * 4096 * 4096);
	assert_true(kept > 20000 && kept < 26000);
}

static void large_ones_are_thinned_only_when_small_ones_are_very_rare(void **state)
{
	size_t begin = now(), kept;

	(void)state;
	runtime->set_interval(127);
	for (unsigned i = 0; i < 100; i++)
		free(site_a(4096));
	assert_true(weight_since(begin, site_a, &kept) == 100);
	assert_int_equal(kept, 100);
	begin = now();
	runtime->seed(4711);
	runtime->set_interval(64 * 50);
	for (unsigned i = 0; i < 100000; i++)
		free(site_b(5000));
	runtime->set_interval(1);
	assert_unbiased(weight_since(begin, site_b, &kept), 100000, 50);
	assert_true(kept < 2300);
	for (size_t i = begin; i < now(); i++) {
		if (runtime->entries[i].kind == FM_STREAM_ALLOCATE && is_from(&runtime->entries[i], site_b))
			assert_true(runtime->entries[i].allocation.weight == 50);
	}
	free(site_a(1)); /* the thread sees the new interval */
	for (unsigned i = 0; i < 5000; i++)
		free(site_a(1));
}

enum { MANY = 100000 };

static void many_live_objects_take_little_memory(void **state)
{
	static void *objects[MANY];
	size_t begin = now(), releases = 0;
	double each;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		objects[i] = site_a(24);
	each = (double)runtime->live_bytes() / MANY;
	print_message("%.1f bytes each\n", each);
	assert_true(each <= 32);
	for (unsigned i = 0; i < MANY; i++)
		free(objects[i]);
	for (size_t i = begin; i < now(); i++)
		releases += runtime->entries[i].kind == FM_STREAM_RELEASE;
	assert_int_equal(releases, MANY);
	assert_int_equal(runtime->process->lost_allocations, 0);

	/* what more it would take */
	for (uintptr_t i = 1; i <= 1000000; i++)
		assert_int_equal(runtime->live_insert((void *)(i << 12)), 0);
	assert_int_equal(runtime->live_insert((void *)((uintptr_t)5 << 12)), -EEXIST);
	each = (double)runtime->live_bytes() / 1000000;
	print_message("%.1f bytes each of 1,000,000\n", each);
	assert_true(each <= 32);
	for (uintptr_t i = 1; i <= 1000000; i++)
		assert_true(runtime->live_remove((void *)(i << 12)));
	assert_false(runtime->live_remove((void *)((uintptr_t)5 << 12)));
	assert_false(runtime->live_remove(NULL));
}

enum { THREADS = 8, HANDED = 100000, BATCH = 200 };

static void *handed[THREADS][HANDED];
static uint32_t ready[THREADS];

/* Each allocates in batches, and releases what the thread before it allocated. */
static void *hand_over(void *number)
{
	unsigned self = (unsigned)(uintptr_t)number, other = (self + THREADS - 1) % THREADS;

	for (unsigned batch = 0; batch < HANDED / BATCH; batch++) {
		for (unsigned i = 0; i < BATCH; i++)
			handed[self][batch * BATCH + i] = malloc(i % 20 ? 20 + i : 4096 + i);
		__atomic_store_n(&ready[self], batch + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&ready[other], __ATOMIC_ACQUIRE) <= batch)
			sched_yield();
		for (unsigned i = 0; i < BATCH; i++)
			free(handed[other][batch * BATCH + i]);
	}
	return NULL;
}

static int by_address_and_time(const void *a, const void *b)
{
	const struct double_entry *left = *(const struct double_entry *const *)a;
	const struct double_entry *right = *(const struct double_entry *const *)b;

	if (left->allocation.address != right->allocation.address)
		return left->allocation.address < right->allocation.address ? -1 : 1;
	return left->time < right->time ? -1 : left->time > right->time;
}

static void threads_hand_over_what_they_allocate(void **state)
{
	size_t begin = now(), end, wrong = 0, allocations = 0, entries = 0;
	const struct double_entry **sorted;
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hand_over, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end = now();
	assert_int_equal(runtime->process->lost_entries, 0);
	sorted = malloc((end - begin) * sizeof(struct double_entry *));
	/* an allocator may map memory and give all of it away: two objects at one address */
	for (size_t i = begin; i < end; i++) {
		const struct double_entry *entry = &runtime->entries[i];

		if (entry->kind == FM_STREAM_RELEASE ? !entry->release.size
		                                     : entry->allocation.allocator == FM_ALLOCATED_HEAP)
			sorted[entries++] = entry;
	}
	qsort(sorted, entries, sizeof(struct double_entry *), by_address_and_time);
	for (size_t i = 0; i < entries; i++) {
		int first = i == 0 || sorted[i]->allocation.address != sorted[i - 1]->allocation.address;

		assert_true(sorted[i]->kind == FM_STREAM_ALLOCATE || sorted[i]->kind == FM_STREAM_RELEASE);
		allocations += sorted[i]->kind == FM_STREAM_ALLOCATE;
		/* an address lives and dies in turn, whatever thread it was in */
		if (!first && sorted[i]->kind == sorted[i - 1]->kind)
			wrong++;
	}
	free(sorted);
	print_message("%zu allocations, %zu entries\n", allocations, entries);
	assert_true(allocations >= THREADS * HANDED);
	assert_true(entries >= 2 * THREADS * HANDED);
	assert_int_equal(wrong, 0);
}

static void *insert_and_remove(void *number)
{
	uintptr_t base = (uintptr_t)number << 32;
	size_t wrong = 0;

	for (unsigned round = 0; round < 10; round++) {
		for (uintptr_t i = 1; i < 20000; i++)
			wrong += runtime->live_insert((void *)(base + i * 64)) != 0;
		for (uintptr_t i = 1; i < 20000; i++)
			wrong += !runtime->live_remove((void *)(base + i * 64));
	}
	return (void *)wrong;
}

static void the_live_set_needs_no_lock(void **state)
{
	pthread_t threads[4];
	void *wrong;

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, insert_and_remove, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

static void a_forked_child_knows_what_lives(void **state)
{
	void *volatile before = malloc(100), *volatile after;
	size_t begin = now();
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		int good;

		runtime->forked();
		free(before);
		good = released(begin, before) != NULL;
		after = malloc(9000);
		good = good && allocated(begin, after) != NULL;
		free(after);
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(now(), begin);
	free(before);
	assert_non_null(released(begin, before));
}

static void a_vforked_child_does_no_harm(void **state)
{
	void *volatile before = malloc(5000), *volatile after;
	size_t begin = now();
	int status;
	pid_t child = vfork();

	(void)state;
	if (child == 0) {
		after = malloc(6000);
		free(after);
		free(malloc(10));
		_exit(3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_int_equal(now(), begin + 4);
	free(before);
	assert_non_null(released(begin, before));
}

static void the_cost_is_known(void **state)
{
	uint64_t before = runtime->cost(), after;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		free(site_a(5000));
	after = runtime->cost();
	assert_true(after > before);
	assert_int_equal(runtime->process->allocation_ticks, after);
	assert_int_equal(runtime->process->own_allocator, 0);
}

int main(int count, char **arguments)
{
	const struct record_double *(*table)(void) =
	    (const struct record_double *(*)(void))dlsym(RTLD_DEFAULT, "record_double");
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_function_logs_what_it_allocates),
	    cmocka_unit_test(realloc_releases_and_allocates),
	    cmocka_unit_test(errno_and_failures_are_those_of_the_allocator),
	    cmocka_unit_test(mappings_are_logged),
	    cmocka_unit_test(nothing_is_logged_inside),
	    cmocka_unit_test(sampled_weights_are_unbiased),
	    cmocka_unit_test(an_interval_may_change_at_any_time),
	    cmocka_unit_test(large_ones_are_thinned_only_when_small_ones_are_very_rare),
	    cmocka_unit_test(many_live_objects_take_little_memory),
	    cmocka_unit_test(threads_hand_over_what_they_allocate),
	    cmocka_unit_test(the_live_set_needs_no_lock),
	    cmocka_unit_test(a_forked_child_knows_what_lives),
	    cmocka_unit_test(a_vforked_child_does_no_harm),
	    cmocka_unit_test(the_cost_is_known),
	};

	(void)count;
	if (!table) {
		if (getenv("LD_PRELOAD"))
			return 1;
		setenv("LD_PRELOAD", DOUBLE, 1);
		execv("/proc/self/exe", arguments);
		return 1;
	}
	runtime = table();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
