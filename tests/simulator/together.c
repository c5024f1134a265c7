/* Address spaces and streams side by side: closed forms, and a plain model of lists that knows spaces by itself. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "simulator/array.h"
#include "simulator/space.h"
#include "simulator/together.h"

enum { LINE = 64, PAGE = 4096 };

#define CORE                                                                                                    \
	"core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 " \
	"store_ports=1 multiply_ports=1 ports=8\n"
#define REST                                \
	"tlb entries=16 ways=4 penalty=7\n" \
	"memory latency=200 gbs=10\n" CORE
#define MACHINE "machine sockets=1 cores=4 frequency=2GHz\n"
#define PRIVATE                                 \
	"cache L1 size=1KiB ways=2 latency=4\n" \
	"cache L2 size=4KiB ways=4 latency=12\n"
/* The last cache has 1024 lines: 128 sets of eight, one set, and the same with a private cache less. */
#define SETS MACHINE PRIVATE "cache L3 size=64KiB ways=8 latency=40 shared=4\n" REST
#define ODD MACHINE PRIVATE "cache L3 size=60KiB ways=8 latency=40 shared=4\n" REST
#define TWO_LEVELS MACHINE "cache L1 size=512 ways=8 latency=4\ncache L2 size=64KiB ways=64 latency=40 shared=4\n" REST
#define WHOLE MACHINE "cache L1 size=64 ways=1 latency=4\ncache L2 size=4KiB ways=64 latency=40 shared=4\n" REST
#define LARGE                                                                                           \
	MACHINE "cache L1 size=32KiB ways=8 latency=4\n"                                                \
	        "cache L2 size=512KiB ways=8 latency=12 adjacent=yes streams=16 distance=16 beyond=4\n" \
	        "cache L3 size=16MiB ways=16 latency=40 shared=4\n"                                     \
	        "tlb entries=64 ways=64 penalty=7\n"                                                    \
	        "memory latency=200 gbs=10\n" CORE

static struct fm_hierarchy *machine(const char *text)
{
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy = NULL;
	struct fm_error error;

	if (fm_description_parse(text, "test", &description, &error) ||
	    fm_hierarchy_create(&description, &hierarchy, &error))
		fail_msg("%s", error.message);
	return hierarchy;
}

static void go_on(struct fm_hierarchy *hierarchy, struct fm_together_stream *streams, unsigned count,
                  enum fm_together_order order, uint64_t most)
{
	const struct fm_together_limits limits = {.most = most};
	struct fm_error error;

	if (fm_together_run(hierarchy, streams, count, order, &limits, &error))
		fail_msg("%s", error.message);
}

/* Numbers of spaces are bits of the address that nothing in the simulator loses. */
static void spaces_are_bits(void **state)
{
	static const uint64_t addresses[] = {0, 64, 0x7fffffffffc0, 0xffffffffffc0, 0xffffffffff600000};

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		for (unsigned space = 0; space <= FM_SPACE_SHARED; space += 16383 / 7) {
			uint64_t address = fm_space_address(space, addresses[i]);
			/* the shortest lines */
			uint64_t line = address >> 4, entry = FM_LINE_KEY(line) | FM_LINE_MODIFIED;

			assert_int_equal(fm_space_of(address), space);
			assert_true((address & FM_SPACE_INSIDE) == (addresses[i] & FM_SPACE_INSIDE));
			assert_true(FM_LINE_OF(entry) == line);
		}
}

/* The remainder by multiplication is exact for tagged lines too. */
static void sets_of_tagged_lines(void **state)
{
	static const uint64_t sets[] = {3, 7, 120, 36864, 1000003, (1u << 20) - 1};
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 4);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct fm_array *array = fm_array_create(sets[i], 4, FM_REPLACEMENT_LRU);

		assert_non_null(array);
		for (unsigned k = 0; k < 100000; k++) {
			uint64_t line = fm_random_next(&random) >> 2 >> (k % 2 ? 6 : 4);

			assert_true(fm_array_index(array, line) == line % sets[i]);
		}
		fm_array_destroy(array);
	}
}

/* Two cyclic sweeps over the same addresses of two spaces. Both fit: every line is missed once. They do not: with least
   recently used every reference misses, although each alone would fit. */
static void two_sweeps(void **state)
{
	static const char *const machines[] = {SETS, TWO_LEVELS};
	/* lines of each sweep; all more than the private caches have, so that the last one sees every reference */
	static const uint64_t lines[] = {256, 512, 640, 1024};
	enum { ROUNDS = 6, CAPACITY = 1024 };

	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++)
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			for (unsigned order = 0; order <= FM_TOGETHER_BY_TIME; order++) {
				struct fm_hierarchy *hierarchy = machine(machines[m]);
				unsigned last = hierarchy->description.cache_count - 1;
				struct fm_together_sweep sweeps[2] = {
				    {.begin = 0x100000, .lines = lines[i], .line_bytes = LINE},
				    {.begin = 0x100000, .lines = lines[i], .line_bytes = LINE}};
				struct fm_together_stream streams[2] = {
				    {.next = fm_together_sweep_next, .context = &sweeps[0], .space = 0, .core = 0},
				    {.next = fm_together_sweep_next, .context = &sweeps[1], .space = 1, .core = 1}};
				uint64_t expected = 2 * lines[i] <= CAPACITY ? lines[i] : ROUNDS * lines[i];

				go_on(hierarchy, streams, 2, order, ROUNDS * lines[i]);
				for (unsigned k = 0; k < 2; k++) {
					assert_int_equal(streams[k].references, ROUNDS * lines[i]);
					assert_int_equal(streams[k].counts.loads, ROUNDS * lines[i]);
					assert_int_equal(streams[k].counts.caches[0].load_misses, ROUNDS * lines[i]);
					assert_int_equal(streams[k].counts.caches[last].load_misses, expected);
					assert_int_equal(streams[k].counts.memory_reads, expected);
					assert_int_equal(streams[k].served[FM_SERVED_MEMORY], expected);
					assert_int_equal(streams[k].served[last], ROUNDS * lines[i] - expected);
					/* nothing is shared */
					assert_int_equal(streams[k].counts.transfers_clean, 0);
				}
				fm_hierarchy_destroy(hierarchy);
			}
}

/* One alone: what does not fit beside the other does then. */
static void one_sweep_alone(void **state)
{
	struct fm_hierarchy *hierarchy = machine(SETS);
	struct fm_together_sweep sweep = {.begin = 0x100000, .lines = 640, .line_bytes = LINE};
	struct fm_together_stream stream = {.next = fm_together_sweep_next, .context = &sweep};

	(void)state;
	go_on(hierarchy, &stream, 1, FM_TOGETHER_IN_TURN, 6 * sweep.lines);
	assert_int_equal(stream.counts.memory_reads, 640);
	fm_hierarchy_destroy(hierarchy);
}

/* The plain model: a list per set, latest first, of pairs of space and line. */

struct pair {
	unsigned space;
	uint64_t line;
};

enum { MODEL_SETS = 128, MODEL_WAYS = 64 };

struct model_cache {
	unsigned sets, ways;
	unsigned used[MODEL_SETS];
	struct pair lists[MODEL_SETS][MODEL_WAYS];
};

/* Found, or not; the latest from now on in either case. */
static bool model_touch(struct model_cache *cache, struct pair pair, uint64_t set)
{
	struct pair *list = cache->lists[set];
	unsigned at = 0;
	bool found;

	while (at < cache->used[set] && (list[at].space != pair.space || list[at].line != pair.line))
		at++;
	found = at < cache->used[set];
	if (!found && cache->used[set] < cache->ways)
		cache->used[set]++;
	if (at == cache->ways)
		at--;
	memmove(list + 1, list, at * sizeof(*list));
	list[0] = pair;
	return found;
}

struct model {
	unsigned levels;
	struct model_cache caches[3][2]; /* of two cores; the last one is the first's */
};

static struct model *model_of(const struct fm_machine_description *description)
{
	struct model *model = calloc(1, sizeof(*model));

	assert_non_null(model);
	model->levels = description->cache_count;
	for (unsigned level = 0; level < model->levels; level++)
		for (unsigned core = 0; core < 2; core++) {
			struct model_cache *cache = &model->caches[level][core];

			cache->ways = description->caches[level].ways;
			cache->sets = (unsigned)(description->caches[level].bytes / LINE / cache->ways);
			assert_true(cache->sets <= MODEL_SETS && cache->ways <= MODEL_WAYS);
		}
	return model;
}

/* The level that had it; as many as there are: memory. */
static unsigned model_load(struct model *model, unsigned core, unsigned space, uint64_t address)
{
	struct pair pair = {space, address / LINE};
	/* where a cache puts a line of a space is the simulator's affair: as the header says */
	uint64_t indexed = fm_space_address(space, address) / LINE;
	unsigned level = 0;

	while (level < model->levels) {
		struct model_cache *cache = &model->caches[level][level + 1 == model->levels ? 0 : core];

		if (model_touch(cache, pair, indexed % cache->sets))
			break;
		level++;
	}
	return level;
}

struct followed {
	struct model *model;
	fm_together_function *next;
	void *context;
	unsigned core, space, last;
	uint64_t served[FM_SERVED_COUNT];
};

/* The stream, which the model gets too. */
static bool next_followed(void *context, struct fm_together_reference *ret_reference)
{
	struct followed *followed = context;
	unsigned level;

	if (!followed->next(followed->context, ret_reference))
		return false;
	level = model_load(followed->model, followed->core, followed->space, ret_reference->address);
	followed->served[level < followed->last ? level : FM_SERVED_MEMORY]++;
	return true;
}

/* Two random sets at the same addresses: who serves each reference is what the model says. */
static void two_random_sets(void **state)
{
	static const char *const machines[] = {SETS, ODD, TWO_LEVELS, WHOLE};
	static const uint64_t lines[][2] = {{16, 16}, {100, 300}, {700, 700}, {3000, 500}, {24, 40}};
	enum { REFERENCES = 20000 };

	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++)
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			for (unsigned order = 0; order <= FM_TOGETHER_BY_TIME; order++)
				/* on a core each, or both on one */
				for (unsigned cores = 1; cores <= 2; cores++) {
					struct fm_hierarchy *hierarchy = machine(machines[m]);
					struct model *model = model_of(&hierarchy->description);
					struct fm_together_random sets[2];
					struct followed followed[2];
					struct fm_together_stream streams[2];

					for (unsigned k = 0; k < 2; k++) {
						sets[k] = (struct fm_together_random){
						    .begin = 0x40000, .lines = lines[i][k], .line_bytes = LINE};
						fm_random_seed(&sets[k].random, 100 * i + k);
						followed[k] = (struct followed){.model = model,
						                                .next = fm_together_random_next,
						                                .context = &sets[k],
						                                .core = k % cores,
						                                .space = 5 + k,
						                                .last = model->levels};
						streams[k] = (struct fm_together_stream){.next = next_followed,
						                                         .context = &followed[k],
						                                         .space = 5 + k,
						                                         .core = k % cores,
						                                         .turn = 1 + 2 * k,
						                                         .gap = 1 + 3 * k};
					}
					go_on(hierarchy, streams, 2, order, REFERENCES);
					for (unsigned k = 0; k < 2; k++) {
						assert_int_equal(streams[k].references, REFERENCES);
						assert_int_equal(streams[k].counts.loads, REFERENCES);
						assert_memory_equal(streams[k].served, followed[k].served,
						                    sizeof(followed[k].served));
						assert_int_equal(streams[k].counts.memory_reads,
						                 followed[k].served[FM_SERVED_MEMORY]);
						assert_true(followed[k].served[FM_SERVED_MEMORY] >= lines[i][k] ||
						            lines[i][k] > 1000);
					}
					free(model);
					fm_hierarchy_destroy(hierarchy);
				}
}

/* A line of one space is never a hit for another, whatever the machine; each has its own copy. */
static void same_addresses(void **state)
{
	static const char *const keys[] = {"", "physical=7"};

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (unsigned core = 0; core < 2; core++) {
			char text[2048];
			struct fm_hierarchy *hierarchy;
			struct fm_simulated_core *first, *second;

			snprintf(text, sizeof(text), "machine sockets=1 cores=4 frequency=2GHz %s\n%s", keys[i],
			         strchr(LARGE, '\n') + 1);
			hierarchy = machine(text);
			hierarchy->prefetch = false;
			first = fm_hierarchy_core(hierarchy, 0);
			second = fm_hierarchy_core(hierarchy, core);
			for (unsigned round = 0; round < 2; round++)
				for (uint64_t at = 0; at < 4 * PAGE; at += LINE) {
					unsigned expected = round ? 0 : FM_SERVED_MEMORY;

					assert_int_equal(fm_hierarchy_access(hierarchy, first,
					                                     fm_space_address(0, 0x7f0000000000 + at),
					                                     8, FM_ACCESS_STORE),
					                 expected);
					assert_int_equal(fm_hierarchy_access(hierarchy, second,
					                                     fm_space_address(1, 0x7f0000000000 + at),
					                                     8, FM_ACCESS_STORE),
					                 expected);
				}
			assert_int_equal(first->counts.transfers_modified + second->counts.transfers_modified, 0);
			assert_int_equal(first->counts.invalidations + second->counts.invalidations, 0);
			/* by one core or two */
			assert_int_equal(first->counts.tlb_misses[0] + (core ? second->counts.tlb_misses[0] : 0), 8);
			fm_hierarchy_destroy(hierarchy);
		}
}

/* Two spaces on one core: its translation buffer, 16 pages in sets of four, holds pages of both, tagged. */
static void pages_of_two_spaces(void **state)
{
	static const struct {
		uint64_t pages, misses;
	} cases[] = {{8, 8}, {16, 16 * 5}};
	enum { ROUNDS = 5 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_hierarchy *hierarchy = machine(SETS);
		struct fm_together_sweep sweeps[2];
		struct fm_together_stream streams[2];

		for (unsigned k = 0; k < 2; k++) {
			sweeps[k] = (struct fm_together_sweep){.lines = cases[i].pages, .line_bytes = PAGE};
			streams[k] = (struct fm_together_stream){
			    .next = fm_together_sweep_next, .context = &sweeps[k], .space = k, .core = 2};
		}
		go_on(hierarchy, streams, 2, FM_TOGETHER_IN_TURN, ROUNDS * cases[i].pages);
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(streams[k].counts.tlb_misses[0], cases[i].misses);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* Where there is room for both, each stream counts beside the other what it counts alone, prefetchers included: on a
   core of its own. */
static void room_for_both(void **state)
{
	struct fm_core_counts alone[2];
	struct fm_hierarchy *hierarchy;

	(void)state;
	for (unsigned what = 0; what < 3; what++) {
		struct fm_together_sweep sweep = {.begin = 0x200000, .lines = 20000, .line_bytes = LINE};
		struct fm_together_random set = {.begin = 0x200000, .lines = 20000, .line_bytes = LINE};
		struct fm_together_stream streams[2] = {
		    {.next = fm_together_sweep_next, .context = &sweep, .space = 0, .core = 0},
		    {.next = fm_together_random_next, .context = &set, .space = 1, .core = 1}};

		fm_random_seed(&set.random, 9);
		hierarchy = machine(LARGE);
		go_on(hierarchy, streams + what % 2, what < 2 ? 1 : 0, FM_TOGETHER_BY_TIME, 100000);
		if (what == 2)
			go_on(hierarchy, streams, 2, FM_TOGETHER_BY_TIME, 100000);
		for (unsigned k = 0; k < 2; k++)
			if (what == k)
				alone[k] = streams[k].counts;
			else if (what == 2)
				assert_memory_equal(&alone[k], &streams[k].counts, sizeof(alone[k]));
		fm_hierarchy_destroy(hierarchy);
	}
}

/* The first decides: it makes as many references as it may, the others go on until then. By time, with hits only, their
   references are as their gaps. */
static void the_first_decides(void **state)
{
	const struct fm_together_limits limits = {.most = 9000, .first_decides = true};
	struct fm_hierarchy *hierarchy = machine(SETS);
	struct fm_together_sweep sweeps[2] = {{.lines = 1, .line_bytes = LINE}, {.lines = 1, .line_bytes = LINE}};
	struct fm_together_stream streams[2] = {
	    {.next = fm_together_sweep_next, .context = &sweeps[0], .space = 0, .core = 0, .gap = 2},
	    {.next = fm_together_sweep_next, .context = &sweeps[1], .space = 1, .core = 1, .gap = 6}};
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_together_run(hierarchy, streams, 2, FM_TOGETHER_BY_TIME, &limits, &error), 0);
	assert_int_equal(streams[0].references, 9000);
	assert_int_equal(streams[1].references, 3000);
	streams[1].core = 4;
	assert_int_equal(fm_together_run(hierarchy, streams, 2, FM_TOGETHER_BY_TIME, &limits, &error), -EINVAL);
	streams[1].core = 1;
	streams[1].space = FM_SPACES;
	assert_int_equal(fm_together_run(hierarchy, streams, 2, FM_TOGETHER_BY_TIME, &limits, &error), -EINVAL);
	fm_hierarchy_destroy(hierarchy);
}

/* References from an array, stores among them; a stream that has ended does not hold up the others. */
static void arrays_end(void **state)
{
	static const struct fm_together_reference references[] = {
	    {0x1000, 8, FM_ACCESS_STORE}, {0x1008, 8, FM_ACCESS_LOAD}, {0x2000, 4, FM_ACCESS_LOAD}};
	struct fm_hierarchy *hierarchy = machine(SETS);
	struct fm_together_array arrays[2] = {{.references = references, .count = 3},
	                                      {.references = references, .count = 1}};
	struct fm_together_stream streams[2] = {
	    {.next = fm_together_array_next, .context = &arrays[0], .space = 2, .core = 3},
	    {.next = fm_together_array_next, .context = &arrays[1], .space = 3, .core = 3}};

	(void)state;
	go_on(hierarchy, streams, 2, FM_TOGETHER_IN_TURN, 0);
	assert_true(streams[0].ended && streams[1].ended);
	assert_int_equal(streams[0].counts.stores, 1);
	assert_int_equal(streams[0].counts.loads, 2);
	assert_int_equal(streams[0].counts.load_bytes, 12);
	assert_int_equal(streams[0].counts.memory_reads, 2);
	assert_int_equal(streams[1].counts.stores, 1);
	assert_int_equal(streams[1].counts.loads, 0);
	assert_int_equal(streams[1].counts.memory_reads, 1);
	fm_hierarchy_destroy(hierarchy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(spaces_are_bits),     cmocka_unit_test(sets_of_tagged_lines),
	    cmocka_unit_test(two_sweeps),          cmocka_unit_test(one_sweep_alone),
	    cmocka_unit_test(two_random_sets),     cmocka_unit_test(same_addresses),
	    cmocka_unit_test(pages_of_two_spaces), cmocka_unit_test(room_for_both),
	    cmocka_unit_test(the_first_decides),   cmocka_unit_test(arrays_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
