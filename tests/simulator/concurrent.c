/* Several threads in one hierarchy, each with a core of its own: nothing is lost, and no line has two owners. Built
   with the thread sanitizer it also finds what is touched without its lock. */
#include "check.h"

#include <pthread.h>
#include <stdio.h>

#include "base/random.h"
#include "simulator/array.h"
#include "simulator/hierarchy.h"

enum {
	THREADS = 4,
	ACCESSES = THREADS_SANITIZED ? 20000 : 60000,
	LINE = 64,
	SHARED_LINES = 96,
	OWN_LINES = 4096,
	BASE = 0x100000
};

struct worker {
	struct fm_hierarchy *hierarchy;
	pthread_barrier_t *barrier;
	unsigned index;
	uint64_t loads, stores, past;
};

/* Addresses: a few lines that all fight for, and a stream of its own that keeps the prefetchers busy. The streams stand
   side by side, so that prefetchers run into each other's lines. */
static uint64_t choose(struct fm_random *random, unsigned index, uint64_t *position)
{
	if (fm_random_below(random, 4) == 0)
		return BASE + fm_random_below(random, SHARED_LINES) * LINE + 8 * index;
	*position += 1;
	return BASE + (SHARED_LINES + (*position * THREADS / 2 + index) % (OWN_LINES * THREADS)) * LINE;
}

static void hammer_lines(struct worker *worker, struct fm_simulated_core *core, struct fm_random *random,
                         unsigned count)
{
	uint64_t position = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t address = choose(random, worker->index, &position);
		uint64_t kind = fm_random_below(random, 32);
		enum fm_access access = kind == 0   ? FM_ACCESS_STORE_NONTEMPORAL
		                        : kind < 10 ? FM_ACCESS_STORE
		                                    : FM_ACCESS_LOAD;
		unsigned served = fm_hierarchy_access(worker->hierarchy, core, address, 8, access);

		if (access == FM_ACCESS_LOAD)
			worker->loads++;
		else if (access == FM_ACCESS_STORE)
			worker->stores++;
		else
			worker->past++;
		if (served == FM_SERVED_CORE)
			fm_hierarchy_note_site(worker->hierarchy, core, address, 1 + worker->index);
	}
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct fm_simulated_core *core;
	struct fm_random random;

	fm_random_seed(&random, 7 + worker->index);
	pthread_barrier_wait(worker->barrier);
	core = fm_hierarchy_core(worker->hierarchy, worker->index * 2);
	if (!core)
		return NULL; /* the counts will say so */
	/* the first half uses the hierarchy while the others come to it */
	if (worker->index < THREADS / 2)
		hammer_lines(worker, core, &random, ACCESSES / 4);
	/* however the threads happen to run: each takes the shared lines from another, twice */
	for (unsigned turn = 0; turn < 2 * THREADS; turn++) {
		pthread_barrier_wait(worker->barrier);
		for (uint64_t line = 0; turn % THREADS == worker->index && line < SHARED_LINES; line++) {
			fm_hierarchy_access(worker->hierarchy, core, BASE + line * LINE, 8, FM_ACCESS_STORE);
			worker->stores++;
		}
	}
	pthread_barrier_wait(worker->barrier);
	hammer_lines(worker, core, &random, ACCESSES);
	return NULL;
}

/* Who owns a line, by the states of its copies: at most one core may, and then no other has any copy. */
static void check_owners(struct fm_hierarchy *hierarchy)
{
	for (uint64_t number = 0; number < SHARED_LINES + OWN_LINES * THREADS; number++) {
		uint64_t line = BASE / LINE + number;
		unsigned owners = 0, holders = 0;

		for (unsigned i = 0; i < hierarchy->active_cores; i++) {
			bool holds = false, owns = false;

			for (unsigned level = 0; level < hierarchy->private_caches; level++) {
				const uint64_t *entry = fm_array_peek(hierarchy->active[i]->arrays[level], line);

				holds |= entry != NULL;
				owns |= entry && (*entry & FM_LINE_STATE) != FM_LINE_SHARED;
			}
			owners += owns;
			holders += holds;
		}
		if (owners > 1 || (owners && holders > 1))
			fail_msg("line %llu has %u owners and %u holders", (unsigned long long)number, owners, holders);
	}
}

static void hammer(const char *third)
{
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy = NULL;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	static struct fm_shared_line lines[1000];
	struct fm_error error;
	char text[1024];

	snprintf(text, sizeof(text),
	         "machine sockets=2 cores=4 frequency=2GHz\n"
	         "cache L1 size=8KiB ways=8 latency=4 next=yes\n"
	         "cache L2 size=32KiB ways=8 latency=12 adjacent=yes streams=16 distance=8 beyond=4 crosses=yes "
	         "jumps=2\n"
	         "%s\n"
	         "tlb entries=16 ways=4 penalty=7\n"
	         "memory latency=200 remote=300 gbs=10\n"
	         "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 "
	         "store_ports=1 multiply_ports=1 ports=8\n",
	         third);
	if (fm_description_parse(text, "test", &description, &error) ||
	    fm_hierarchy_create(&description, &hierarchy, &error))
		fail_msg("%s", error.message);
	fm_hierarchy_share(hierarchy);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.hierarchy = hierarchy, .barrier = &barrier, .index = i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	/* the list may be asked for at any time */
	for (unsigned i = 0; i < 20; i++)
		fm_hierarchy_shared_lines(hierarchy, lines, NULL, 1000);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(hierarchy->active_cores, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct fm_core_counts *counts = &hierarchy->cores[2 * i].counts;

		assert_int_equal(counts->loads, workers[i].loads);
		assert_int_equal(counts->stores, workers[i].stores + workers[i].past);
		assert_int_equal(counts->caches[0].load_hits + counts->caches[0].load_misses, workers[i].loads);
		assert_int_equal(counts->caches[0].store_hits + counts->caches[0].store_misses, workers[i].stores);
		assert_true(counts->transfers_modified && counts->invalidations && counts->caches[1].lines_prefetch);
	}
	assert_true(fm_hierarchy_shared_lines(hierarchy, lines, NULL, 1000) >= SHARED_LINES);
	check_owners(hierarchy);
	pthread_barrier_destroy(&barrier);
	fm_hierarchy_destroy(hierarchy);
}

static void inclusive(void **state)
{
	(void)state;
	hammer("cache L3 size=128KiB ways=16 latency=40 shared=4 inclusion=inclusive");
}

static void victim(void **state)
{
	(void)state;
	hammer("cache L3 size=128KiB ways=16 latency=40 shared=4 inclusion=victim");
}

static void neither(void **state)
{
	(void)state;
	hammer("cache L3 size=128KiB ways=16 latency=40 shared=4 replacement=tree");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(inclusive),
	    cmocka_unit_test(victim),
	    cmocka_unit_test(neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
