/* Miss counts against closed forms and against a plain model, coherence against the protocol. */
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "simulator/array.h"
#include "simulator/hierarchy.h"

enum { LINE = 64 };

#define CORE                                                                                                    \
	"core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 " \
	"store_ports=1 multiply_ports=1 ports=8\n"

/* What all machines here have below their caches. */
#define REST                                \
	"tlb entries=16 ways=4 penalty=7\n" \
	"memory latency=200 remote=300 gbs=10\n" CORE

static struct fm_hierarchy *from_text(const char *text)
{
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy = NULL;
	struct fm_error error;

	if (fm_description_parse(text, "test", &description, &error) ||
	    fm_hierarchy_create(&description, &hierarchy, &error))
		fail_msg("%s", error.message);
	return hierarchy;
}

/* Three levels small enough to fill: 8 KiB, 64 KiB, 512 KiB. */
static struct fm_hierarchy *machine_with(const char *third, const char *keys)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "machine sockets=2 cores=4 frequency=2GHz %s\n"
	         "cache L1 size=8KiB ways=8 latency=4\n"
	         "cache L2 size=64KiB ways=8 latency=12\n"
	         "%s\n" REST,
	         keys, third);
	return from_text(text);
}

static struct fm_hierarchy *machine(const char *third)
{
	return machine_with(third, "");
}

#define INCLUSIVE "cache L3 size=512KiB ways=16 latency=40 shared=4 inclusion=inclusive"
#define VICTIM "cache L3 size=512KiB ways=16 latency=40 shared=4 inclusion=victim"
#define NEITHER "cache L3 size=512KiB ways=16 latency=40 shared=4"

static void sweep(struct fm_hierarchy *hierarchy, unsigned core, uint64_t bytes, enum fm_access access)
{
	struct fm_simulated_core *who = fm_hierarchy_core(hierarchy, core);

	for (uint64_t at = 0; at < bytes; at += 8)
		fm_hierarchy_access(hierarchy, who, 0x100000 + at, 8, access);
}

/* A cyclic sweep over what fits misses once per line; over more, with least-recently-used, at every line each time. */
static void cyclic_sweeps(void **state)
{
	static const uint64_t sizes[] = {4 << 10, 8 << 10, 16 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20};
	static const char *const kinds[] = {INCLUSIVE, NEITHER};
	static const uint64_t capacity[] = {8 << 10, 64 << 10, 512 << 10};
	enum { SWEEPS = 5 };

	(void)state;
	for (size_t kind = 0; kind < 2; kind++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct fm_hierarchy *hierarchy = machine(kinds[kind]);
			const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, 0)->counts;
			uint64_t lines = sizes[i] / LINE;

			for (unsigned j = 0; j < SWEEPS; j++)
				sweep(hierarchy, 0, sizes[i], FM_ACCESS_LOAD);
			assert_int_equal(counts->loads, SWEEPS * sizes[i] / 8);
			for (unsigned level = 0; level < 3; level++)
				assert_int_equal(counts->caches[level].load_misses,
				                 sizes[i] <= capacity[level] ? lines : SWEEPS * lines);
			assert_int_equal(counts->memory_reads, counts->caches[2].load_misses);
			assert_int_equal(counts->memory_writes, 0);
			fm_hierarchy_destroy(hierarchy);
		}
}

/* A victim cache adds its capacity to that of the private ones. */
static void victim_adds_up(void **state)
{
	struct fm_hierarchy *hierarchy = machine(VICTIM);
	const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, 0)->counts;
	uint64_t bytes = 540 << 10; /* more than the last cache, less than both together */

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		sweep(hierarchy, 0, bytes, FM_ACCESS_LOAD);
	assert_int_equal(counts->memory_reads, bytes / LINE);
	fm_hierarchy_destroy(hierarchy);
}

/* Stores: every line is read for ownership once per sweep and written back once. */
static void stores_are_written_back(void **state)
{
	static const char *const kinds[] = {INCLUSIVE, NEITHER, VICTIM};
	enum { SWEEPS = 4 };

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		struct fm_hierarchy *hierarchy = machine(kinds[kind]);
		const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, 0)->counts;
		uint64_t lines = (4 << 20) / LINE, held = (512 + 64 + 8) * 1024 / LINE;

		for (unsigned i = 0; i < SWEEPS; i++)
			sweep(hierarchy, 0, 4 << 20, FM_ACCESS_STORE);
		assert_int_equal(counts->caches[0].lines_ownership, SWEEPS * lines);
		assert_int_equal(counts->memory_reads, SWEEPS * lines);
		/* all but what the caches still hold */
		assert_true(counts->memory_writes <= SWEEPS * lines && counts->memory_writes >= SWEEPS * lines - held);
		assert_true(counts->caches[0].lines_written >= SWEEPS * lines - 128);
		assert_true(counts->caches[0].lines_written <= SWEEPS * lines);
		fm_hierarchy_destroy(hierarchy);
	}
}

static void nontemporal_stores_pass(void **state)
{
	struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
	const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, 0)->counts;

	(void)state;
	sweep(hierarchy, 0, 4 << 10, FM_ACCESS_LOAD);
	sweep(hierarchy, 0, 1 << 20, FM_ACCESS_STORE_NONTEMPORAL);
	assert_int_equal(counts->memory_reads, (4 << 10) / LINE);
	assert_int_equal(counts->memory_writes, (1 << 20) / LINE);
	assert_int_equal(counts->nontemporal_lines, (1 << 20) / LINE);
	/* what was cached is not any more */
	sweep(hierarchy, 0, 4 << 10, FM_ACCESS_LOAD);
	assert_int_equal(counts->memory_reads, 2 * (4 << 10) / LINE);
	fm_hierarchy_destroy(hierarchy);
}

/* A line that is overwritten whole: read before or not, as the description says; it is in the caches afterwards, and
   written back when it leaves them. */
static void whole_stores_read_or_not(void **state)
{
	enum { BYTES = 1 << 20 };
	static const char *const kinds[] = {INCLUSIVE, NEITHER, VICTIM};

	(void)state;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (unsigned allocates = 0; allocates < 2; allocates++) {
			struct fm_hierarchy *hierarchy = machine(kinds[kind]);
			struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
			const struct fm_core_counts *counts = &core->counts;

			assert_int_equal(hierarchy->description.string_allocates, 1);
			hierarchy->description.string_allocates = allocates;
			for (uint64_t at = 0; at < BYTES; at += LINE)
				fm_hierarchy_access(hierarchy, core, 0x100000 + at, LINE, FM_ACCESS_STORE_WHOLE);
			assert_int_equal(counts->stores, BYTES / LINE);
			assert_int_equal(counts->store_bytes, BYTES);
			assert_int_equal(counts->memory_reads, allocates ? BYTES / LINE : 0);
			assert_int_equal(counts->whole_lines, allocates ? 0 : BYTES / LINE);
			for (unsigned level = 0; level < 3; level++)
				assert_int_equal(counts->caches[level].lines_ownership, BYTES / LINE);
			assert_true(counts->memory_writes > BYTES / LINE / 4);
			/* the last one is there, and a part of a line is read before as ever */
			assert_int_equal(
			    fm_hierarchy_access(hierarchy, core, 0x100000 + BYTES - LINE, 8, FM_ACCESS_LOAD), 0);
			fm_hierarchy_access(hierarchy, core, 0x900000, LINE / 2, FM_ACCESS_STORE_WHOLE);
			assert_int_equal(counts->memory_reads, (allocates ? BYTES / LINE : 0) + 1);
			fm_hierarchy_destroy(hierarchy);
		}
}

static void strides_and_splits(void **state)
{
	struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
	struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);

	(void)state;
	/* every 1024 bytes: 64 lines fall into one sixteenth of the sets of L1, one set of eight ways each time */
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 64; i++)
			fm_hierarchy_access(hierarchy, core, i * 1024, 8, FM_ACCESS_LOAD);
	assert_int_equal(core->counts.caches[0].load_misses, 192);
	assert_int_equal(core->counts.caches[1].load_misses, 64);
	/* an access over the end of a line is two */
	fm_hierarchy_access(hierarchy, core, 0x200000 + 60, 8, FM_ACCESS_LOAD);
	assert_int_equal(core->counts.splits, 1);
	assert_int_equal(core->counts.loads, 193);
	assert_int_equal(core->counts.caches[0].load_misses, 194);
	fm_hierarchy_destroy(hierarchy);
}

/* LRU stack distances: a random trace, against a list kept by hand. */
static void stack_distances(void **state)
{
	enum { LINES = 400, ACCESSES = 20000 };
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy;
	struct fm_error error;
	struct fm_random random;
	uint64_t stack[LINES];
	unsigned depth = 0;
	uint64_t misses = 0;

	(void)state;
	/* one set, 64 ways: fully associative */
	assert_int_equal(
	    fm_description_parse("machine sockets=1 cores=1 frequency=1GHz\n"
	                         "cache L1 size=4KiB ways=64 latency=4\nmemory latency=9 gbs=1\n"
	                         "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 "
	                         "super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n",
	                         "test", &description, &error),
	    0);
	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	fm_random_seed(&random, 3);
	for (unsigned i = 0; i < ACCESSES; i++) {
		uint64_t line = fm_random_below(&random, 1 + fm_random_below(&random, LINES));
		unsigned at;

		fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0), line * LINE, 8, FM_ACCESS_LOAD);
		for (at = 0; at < depth && stack[at] != line; at++)
			;
		misses += at == depth || at >= 64;
		if (at == depth)
			depth++;
		memmove(stack + 1, stack, at * sizeof(*stack));
		stack[0] = line;
	}
	assert_int_equal(fm_hierarchy_core(hierarchy, 0)->counts.caches[0].load_misses, misses);
	fm_hierarchy_destroy(hierarchy);
}

static void other_policies_hold_what_fits(void **state)
{
	static const char *const policies[] = {"tree", "random"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fm_machine_description description;
		struct fm_hierarchy *hierarchy;
		struct fm_error error;
		uint64_t misses;
		char text[512];

		snprintf(
		    text, sizeof(text),
		    "machine sockets=1 cores=1 frequency=1GHz\ncache L1 size=8KiB ways=8 latency=4 replacement=%s\n"
		    "memory latency=9 gbs=1\ncore width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 "
		    "super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n",
		    policies[i]);
		assert_int_equal(fm_description_parse(text, "test", &description, &error), 0);
		assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
		for (unsigned j = 0; j < 10; j++)
			sweep(hierarchy, 0, 8 << 10, FM_ACCESS_LOAD);
		assert_int_equal(fm_hierarchy_core(hierarchy, 0)->counts.caches[0].load_misses, 128);
		/* a sweep of 1.5 times the cache does not miss everywhere, as it does with strict LRU */
		misses = 128;
		for (unsigned j = 0; j < 10; j++)
			sweep(hierarchy, 0, 12 << 10, FM_ACCESS_LOAD);
		misses = fm_hierarchy_core(hierarchy, 0)->counts.caches[0].load_misses - misses;
		assert_true(misses > 192 && misses < 10 * 192);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* Two cores increment words of one line in turn: from the second turn on every access finds the line modified by the
   other one. */
static void false_sharing(void **state)
{
	enum { TURNS = 1000 };
	struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
	struct fm_simulated_core *cores[2] = {fm_hierarchy_core(hierarchy, 0), fm_hierarchy_core(hierarchy, 1)};
	struct fm_shared_line line;

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned i = 0; i < 2; i++) {
			fm_hierarchy_access(hierarchy, cores[i], 0x4000 + 8 * i, 8, FM_ACCESS_LOAD);
			fm_hierarchy_access(hierarchy, cores[i], 0x4000 + 8 * i, 8, FM_ACCESS_STORE);
		}
	/* each turn: the load takes it from the other (who keeps a shared copy), the store invalidates that */
	assert_int_equal(cores[0]->counts.transfers_modified, TURNS - 1);
	assert_int_equal(cores[1]->counts.transfers_modified, TURNS);
	assert_int_equal(cores[0]->counts.upgrades, TURNS - 1);
	assert_int_equal(cores[1]->counts.upgrades, TURNS);
	assert_int_equal(cores[0]->counts.invalidations + cores[1]->counts.invalidations, 2 * TURNS - 1);
	assert_int_equal(hierarchy->pairs[0 * hierarchy->core_count + 1], TURNS);
	assert_int_equal(hierarchy->pairs[1 * hierarchy->core_count + 0], TURNS - 1);
	assert_int_equal(fm_hierarchy_shared_lines(hierarchy, &line, NULL, 1), 1);
	assert_int_equal(line.line, 0x4000);
	assert_int_equal(line.modified, 2 * TURNS - 1);
	/* two lines: nothing moves */
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned i = 0; i < 2; i++)
			fm_hierarchy_access(hierarchy, cores[i], 0x8000 + 64 * i, 8, FM_ACCESS_STORE);
	assert_int_equal(cores[0]->counts.transfers_modified, TURNS - 1);
	fm_hierarchy_destroy(hierarchy);
}

/* No line may be modified in one core and present in another: checked by asking, after every step of a random trace. */
static void coherence_holds(void **state)
{
	static const char *const kinds[] = {INCLUSIVE, NEITHER, VICTIM};

	(void)state;
	for (size_t kind = 0; kind < 6; kind++) {
		struct fm_hierarchy *hierarchy = machine_with(kinds[kind % 3], kind < 3 ? "" : "threads=2");
		struct fm_random random;
		unsigned owner[64];
		uint64_t transfers = 0, expected = 0;

		fm_random_seed(&random, kind);
		memset(owner, 0xff, sizeof(owner));
		/* few lines and small caches: nothing is evicted, so the protocol alone decides */
		for (unsigned i = 0; i < 50000; i++) {
			unsigned core = (unsigned)fm_random_below(&random, hierarchy->core_count),
			         line = (unsigned)fm_random_below(&random, 64);

			fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, core), line * LINE, 8,
			                    FM_ACCESS_STORE);
			/* nothing moves between the hardware threads of a core */
			expected += owner[line] != ~0u && owner[line] != core % 8;
			owner[line] = core % 8;
		}
		for (unsigned core = 0; core < hierarchy->core_count; core++)
			transfers += fm_hierarchy_core(hierarchy, core)->counts.transfers_modified;
		assert_int_equal(transfers, expected);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* Two hardware threads of core 1, and one of core 2. */
static void threads_of_a_core_share(void **state)
{
	static const char *const kinds[] = {INCLUSIVE, NEITHER, VICTIM};

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		struct fm_hierarchy *hierarchy = machine_with(kinds[kind], "threads=2");
		struct fm_simulated_core *one = fm_hierarchy_core(hierarchy, 1),
		                         *sibling = fm_hierarchy_core(hierarchy, 8 + 1),
		                         *other = fm_hierarchy_core(hierarchy, 2);

		assert_int_equal(hierarchy->core_count, 16);
		assert_null(fm_hierarchy_core(hierarchy, 16));
		assert_int_equal(fm_hierarchy_core(hierarchy, 8 + 5)->socket, 1);
		/* what one has loaded the other finds, with its translation */
		assert_int_equal(fm_hierarchy_access(hierarchy, one, 0x4000, 8, FM_ACCESS_LOAD), FM_SERVED_MEMORY);
		assert_int_equal(fm_hierarchy_access(hierarchy, sibling, 0x4000, 8, FM_ACCESS_LOAD), 0);
		assert_int_equal(sibling->counts.caches[0].load_hits, 1);
		assert_int_equal(sibling->counts.memory_reads + sibling->counts.tlb_misses[0], 0);
		/* both write, and nothing moves */
		for (unsigned i = 0; i < 100; i++)
			fm_hierarchy_access(hierarchy, i % 2 ? one : sibling, 0x4000 + 8 * (i % 8), 8, FM_ACCESS_STORE);
		assert_int_equal(one->counts.transfers_modified + sibling->counts.transfers_modified, 0);
		assert_int_equal(one->counts.upgrades + one->counts.invalidations, 0);
		assert_int_equal(one->counts.caches[0].store_hits + sibling->counts.caches[0].store_hits, 100);
		/* another core takes the line from both at once */
		assert_int_equal(fm_hierarchy_access(hierarchy, other, 0x4000, 8, FM_ACCESS_STORE), FM_SERVED_CORE);
		assert_int_equal(other->counts.transfers_modified, 1);
		assert_int_equal(other->counts.invalidations, 1);
		assert_int_equal(fm_hierarchy_access(hierarchy, sibling, 0x4000, 8, FM_ACCESS_LOAD), FM_SERVED_CORE);
		assert_int_equal(fm_hierarchy_access(hierarchy, one, 0x4000, 8, FM_ACCESS_LOAD), 0);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* Half the first cache each fits; all of it each never hits. */
static void threads_share_the_capacity(void **state)
{
	(void)state;
	for (unsigned each = 4 << 10; each <= 8 << 10; each *= 2) {
		struct fm_hierarchy *hierarchy = machine_with(NEITHER, "threads=2");
		struct fm_simulated_core *threads[] = {fm_hierarchy_core(hierarchy, 0),
		                                       fm_hierarchy_core(hierarchy, 8)};
		const uint64_t lines = each / LINE;

		for (unsigned round = 0; round < 5; round++)
			for (unsigned at = 0; at < each; at += LINE)
				for (unsigned i = 0; i < 2; i++)
					fm_hierarchy_access(hierarchy, threads[i], 0x100000 + i * 0x100000 + at, 8,
					                    FM_ACCESS_LOAD);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(threads[i]->counts.caches[0].load_misses, each == 4 << 10 ? lines : 5 * lines);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* What one thread of a core gets from elsewhere its sibling has too: sharing is judged by the core. */
static void sharing_is_judged_by_the_core(void **state)
{
	struct fm_hierarchy *hierarchy = machine_with(NEITHER, "threads=2");
	struct fm_simulated_core *writer = fm_hierarchy_core(hierarchy, 0), *fetcher = fm_hierarchy_core(hierarchy, 1),
	                         *reader = fm_hierarchy_core(hierarchy, 8 + 1);
	struct fm_shared_line line;
	struct fm_line_users users;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		fm_hierarchy_access(hierarchy, writer, 0x4000, 8, FM_ACCESS_STORE);
		/* one asks for the line and touches nothing new; its sibling reads what was written */
		fm_hierarchy_access(hierarchy, fetcher, 0x4020, 8, FM_ACCESS_STORE);
		fm_hierarchy_access(hierarchy, reader, 0x4000, 8, FM_ACCESS_LOAD);
	}
	assert_int_equal(fm_hierarchy_shared_lines(hierarchy, &line, &users, 1), 1);
	assert_int_equal(line.modified, 199);
	/* 100 to the reader's core, true; 99 back, false but for the first, when everything is new */
	assert_int_equal(users.true_transfers + users.false_transfers, 199);
	assert_in_range(users.true_transfers, 100, 101);
	fm_hierarchy_destroy(hierarchy);
}

/* How densely each core uses a line that moves, with atomic operations or not, and who only looks at it. */
static void use_of_shared_lines_is_noted(void **state)
{
	struct fm_hierarchy *hierarchy = machine_with(NEITHER, "threads=1");
	struct fm_simulated_core *adder = fm_hierarchy_core(hierarchy, 0), *looker = fm_hierarchy_core(hierarchy, 1);
	struct fm_shared_line line;
	struct fm_line_users users;

	(void)state;
	fm_hierarchy_access(hierarchy, looker, 0x4000, 8, FM_ACCESS_LOAD);
	for (unsigned i = 0; i < 100; i++) {
		adder->locked = true;
		fm_hierarchy_access(hierarchy, adder, 0x4000, 8, FM_ACCESS_LOAD);
		fm_hierarchy_access(hierarchy, adder, 0x4000, 8, FM_ACCESS_STORE);
		adder->locked = false;
		fm_hierarchy_access(hierarchy, adder, 0x8000, 8, FM_ACCESS_LOAD);
		for (unsigned k = 0; k < 10; k++)
			fm_hierarchy_access(hierarchy, looker, 0x4000, 8, FM_ACCESS_LOAD);
	}
	assert_int_equal(fm_hierarchy_shared_lines(hierarchy, &line, &users, 1), 1);
	for (unsigned i = 0; i < 2; i++) {
		const struct fm_line_user *user = &users.users[i];

		if (user->core == adder->index + 1) {
			assert_in_range(user->atomics, 99, 100);
			assert_int_equal(user->atomics, user->stores);
			/* two steps of an access, and one over another line */
			assert_near((double)user->span / (double)user->near, 1.5, 0.05);
			assert_int_equal(user->looks, 0);
		} else {
			assert_int_equal(user->core, looker->index + 1);
			assert_int_equal(user->atomics, 0);
			assert_in_range(user->got, 99, 100);
			assert_in_range(user->looks, 990, 1000);
			assert_near((double)user->span / (double)user->near, 1, 1e-9);
		}
	}
	fm_hierarchy_destroy(hierarchy);
}

struct runner {
	struct fm_hierarchy *hierarchy;
	struct fm_simulated_core *core;
	pthread_t thread;
};

static void *run_freely(void *context)
{
	struct runner *runner = context;
	struct fm_random random;

	fm_random_seed(&random, runner->core->index + 1);
	for (unsigned i = 0; i < 200000; i++)
		fm_hierarchy_access(runner->hierarchy, runner->core, fm_random_below(&random, 16 << 10) / 8 * 8, 8,
		                    (enum fm_access)fm_random_below(&random, 2));
	return NULL;
}

/* Threads of one core and of another at once, without turns: no line is twice in a cache, and every access is counted
   once. */
static void threads_run_freely(void **state)
{
	static const unsigned cpus[] = {0, 8, 1, 9};
	struct fm_hierarchy *hierarchy = machine_with(NEITHER, "threads=2");
	struct runner runners[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		runners[i] = (struct runner){.hierarchy = hierarchy, .core = fm_hierarchy_core(hierarchy, cpus[i])};
	fm_hierarchy_share(hierarchy);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&runners[i].thread, NULL, run_freely, &runners[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(runners[i].thread, NULL);
	for (unsigned i = 0; i < 4; i++) {
		const struct fm_core_counts *counts = &runners[i].core->counts;

		assert_int_equal(counts->caches[0].load_hits + counts->caches[0].load_misses, counts->loads);
		assert_int_equal(counts->caches[0].store_hits + counts->caches[0].store_misses, counts->stores);
		for (unsigned level = 0; level < 3; level++)
			for (uint64_t line = 0; line < (16 << 10) / LINE; line++) {
				const struct fm_array *array = runners[i].core->arrays[level];
				const uint64_t *set = fm_array_set(array, line);
				unsigned found = 0;

				for (unsigned way = 0; way < array->stride; way++)
					found += (set[way] & ~(uint64_t)FM_LINE_FLAGS) == FM_LINE_KEY(line);
				assert_true(found <= 1);
			}
	}
	fm_hierarchy_destroy(hierarchy);
}

/* A column of pages: by the program's addresses it uses few sets, in physical memory more, in a hashed cache all. */
static void pages_lie_anywhere(void **state)
{
	static const struct {
		const char *keys;
		unsigned pages;
		bool in_second, in_third;
	} cases[] = {
	    /* 64 KiB of 8 ways: 128 sets, two pages; 512 KiB of 16 ways: 512 sets, eight pages */
	    {"physical=no", 16, true, true},           {"physical=no", 128, false, true},
	    {"physical=no", 256, false, false},        {"physical=7", 256, false, true},
	    {"physical=7", 2048, false, true},         {"physical=8", 2048, false, true},
	    {"physical=no page=2MiB", 16, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_hierarchy *hierarchy = machine_with(NEITHER, cases[i].keys);
		struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
		struct fm_core_counts before;
		double second, third;

		for (unsigned round = 0; round < 2; round++) {
			before = core->counts;
			for (unsigned page = 0; page < cases[i].pages; page++)
				fm_hierarchy_access(hierarchy, core, 0x10000000 + page * 4096ull, 8, FM_ACCESS_LOAD);
		}
		second = (double)(core->counts.caches[1].load_hits - before.caches[1].load_hits) / cases[i].pages;
		third = (double)(core->counts.memory_reads - before.memory_reads) / cases[i].pages;
		print_message("%s, %u pages: %.3f from the second cache, %.3f from memory\n", cases[i].keys,
		              cases[i].pages, second, third);
		assert_true(cases[i].in_second ? second == 1 : second < 0.2);
		assert_true(cases[i].in_third ? third < 0.02 : third > 0.9);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* What is available decides how much is kept, to the line: cyclic sweeps of pages apart leave exactly that. */
static void neighbours_take_ways(void **state)
{
	static const unsigned kibibytes[] = {512, 496, 400, 260, 256, 100, 32, 10};

	(void)state;
	for (size_t i = 0; i < sizeof(kibibytes) / sizeof(kibibytes[0]); i++) {
		char third[128];
		struct fm_hierarchy *hierarchy;
		struct fm_simulated_core *core;
		uint64_t held = 0, lines = kibibytes[i] * 1024ull / LINE;

		snprintf(third, sizeof(third), "cache L3 size=512KiB ways=16 latency=40 shared=4 available=%uKiB",
		         kibibytes[i]);
		hierarchy = machine(third);
		core = fm_hierarchy_core(hierarchy, 0);
		sweep(hierarchy, 0, 4 << 20, FM_ACCESS_LOAD);
		for (uint64_t at = 0; at < 4 << 20; at += LINE)
			held += fm_array_peek(core->arrays[2], (0x100000 + at) / LINE) != NULL;
		print_message("%u KiB available: %llu of %llu lines\n", kibibytes[i], (unsigned long long)held,
		              (unsigned long long)lines);
		/* a set more or less */
		assert_in_range(held, lines - 2, lines + 2);
		fm_hierarchy_destroy(hierarchy);
	}
}

static void memory_has_homes(void **state)
{
	struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
	struct fm_simulated_core *near = fm_hierarchy_core(hierarchy, 0), *far = fm_hierarchy_core(hierarchy, 4);

	(void)state;
	sweep(hierarchy, 0, 2 << 20, FM_ACCESS_LOAD);
	assert_int_equal(near->counts.memory_reads_remote, 0);
	sweep(hierarchy, 4, 2 << 20, FM_ACCESS_LOAD);
	assert_true(far->counts.memory_reads > 0);
	assert_int_equal(far->counts.memory_reads_remote, far->counts.memory_reads);
	assert_true(far->counts.memory_reads + far->counts.transfers_clean >= (2 << 20) / LINE);
	fm_hierarchy_destroy(hierarchy);
}

static void translation(void **state)
{
	struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
	struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);

	(void)state;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned page = 0; page < 16; page++)
			fm_hierarchy_access(hierarchy, core, page * 4096ull, 8, FM_ACCESS_LOAD);
	assert_int_equal(core->counts.tlb_misses[0], 16);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned page = 0; page < 32; page++)
			fm_hierarchy_access(hierarchy, core, page * 4096ull, 8, FM_ACCESS_LOAD);
	/* the first sixteen once more, then every page every time */
	assert_int_equal(core->counts.tlb_misses[0], 16 + 16 + 32 + 32);
	fm_hierarchy_destroy(hierarchy);
}

static void prefetchers_run_ahead(void **state)
{
	struct fm_hierarchy *hierarchy;
	const struct fm_core_counts *counts;
	uint64_t lines = (1 << 20) / LINE, random_prefetches;
	struct fm_random random;

	(void)state;
	hierarchy = machine(INCLUSIVE);
	/* the prefetcher of the second level, added by hand */
	hierarchy->description.caches[1].adjacent = 1;
	counts = &fm_hierarchy_core(hierarchy, 0)->counts;
	sweep(hierarchy, 0, 1 << 20, FM_ACCESS_LOAD);
	/* every other line came with its neighbour */
	assert_int_equal(counts->caches[1].lines_prefetch, lines / 2);
	assert_int_equal(counts->caches[1].prefetch_hits, lines / 2);
	assert_int_equal(counts->memory_reads, lines);
	hierarchy->prefetch = false;
	random_prefetches = counts->caches[1].lines_prefetch;
	fm_random_seed(&random, 1);
	for (unsigned i = 0; i < 1000; i++)
		fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0), fm_random_below(&random, 1 << 30), 8,
		                    FM_ACCESS_LOAD);
	assert_int_equal(counts->caches[1].lines_prefetch, random_prefetches);
	fm_hierarchy_destroy(hierarchy);
}

/* Prefetchers find lines in every private cache below their own, and fill all that they pass. */
static void prefetching_from_private_caches(void **state)
{
	static const char text[] = "machine sockets=1 cores=4 frequency=1GHz\n"
	                           "cache L1 size=4KiB ways=4 latency=4\n"
	                           "cache L2 size=16KiB ways=4 latency=12 adjacent=yes streams=16\n"
	                           "cache L3 size=256KiB ways=8 latency=30\n"
	                           "cache L4 size=4MiB ways=16 latency=60 shared=4\n" REST;
	struct fm_hierarchy *hierarchy = from_text(text);
	const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, 0)->counts;
	const uint64_t lines = (128 << 10) / LINE;

	(void)state;
	for (unsigned round = 0; round < 3; round++)
		sweep(hierarchy, 0, 128 << 10, FM_ACCESS_LOAD);
	assert_int_equal(counts->memory_reads, lines);
	assert_int_equal(counts->caches[2].lines_prefetch + counts->caches[2].lines_demand, lines);
	assert_int_equal(counts->caches[1].lines_prefetch + counts->caches[1].lines_demand, 3 * lines);
	assert_int_equal(counts->caches[3].load_hits, 0);
	fm_hierarchy_destroy(hierarchy);
}

/* A stream of either direction is followed after three lines of a page; random lines are not. */
static void streams_are_followed(void **state)
{
	(void)state;
	for (int direction = -1; direction <= 1; direction++) {
		struct fm_hierarchy *hierarchy = machine(INCLUSIVE);
		const uint64_t lines = (1 << 20) / LINE;
		struct fm_simulated_core *core;
		struct fm_random random;

		hierarchy->description.caches[1].streams = 16;
		hierarchy->description.caches[1].distance = 8;
		core = fm_hierarchy_core(hierarchy, 0);
		fm_random_seed(&random, 1);
		for (uint64_t i = 0; i < lines; i++) {
			uint64_t line = direction > 0   ? i
			                : direction < 0 ? lines - 1 - i
			                                : fm_random_below(&random, 1 << 24);

			fm_hierarchy_access(hierarchy, core, line * LINE, 8, FM_ACCESS_LOAD);
		}
		if (direction) {
			/* 64 lines a page, of which the first three train */
			assert_int_equal(core->counts.caches[1].lines_prefetch, lines / 64 * 61);
			assert_int_equal(core->counts.caches[1].prefetch_hits, lines / 64 * 61);
			assert_int_equal(core->counts.memory_reads, lines);
		} else {
			assert_true(core->counts.caches[1].lines_prefetch < lines / 100);
		}
		fm_hierarchy_destroy(hierarchy);
	}
}

/* So are lines at a stride up to the largest, and only these; larger ones are not. */
static void strides_are_followed(void **state)
{
	const int64_t strides[] = {3, -3, 5, -5, 6, 12};
	const uint64_t pages = 256;

	(void)state;
	for (unsigned k = 0; k < sizeof(strides) / sizeof(strides[0]); k++) {
		struct fm_hierarchy *hierarchy =
		    from_text("machine sockets=1 cores=1 frequency=2GHz\n"
		              "cache L1 size=8KiB ways=8 latency=4\n"
		              "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=4 strides=5\n"
		              "cache L3 size=512KiB ways=8 latency=40\n"
		              "tlb entries=16 ways=4 penalty=7\nmemory latency=200 gbs=50\n" CORE);
		struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
		uint64_t magnitude = (uint64_t)llabs(strides[k]), visits = 64 / magnitude,
		         taught = magnitude > 5 ? visits : 3;

		for (uint64_t page = 0; page < pages; page++)
			for (uint64_t i = 0; i < visits; i++) {
				uint64_t line = strides[k] > 0 ? i * magnitude : 63 - i * magnitude;

				fm_hierarchy_access(hierarchy, core, page * 4096 + line * LINE, 8, FM_ACCESS_LOAD);
			}
		assert_int_equal(core->counts.caches[1].prefetch_hits, pages * (visits - taught));
		/* past the last visit there may be one more of the page */
		assert_in_range(core->counts.caches[1].lines_prefetch, pages * (visits - taught),
		                pages * (visits - taught + (magnitude <= 5 && 64 % magnitude)));
		fm_hierarchy_destroy(hierarchy);
	}
}

/* Steps of one to three lines in one direction, of which some go back by one: how many lines were there before they
   were asked for. */
static double found_of_uneven(const char *keys, bool back, int direction)
{
	enum { LINES = 20000 };
	char text[1024];
	struct fm_hierarchy *hierarchy;
	struct fm_simulated_core *core;
	struct fm_random random;
	uint64_t line = 1 << 20, visits = 0;
	double share;

	snprintf(text, sizeof(text),
	         "machine sockets=1 cores=1 frequency=2GHz\ncache L1 size=8KiB ways=8 latency=4\n"
	         "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=16 crosses=yes %s\n"
	         "cache L3 size=512KiB ways=8 latency=40\n"
	         "tlb entries=16 ways=4 penalty=7\nmemory latency=200 gbs=50\n" CORE,
	         keys);
	hierarchy = from_text(text);
	core = fm_hierarchy_core(hierarchy, 0);
	fm_random_seed(&random, 3);
	for (; visits < LINES; visits++) {
		line += (uint64_t)(direction * (1 + (int64_t)fm_random_below(&random, 3)));
		fm_hierarchy_access(hierarchy, core, line * LINE, 8, FM_ACCESS_LOAD);
		if (back && visits % 4 == 3) {
			line += (uint64_t)(int64_t)direction * 2;
			fm_hierarchy_access(hierarchy, core, line * LINE, 8, FM_ACCESS_LOAD);
			fm_hierarchy_access(hierarchy, core, (line - (uint64_t)(int64_t)direction) * LINE, 8,
			                    FM_ACCESS_LOAD);
		}
	}
	share = (double)core->counts.caches[1].prefetch_hits / (double)core->counts.caches[0].lines_demand;
	fm_hierarchy_destroy(hierarchy);
	return share;
}

static void uneven_steps_are_followed(void **state)
{
	(void)state;
	for (int direction = -1; direction <= 1; direction += 2) {
		assert_true(found_of_uneven("gaps=3", false, direction) > 0.95);
		assert_true(found_of_uneven("gaps=2", false, direction) < 0.8);
		assert_true(found_of_uneven("gaps=3 back=yes", true, direction) > 0.95);
		assert_true(found_of_uneven("gaps=3", true, direction) <
		            found_of_uneven("gaps=3 back=yes", true, direction) - 0.1);
		/* strides that are followed are not in the way */
		assert_true(found_of_uneven("gaps=3 strides=8", false, direction) > 0.95);
	}
}

/* Neighbours drive out of a shared cache what nobody uses, at random; what was written goes to memory. */
static void neighbours_drive_lines_out(void **state)
{
	enum { LINES = 4096 };
	struct fm_hierarchy *hierarchy = from_text("machine sockets=1 cores=1 frequency=2GHz\n"
	                                           "cache L1 size=8KiB ways=8 latency=4\n"
	                                           "cache L2 size=64KiB ways=8 latency=12\n"
	                                           "cache L3 size=1MiB ways=16 latency=40 life=1000\n"
	                                           "tlb entries=16 ways=4 penalty=7\nmemory latency=200 gbs=50\n" CORE);
	struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
	uint64_t before;

	(void)state;
	for (unsigned pass = 0; pass < 3; pass++) {
		before = core->counts.memory_reads;
		for (uint64_t i = 0; i < LINES; i++)
			fm_hierarchy_access(hierarchy, core, i * LINE, 8, FM_ACCESS_STORE);
		/* half a life: of the lines that are in the last cache alone some three eighths are gone */
		if (pass == 2)
			assert_in_range(core->counts.memory_reads - before, 0.28 * LINES, 0.45 * LINES);
		else if (pass == 1)
			assert_int_equal(core->counts.memory_reads, before);
		for (unsigned i = 0; pass == 1 && i < 500; i++)
			fm_hierarchy_forget(hierarchy, core, 1);
	}
	assert_true(core->counts.memory_writes > 0);
	hierarchy->description.caches[2].life = 0;
	before = core->counts.memory_reads;
	fm_hierarchy_forget(hierarchy, core, 1e9);
	for (uint64_t i = 0; i < LINES; i++)
		fm_hierarchy_access(hierarchy, core, i * LINE, 8, FM_ACCESS_LOAD);
	assert_int_equal(core->counts.memory_reads, before);
	fm_hierarchy_destroy(hierarchy);
}

static struct fm_hierarchy *machine_with_jumps(unsigned jumps, bool quick)
{
	struct fm_hierarchy *hierarchy;
	char text[1024];

	snprintf(text, sizeof(text),
	         "machine sockets=1 cores=1 frequency=2GHz\ncache L1 size=8KiB ways=8 latency=4\n"
	         "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=4 jumps=%u\n"
	         "cache L3 size=512KiB ways=16 latency=40 shared=1\n"
	         "tlb entries=16 ways=4 penalty=7\nmemory latency=200 gbs=50\n" CORE,
	         jumps);
	hierarchy = from_text(text);
	if (!quick)
		hierarchy->access_slowly = fm_hierarchy_access_any;
	return hierarchy;
}

/* A jump brings the next lines in its direction, as many as the machine says, and of its page alone. */
static void jumps_bring_lines(void **state)
{
	static const struct {
		unsigned from, to, then;
		unsigned least; /* jumps that it takes; 3: none is enough */
	} cases[] = {{10, 40, 41, 1},  {10, 40, 42, 2},  {10, 40, 43, 3}, {10, 40, 39, 3}, {40, 10, 9, 1},
	             {40, 10, 8, 2},   {40, 10, 11, 3},  {10, 62, 63, 1}, {10, 62, 64, 3}, {10, 63, 64, 3},
	             {104, 65, 64, 1}, {104, 65, 63, 3}, {10, 12, 13, 3}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned jumps = 0; jumps < 6; jumps++) {
			struct fm_hierarchy *hierarchy = machine_with_jumps(jumps % 3, jumps / 3);
			struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
			const unsigned lines[] = {cases[i].from, cases[i].to, cases[i].then};

			for (unsigned k = 0; k < 3; k++)
				fm_hierarchy_access(hierarchy, core, (1ull << 32) + (uint64_t)lines[k] * LINE, 8,
				                    FM_ACCESS_LOAD);
			if ((core->counts.caches[1].prefetch_hits == 1) != (jumps % 3 >= cases[i].least))
				fail_msg("case %u, jumps %u: %llu found", i, jumps % 3,
				         (unsigned long long)core->counts.caches[1].prefetch_hits);
			fm_hierarchy_destroy(hierarchy);
		}
}

/* Of pages whose lines are all visited at random, 0.41 are found with one line a jump and 0.59 with two. Where nothing
   that they bring is used, jumps soon bring little. */
static void jumps_are_of_use(void **state)
{
	const double found[] = {0, 0.41, 0.59};
	const uint64_t pages = 2000;

	(void)state;
	for (unsigned jumps = 0; jumps < 3; jumps++) {
		struct fm_hierarchy *dense = machine_with_jumps(jumps, true),
		                    *strided = machine_with_jumps(jumps, true);
		const struct fm_core_counts *counts = &fm_hierarchy_core(dense, 0)->counts;
		struct fm_random random;
		uint64_t visits;

		fm_random_seed(&random, 1);
		for (uint64_t page = 0; page < pages; page++) {
			uint64_t order[64];

			for (unsigned i = 0; i < 64; i++) {
				unsigned other = (unsigned)fm_random_below(&random, i + 1);

				order[i] = order[other];
				order[other] = i;
			}
			for (unsigned i = 0; i < 64; i++)
				fm_hierarchy_access(dense, fm_hierarchy_core(dense, 0), page * 4096 + order[i] * LINE,
				                    8, FM_ACCESS_LOAD);
			for (unsigned line = 0; line < 64; line += 5)
				fm_hierarchy_access(strided, fm_hierarchy_core(strided, 0),
				                    page * 4096 + (uint64_t)line * LINE, 8, FM_ACCESS_LOAD);
		}
		print_message("%u lines a jump: %.3f found\n", jumps,
		              (double)counts->caches[1].prefetch_hits / (double)(64 * pages));
		assert_near((double)counts->caches[1].prefetch_hits / (double)(64 * pages), found[jumps], 0.02);
		assert_int_equal(counts->memory_reads, 64 * pages);
		counts = &fm_hierarchy_core(strided, 0)->counts;
		visits = counts->loads;
		assert_int_equal(counts->caches[1].prefetch_hits, 0);
		assert_true(counts->caches[1].lines_prefetch <= visits / 32 * jumps + 256 + jumps);
		assert_true(!jumps || counts->caches[1].lines_prefetch > 256);
		fm_hierarchy_destroy(dense);
		fm_hierarchy_destroy(strided);
	}
}

/* The quick paths do, step by step, what the general one does: same counts on every core, after every kind of access,
   with and without prefetching, from one core and from eight that share some pages. */
static void quick_paths_agree(void **state)
{
	static const char *const kinds[] = {INCLUSIVE, NEITHER,
	                                    "cache L3 size=480KiB ways=20 latency=40 shared=4 inclusion=inclusive",
	                                    "cache L3 size=352KiB ways=11 latency=40 shared=4",
	                                    "cache L3 size=512KiB ways=16 latency=40 shared=3 available=300KiB"};
	fm_hierarchy_access_function *const functions[] = {
		fm_hierarchy_access_any,
		fm_hierarchy_access_quick,
#if defined(__x86_64__)
		__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? fm_hierarchy_access_avx2
		                                                                 : fm_hierarchy_access_quick,
#else
		fm_hierarchy_access_quick,
#endif
	};
	enum {
		FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
		KINDS = sizeof(kinds) / sizeof(kinds[0]),
		ACCESSES = 400000
	};

	(void)state;
	for (unsigned round = 0; round < 32; round++) {
		/* addresses as they are, physical pages of both sizes, two threads per core, both */
		static const char *const keys[] = {"", "physical=5", "physical=5 page=64KiB", "threads=2",
		                                   "physical=9 threads=2"};
		const char *key = keys[round < 16 ? 0 : 1 + round / 2 % 4];
		struct fm_hierarchy *hierarchies[FUNCTIONS];
		unsigned cores = round & 1 ? strstr(key, "threads") ? 16 : 8 : 1;
		struct fm_random random;

		for (unsigned k = 0; k < FUNCTIONS; k++) {
			hierarchies[k] = machine_with(kinds[round / 4 % KINDS], key);
			hierarchies[k]->description.caches[1].adjacent = true;
			hierarchies[k]->description.caches[0].next = true;
			hierarchies[k]->description.caches[1].streams = 0;
			hierarchies[k]->description.string_allocates = round / 4 % 2;
			hierarchies[k]->prefetch = round & 2;
			hierarchies[k]->access_slowly = functions[k];
		}
		fm_random_seed(&random, round + 1);
		for (unsigned i = 0; i < ACCESSES; i++) {
			unsigned core = (unsigned)fm_random_below(&random, cores);
			uint64_t span = 1ull << (10 + fm_random_below(&random, 11));
			/* a place of its own, or one for all; runs, and jumps */
			uint64_t base = fm_random_below(&random, 4) ? (core + 1ull) << 32 : 1ull << 40;
			uint64_t at =
			    base + (fm_random_below(&random, 2) ? i * 8 % span : fm_random_below(&random, span));
			unsigned bytes = 1u << fm_random_below(&random, 6);
			enum fm_access access = (enum fm_access)(
			    fm_random_below(&random, 40) ? fm_random_below(&random, 2) : FM_ACCESS_STORE_NONTEMPORAL);
			unsigned served = 0;

			if (!fm_random_below(&random, 20)) {
				access = FM_ACCESS_STORE_WHOLE;
				at -= at % LINE;
				bytes = LINE;
			}

			for (unsigned k = 0; k < FUNCTIONS; k++) {
				unsigned now = fm_hierarchy_access(
				    hierarchies[k], fm_hierarchy_core(hierarchies[k], core), at, bytes, access);

				if (k && now != served)
					fail_msg("round %u access %u: served by %u and %u", round, i, served, now);
				served = now;
			}
		}
		for (unsigned core = 0; core < cores; core++)
			for (unsigned k = 1; k < FUNCTIONS; k++)
				assert_memory_equal(&fm_hierarchy_core(hierarchies[0], core)->counts,
				                    &fm_hierarchy_core(hierarchies[k], core)->counts,
				                    sizeof(struct fm_core_counts));
		assert_true(fm_hierarchy_core(hierarchies[0], 0)->counts.memory_writes > 0);
		for (unsigned k = 0; k < FUNCTIONS; k++)
			fm_hierarchy_destroy(hierarchies[k]);
	}
}

/* An access as the native engine's consumer does it: what the first cache and the first translation buffer have is only
   counted. */
static unsigned access_as_consumer(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t at,
                                   unsigned bytes, enum fm_access access)
{
	bool store = access == FM_ACCESS_STORE;
	enum fm_hit hit;

	if (access > FM_ACCESS_STORE || at / LINE != (at + bytes - 1) / LINE || !hierarchy->hit_quickly ||
	    (hit = hierarchy->hit_quickly(&core->view, at, store)) == FM_HIT_OTHER)
		return fm_hierarchy_access(hierarchy, core, at, bytes, access);
	if (hit == FM_HIT_ABSENT) {
		int served = hierarchy->miss_quickly ? hierarchy->miss_quickly(hierarchy, core, at, bytes, store) : -1;

		return served < 0 ? fm_hierarchy_access(hierarchy, core, at, bytes, access) : (unsigned)served;
	}
	*(store ? &core->counts.stores : &core->counts.loads) += 1;
	*(store ? &core->counts.store_bytes : &core->counts.load_bytes) += bytes;
	*(store ? &core->counts.caches[0].store_hits : &core->counts.caches[0].load_hits) += 1;
	return 0;
}

/* The same on machines of other shapes, with all prefetchers. */
static void quick_paths_agree_on_other_shapes(void **state)
{
	static const char *const shapes[] = {
	    /* 12 ways and a victim cache, a fully associative translation buffer */
	    "cache L1 size=12KiB ways=12 latency=4\n"
	    "cache L2 size=80KiB ways=20 latency=12 adjacent=yes streams=32 distance=4\n" VICTIM "\n"
	    "tlb entries=64 ways=64 penalty=7\ntlb entries=128 ways=16 penalty=30\n",
	    "cache L1 size=8KiB ways=8 latency=4\n"
	    "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=16 jumps=2\n" VICTIM "\n"
	    "tlb entries=20 ways=20 penalty=7\n",
	    /* seven ways are padded, and so is the buffer */
	    "cache L1 size=7KiB ways=7 latency=4 next=yes\n"
	    "cache L2 size=64KiB ways=8 latency=12 streams=5 distance=4 beyond=3 crosses=yes jumps=1\n" INCLUSIVE "\n"
	    "tlb entries=30 ways=10 penalty=7\ntlb entries=64 ways=4 penalty=30\n",
	    /* one that follows streams into the last cache */
	    "cache L1 size=8KiB ways=8 latency=4 next=yes\n"
	    "cache L2 size=64KiB ways=8 latency=12 adjacent=yes streams=8 distance=4 beyond=6\n" INCLUSIVE "\n"
	    "tlb entries=16 ways=4 penalty=7\ntlb entries=64 ways=8 penalty=30\n",
	    "cache L1 size=8KiB ways=16 latency=4 next=yes\n"
	    "cache L2 size=64KiB ways=16 latency=12 streams=2 distance=7 crosses=yes\n"
	    "cache L3 size=352KiB ways=11 latency=40 shared=4 inclusion=victim\n"
	    "tlb entries=24 ways=6 penalty=7\n",
	    "cache L1 size=4KiB ways=4 latency=4\n"
	    "cache L2 size=32KiB ways=4 latency=12 adjacent=next streams=4 distance=4 beyond=2\n" NEITHER "\n"
	    "tlb entries=48 ways=12 penalty=7\n",
	    "cache L1 size=8KiB ways=2 latency=4 next=yes\n"
	    "cache L2 size=64KiB ways=8 latency=12 adjacent=yes streams=8 distance=4\n"
	    "cache L3 size=512KiB ways=16 latency=40 shared=3 available=300KiB inclusion=victim\n"
	    "tlb entries=9 ways=9 penalty=7\n",
	    "cache L1 size=8KiB ways=8 latency=4\n"
	    "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=5 beyond=3 strides=9 jumps=2\n" INCLUSIVE "\n"
	    "tlb entries=16 ways=4 penalty=7\n",
	    /* those that the path is compiled for */
	    "cache L1 size=8KiB ways=8 latency=4 next=yes\n"
	    "cache L2 size=64KiB ways=8 latency=12 adjacent=yes streams=32 distance=8 beyond=12\n"
	    "cache L3 size=240KiB ways=20 latency=40 shared=4 inclusion=inclusive\n"
	    "tlb entries=16 ways=4 penalty=7\ntlb entries=64 ways=8 penalty=30\n",
	    "cache L1 size=8KiB ways=8 latency=4\n"
	    "cache L2 size=64KiB ways=8 latency=12 streams=16 distance=16 jumps=2\n"
	    "cache L3 size=256KiB ways=16 latency=40 shared=4 inclusion=victim\n"
	    "tlb entries=64 ways=64 penalty=7\ntlb entries=128 ways=16 penalty=30\n",
	    "cache L1 size=8KiB ways=8 latency=4\n"
	    "cache L2 size=64KiB ways=8 latency=12 adjacent=yes streams=32 distance=8 beyond=12 jumps=1\n"
	    "cache L3 size=240KiB ways=20 latency=40 shared=4 inclusion=inclusive\n"
	    "tlb entries=16 ways=4 penalty=7\ntlb entries=64 ways=8 penalty=30\n",
	    "cache L1 size=12KiB ways=12 latency=4\n"
	    "cache L2 size=80KiB ways=20 latency=12 adjacent=next streams=32 distance=20 jumps=2\n"
	    "cache L3 size=384KiB ways=12 latency=40 shared=4 inclusion=victim\n"
	    "tlb entries=16 ways=4 penalty=7\ntlb entries=128 ways=16 penalty=30\n",
	};
	fm_hierarchy_access_function *const functions[] = {fm_hierarchy_access_any, fm_hierarchy_access_quick, NULL};
	enum {
		FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
		SHAPES = sizeof(shapes) / sizeof(shapes[0]),
		ACCESSES = 40000
	};
	bool seen[FM_SHAPES] = {0};

	(void)state;
	for (unsigned round = 0; round < 8 * SHAPES; round++) {
		const char *const keys[] = {"", "physical=5", "threads=2", "physical=3 page=64KiB"};
		struct fm_hierarchy *hierarchies[FUNCTIONS];
		unsigned cores = round / SHAPES / 4 ? 8 : 1;
		struct fm_random random;
		char text[2048];

		snprintf(text, sizeof(text),
		         "machine sockets=2 cores=4 frequency=2GHz %s\n%smemory latency=200 remote=300 gbs=50\n" CORE,
		         keys[round / SHAPES % 4], shapes[round % SHAPES]);
		for (unsigned k = 0; k < FUNCTIONS; k++) {
			hierarchies[k] = from_text(text);
			if (functions[k])
				hierarchies[k]->access_slowly = functions[k];
			else
				assert_true(hierarchies[k]->access_slowly != fm_hierarchy_access_any);
		}
		fm_random_seed(&random, round + 100);
		for (unsigned i = 0; i < ACCESSES; i++) {
			unsigned core = (unsigned)fm_random_below(&random, cores);
			uint64_t span = 1ull << (10 + fm_random_below(&random, 12));
			uint64_t base = fm_random_below(&random, 4) ? (core + 1ull) << 32 : 1ull << 40;
			uint64_t walk = fm_random_below(&random, 3), at = base + fm_random_below(&random, span);
			unsigned bytes = 1u << fm_random_below(&random, 6), served = 0;
			enum fm_access access = (enum fm_access)(
			    fm_random_below(&random, 60) ? fm_random_below(&random, 2) : FM_ACCESS_STORE_NONTEMPORAL);

			/* up, and down */
			if (walk)
				at = base + (walk == 1 ? 16 * i : (64ull << 20) - 24 * i) / cores;
			for (unsigned k = 0; k < FUNCTIONS; k++) {
				struct fm_simulated_core *chosen = fm_hierarchy_core(hierarchies[k], core);
				unsigned now = !k ? fm_hierarchy_access_any(hierarchies[k], chosen, at, bytes, access)
				               : functions[k]
				                   ? fm_hierarchy_access(hierarchies[k], chosen, at, bytes, access)
				                   : access_as_consumer(hierarchies[k], chosen, at, bytes, access);

				if (k && now != served)
					fail_msg("round %u access %u: served by %u and %u", round, i, served, now);
				served = now;
			}
		}
		for (unsigned core = 0; core < cores; core++)
			for (unsigned k = 1; k < FUNCTIONS; k++)
				assert_memory_equal(&fm_hierarchy_core(hierarchies[0], core)->counts,
				                    &fm_hierarchy_core(hierarchies[k], core)->counts,
				                    sizeof(struct fm_core_counts));
		seen[fm_hierarchy_core(hierarchies[0], 0)->shape] = true;
		assert_true(fm_hierarchy_core(hierarchies[0], 0)->counts.caches[1].lines_prefetch > 100);
		assert_true(fm_hierarchy_core(hierarchies[0], 0)->counts.memory_writes > 0);
		for (unsigned k = 0; k < FUNCTIONS; k++)
			fm_hierarchy_destroy(hierarchies[k]);
	}
	for (unsigned i = 0; i < FM_SHAPES; i++)
		assert_true(seen[i]);
}

/* Translation buffers of many ways replace the page used longest ago, as those of few do. */
static void many_ways_are_still_least_recently_used(void **state)
{
	static const struct {
		unsigned entries, ways;
	} shapes[] = {{64, 64}, {16, 16}, {9, 9}, {10, 10}, {48, 12}, {30, 10}, {512, 64}, {16, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		unsigned sets = shapes[i].entries / shapes[i].ways, ways = shapes[i].ways;
		uint64_t pages[600] = {0}, missed = 0;
		struct fm_hierarchy *hierarchies[3];
		struct fm_random random;
		char text[1024];

		snprintf(text, sizeof(text),
		         "machine sockets=1 cores=4 frequency=2GHz\ncache L1 size=8KiB ways=8 latency=4\n"
		         "cache L2 size=64KiB ways=8 latency=12\n" NEITHER "\ntlb entries=%u ways=%u penalty=7\n"
		         "memory latency=200 gbs=50\n" CORE,
		         shapes[i].entries, ways);
		for (unsigned k = 0; k < 3; k++) {
			hierarchies[k] = from_text(text);
			if (k < 2)
				hierarchies[k]->access_slowly = k ? fm_hierarchy_access_quick : fm_hierarchy_access_any;
		}
		fm_random_seed(&random, i + 1);
		for (unsigned access = 0; access < 50000; access++) {
			/* few pages often, as many as there is room for, more; some 256 and 512 apart */
			uint64_t page =
			    1 + fm_random_below(&random, 1ull + fm_random_below(&random, 2 * shapes[i].entries));
			uint64_t *set;
			unsigned at = 0;

			page += 256 * fm_random_below(&random, 3);
			set = pages + page % sets * ways;
			while (at < ways - 1 && set[at] != page)
				at++;
			missed += set[at] != page;
			memmove(set + 1, set, at * sizeof(*set));
			set[0] = page;
			for (unsigned k = 0; k < 3; k++) {
				struct fm_simulated_core *core = fm_hierarchy_core(hierarchies[k], 0);

				/* a line that the first cache has most often */
				access_as_consumer(hierarchies[k], core, page * 4096 + page % 4 * LINE, 8,
				                   FM_ACCESS_LOAD);
				if (core->counts.tlb_misses[0] != missed)
					fail_msg("%u entries, %u ways, access %u, path %u", shapes[i].entries, ways,
					         access, k);
			}
			/* all begin again */
			if (access == 25000) {
				memset(pages, 0, sizeof(pages));
				for (unsigned k = 0; k < 3; k++)
					fm_hierarchy_flush(hierarchies[k]);
			}
		}
		for (unsigned k = 0; k < 3; k++)
			fm_hierarchy_destroy(hierarchies[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cyclic_sweeps),
	    cmocka_unit_test(victim_adds_up),
	    cmocka_unit_test(stores_are_written_back),
	    cmocka_unit_test(nontemporal_stores_pass),
	    cmocka_unit_test(whole_stores_read_or_not),
	    cmocka_unit_test(strides_and_splits),
	    cmocka_unit_test(stack_distances),
	    cmocka_unit_test(other_policies_hold_what_fits),
	    cmocka_unit_test(false_sharing),
	    cmocka_unit_test(coherence_holds),
	    cmocka_unit_test(threads_of_a_core_share),
	    cmocka_unit_test(threads_share_the_capacity),
	    cmocka_unit_test(sharing_is_judged_by_the_core),
	    cmocka_unit_test(threads_run_freely),
	    cmocka_unit_test(pages_lie_anywhere),
	    cmocka_unit_test(neighbours_take_ways),
	    cmocka_unit_test(memory_has_homes),
	    cmocka_unit_test(translation),
	    cmocka_unit_test(prefetchers_run_ahead),
	    cmocka_unit_test(prefetching_from_private_caches),
	    cmocka_unit_test(streams_are_followed),
	    cmocka_unit_test(strides_are_followed),
	    cmocka_unit_test(uneven_steps_are_followed),
	    cmocka_unit_test(neighbours_drive_lines_out),
	    cmocka_unit_test(jumps_bring_lines),
	    cmocka_unit_test(jumps_are_of_use),
	    cmocka_unit_test(use_of_shared_lines_is_noted),
	    cmocka_unit_test(quick_paths_agree),
	    cmocka_unit_test(quick_paths_agree_on_other_shapes),
	    cmocka_unit_test(many_ways_are_still_least_recently_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
