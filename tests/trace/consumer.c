/* The consumer of native traces, on traces written by hand: the same counts as the simulator has that is fed
   directly. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "simulator/core.h"
#include "engine/account/account.h"
#include "engine/account/room.h"
#include "engine/trace/consumer.h"
#include "engine/trace/followed.h"
#include "engine/trace/large.h"
#include "engine/trace/line_curves.h"
#include "engine/trace/state.h"
#include "engine/results.h"
#include "reuse/lines.h"
#include "translate/translate.h"

#define CORE                                                                                                    \
	"core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 " \
	"store_ports=1 multiply_ports=1 ports=8\n"
#define TLB "tlb entries=16 ways=4 penalty=7\n"
#define MEMORY "memory latency=200 gbs=50\n" CORE
#define FIRST "cache L1 size=8KiB ways=8 latency=4\n"
#define SECOND "cache L2 size=64KiB ways=8 latency=12 streams=8 distance=4\n"
enum { SITES = 40, LINE = 64, REFERENCES = 20000 };

static struct fm_machine_description description;
static struct fm_trace_file *trace;
static struct fm_trace_large *large; /* NULL: none */
static struct fm_trace_session *session;
static struct fm_results *results;
static char path[64];
static const char *region;
static bool curve;

static void describe_all(const char *caches, const char *tlb)
{
	char text[1024];
	struct fm_error error;

	snprintf(text, sizeof(text), "machine sockets=1 cores=4 frequency=2GHz\n%s\n%s" MEMORY, caches, tlb);
	if (fm_description_parse(text, "test", &description, &error))
		fail_msg("%s", error.message);
}

static void describe(const char *third)
{
	char caches[512];

	snprintf(caches, sizeof(caches), FIRST SECOND "%s", third);
	describe_all(caches, TLB);
}

static int begin(void **state)
{
	int file;

	(void)state;
	describe("cache L3 size=512KiB ways=16 latency=40 shared=4 inclusion=inclusive");
	trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(trace != MAP_FAILED && session != MAP_FAILED);
	trace->head.magic = session->magic = FM_TRACE_MAGIC;
	trace->head.version = session->version = FM_TRACE_VERSION;
	trace->head.process = 1234;
	session->log_pieces = 1;
	snprintf(path, sizeof(path), "/tmp/fathom-consumer-XXXXXX");
	file = mkstemp(path);
	assert_true(file >= 0 && !ftruncate(file, sizeof(struct fm_results)));
	close(file);
	return 0;
}

static int end(void **state)
{
	(void)state;
	munmap(trace, sizeof(*trace));
	munmap(session, sizeof(*session));
	if (large)
		munmap(large, sizeof(*large));
	large = NULL;
	if (results)
		munmap(results, sizeof(*results));
	results = NULL;
	region = NULL;
	unlink(path);
	return 0;
}

static void make_large(void)
{
	large = mmap(NULL, sizeof(*large), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(large != MAP_FAILED);
}

/* Loads, stores, both at once; of several sizes. */
static void make_sites(void)
{
	for (unsigned i = 0; i < SITES; i++)
		trace->sites[i] = (struct fm_trace_site){.pc = 0x400000 + 4 * i,
		                                         .size = (uint16_t)(1u << i % 6),
		                                         .kind = i % 5 == 4 ? FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE
		                                                 : i % 3    ? FM_TRANSLATE_LOAD
		                                                            : FM_TRANSLATE_STORE,
		                                         .ready = 1};
	trace->head.site_count = SITES;
}

static void put(unsigned thread, uint64_t what, uint64_t address)
{
	uint64_t *written = &trace->threads[thread].written;

	assert_true(*written < FM_TRACE_RING);
	trace->rings[thread][(*written)++] = (struct fm_trace_entry){.address = address, .what = what};
}

static void control(unsigned thread, enum fm_trace_control what, uint64_t value)
{
	put(thread, FM_TRACE_CONTROL | what, value);
}

/* In a process of its own, as always. Returns its status. */
static int consume(const char *cores)
{
	const struct fm_engine_options options = {
	    .machine = &description, .cores = cores, .region = region, .curve = curve};
	const struct fm_consumer_task task = {.options = &options,
	                                      .session = session,
	                                      .trace = trace,
	                                      .large = large,
	                                      .results = path,
	                                      .first = true,
	                                      .unknown_process = true};
	pid_t child = fork();
	int status, file;

	if (!child) {
		struct fm_error error;

		alarm(60);
		_exit(fm_consumer_run(&task, &error) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	file = open(path, O_RDONLY);
	results = mmap(NULL, sizeof(*results), PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	assert_true(results != MAP_FAILED);
	return status;
}

static uint64_t some_address(struct fm_random *random)
{
	/* near, far, on both sides of a line */
	uint64_t number = fm_random_next(random);

	return 0x10000000 + (number % 4 ? number >> 8 & 0xfff : number >> 8 & 0xfffff);
}

static void access_directly(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                            const struct fm_trace_site *site, uint64_t address)
{
	if (site->kind & FM_TRANSLATE_LOAD)
		fm_hierarchy_access(hierarchy, core, address, site->size, FM_ACCESS_LOAD);
	if (site->kind & FM_TRANSLATE_STORE)
		fm_hierarchy_access(hierarchy, core, address, site->size, FM_ACCESS_STORE);
}

static struct fm_hierarchy *make_hierarchy(void)
{
	struct fm_hierarchy *hierarchy;
	struct fm_error error;

	if (fm_hierarchy_create(&description, &hierarchy, &error))
		fail_msg("%s", error.message);
	return hierarchy;
}

static void counts_as_if_fed_directly(void **state)
{
	struct fm_hierarchy *hierarchy = make_hierarchy();
	struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
	struct fm_random random;
	uint64_t loads = 0, stores = 0, missed = 0;

	(void)state;
	fm_random_seed(&random, 1);
	make_sites();
	control(0, FM_TRACE_THREAD_BEGIN, 77);
	for (unsigned i = 0; i < REFERENCES; i++) {
		uint64_t address = some_address(&random);
		unsigned site = (unsigned)(fm_random_next(&random) % SITES);

		put(0, site, address);
		access_directly(hierarchy, core, &trace->sites[site], address);
	}
	control(0, FM_TRACE_THREAD_END, 0);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->magic, FM_RESULT_MAGIC);
	assert_int_equal(results->native, FM_TRACE_EXACT + 1);
	assert_int_equal(results->thread_count, 1);
	assert_int_equal(results->threads[0].host_thread, 77);
	assert_memory_equal(&results->cores[0].counts, &core->counts, sizeof(core->counts));
	assert_memory_equal(&results->threads[0].at_end, &core->counts, sizeof(core->counts));
	assert_int_equal(results->site_count, SITES);
	for (unsigned i = 0; i < SITES; i++) {
		for (unsigned k = 0; k < 2; k++) {
			loads += results->sites[i].slots[k].loads;
			stores += results->sites[i].slots[k].stores;
		}
		loads += results->places[i].loads;
		stores += results->places[i].stores;
		missed += results->places[i].misses[0];
		assert_in_range(results->places[i].address, 0x400000, 0x400000 + 4 * SITES);
	}
	assert_int_equal(loads, core->counts.loads);
	assert_int_equal(stores, core->counts.stores);
	assert_in_range(missed, 1, core->counts.caches[0].load_misses + core->counts.caches[0].store_misses);
	fm_hierarchy_destroy(hierarchy);
}

#define VICTIM "cache L3 size=512KiB ways=16 latency=40 shared=4 inclusion=victim"
#define NEITHER "cache L3 size=512KiB ways=16 latency=40 shared=4"

/* One for each way in which the loop over references is compiled. */
static const struct {
	const char *caches, *tlb;
	unsigned page;
} shapes[] = {
    {FIRST SECOND VICTIM, TLB, 4096},
    {FIRST SECOND NEITHER, "tlb entries=16 ways=16 penalty=7\n", 4096},
    {FIRST SECOND VICTIM, "tlb entries=16 ways=16 penalty=7\ntlb entries=64 ways=4 penalty=30\n", 4096},
    {"cache L1 size=12KiB ways=12 latency=5\ncache L2 size=80KiB ways=20 latency=12 adjacent=yes streams=8\n" VICTIM,
     TLB, 4096},
    {"cache L1 size=12KiB ways=12 latency=5 next=yes\n" SECOND NEITHER, "tlb entries=10 ways=10 penalty=7\n", 4096},
    {"cache L1 size=6KiB ways=6 latency=5\n" SECOND VICTIM, "tlb entries=24 ways=6 penalty=7\n", 4096},
    {FIRST SECOND NEITHER, TLB, 65536},
    {"cache L1 size=4KiB ways=16 latency=5\n" SECOND NEITHER, "tlb entries=16 ways=16 penalty=7\n", 65536},
    {"cache L1 size=6KiB ways=8 latency=5\n" SECOND VICTIM, TLB, 4096}, /* 12 sets */
    {FIRST SECOND "cache L3 size=512KiB ways=16 latency=40 shared=4 replacement=random", TLB, 4096},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Every reference of two cores, in every shape, as if it had been fed to the general path. */
static void all_shapes_count_alike(void **state)
{
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		struct fm_hierarchy *hierarchy;
		struct fm_random random;

		end(state);
		begin(state);
		describe_all(shapes[shape].caches, shapes[shape].tlb);
		description.page_bytes = shapes[shape].page;
		hierarchy = make_hierarchy();
		hierarchy->access_slowly = fm_hierarchy_access_any;
		fm_random_seed(&random, shape + 1);
		make_sites();
		for (unsigned thread = 0; thread < 2; thread++) {
			control(thread, FM_TRACE_THREAD_BEGIN, 77 + thread);
			/* or what follows would have begun with it */
			control(thread, FM_TRACE_ENDED, 1);
			fm_hierarchy_core(hierarchy, thread);
		}
		for (unsigned stretch = 0; stretch < 20; stretch++) {
			unsigned thread = stretch % 2;

			control(thread, FM_TRACE_BEGAN, 1000 * (stretch + 1));
			for (unsigned i = 0; i < REFERENCES / 20; i++) {
				uint64_t address = some_address(&random) + (i % 7 ? 0x8000000 * thread : 0);
				unsigned site = (unsigned)(fm_random_next(&random) % SITES);

				put(thread, site, address);
				access_directly(hierarchy, fm_hierarchy_core(hierarchy, thread), &trace->sites[site],
				                address);
			}
			control(thread, FM_TRACE_ENDED, 1000 * (stretch + 1) + 900);
		}
		for (unsigned thread = 0; thread < 2; thread++)
			control(thread, FM_TRACE_THREAD_END, 0);
		assert_int_equal(consume("0-1"), 0);
		for (unsigned core = 0; core < 2; core++) {
			const struct fm_core_counts *counts = &fm_hierarchy_core(hierarchy, core)->counts;

			if (memcmp(&results->cores[core].counts, counts, sizeof(*counts)))
				fail_msg("shape %u, core %u", shape, core);
			assert_true(counts->transfers_modified && counts->tlb_misses[0]);
		}
		fm_hierarchy_destroy(hierarchy);
	}
}

/* More than a ring, written while it is read. The first entries are in the small one, even if there is a large one. */
static void go_round(uint64_t size, uint64_t large_from, unsigned rounds)
{
	const uint64_t count = rounds * size;
	const struct fm_engine_options options = {.machine = &description, .cores = "0"};
	const struct fm_consumer_task task = {.options = &options,
	                                      .session = session,
	                                      .trace = trace,
	                                      .large = large,
	                                      .results = path,
	                                      .first = true,
	                                      .unknown_process = true};
	struct fm_trace_thread *line = &trace->threads[0];
	pid_t child;
	int status;

	make_sites();
	line->large = size == FM_TRACE_LARGE ? 2 : 0;
	line->large_from = large_from;
	child = fork();
	if (!child) {
		const struct fm_results *counted;
		struct fm_consumer *consumer;
		struct fm_error error;

		alarm(60);
		if (fm_consumer_create(&task, &consumer, &error))
			_exit(1);
		for (uint64_t i = 0; i < count;) {
			for (; i < count && line->written - line->read < size; i++) {
				struct fm_trace_entry entry = {.address = 0x1000 + 64 * (i % 16), .what = 1};

				if (i < large_from)
					trace->rings[0][i % FM_TRACE_RING] = entry;
				else
					large->rings[1][i % FM_TRACE_LARGE] = entry;
				line->written++;
			}
			fm_consumer_read(consumer, size / 6);
		}
		fm_consumer_finish(consumer);
		counted = fm_consumer_results(consumer);
		_exit(counted->cores[0].counts.loads != count || counted->native_error);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_ring_goes_round(void **state)
{
	(void)state;
	go_round(FM_TRACE_RING, UINT64_MAX, 5);
}

static void a_large_ring_goes_round(void **state)
{
	(void)state;
	make_large();
	go_round(FM_TRACE_LARGE, 1000, 3);
	assert_true(trace->head.read_ns > 0 && trace->head.read_wall_ns > 0);
}

static void two_threads_of_which_one_has_a_large_ring(void **state)
{
	enum { COUNT = 5000, SMALL = 3000 };

	(void)state;
	make_large();
	make_sites();
	for (unsigned thread = 0; thread < 2; thread++)
		for (unsigned i = 0; i < COUNT; i++)
			put(thread, 1, 0x1000 + 64 * (i % 16));
	trace->threads[1].large = FM_TRACE_LARGE_RINGS;
	trace->threads[1].large_from = SMALL;
	for (unsigned i = SMALL; i < COUNT; i++) {
		large->rings[FM_TRACE_LARGE_RINGS - 1][i] = trace->rings[1][i];
		trace->rings[1][i].what = FM_TRACE_CONTROL | FM_TRACE_THREAD_END;
	}
	assert_int_equal(consume("0-1"), 0);
	assert_int_equal(results->native_error, 0);
	assert_int_equal(results->cores[0].counts.loads, COUNT);
	assert_int_equal(results->cores[1].counts.loads, COUNT);
}

/* Numbers of rings that there are not, and more in a ring than it holds. */
static void no_such_ring(void **state)
{
	static const struct {
		bool is_mapped;
		uint32_t number;
		uint64_t written;
	} wrong[] = {
	    {false, 1, 10},
	    {true, FM_TRACE_LARGE_RINGS + 1, 10},
	    {true, UINT32_MAX, FM_TRACE_LARGE},
	    {true, 1, FM_TRACE_LARGE + 1},
	    {true, 0, FM_TRACE_RING + 1},
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		end(state);
		begin(state);
		make_sites();
		if (wrong[i].is_mapped)
			make_large();
		trace->threads[0].large = wrong[i].number;
		trace->threads[0].written = wrong[i].written;
		assert_int_equal(consume("0"), 0);
		assert_int_equal(results->native_error, EBADMSG);
		assert_true(results->lost_accesses > 0);
		assert_int_equal(results->cores[0].counts.loads + results->cores[0].counts.stores, 0);
		assert_int_equal(trace->threads[0].read, wrong[i].written);
	}
}

static void short_files_have_no_large_rings(void **state)
{
	const off_t whole = sizeof(struct fm_trace_file) + sizeof(struct fm_trace_large);
	const struct fm_trace_large *mapped;

	(void)state;
	assert_null(fm_large_map("/nonexistent"));
	assert_int_equal(truncate(path, whole - 1), 0);
	assert_null(fm_large_map(path));
	assert_int_equal(truncate(path, whole), 0);
	mapped = fm_large_map(path);
	assert_non_null(mapped);
	assert_int_equal(mapped->rings[FM_TRACE_LARGE_RINGS - 1][FM_TRACE_LARGE - 1].what, 0);
	munmap((void *)mapped, sizeof(*mapped));
}

/* Two threads write to the same line in turn: it moves with each turn. */
static void threads_are_merged_by_time(void **state)
{
	enum { TURNS = 50 };

	(void)state;
	trace->sites[0] = (struct fm_trace_site){.pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_STORE, .ready = 1};
	for (unsigned thread = 0; thread < 2; thread++) {
		control(thread, FM_TRACE_THREAD_BEGIN, 100 + thread);
		for (uint64_t i = 0; i < TURNS; i++) {
			control(thread, FM_TRACE_BEGAN, 1000 * (2 * i + thread));
			for (unsigned k = 0; k < 10; k++)
				put(thread, 0, 0x10000 + 8 * thread);
			control(thread, FM_TRACE_ENDED, 1000 * (2 * i + thread) + 900);
		}
		control(thread, FM_TRACE_THREAD_END, 0);
	}
	assert_int_equal(consume("0-3"), 0);
	assert_int_equal(results->thread_count, 2);
	assert_int_equal(results->threads[0].core, 0);
	assert_int_equal(results->threads[1].core, 1);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(results->cores[i].counts.stores, 10 * TURNS);
	assert_int_equal(results->cores[0].counts.transfers_modified + results->cores[1].counts.transfers_modified,
	                 2 * TURNS - 1);
	assert_int_equal(results->line_count, 1);
	assert_int_equal(results->lines[0].line, 0x10000);
}

/* Interpolated within the stretches: two threads at the same time, some entries each in turn. */
static void threads_are_merged_within_a_stretch(void **state)
{
	enum { STORES = 1000 };
	uint64_t moved;

	(void)state;
	trace->sites[0] = (struct fm_trace_site){.pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_STORE, .ready = 1};
	for (unsigned thread = 0; thread < 2; thread++) {
		control(thread, FM_TRACE_THREAD_BEGIN, 100 + thread);
		control(thread, FM_TRACE_BEGAN, 1000000 + thread);
		for (uint64_t i = 0; i < STORES; i++)
			put(thread, 0, 0x10000 + 8 * thread);
		control(thread, FM_TRACE_ENDED, 2000000 + thread);
		control(thread, FM_TRACE_THREAD_END, 0);
	}
	assert_int_equal(consume("0-3"), 0);
	moved = results->cores[0].counts.transfers_modified + results->cores[1].counts.transfers_modified;
	assert_in_range(moved, 2 * STORES / 32, 2 * STORES / 8);
}

/* On one core each still has its own counts. */
static void threads_that_share_a_core(void **state)
{
	(void)state;
	make_sites();
	for (unsigned thread = 0; thread < 2; thread++) {
		control(thread, FM_TRACE_THREAD_BEGIN, 100 + thread);
		for (uint64_t i = 0; i < 20; i++) {
			control(thread, FM_TRACE_BEGAN, 1000 * i + 100 * thread);
			for (unsigned k = 0; k < 10 + 10 * thread; k++)
				put(thread, 1, 0x10000 + 64 * k);
			control(thread, FM_TRACE_ENDED, 1000 * i + 100 * thread + 50);
		}
	}
	assert_int_equal(consume("2"), 0);
	assert_int_equal(results->cores[2].counts.loads, 600);
	for (unsigned i = 0; i < 2; i++) {
		const struct fm_result_thread *thread = &results->threads[i];

		assert_int_equal(thread->before_moves.loads + thread->at_end.loads - thread->at_begin.loads,
		                 200 + 200 * i);
	}
}

static void regions_have_their_own(void **state)
{
	const struct fm_result_region *outer, *inner;

	(void)state;
	make_sites();
	snprintf(trace->head.names[0], FM_TRACE_NAME, "outer");
	snprintf(trace->head.names[1], FM_TRACE_NAME, "inner");
	trace->head.name_count = 2;
	trace->pieces[3] = (struct fm_trace_piece){.pc = 0x400000, .bytes = 20, .instructions = 5, .ready = 1};
	trace->head.piece_count = 4;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	put(0, FM_TRACE_PIECE | 3, 0);
	put(0, 1, 0x1000);
	control(0, FM_TRACE_REGION_BEGIN, 0);
	for (unsigned i = 0; i < 3; i++) {
		put(0, FM_TRACE_PIECE | 3, 0);
		put(0, 1, 0x1000);
		control(0, FM_TRACE_REGION_BEGIN, 1);
		put(0, FM_TRACE_PIECE | 3, 0);
		put(0, 3, 0x1000);
		control(0, FM_TRACE_REGION_END, 1);
	}
	control(0, FM_TRACE_REGION_END, 0);
	put(0, 3, 0x1000);
	control(0, FM_TRACE_THREAD_END, 0);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->region_count, 2);
	outer = &results->regions[0];
	inner = &results->regions[1];
	assert_string_equal(outer->name, "outer");
	assert_string_equal(inner->name, "inner");
	assert_int_equal(outer->instances, 1);
	assert_int_equal(inner->instances, 3);
	assert_int_equal(inner->counted, 3);
	assert_int_equal(outer->counts.loads, 3);
	assert_int_equal(outer->counts.stores, 3);
	assert_int_equal(inner->counts.loads, 0);
	assert_int_equal(inner->counts.stores, 3);
	assert_int_equal(outer->work.instructions, 30);
	assert_int_equal(inner->work.instructions, 15);
	assert_int_equal(results->threads[0].work.instructions, 35);
}

static void repeated_instructions_move_lines(void **state)
{
	(void)state;
	trace->sites[0] = (struct fm_trace_site){
	    .pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED, .ready = 1};
	trace->sites[1] = (struct fm_trace_site){.pc = 0x400010, .size = 8, .kind = FM_TRANSLATE_LOAD, .ready = 1};
	trace->sites[2] = (struct fm_trace_site){.pc = 0x400020, .size = 512, .kind = FM_TRANSLATE_STORE, .ready = 1};
	description.string_allocates = 0;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	put(0, 0, 0x10020);
	put(0, 0, 36); /* half a line, four lines */
	put(0, 1, 0x20000);
	put(0, 0, 0x30000);
	put(0, 0, 0); /* none */
	put(0, 2, 0x40000);
	control(0, FM_TRACE_THREAD_END, 0);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->cores[0].counts.stores, 5 + 8);
	assert_int_equal(results->cores[0].counts.store_bytes, 288 + 512);
	assert_int_equal(results->cores[0].counts.loads, 1);
	assert_int_equal(results->cores[0].counts.whole_lines, 4);
}

/* One string instruction over 64 MiB in a window, then a loop over its last lines: the same counts as when every line
   is simulated, as it is without windows. */
static void long_string_instructions_are_sampled(void **state)
{
	enum { BYTES = 64 << 20, LAST = 4096 };
	struct fm_core_counts all = {0}, sampled = {0};

	for (unsigned windows = 0; windows < 2; windows++) {
		if (windows) {
			end(state);
			begin(state);
		}
		trace->sites[0] = (struct fm_trace_site){
		    .pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED, .ready = 1};
		trace->sites[1] =
		    (struct fm_trace_site){.pc = 0x400010, .size = 8, .kind = FM_TRANSLATE_LOAD, .ready = 1};
		session->mode = windows ? FM_TRACE_WINDOWS : FM_TRACE_EXACT;
		control(0, FM_TRACE_THREAD_BEGIN, 1);
		if (windows) {
			control(0, FM_TRACE_WINDOW_BEGIN, 1);
			control(0, FM_TRACE_WINDOW_WARM, 0);
		}
		put(0, 0, 0x10000000);
		put(0, 0, BYTES / 8);
		for (uint64_t i = 1; i <= LAST; i++)
			put(0, 1, 0x10000000 + BYTES - i * LINE);
		if (windows)
			control(0, FM_TRACE_WINDOW_END, 1000);
		control(0, FM_TRACE_THREAD_END, 0);
		assert_int_equal(consume("0"), 0);
		*(windows ? &sampled : &all) = windows ? results->windows[0].counts : results->cores[0].counts;
		if (windows) {
			assert_int_equal(results->windows[0].string_lines, BYTES / LINE);
			assert_int_equal(results->windows[0].executed, 1000 + BYTES / LINE);
			assert_int_equal(results->all_string_lines, BYTES / LINE);
			assert_int_equal(results->all_references.stores, BYTES / LINE);
		}
	}
	assert_int_equal(sampled.stores, all.stores);
	assert_int_equal(sampled.store_bytes, all.store_bytes);
	assert_int_equal(sampled.loads, all.loads);
	assert_int_equal(all.caches[0].store_misses, BYTES / LINE);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t lines = all.caches[i].lines_ownership + all.caches[i].lines_prefetch;

		/* what comes afterwards finds the caches as they would be */
		assert_int_equal(sampled.caches[i].load_misses, all.caches[i].load_misses);
		assert_in_range(sampled.caches[i].lines_ownership + sampled.caches[i].lines_prefetch,
		                lines - lines / 500, lines + lines / 500);
		assert_in_range(sampled.caches[i].store_misses, all.caches[i].store_misses * 0.998 - 2,
		                all.caches[i].store_misses * 1.002 + 2);
	}
	assert_in_range(sampled.memory_writes, all.memory_writes * 0.998, all.memory_writes * 1.002);
}

/* A string instruction over 5 GiB, interrupted twice: outside of the window, in it while it warms, and then. Every line
   of it is counted once, and the window has those that it saw. */
static void interrupted_strings_are_counted_once(void **state)
{
	const uint64_t part = 1ull << 30, begin_at = 0x10000000;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->line_limit = 1u << 27;
	session->line_multiplier = 1u << 17 | 1;
	trace->sites[0] = (struct fm_trace_site){
	    .pc = 0x400000, .size = 1, .kind = FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED, .ready = 1};
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	put(0, FM_TRACE_LINE, begin_at);
	put(0, FM_TRACE_LINE, 2 * part);
	control(0, FM_TRACE_WINDOW_BEGIN, 1);
	control(0, FM_TRACE_BEGAN, 1000);
	put(0, 0, begin_at + 2 * part);
	put(0, 0, part);
	control(0, FM_TRACE_WINDOW_WARM, 0);
	put(0, 0, begin_at + 3 * part);
	put(0, 0, part);
	control(0, FM_TRACE_ENDED, 1010);
	control(0, FM_TRACE_WINDOW_END, 1000);
	put(0, FM_TRACE_LINE, begin_at + 4 * part);
	put(0, FM_TRACE_LINE, part);
	control(0, FM_TRACE_THREAD_END, 0);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->all_string_lines, 5 * part / LINE);
	assert_int_equal(results->all_references.store_bytes, 5 * part);
	assert_int_equal(results->windows[0].string_lines, part / LINE);
	assert_int_equal(results->windows[0].executed, 1000 + 4 * part / LINE);
	assert_int_equal(results->windows[0].counts.stores, part / LINE);
	assert_int_equal(results->site_count, 1);
	/* of lines that only warm the caches nothing is told */
	assert_in_range(results->places[0].stores, 5 * part / LINE - 100, 5 * part / LINE + 100);
}

/* Rounds of string instructions over 2048 lines and of 100,000 plain instructions; windows are too rare to see both in
   each round, and every third is in the strings. Both have the weight that was counted of them. */
static void string_and_plain_windows_are_balanced(void **state)
{
	enum { ROUNDS = 30, LINES = 2048, PLAIN = 100000 };
	uint64_t executed = 0;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->ticks_per_second = 1000;
	trace->sites[0] = (struct fm_trace_site){
	    .pc = 0x400100, .size = 8, .kind = FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED, .ready = 1};
	trace->sites[1] = (struct fm_trace_site){.pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_LOAD, .ready = 1};
	trace->pieces[0] = (struct fm_trace_piece){.pc = 0x400000, .bytes = 20, .instructions = 10, .ready = 1};
	trace->head.piece_count = 1;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		bool in_strings = round % 3 == 0;

		if (in_strings) {
			control(0, FM_TRACE_WINDOW_BEGIN, round);
			control(0, FM_TRACE_BEGAN, 1000 * round);
			control(0, FM_TRACE_WINDOW_WARM, 0);
		}
		put(0, in_strings ? 0 : FM_TRACE_LINE, 0x10000000);
		put(0, in_strings ? 0 : FM_TRACE_LINE, LINES * LINE / 8);
		executed += PLAIN;
		if (!in_strings) {
			control(0, FM_TRACE_WINDOW_BEGIN, round);
			control(0, FM_TRACE_BEGAN, 1000 * round);
			control(0, FM_TRACE_WINDOW_WARM, 0);
			for (unsigned i = 0; i < 10; i++) {
				put(0, FM_TRACE_PIECE, 0);
				put(0, 1, 0x100000);
			}
		}
		control(0, FM_TRACE_ENDED, 1000 * round + 10);
		control(0, FM_TRACE_WINDOW_END, executed);
	}
	control(0, FM_TRACE_THREAD_END, 0);
	trace->pieces[0].executed = executed / 10;
	session->line_limit = 1u << 27;
	session->line_multiplier = 1u << 17 | 1;
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->all_string_lines, (uint64_t)ROUNDS * LINES);
	assert_int_equal(results->window_count, ROUNDS);
	/* a load for every ten plain instructions, a store for every string line */
	for (unsigned i = 0; i < results->site_count; i++) {
		uint64_t expected = results->places[i].address == 0x400100 ? (uint64_t)ROUNDS * LINES : executed / 10,
		         found = results->places[i].loads + results->places[i].stores;

		assert_in_range(found, expected - expected / 50, expected + expected / 50);
	}
	assert_int_equal(results->site_count, 2);
}

/* Two windows over the same lines, in caches of which the first has 16 sets of 8. */
static void windows_count_what_is_known(void **state)
{
	const struct fm_result_window *first, *second;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	describe("cache L3 size=512KiB ways=16 latency=40 shared=4");
	description.caches[1].streams = 0;
	trace->sites[1] = (struct fm_trace_site){.pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_LOAD, .ready = 1};
	trace->pieces[0] = (struct fm_trace_piece){.pc = 0x400000, .bytes = 20, .instructions = 5, .ready = 1};
	trace->pieces[0].executed = 100;
	trace->head.piece_count = 1;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	for (uint64_t window = 1; window <= 2; window++) {
		control(0, FM_TRACE_WINDOW_BEGIN, window);
		control(0, FM_TRACE_BEGAN, 1000 * window);
		/* warm: four lines */
		for (uint64_t i = 0; i < 4; i++) {
			put(0, FM_TRACE_PIECE, 0);
			put(0, 1, 0x100000 + LINE * i);
		}
		control(0, FM_TRACE_ENDED, 1000 * window + 100);
		control(0, FM_TRACE_WINDOW_WARM, 0);
		control(0, FM_TRACE_BEGAN, 1000 * window + 200);
		/* the four again, which are known to be there; four new ones, unknown to all caches; the same again;
		   then nine more of the first one's set of the first cache: seven fill it, two are known to miss it */
		for (uint64_t i = 0; i < 8; i++) {
			put(0, FM_TRACE_PIECE, 0);
			put(0, 1, 0x100000 + LINE * i);
		}
		for (uint64_t i = 0; i < 8; i++)
			put(0, 1, 0x100000 + LINE * i);
		for (uint64_t i = 1; i <= 9; i++)
			put(0, 1, 0x100000 + LINE * 16 * i);
		control(0, FM_TRACE_ENDED, 1000 * window + 300);
		control(0, FM_TRACE_WINDOW_END, 50 * window);
	}
	control(0, FM_TRACE_THREAD_END, 0);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->native, FM_TRACE_WINDOWS + 1);
	assert_int_equal(results->window_count, 2);
	first = &results->windows[0];
	second = &results->windows[1];
	for (unsigned i = 0; i < 2; i++) {
		const struct fm_result_window *window = &results->windows[i];

		assert_int_equal(window->begun, 1000 * (i + 1));
		assert_int_equal(window->ended, 1000 * (i + 1) + 300);
		assert_int_equal(window->executed, 50 * (i + 1));
		assert_int_equal(window->counts.loads, 25);
		assert_int_equal(window->work.instructions, 40);
		assert_int_equal(window->unknown[0], 4 + 7);
		assert_int_equal(window->unknown[1], 4 + 9);
		assert_int_equal(window->unknown[2], 4 + 9);
		assert_int_equal(window->touched[0], 8 + 7);
		assert_int_equal(window->touched[1], 8 + 9);
	}
	/* by what is in the caches: nothing at first; then everything in the second one, and the set of the first one
	   holds the wrong eight of ten */
	assert_int_equal(first->counts.caches[0].load_misses, 4 + 9);
	assert_int_equal(first->counts.memory_reads, 4 + 9);
	assert_int_equal(second->counts.memory_reads, 0);
	assert_int_equal(second->counts.caches[1].load_misses, 0);
	/* all is the sum of what counts */
	assert_int_equal(results->cores[0].counts.loads, 50);
	assert_int_equal(results->threads[0].at_end.loads, 50);
	assert_int_equal(results->cores[0].counts.memory_reads, 4 + 9);
	assert_int_equal(results->threads[0].work.instructions, 80);
	assert_int_equal(results->all_work.instructions, 500);
	/* 25 loads in 40 instructions, of 500 */
	assert_int_equal(results->sites[0].slots[0].loads, 0);
	assert_int_equal(results->places[0].loads, 313);
	assert_int_equal(results->weighted.counts.loads, 313);
	assert_int_equal(results->weighted.work.instructions, 500);
}

/* A phase that is executed slowly, and a fast one; windows are apart as long in both. What each does stands for its own
   instructions, and the gap between the last window of one and the first of the other is divided by their paces. */
static void windows_stand_for_what_is_around_them(void **state)
{
	enum { WINDOWS = 10, SLOW = 1000, FAST = 100000 };
	uint64_t executed = 0;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->ticks_per_second = 1000;
	make_sites();
	snprintf(trace->head.names[0], FM_TRACE_NAME, "slow");
	snprintf(trace->head.names[1], FM_TRACE_NAME, "fast");
	trace->head.name_count = 2;
	for (unsigned i = 0; i < 2; i++)
		trace->pieces[i] =
		    (struct fm_trace_piece){.pc = 0x400000 + 100 * i, .bytes = 20, .instructions = 10, .ready = 1};
	trace->head.piece_count = 2;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	control(0, FM_TRACE_REGION_BEGIN, 0);
	for (uint64_t window = 1; window <= 2 * WINDOWS; window++) {
		bool fast = window > WINDOWS;

		/* a quarter of the gap is slow, three quarters are fast */
		if (window == WINDOWS + 1) {
			control(0, FM_TRACE_REGION_END, 0);
			control(0, FM_TRACE_REGION_BEGIN, 1);
			executed += SLOW / 4 + FAST / 4 * 3;
		} else {
			executed += fast ? FAST : SLOW;
		}
		control(0, FM_TRACE_WINDOW_BEGIN, window);
		control(0, FM_TRACE_BEGAN, 1000 * window);
		control(0, FM_TRACE_WINDOW_WARM, 0);
		put(0, FM_TRACE_PIECE | fast, 0);
		put(0, fast ? 1 : 2, 0x100000);
		control(0, FM_TRACE_ENDED, 1000 * window);
		control(0, FM_TRACE_WINDOW_END, executed);
	}
	control(0, FM_TRACE_REGION_END, 1);
	control(0, FM_TRACE_THREAD_END, 0);
	trace->pieces[0].executed = (SLOW * WINDOWS + SLOW / 4) / 10;
	trace->pieces[1].executed = (FAST * (WINDOWS - 1) + FAST / 4 * 3) / 10;
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->all_work.instructions, executed);
	assert_int_equal(results->region_count, 2);
	/* a load for every ten instructions */
	assert_in_range(results->regions[0].counts.loads, SLOW * WINDOWS / 10, SLOW * (WINDOWS + 1) / 10);
	assert_in_range(results->regions[0].work.instructions, SLOW * WINDOWS, SLOW * (WINDOWS + 1));
	assert_int_equal(results->regions[1].counts.loads + results->regions[0].counts.loads, executed / 10);
	assert_int_equal(results->places[0].loads, results->regions[0].counts.loads);
	assert_int_equal(results->places[1].loads, results->regions[1].counts.loads);
	assert_int_equal(results->unseen_instructions, 0);
}

/* The second thread sleeps in the first window and comes back when the third is over: the first is still where it
   was. */
static void windows_in_which_a_thread_sleeps(void **state)
{
	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->ticks_per_second = 1000;
	make_sites();
	for (unsigned thread = 0; thread < 2; thread++) {
		control(thread, FM_TRACE_THREAD_BEGIN, thread + 1);
		for (uint64_t window = 1; window <= (thread ? 1 : 3); window++) {
			control(thread, FM_TRACE_WINDOW_BEGIN, window);
			control(thread, FM_TRACE_BEGAN, 1000 * window);
			control(thread, FM_TRACE_WINDOW_WARM, 0);
			put(thread, 1, 0x100000);
			control(thread, FM_TRACE_ENDED, thread ? 5000 : 1000 * window + 10);
			control(thread, FM_TRACE_WINDOW_END, thread ? 900 : 100 * window);
		}
		control(thread, FM_TRACE_THREAD_END, 0);
	}
	assert_int_equal(consume("0-1"), 0);
	assert_int_equal(results->window_count, 3);
	assert_int_equal(results->windows[0].executed, 100);
	assert_int_equal(results->windows[0].ended, 1010);
	assert_int_equal(results->windows[0].counts.loads, 2);
	assert_int_equal(results->windows[2].executed, 300);
}

/* Windows go on outside of the region that alone is wanted, and only count what is inside. */
static void windows_of_one_region(void **state)
{
	const struct fm_result_window *window;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	make_sites();
	region = "wanted";
	snprintf(trace->head.names[0], FM_TRACE_NAME, "wanted");
	trace->head.name_count = 1;
	trace->pieces[0] = (struct fm_trace_piece){.pc = 0x400000, .bytes = 20, .instructions = 10, .ready = 1};
	trace->head.piece_count = 1;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	control(0, FM_TRACE_WINDOW_BEGIN, 1);
	control(0, FM_TRACE_WINDOW_WARM, 0);
	for (unsigned i = 0; i < 10; i++) {
		if (i == 7)
			control(0, FM_TRACE_REGION_BEGIN, 0);
		put(0, FM_TRACE_PIECE, 0);
		put(0, 1, 0x100000 + i / 9 * LINE);
	}
	control(0, FM_TRACE_REGION_END, 0);
	put(0, FM_TRACE_PIECE, 0);
	put(0, 1, 0x200000);
	control(0, FM_TRACE_WINDOW_END, 1000);
	control(0, FM_TRACE_THREAD_END, 0);
	trace->pieces[0].executed = 100;
	assert_int_equal(consume("0"), 0);
	window = &results->windows[0];
	assert_int_equal(window->work.instructions, 30);
	assert_int_equal(window->outside, 80);
	assert_int_equal(window->counts.loads, 3);
	/* the other line was brought by the code before */
	assert_int_equal(window->counts.caches[0].load_misses, 1);
	assert_int_equal(results->cores[0].counts.loads, 3);
	assert_int_equal(results->threads[0].work.instructions, 30);
	assert_int_equal(results->regions[0].counts.loads, 3 * 1000 / 110);
}

/* A line that is followed, in two windows; between them so many others were touched that no cache has it any more. The
   second window knows nothing of it and finds it where the first one left it, but it is known that it was not there. */
static void followed_lines_know_what_windows_do_not(void **state)
{
	enum { OTHERS = 20000 };
	struct fm_translate_filter filter;
	const struct fm_result_window *second;
	uint64_t address = 0x10000000;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	describe_all(FIRST "cache L2 size=256KiB ways=8 latency=12\n"
	                   "cache L3 size=512KiB ways=16 latency=40 shared=4",
	             TLB);
	assert_true(fm_followed_choose(&description, 88172645463325252u, session));
	filter = (struct fm_translate_filter){session->line_multiplier, session->line_limit, session->line_offset};
	make_sites();
	while (!fm_translate_is_followed(&filter, address))
		address += LINE;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	control(0, FM_TRACE_WINDOW_BEGIN, 1);
	control(0, FM_TRACE_WINDOW_WARM, 0);
	put(0, 1, address);
	control(0, FM_TRACE_WINDOW_END, 1000);
	for (uint64_t other = address + LINE, found = 0; found < OTHERS; other += LINE)
		if (fm_translate_is_followed(&filter, other)) {
			put(0, FM_TRACE_LINE | 1, other);
			found++;
		}
	control(0, FM_TRACE_WINDOW_BEGIN, 2);
	control(0, FM_TRACE_WINDOW_WARM, 0);
	put(0, 1, address);
	put(0, 1, address);
	control(0, FM_TRACE_WINDOW_END, 2000);
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->window_count, 2);
	second = &results->windows[1];
	assert_int_equal(second->counts.memory_reads, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(second->unknown[i], 1);
		assert_int_equal(second->known.accesses[i], 1);
		assert_int_equal(second->known.too_few[i], 1);
		assert_int_equal(second->known.too_many[i], 0);
		/* the first window was right: it was nowhere */
		assert_int_equal(results->windows[0].known.accesses[i], 1);
		assert_int_equal(results->windows[0].known.too_few[i] + results->windows[0].known.too_many[i], 0);
	}
}

/* What only warms changes the caches as what counts does. */
static void warm_without_counting(void)
{
	struct fm_hierarchy *hierarchy = make_hierarchy();
	struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, 0);
	struct fm_core_counts before;
	struct fm_random random;

	session->mode = FM_TRACE_WINDOWS;
	fm_random_seed(&random, 3);
	make_sites();
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	control(0, FM_TRACE_WINDOW_BEGIN, 1);
	for (unsigned part = 0; part < 2; part++) {
		before = core->counts;
		for (unsigned i = 0; i < REFERENCES / 2; i++) {
			uint64_t address = some_address(&random);
			unsigned site = (unsigned)(fm_random_next(&random) % SITES);

			put(0, site, address);
			access_directly(hierarchy, core, &trace->sites[site], address);
		}
		control(0, part ? FM_TRACE_WINDOW_END : FM_TRACE_WINDOW_WARM, 1000);
	}
	for (size_t i = 0; i < sizeof(before) / sizeof(uint64_t); i++)
		((uint64_t *)&before)[i] = ((const uint64_t *)&core->counts)[i] - ((const uint64_t *)&before)[i];
	assert_int_equal(consume("0"), 0);
	assert_int_equal(results->window_count, 1);
	assert_memory_equal(&results->windows[0].counts, &before, sizeof(before));
	assert_memory_equal(&results->cores[0].counts, &before, sizeof(before));
	fm_hierarchy_destroy(hierarchy);
}

static void warming_is_not_counted(void **state)
{
	warm_without_counting();
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		end(state);
		begin(state);
		describe_all(shapes[shape].caches, shapes[shape].tlb);
		description.page_bytes = shapes[shape].page;
		warm_without_counting();
	}
}

/* More windows than there is room for. */
static void many_windows_become_fewer(void **state)
{
	enum { WINDOWS = 5000 };
	uint64_t loads = 0;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	make_sites();
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	for (uint64_t window = 1; window <= WINDOWS; window++) {
		control(0, FM_TRACE_WINDOW_BEGIN, window);
		control(0, FM_TRACE_WINDOW_WARM, 0);
		put(0, 1, 0x100000);
		control(0, FM_TRACE_WINDOW_END, 50 * window);
	}
	assert_int_equal(consume("0"), 0);
	assert_in_range(results->window_count, FM_RESULT_WINDOWS_MAX / 2, FM_RESULT_WINDOWS_MAX);
	for (unsigned i = 0; i < results->window_count; i++) {
		loads += results->windows[i].counts.loads;
		assert_true(!i || results->windows[i].executed > results->windows[i - 1].executed);
	}
	assert_int_equal(loads, WINDOWS);
	assert_int_equal(results->windows[results->window_count - 1].executed, 50 * WINDOWS);
}

/* Followed lines, again and again, of which the last rounds are in a region: their distances are known. */
static void followed_lines_have_distances(void **state)
{
	enum { LINES = 300, ROUNDS = 60, MARKED = 20, DISTANCE = LINES - 1 };
	const struct fm_translate_filter *filter;
	struct fm_translate_filter chosen;
	const struct fm_result_reuse *reuse;
	double bins[FM_LINES_BINS(FM_RESULT_REUSE_BITS)] = {0};
	unsigned kinds[FM_REUSE_KINDS] = {0};
	uint64_t lines[LINES], line = 1 << 20;

	(void)state;
	describe_all("cache L1 size=32KiB ways=8 latency=4\ncache L2 size=256KiB ways=8 latency=12\n"
	             "cache L3 size=2560KiB ways=20 latency=40 shared=4",
	             "");
	session->mode = FM_TRACE_WINDOWS;
	assert_true(fm_followed_choose(&description, 123456789, session));
	chosen = (struct fm_translate_filter){session->line_multiplier, session->line_limit, session->line_offset};
	filter = &chosen;
	for (unsigned i = 0; i < LINES; line++)
		if (fm_translate_is_followed(filter, line * LINE))
			lines[i++] = line * LINE;
	make_sites();
	snprintf(trace->head.names[0], FM_TRACE_NAME, "part");
	trace->head.name_count = 1;
	control(0, FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < LINES * ROUNDS; i++) {
		if (i == LINES * (ROUNDS - MARKED))
			control(0, FM_TRACE_REGION_BEGIN, 0);
		put(0, FM_TRACE_LINE + 1 + i % 2, lines[i % LINES] + i % 60);
	}
	control(0, FM_TRACE_REGION_END, 0);
	control(0, FM_TRACE_THREAD_END, 0);
	curve = true;
	assert_int_equal(consume("0"), 0);
	curve = false;
	reuse = &results->reuse;
	assert_int_equal(reuse->share, 32);
	assert_int_equal(reuse->group_count, 8);
	for (unsigned group = 0; group < reuse->group_count; group++)
		for (unsigned bin = 0; bin < FM_LINES_BINS(FM_RESULT_REUSE_BITS); bin++)
			bins[bin] += reuse->groups[group][bin];
	for (unsigned bin = 0; bin < FM_LINES_BINS(FM_RESULT_REUSE_BITS); bin++)
		assert_near(bins[bin],
		            bin == FM_LINES_BINS(FM_RESULT_REUSE_BITS) - 1        ? LINES
		            : bin == fm_lines_bin(DISTANCE, FM_RESULT_REUSE_BITS) ? LINES * (ROUNDS - 1)
		                                                                  : 0,
		            0);
	for (unsigned i = 0; i < reuse->part_count; i++) {
		const struct fm_result_reuse_part *part = &reuse->parts[i];
		double sum = 0, at = 0;

		assert_true(part->kind && part->kind < FM_REUSE_KINDS);
		kinds[part->kind]++;
		for (unsigned group = 0; group < FM_RESULT_REUSE_GROUPS; group++) {
			at += part->bins[group][fm_lines_bin(DISTANCE, FM_RESULT_REUSE_PART_BITS)];
			for (unsigned bin = 0; bin < FM_LINES_BINS(FM_RESULT_REUSE_PART_BITS); bin++)
				sum += part->bins[group][bin];
		}
		if (part->kind == FM_REUSE_REGION) {
			assert_string_equal(results->regions[part->number].name, "part");
			assert_near(sum, LINES * MARKED, 0);
			assert_near(at, LINES * MARKED, 0);
		} else if (part->kind == FM_REUSE_OBJECT) {
			assert_int_equal(part->number, 0);
			assert_near(sum, LINES * ROUNDS, 0);
		} else {
			assert_true(results->places[part->number].address == 0x400004 ||
			            results->places[part->number].address == 0x400008);
			assert_near(sum, LINES * ROUNDS / 2, 0);
		}
	}
	assert_int_equal(kinds[FM_REUSE_REGION], 1);
	assert_int_equal(kinds[FM_REUSE_OBJECT], 1);
	assert_int_equal(kinds[FM_REUSE_SITE], 2);
}

/* What is outside of the region that alone is wanted moves the lines, and does not count. */
static void outside_of_a_region_lines_only_move(void **state)
{
	struct fm_traced_thread *thread = calloc(1, sizeof(*thread));
	struct fm_line_curves *curves = fm_line_curves_create();
	struct fm_account *account = fm_account_create();
	struct fm_results *own;

	(void)state;
	assert_true(thread && curves && account);
	for (unsigned round = 0; round < 4; round++)
		for (uint64_t line = 0; line < 100; line++) {
			thread->counts = round == 3 && line < 50;
			fm_line_curves_touch(curves, thread, 0, line * LINE, NULL);
		}
	assert_true(fm_room_open(&account->room, path, 4, false));
	own = account->results = fm_room_use(&account->room, NULL);
	assert_non_null(own);
	fm_line_curves_finish(curves, 8, 32, account);
	assert_near(own->reuse.groups[0][fm_lines_bin(99, FM_RESULT_REUSE_BITS)], 50, 0);
	assert_near(own->reuse.groups[0][FM_LINES_BINS(FM_RESULT_REUSE_BITS) - 1], 0, 0);
	fm_line_curves_destroy(curves);
	fm_account_destroy(account);
	free(thread);
}

/* Whatever stands there: an end, and figures within reason. */
static void garbage_does_no_harm(void **state)
{
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 7);
	for (unsigned round = 0; round < 4; round++) {
		int status;

		end(NULL);
		begin(NULL);
		session->mode = round % 2;
		if (round / 2)
			make_large();
		for (unsigned i = 0; i < 2000; i++) {
			uint64_t number = fm_random_next(&random);

			trace->sites[i] = (struct fm_trace_site){.pc = fm_random_next(&random) >> number % 60,
			                                         .size = (uint16_t)(number >> number % 16),
			                                         .kind = (uint8_t)(number >> 20) & (i % 500 ? 11 : 15),
			                                         .ready = (uint32_t)(number >> 32) % 4};
			trace->pieces[i] = (struct fm_trace_piece){.pc = fm_random_next(&random),
			                                           .bytes = (uint16_t)(number >> 3),
			                                           .instructions = (uint16_t)(number >> 30),
			                                           .ready = (uint32_t)(number >> 32) % 4,
			                                           .executed = number};
		}
		memset(trace->head.names, 'x', sizeof(trace->head.names));
		memset(trace->head.program, 'y', sizeof(trace->head.program));
		trace->head.site_count = trace->head.piece_count = trace->head.name_count = UINT32_MAX;
		for (unsigned thread = 0; thread < 4; thread++) {
			trace->threads[thread].written = thread == 3 ? UINT64_MAX / 3 : 5000;
			trace->threads[thread].large = round / 2 ? thread : 0;
			trace->threads[thread].large_from = thread == 1 ? 4000 : fm_random_next(&random);
			for (unsigned i = 0; i < 5000; i++) {
				uint64_t number = fm_random_next(&random), kind = fm_random_next(&random) % 16;

				/* small ones among them: what is taken for the length of a repeated instruction takes
				   time */
				trace->rings[thread][i].address =
				    kind % 4 && kind < 8 ? number >> 52 : number >> number % 64;
				trace->rings[thread][i].what = kind < 8    ? number % 2000
				                               : kind < 10 ? FM_TRACE_PIECE | number % 3000
				                               : kind < 14 ? FM_TRACE_CONTROL | number % 12
				                                           : number;
			}
		}
		status = consume("0-1");
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
		assert_int_equal(results->magic, FM_RESULT_MAGIC);
		assert_true(memchr(results->program, 0, sizeof(results->program)) != NULL);
		assert_true(
		    results->thread_count <= FM_RESULT_THREADS_MAX && results->region_count <= FM_RESULT_REGIONS_MAX &&
		    results->window_count <= FM_RESULT_WINDOWS_MAX && results->site_count <= FM_RESULT_SITES_MAX);
		assert_int_equal(results->native_error, EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(counts_as_if_fed_directly, begin, end),
	    cmocka_unit_test_setup_teardown(all_shapes_count_alike, begin, end),
	    cmocka_unit_test_setup_teardown(a_ring_goes_round, begin, end),
	    cmocka_unit_test_setup_teardown(a_large_ring_goes_round, begin, end),
	    cmocka_unit_test_setup_teardown(two_threads_of_which_one_has_a_large_ring, begin, end),
	    cmocka_unit_test_setup_teardown(no_such_ring, begin, end),
	    cmocka_unit_test_setup_teardown(short_files_have_no_large_rings, begin, end),
	    cmocka_unit_test_setup_teardown(threads_are_merged_by_time, begin, end),
	    cmocka_unit_test_setup_teardown(threads_are_merged_within_a_stretch, begin, end),
	    cmocka_unit_test_setup_teardown(threads_that_share_a_core, begin, end),
	    cmocka_unit_test_setup_teardown(regions_have_their_own, begin, end),
	    cmocka_unit_test_setup_teardown(repeated_instructions_move_lines, begin, end),
	    cmocka_unit_test_setup_teardown(long_string_instructions_are_sampled, begin, end),
	    cmocka_unit_test_setup_teardown(interrupted_strings_are_counted_once, begin, end),
	    cmocka_unit_test_setup_teardown(string_and_plain_windows_are_balanced, begin, end),
	    cmocka_unit_test_setup_teardown(windows_count_what_is_known, begin, end),
	    cmocka_unit_test_setup_teardown(windows_stand_for_what_is_around_them, begin, end),
	    cmocka_unit_test_setup_teardown(windows_of_one_region, begin, end),
	    cmocka_unit_test_setup_teardown(windows_in_which_a_thread_sleeps, begin, end),
	    cmocka_unit_test_setup_teardown(followed_lines_know_what_windows_do_not, begin, end),
	    cmocka_unit_test_setup_teardown(warming_is_not_counted, begin, end),
	    cmocka_unit_test_setup_teardown(many_windows_become_fewer, begin, end),
	    cmocka_unit_test_setup_teardown(followed_lines_have_distances, begin, end),
	    cmocka_unit_test_setup_teardown(garbage_does_no_harm, begin, end),
	    cmocka_unit_test_setup_teardown(outside_of_a_region_lines_only_move, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
