/* The stall experiments of Molka et al. (ICPE 2017), section 4.3, on the simulated Haswell-EP. Large pages, as there.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "simulator/core.h"

enum { LINE = 64, BASE = 0x1000000, MULTIPLICATIONS = 24, FLAGS = 40, COUNTER = 1, POINTER = 0, DATA = 20, VALUE = 21 };

static struct fm_machine_description description;

static int set_up(void **state)
{
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &description, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	description.page_bytes = 2 << 20;
	return 0;
}

#define REGISTER(index) (1ull << (index))
static const struct fm_instruction load_pointer = {
    .reads = REGISTER(POINTER), .writes = REGISTER(POINTER), .address_reads = REGISTER(POINTER)};
static const struct fm_instruction dependent = {
    .reads = REGISTER(POINTER) | REGISTER(2), .writes = REGISTER(POINTER), .operation = FM_OPERATION_multiply};
static const struct fm_instruction count_down = {
    .reads = REGISTER(COUNTER), .writes = REGISTER(COUNTER) | REGISTER(FLAGS), .operation = FM_OPERATION_simple};
static const struct fm_instruction branch = {.reads = REGISTER(FLAGS), .operation = FM_OPERATION_simple};
static const struct fm_instruction load_vector = {
    .reads = REGISTER(COUNTER), .writes = REGISTER(DATA), .address_reads = REGISTER(COUNTER)};
static const struct fm_instruction store_vector = {.reads = REGISTER(COUNTER) | REGISTER(VALUE),
                                                   .address_reads = REGISTER(COUNTER)};
static const struct fm_instruction advance = {
    .reads = REGISTER(COUNTER), .writes = REGISTER(COUNTER), .operation = FM_OPERATION_simple};

/* Per load, or per line. */
struct result {
	double cycles, no_execute, miss_pending_stall, fill_full, queue_full, store_full;
	double stalls[FM_STALL_COUNT], latency_stalls[FM_SERVED_COUNT], bandwidth_stalls[FM_SERVED_COUNT];
};

static struct result difference(const struct fm_timing_counts *before, const struct fm_timing_counts *after, double per)
{
	struct result result = {
	    .cycles = (double)(after->cycles - before->cycles) / per,
	    .no_execute = (double)(after->no_execute - before->no_execute) / per,
	    .miss_pending_stall = (double)(after->miss_pending_stall - before->miss_pending_stall) / per,
	    .fill_full = (double)(after->fill_buffers_full - before->fill_buffers_full) / per,
	    .queue_full = (double)(after->super_queue_full - before->super_queue_full) / per,
	    .store_full = (double)(after->store_buffer_full - before->store_buffer_full) / per,
	};

	for (int i = 0; i < FM_STALL_COUNT; i++)
		result.stalls[i] = (double)(after->stalls[i] - before->stalls[i]) / per;
	for (unsigned i = 0; i < FM_SERVED_COUNT; i++) {
		result.latency_stalls[i] = (double)(after->latency_stalls[i] - before->latency_stalls[i]) / per;
		result.bandwidth_stalls[i] = (double)(after->bandwidth_stalls[i] - before->bandwidth_stalls[i]) / per;
	}
	return result;
}

static struct result chase(size_t bytes, unsigned multiplications, bool in_chain, unsigned home)
{
	enum { STEPS = 4096 };
	size_t lines = bytes / LINE;
	uint32_t *next = malloc(lines * sizeof(*next)), *order = malloc(lines * sizeof(*order));
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_timing_counts before = {0};
	struct fm_random random;
	struct fm_error error;
	struct result result;
	uint64_t at = 0;

	fm_random_seed(&random, 1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines; i > 1; i--) {
		size_t j = fm_random_below(&random, i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < lines; i++)
		next[order[i]] = order[(i + 1) % lines];
	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	/* the neighbour of a random line is not wanted; prefetching it only blurs the levels */
	hierarchy->prefetch = false;
	/* touched first, and left, by a core of the socket the memory shall belong to */
	if (home) {
		struct fm_simulated_core *other = fm_hierarchy_core(hierarchy, home);

		for (size_t i = 0; i < lines; i += 16)
			fm_hierarchy_access(hierarchy, other, BASE + i * LINE, 8, FM_ACCESS_LOAD);
		fm_hierarchy_flush(hierarchy);
	}
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
	/* walk once to fill the caches (what is larger than all of them needs no filling), then count */
	for (size_t i = 0; i < (bytes > 64 << 20 ? 0 : lines); i++, at = next[at])
		fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0), BASE + at * LINE, 8, FM_ACCESS_LOAD);
	for (unsigned i = 0; i < 2 * STEPS; i++) {
		struct fm_memory_access access = {BASE + at * LINE, 8, FM_ACCESS_LOAD, 0};

		if (i == STEPS)
			before = *fm_core_timing_counts(timing);
		fm_core_execute(timing, &load_pointer, &access, 1);
		at = next[at];
		for (unsigned j = 0; j < multiplications; j++) {
			struct fm_instruction independent = {.reads = REGISTER(8 + j % 8),
			                                     .writes = REGISTER(8 + j % 8),
			                                     .operation = FM_OPERATION_multiply};

			fm_core_execute(timing, in_chain ? &dependent : &independent, NULL, 0);
		}
		if (multiplications || i % 16 == 15) {
			fm_core_execute(timing, &count_down, NULL, 0);
			fm_core_execute(timing, &branch, NULL, 0);
		}
	}
	/* not drained: the window holds as much unfinished work as it did at the first reading */
	result = difference(&before, fm_core_timing_counts(timing), STEPS);
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	free(next);
	free(order);
	return result;
}

static struct result stream(size_t bytes, bool store)
{
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_timing_counts before = {0};
	struct fm_error error;
	struct result result;
	size_t total = bytes < 1 << 20 ? 1 << 20 : bytes; /* small sets several times, to leave the beginning behind */

	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
	for (unsigned round = 0; round < 2; round++) {
		if (round)
			before = *fm_core_timing_counts(timing);
		for (size_t done = 0; done < total; done += 32) {
			size_t at = done % bytes;
			struct fm_memory_access access = {BASE + at, 32, store ? FM_ACCESS_STORE : FM_ACCESS_LOAD, 0};

			fm_core_execute(timing, store ? &store_vector : &load_vector, &access, 1);
			if (at % 256 == 224)
				fm_core_execute(timing, &advance, NULL, 0);
		}
	}
	result = difference(&before, fm_core_timing_counts(timing), (double)total / LINE);
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	return result;
}

static double gbs(const struct result *result)
{
	return LINE * description.frequency_ghz / result->cycles;
}

enum { IN_L1 = 16 << 10, IN_L2 = 128 << 10, IN_L3 = 4 << 20, IN_MEMORY = 128 << 20 };

/* Latencies in cycles: L1 4, L2 12, L3 53, local memory about 240, remote about 365. All of it is stall. */
static void plain_chase(void **state)
{
	static const struct {
		size_t bytes;
		unsigned home;
		double cycles;
	} cases[] = {{IN_L1, 0, 4}, {IN_L2, 0, 12}, {IN_L3, 0, 53}, {IN_MEMORY, 0, 240}, {IN_MEMORY, 12, 365}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result result = chase(cases[i].bytes, 0, false, cases[i].home);

		print_message(
		    "chase in %8zu KiB: %6.1f cycles, %6.1f without execution, %6.1f with a miss outstanding\n",
		    cases[i].bytes >> 10, result.cycles, result.no_execute, result.miss_pending_stall);
		assert_near(result.cycles, cases[i].cycles, 0.05 * cases[i].cycles);
		assert_near(result.no_execute, cases[i].cycles - 1, 0.06 * cases[i].cycles);
		/* the miss is known after the look-up in the first cache */
		if (i)
			assert_near(result.miss_pending_stall, result.cycles - 4, 0.05 * cases[i].cycles);
		else
			assert_near(result.miss_pending_stall, 0, 0.01);
		assert_near(result.fill_full, 0, 0.01);
		assert_near(result.queue_full, 0, 0.01);
	}
}

/* They fill the gaps: run time unchanged, cycles without execution 53 → 29 in L3. */
static void independent_multiplications(void **state)
{
	struct result plain = chase(IN_L3, 0, false, 0), with = chase(IN_L3, MULTIPLICATIONS, false, 0);

	(void)state;
	print_message("24 independent multiplications in L3: %.1f cycles, %.1f without execution (plain %.1f, %.1f)\n",
	              with.cycles, with.no_execute, plain.cycles, plain.no_execute);
	assert_near(with.cycles, plain.cycles, 0.5);
	assert_near(with.no_execute, 29, 1.5);
	assert_near(plain.no_execute - with.no_execute, 24, 1.5);
}

/* They lengthen the chain: two stall cycles each, which are not memory's. */
static void dependent_multiplications(void **state)
{
	static const size_t sizes[] = {IN_L2, IN_L3, IN_MEMORY};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct result plain = chase(sizes[i], 0, false, 0), with = chase(sizes[i], MULTIPLICATIONS, true, 0);

		assert_near(with.cycles - plain.cycles, 3 * MULTIPLICATIONS, 1);
		assert_near(with.no_execute - plain.no_execute, 2 * MULTIPLICATIONS, 3);
		assert_near(with.miss_pending_stall, plain.miss_pending_stall, 1);
		assert_near(with.stalls[FM_STALL_compute], 2 * MULTIPLICATIONS, 4);
	}
}

/* Buffers fill beyond the second cache, not in it; what they show stays below the stalls. */
static void streaming_loads(void **state)
{
	static const struct {
		size_t bytes;
		double gbs; /* table 2 of the paper */
		bool full;
	} cases[] = {{IN_L1, 159.8, false}, {IN_L2, 75.0, false}, {IN_L3, 29.9, true}, {64 << 20, 10.4, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result result = stream(cases[i].bytes, false);

		print_message(
		    "loads from %6zu KiB: %6.1f GB/s, stalls %5.2f, fill buffers full %5.2f, queue full %5.2f\n",
		    cases[i].bytes >> 10, gbs(&result), result.no_execute, result.fill_full, result.queue_full);
		assert_near(gbs(&result), cases[i].gbs, 0.12 * cases[i].gbs);
		if (cases[i].full) {
			assert_true(result.fill_full > 0.5);
			assert_true(result.queue_full > 0.5);
			/* the core asks for more than it gets: a request waits whenever nothing executes */
			assert_true(result.fill_full + result.queue_full >= 0.95 * result.no_execute);
			assert_true(result.fill_full <= result.cycles && result.queue_full <= result.cycles);
		} else {
			assert_near(result.fill_full, 0, 0.02);
			assert_near(result.queue_full, 0, 0.02);
		}
		assert_near(result.store_full, 0, 0.001);
	}
}

/* The store buffer is full whenever a stream of stores stalls. */
static void streaming_stores(void **state)
{
	static const struct {
		size_t bytes;
		double gbs;
	} cases[] = {{IN_L2, 25.5}, {IN_L3, 15.0}, {64 << 20, 7.7}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result result = stream(cases[i].bytes, true);

		print_message("stores to %7zu KiB: %6.1f GB/s, stalls %5.2f, store buffer full %5.2f\n",
		              cases[i].bytes >> 10, gbs(&result), result.no_execute, result.store_full);
		assert_near(gbs(&result), cases[i].gbs, 0.15 * cases[i].gbs);
		assert_true(result.store_full >= 0.95 * result.no_execute);
		assert_true(result.stalls[FM_STALL_stores] > 0.9 * result.no_execute);
	}
}

/* Every cycle without execution has exactly one cause. */
static void causes_add_up(void **state)
{
	struct result results[] = {chase(IN_L3, 0, false, 0), chase(IN_L3, MULTIPLICATIONS, true, 0),
	                           stream(IN_L3, false), stream(IN_L3, true)};

	(void)state;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		double sum = 0;

		for (int j = 0; j < FM_STALL_COUNT; j++)
			sum += results[i].stalls[j];
		for (unsigned j = 0; j < FM_SERVED_COUNT; j++)
			sum += results[i].latency_stalls[j] + results[i].bandwidth_stalls[j];
		assert_near(sum, results[i].no_execute, 1e-6);
	}
	assert_true(results[0].latency_stalls[2] > 0.95 * results[0].no_execute);
	assert_true(results[2].bandwidth_stalls[2] > 0.9 * results[2].no_execute);
}

/* So many cores read, over and over, until the first has read so many bytes: bytes per cycle of all of them. Whoever is
   furthest behind goes on, by the skew of the engine. */
static double read_together(unsigned cores, size_t bytes, size_t each, bool warm)
{
	enum { TURN = 1000 };
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timings[24];
	struct fm_error error;
	size_t done[24] = {0}, all = 0;
	unsigned behind = 0;
	double cycles;

	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	for (unsigned core = 0; core < cores; core++) {
		for (size_t at = 0; warm && at < bytes; at += LINE)
			fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, core),
			                    ((uint64_t)core << 32) + BASE + at, 8, FM_ACCESS_LOAD);
		assert_int_equal(fm_core_timing_create(hierarchy, core, &timings[core], &error), 0);
	}
	while (done[behind] < each) {
		for (unsigned core = 0; core < cores; core++)
			if (fm_core_now(timings[core]) < fm_core_now(timings[behind]))
				behind = core;
		for (uint64_t until = fm_core_now(timings[behind]) + TURN; fm_core_now(timings[behind]) < until;
		     done[behind] += 32) {
			struct fm_memory_access access = {((uint64_t)behind << 32) + BASE + done[behind] % bytes, 32,
			                                  FM_ACCESS_LOAD, 0};

			fm_core_execute(timings[behind], &load_vector, &access, 1);
		}
	}
	cycles = (double)fm_core_now(timings[behind]);
	for (unsigned core = 0; core < cores; core++) {
		all += done[core];
		fm_core_timing_destroy(timings[core]);
	}
	fm_hierarchy_destroy(hierarchy);
	return (double)all / cycles;
}

/* Cores of a socket share its memory: few get what one can draw, all together what the memory delivers; the cores of
   another socket have their own. */
static void memory_is_shared(void **state)
{
	static const struct {
		unsigned cores;
		double gbs; /* all together */
	} cases[] = {{1, 10.4}, {2, 20.8}, {4, 41.6}, {12, 63.1}, {24, 126.2}};
	enum { EACH = 4 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double rate = description.frequency_ghz * read_together(cases[i].cores, 2 * EACH, EACH, false);

		print_message("%2u cores read %5.1f GB/s\n", cases[i].cores, rate);
		assert_near(rate, cases[i].gbs, 0.12 * cases[i].gbs);
	}
}

/* Cores that share a cache share what it delivers: each gets a line every `interval` cycles, or all together one every
   `shared_interval`, whichever is slower; groups of cores have one each. */
static void the_last_cache_is_shared(void **state)
{
	static const struct {
		const char *interval;
		double own, all;
	} machines[] = {
	    {"interval=6", 6, 0}, {"interval=6 shared_interval=1.5", 6, 1.5}, {"interval=6 shared_interval=4", 6, 4}};
	enum { IN_LAST = 256 << 10, EACH = 1 << 20 };
	struct fm_machine_description before = description;

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		for (unsigned cores = 1; cores <= 16; cores *= 2) {
			char text[1024];
			struct fm_error error;
			double each, expected;

			snprintf(text, sizeof(text),
			         "machine sockets=2 cores=8 frequency=1GHz page=2MiB\n"
			         "cache L1 size=16KiB ways=8 latency=4\n"
			         "cache L2 size=64KiB ways=8 latency=10 interval=3\n"
			         "cache L3 size=16MiB ways=16 latency=30 shared=8 %s\n"
			         "memory latency=200 remote=300 gbs=16\n"
			         "core width=4 window=192 load_buffers=72 store_buffers=64 fill_buffers=64 "
			         "super_queue=64 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n",
			         machines[i].interval);
			if (fm_description_parse(text, "invented", &description, &error))
				fail_msg("%s", error.message);
			each = cores * LINE / read_together(cores, IN_LAST, EACH, true);
			expected = fmax(machines[i].own, (cores < 8 ? cores : 8) * machines[i].all);
			print_message("%s: %2u cores, %5.2f cycles per line and core (%.2f)\n", machines[i].interval,
			              cores, each, expected);
			assert_near(each, expected, 0.03 * expected);
		}
	description = before;
}

/* Machines of one to four caches, the last shared or not. A chase takes each level's latency, a stream of loads its
   interval, a stream of stores its interval and the one for writing back; and the level is what the stalls are for. */
static void every_number_of_caches(void **state)
{
	static const char *const caches[] = {
	    "cache L1 size=16KiB ways=8 latency=4",
	    "cache L2 size=128KiB ways=8 latency=10 interval=3 write=2",
	    "cache L3 size=1MiB ways=16 latency=30 interval=7 write=4",
	    "cache L4 size=8MiB ways=16 latency=80 interval=13 write=6",
	};
	static const struct {
		size_t bytes;
		double latency, interval, write;
	} levels[] = {
	    {8 << 10, 4, 0, 0}, {64 << 10, 10, 3, 2}, {512 << 10, 30, 7, 4}, {4 << 20, 80, 13, 6}, {0, 200, 40, 40},
	};
	/* by the number of caches: at least twice what the last of them holds */
	static const size_t in_memory[] = {0, 512 << 10, 1 << 20, 4 << 20, 16 << 20};
	struct fm_machine_description before = description;
	struct fm_error error;

	(void)state;
	for (unsigned machine = 2; machine < 9; machine++) {
		unsigned count = machine / 2;
		bool shared = machine % 2;
		char text[1024];
		size_t used = (size_t)snprintf(
		    text, sizeof(text),
		    "machine sockets=1 cores=2 frequency=1GHz page=2MiB\n"
		    "memory latency=200 gbs=16 core_gbs=1.6\n"
		    "core width=4 window=192 load_buffers=72 store_buffers=64 fill_buffers=32 super_queue=64 "
		    "load_ports=2 store_ports=1 multiply_ports=1 ports=8\n");

		/* a machine's only cache is private */
		if (machine == 3)
			continue;
		for (unsigned i = 0; i < count; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s\n", caches[i],
			                         shared && i == count - 1 ? " shared=2" : "");
		if (fm_description_parse(text, "invented", &description, &error))
			fail_msg("%s", error.message);
		for (unsigned level = 0; level <= count; level++) {
			bool memory = level == count;
			unsigned at = memory ? 4 : level, served = memory ? FM_SERVED_MEMORY : level;
			size_t bytes = memory ? in_memory[count] : levels[at].bytes;
			struct result result = chase(bytes, 0, false, 0);

			print_message("%u caches, level %u: chase %.2f cycles", count, level + 1, result.cycles);
			assert_near(result.cycles, levels[at].latency, 0.005 * levels[at].latency);
			assert_near(result.latency_stalls[served], result.no_execute, 0.002 * result.no_execute);
			if (!level) {
				print_message("\n");
				continue;
			}
			result = stream(bytes, false);
			print_message(", loads %.2f", result.cycles);
			assert_near(result.cycles, levels[at].interval, 0.02 * levels[at].interval);
			assert_true(result.bandwidth_stalls[served] > 0.98 * result.no_execute);
			result = stream(bytes, true);
			print_message(", stores %.2f\n", result.cycles);
			assert_near(result.cycles, levels[at].interval + levels[at].write,
			            0.02 * (levels[at].interval + levels[at].write));
		}
	}
	description = before;
}

/* One array in the last cache is copied to another, that many bytes away; both are fetched ahead. */
static struct result copied(size_t apart)
{
	enum { EACH = 1 << 20 };
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_timing_counts before = {0};
	struct fm_error error;
	struct result result;

	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
	for (unsigned round = 0; round < 2; round++) {
		before = *fm_core_timing_counts(timing);
		for (size_t at = 0; at < EACH; at += 32)
			for (unsigned i = 0; i < 2; i++) {
				struct fm_memory_access access = {BASE + i * apart + at, 32,
				                                  i ? FM_ACCESS_STORE : FM_ACCESS_LOAD, 0};

				fm_core_execute(timing, i ? &store_vector : &load_vector, &access, 1);
			}
	}
	result = difference(&before, fm_core_timing_counts(timing), 2.0 * EACH / LINE);
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	return result;
}

/* What streams wait for does not depend on where their arrays lie. */
static void streams_a_power_of_two_apart(void **state)
{
	struct fm_machine_description before = description;
	struct fm_error error;

	(void)state;
	if (fm_description_parse(
	        "machine sockets=1 cores=1 frequency=1GHz page=2MiB\n"
	        "cache L1 size=16KiB ways=8 latency=4\n"
	        "cache L2 size=256KiB ways=8 latency=14 interval=1.5 streams=32 distance=24 crosses=yes\n"
	        "cache L3 size=16MiB ways=16 latency=100 interval=7 write=1\n"
	        "memory latency=400 gbs=16\n"
	        "core width=6 window=512 load_buffers=192 store_buffers=64 fill_buffers=16 super_queue=48 "
	        "load_ports=3 store_ports=2 multiply_ports=1 ports=8\n",
	        "invented", &description, &error))
		fail_msg("%s", error.message);
	for (unsigned i = 0; i < 2; i++) {
		struct result result = copied(i ? 4 << 20 : (4 << 20) + 20 * 1024);

		print_message("%s: %.2f cycles, L3 %.2f, L2 %.2f of %.2f\n", i ? "4 MiB" : "4 MiB and 5 pages",
		              result.cycles, result.bandwidth_stalls[2], result.bandwidth_stalls[1], result.no_execute);
		assert_near(result.cycles, 7.5, 0.2);
		assert_true(result.bandwidth_stalls[2] > 0.95 * result.no_execute);
	}
	description = before;
}

/* One core with one or two of its hardware threads at work: cycles per line, or per instruction, of each. */
static double per_thread(unsigned threads, size_t bytes, const struct fm_instruction *instruction)
{
	enum { STEPS = 20000, TURN = 200 };
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timings[2];
	struct fm_error error;
	unsigned done[2] = {0};
	uint64_t last = 0;

	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	hierarchy->prefetch = false;
	for (unsigned i = 0; i < threads; i++) {
		unsigned cpu = i * hierarchy->physical_count;

		for (size_t at = 0; at < bytes; at += LINE)
			fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, cpu), BASE + i * bytes + at, 8,
			                    FM_ACCESS_LOAD);
		assert_int_equal(fm_core_timing_create(hierarchy, cpu, &timings[i], &error), 0);
	}
	for (unsigned turn = 0; turn * TURN < threads * STEPS; turn++) {
		unsigned who = turn % threads;

		/* whoever is behind goes on */
		if (threads == 2 && done[0] < STEPS && done[1] < STEPS)
			who = fm_core_now(timings[1]) < fm_core_now(timings[0]);
		else if (threads == 2)
			who = done[0] >= STEPS;
		for (unsigned i = 0; i < TURN; i++, done[who]++) {
			struct fm_memory_access access = {BASE + who * bytes + (uint64_t)done[who] * LINE % bytes, 8,
			                                  FM_ACCESS_LOAD, 0};

			fm_core_execute(timings[who], instruction, &access, instruction->address_reads != 0);
		}
	}
	for (unsigned i = 0; i < threads; i++) {
		last = fm_core_now(timings[i]) > last ? fm_core_now(timings[i]) : last;
		fm_core_timing_destroy(timings[i]);
	}
	fm_hierarchy_destroy(hierarchy);
	return (double)last / STEPS;
}

/* Hardware threads of a core wait beside each other, and share what it can do per cycle and the ways to the levels. */
static void threads_share_a_core(void **state)
{
	static const struct fm_instruction anything = {.operation = FM_OPERATION_simple},
	                                   multiplication = {.operation = FM_OPERATION_multiply},
	                                   load = {.writes = REGISTER(DATA), .address_reads = REGISTER(COUNTER)};
	static const struct {
		const char *what;
		const struct fm_instruction *instruction;
		size_t bytes;
		double alone, together;
	} cases[] = {
	    {"chases in L1", &load_pointer, 8 << 10, 4, 4}, {"chases in L2", &load_pointer, 64 << 10, 10, 10},
	    {"anything", &anything, LINE, 0.25, 0.5},       {"multiplications", &multiplication, LINE, 1, 2},
	    {"streams in L2", &load, 64 << 10, 3, 6},
	};
	struct fm_machine_description before = description;
	struct fm_error error;

	(void)state;
	if (fm_description_parse("machine sockets=1 cores=2 threads=2 frequency=1GHz page=2MiB\n"
	                         "cache L1 size=16KiB ways=8 latency=4\n"
	                         "cache L2 size=256KiB ways=8 latency=10 interval=3\n"
	                         "memory latency=200 gbs=16\n"
	                         "core width=4 window=192 load_buffers=72 store_buffers=64 fill_buffers=32 "
	                         "super_queue=64 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n",
	                         "invented", &description, &error))
		fail_msg("%s", error.message);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double alone = per_thread(1, cases[i].bytes, cases[i].instruction),
		       together = per_thread(2, cases[i].bytes, cases[i].instruction);

		print_message("%s: %.2f cycles alone, %.2f with a second thread\n", cases[i].what, alone, together);
		assert_near(alone, cases[i].alone, 0.02 * cases[i].alone);
		/* requests of two threads get in each other's way now and then */
		assert_near(together, cases[i].together, 0.1 * cases[i].together);
	}
	description = before;
}

/* Loads of a page each, which no translation buffer knows: as many walks at a time as there are walkers. */
static void walkers_are_few(void **state)
{
	static const struct fm_instruction load = {.writes = REGISTER(DATA), .address_reads = REGISTER(COUNTER)};
	enum { PAGES = 4096, WALK = 40 };
	struct fm_machine_description before = description;

	(void)state;
	description.page_bytes = 4096;
	description.tlbs[1].penalty = WALK;
	for (unsigned walkers = 1; walkers <= 4; walkers *= 2) {
		struct fm_hierarchy *hierarchy;
		struct fm_core_timing *timing;
		struct fm_error error;
		double cycles;

		description.core.walkers = walkers;
		assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
		hierarchy->prefetch = false;
		assert_int_equal(fm_core_timing_create(hierarchy, 0, &timing, &error), 0);
		/* one line per page and set, so that all stay in the last cache */
		for (unsigned i = 0; i < 2 * PAGES; i++) {
			struct fm_memory_access access = {BASE + i % PAGES * (4096ull + LINE), 8, FM_ACCESS_LOAD, 0};

			fm_core_execute(timing, &load, &access, 1);
			if (i == PAGES)
				cycles = (double)fm_core_now(timing);
		}
		cycles = ((double)fm_core_now(timing) - cycles) / PAGES;
		print_message("%u walkers: %.1f cycles per page\n", walkers, cycles);
		assert_near(cycles, fmax(WALK / walkers, 5.4), 0.5);
		fm_core_timing_destroy(timing);
		fm_hierarchy_destroy(hierarchy);
	}
	description = before;
}

static void words_by_level(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(fm_stall_level_words(&description, false, 2, text, sizeof(text)), "latency of L3");
	assert_string_equal(fm_stall_level_words(&description, true, FM_SERVED_MEMORY, text, sizeof(text)),
	                    "bandwidth of memory");
	assert_string_equal(fm_stall_level_words(&description, false, FM_SERVED_REMOTE, text, sizeof(text)),
	                    "latency of another socket's memory");
	assert_string_equal(fm_stall_level_words(&description, false, FM_SERVED_CORE, text, sizeof(text)),
	                    "a line from another core");
	assert_string_equal(fm_stall_level_name(&description, false, 1, text, sizeof(text)), "latency_L2");
	assert_string_equal(fm_stall_level_name(&description, true, FM_SERVED_MEMORY, text, sizeof(text)),
	                    "bandwidth_memory");
	assert_string_equal(fm_stall_level_name(&description, false, FM_SERVED_REMOTE, text, sizeof(text)),
	                    "latency_remote");
	assert_string_equal(fm_stall_level_name(&description, false, FM_SERVED_CORE, text, sizeof(text)),
	                    "latency_core");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_chase),
	    cmocka_unit_test(independent_multiplications),
	    cmocka_unit_test(dependent_multiplications),
	    cmocka_unit_test(streaming_loads),
	    cmocka_unit_test(streaming_stores),
	    cmocka_unit_test(causes_add_up),
	    cmocka_unit_test(memory_is_shared),
	    cmocka_unit_test(the_last_cache_is_shared),
	    cmocka_unit_test(every_number_of_caches),
	    cmocka_unit_test(streams_a_power_of_two_apart),
	    cmocka_unit_test(threads_share_a_core),
	    cmocka_unit_test(walkers_are_few),
	    cmocka_unit_test(words_by_level),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
