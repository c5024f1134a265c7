/* Traces of two programs, written by hand, that one consumer reads into one hierarchy. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/account/account.h"
#include "engine/trace/beside.h"
#include "engine/trace/consumer.h"
#include "engine/trace/state.h"
#include "engine/results.h"
#include "translate/translate.h"

/* The last cache has 1024 lines, 64 sets of 16; a sweep of 512 lines and more misses both private ones. */
static const char machine[] = "machine sockets=1 cores=4 frequency=2GHz\n"
                              "cache L1 size=4KiB ways=8 latency=4\n"
                              "cache L2 size=16KiB ways=8 latency=12\n"
                              "cache L3 size=64KiB ways=16 latency=40 shared=4\n"
                              "tlb entries=16 ways=4 penalty=7\n"
                              "memory latency=200 gbs=50\n"
                              "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 "
                              "load_ports=2 store_ports=1 "
                              "multiply_ports=1 ports=8\n";

enum { LINE = 64, CAPACITY = 1024, ROUNDS = 20, BEGIN = 0x1000000 };

struct program {
	struct fm_trace_file *trace;
	uint64_t lines, at;
	unsigned instructions; /* of a piece, one for each load */
};

static struct fm_trace_file *make_trace(int file, unsigned instructions)
{
	struct fm_trace_file *trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE,
	                                   MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);

	assert_true(trace != MAP_FAILED);
	trace->head.magic = FM_TRACE_MAGIC;
	trace->head.version = FM_TRACE_VERSION;
	trace->sites[1] = (struct fm_trace_site){.pc = 0x400000, .size = 8, .kind = FM_TRANSLATE_LOAD, .ready = 1};
	trace->pieces[1] = (struct fm_trace_piece){.instructions = (uint16_t)instructions, .ready = 1};
	return trace;
}

static void put(struct fm_trace_file *trace, uint64_t what, uint64_t address)
{
	uint64_t *written = &trace->threads[0].written;

	trace->rings[0][(*written)++ % FM_TRACE_RING] = (struct fm_trace_entry){.address = address, .what = what};
}

/* As many references as there is room for, up to `most` in all; a cyclic sweep from the same address in both. */
static void write_some(struct program *program, uint64_t most)
{
	struct fm_trace_thread *line = &program->trace->threads[0];

	while (program->at < most && line->written - line->read + 2 <= FM_TRACE_RING) {
		put(program->trace, FM_TRACE_PIECE | 1, 0);
		put(program->trace, 1, BEGIN + program->at++ % program->lines * LINE);
	}
}

/* In the process of the consumer. What is wrong, or 0. */
static int simulate(const struct fm_consumer_task *task, struct program *program, struct program *other,
                    uint64_t expected, uint64_t other_least, uint64_t other_most, uint64_t other_memory)
{
	const uint64_t most = ROUNDS * program->lines;
	struct fm_consumer *consumer;
	struct fm_error error;
	const struct fm_results *results;
	const struct fm_result_beside *beside;

	/* processes that run */
	program->trace->head.process = other->trace->head.process = (uint32_t)getpid();
	if (fm_consumer_create(task, &consumer, &error))
		return 1;
	put(program->trace, FM_TRACE_CONTROL | FM_TRACE_THREAD_BEGIN, (uint64_t)getpid());
	put(other->trace, FM_TRACE_CONTROL | FM_TRACE_THREAD_BEGIN, (uint64_t)getpid());
	while (program->at < most || program->trace->threads[0].read < program->trace->threads[0].written) {
		write_some(program, most);
		write_some(other, UINT64_MAX);
		fm_consumer_read(consumer, UINT64_MAX);
	}
	fm_consumer_finish(consumer);
	results = fm_consumer_results(consumer);
	beside = &results->beside[0];
	if (results->thread_count != 1 || results->beside_count != 1)
		return 2;
	if (results->threads[0].at_end.loads != most || results->threads[0].at_end.memory_reads != expected)
		return 3;
	if (beside->counts.loads < other_least || beside->counts.loads > other_most)
		return 4;
	if (beside->counts.memory_reads != (other_memory ? other_memory : beside->counts.loads))
		return 5;
	if (beside->first_core != 1 || beside->threads != 1 || beside->processes != 1)
		return 6;
	/* what is timed has a clock */
	if (task->options->timing && !results->timings[0].cycles)
		return 8;
	return beside->instructions / other->instructions - beside->counts.loads > 1 ? 7 : 0;
}

/* By latencies one after the other, or with core timing, in which they overlap: then both are as fast. */
static void sweep_both(bool timing)
{
	static const struct {
		uint64_t lines;
		unsigned instructions, other_instructions;
	} cases[] = {{512, 3, 3}, {640, 3, 3}, {768, 2, 2}, {512, 5, 10}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct fm_machine_description description;
		static struct fm_beside_roster roster;
		char *const other_words[] = {"other", NULL};
		char *const *const others[] = {other_words};
		const struct fm_engine_options options = {
		    .machine = &description, .cores = "0-3", .timing = timing, .beside = others, .beside_count = 1};
		char folder[] = "/tmp/fathom-beside-XXXXXX", path[64], trace_path[64];
		struct program program = {.lines = cases[i].lines, .instructions = cases[i].instructions},
		               other = {.lines = cases[i].lines, .instructions = cases[i].other_instructions};
		struct fm_trace_session *session =
		    mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		struct fm_consumer_task task = {
		    .options = &options, .session = session, .first = true, .roster = &roster, .unknown_process = true};
		/* a load that hits costs 40 cycles and one that does not 200 */
		bool fits = 2 * cases[i].lines <= CAPACITY;
		uint64_t all = ROUNDS * cases[i].lines, cost = fits ? 40 : 200;
		uint64_t other_loads = all * (cases[i].instructions + cost) / (cases[i].other_instructions + cost);
		struct fm_error error;
		int file, status;
		pid_t child;

		if (timing && cases[i].instructions != cases[i].other_instructions)
			continue;
		assert_int_equal(fm_description_parse(machine, "test", &description, &error), 0);
		assert_true(session != MAP_FAILED && mkdtemp(folder));
		session->magic = FM_TRACE_MAGIC;
		session->version = FM_TRACE_VERSION;
		session->log_pieces = 1;
		snprintf(path, sizeof(path), "%s/results", folder);
		snprintf(trace_path, sizeof(trace_path), "%s/1.trace", folder);
		file = open(path, O_RDWR | O_CREAT, 0600);
		assert_true(file >= 0 && !ftruncate(file, sizeof(struct fm_results)));
		close(file);
		file = open(trace_path, O_RDWR | O_CREAT, 0600);
		assert_true(file >= 0 && !ftruncate(file, sizeof(struct fm_trace_file)));
		program.trace = make_trace(-1, cases[i].instructions);
		other.trace = make_trace(file, cases[i].other_instructions);
		close(file);
		memset(&roster, 0, sizeof(roster));
		snprintf(roster.traces[0].name, sizeof(roster.traces[0].name), "1.trace");
		roster.traces[0].begins = 1;
		roster.count = 1;
		task.trace = program.trace;
		task.results = path;
		task.folder = folder;
		child = fork();
		if (!child) {
			alarm(60);
			/* turns are slices, and the last is one too */
			_exit(simulate(&task, &program, &other, fits ? cases[i].lines : all,
			               other_loads * 97 / 100 - FM_BESIDE_SLICE,
			               other_loads * 103 / 100 + FM_BESIDE_SLICE, fits ? cases[i].lines : 0));
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		munmap(program.trace, sizeof(*program.trace));
		munmap(other.trace, sizeof(*other.trace));
		munmap(session, sizeof(*session));
		unlink(path);
		unlink(trace_path);
		rmdir(folder);
	}
}

static void two_sweeps(void **state)
{
	(void)state;
	sweep_both(false);
}

static void two_timed_sweeps(void **state)
{
	(void)state;
	sweep_both(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(two_sweeps), cmocka_unit_test(two_timed_sweeps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
