/* Core timing of native traces, written by hand for code whose cycles are known. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "engine/trace/consumer.h"
#include "engine/results.h"
#include "translate/translate.h"

/* Never executed: the consumer reads and decodes them. */
extern const char chain[], apart[], chase[], loads[], second_load[], copy[];
__asm__(".text\n"
        "chain: .rept 8; add %rax, %rax; .endr; dec %rcx; jnz chain\n"
        "apart: inc %rax; inc %rbx; inc %rdx; inc %rsi; inc %rdi; inc %r8; inc %r9; inc %r10; dec %rcx; jnz apart\n"
        "chase: mov (%rax), %rax; dec %rcx; jnz chase\n"
        "loads: mov (%rsi), %rax\n"
        "second_load: mov (%rdi), %rbx; dec %rcx; jnz loads\n"
        "copy: rep movsb\n");

enum {
	ROUNDS = 3000,
	CHAIN = 0, /* pieces; as they are numbered here, so are the sites */
	APART,
	CHASE,
	LOADS,
	SECOND,
	COPY,
	COPY_STORE, /* only a site */
	MEMORY_LATENCY = 200
};

static struct fm_machine_description description;
static struct fm_trace_file *trace;
static struct fm_trace_session *session;
static struct fm_results *results;
static char path[64];

static void make_piece(unsigned number, const char *code, unsigned bytes, unsigned instructions)
{
	trace->pieces[number] = (struct fm_trace_piece){.pc = (uint64_t)(uintptr_t)code,
	                                                .bytes = (uint16_t)bytes,
	                                                .instructions = (uint16_t)instructions,
	                                                .ready = 1};
}

static void make_site(unsigned number, const char *code, unsigned size, unsigned kind)
{
	trace->sites[number] = (struct fm_trace_site){
	    .pc = (uint64_t)(uintptr_t)code, .size = (uint16_t)size, .kind = (uint8_t)kind, .ready = 1};
}

static int begin(void **state)
{
	struct fm_error error;
	int file;

	(void)state;
	if (fm_description_parse("machine sockets=1 cores=4 frequency=2GHz\n"
	                         "cache L1 size=8KiB ways=8 latency=4\n"
	                         "cache L2 size=64KiB ways=8 latency=12\n"
	                         "tlb entries=16 ways=4 penalty=0\nmemory latency=200 gbs=50\n"
	                         "core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 "
	                         "super_queue=16 load_ports=2 store_ports=1 multiply_ports=1 ports=8\n",
	                         "test", &description, &error))
		fail_msg("%s", error.message);
	trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(trace != MAP_FAILED && session != MAP_FAILED);
	trace->head.magic = session->magic = FM_TRACE_MAGIC;
	trace->head.version = session->version = FM_TRACE_VERSION;
	trace->head.process = (uint32_t)getpid();
	session->log_pieces = 1;
	session->stop = 1; /* everything is written before it is read */
	make_piece(CHAIN, chain, (unsigned)(apart - chain), 10);
	make_piece(APART, apart, (unsigned)(chase - apart), 10);
	make_piece(CHASE, chase, (unsigned)(loads - chase), 3);
	make_piece(LOADS, loads, (unsigned)(copy - loads), 4);
	make_piece(SECOND, second_load, (unsigned)(copy - second_load), 3);
	make_piece(COPY, copy, 2, 1);
	make_site(CHASE, chase, 8, FM_TRANSLATE_LOAD);
	make_site(LOADS, loads, 8, FM_TRANSLATE_LOAD);
	make_site(SECOND, second_load, 8, FM_TRANSLATE_LOAD);
	make_site(COPY, copy, 1, FM_TRANSLATE_LOAD | FM_TRANSLATE_REPEATED);
	make_site(COPY_STORE, copy, 1, FM_TRANSLATE_STORE | FM_TRANSLATE_REPEATED);
	snprintf(path, sizeof(path), "/tmp/fathom-timing-XXXXXX");
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
	if (results)
		munmap(results, sizeof(*results));
	results = NULL;
	unlink(path);
	return 0;
}

static void put(uint64_t what, uint64_t address)
{
	uint64_t *written = &trace->threads[0].written;

	assert_true(*written < FM_TRACE_RING);
	trace->rings[0][(*written)++] = (struct fm_trace_entry){.address = address, .what = what};
}

static void control(enum fm_trace_control what, uint64_t value)
{
	put(FM_TRACE_CONTROL | what, value);
}

static void piece(unsigned number)
{
	put(FM_TRACE_PIECE | number, 0);
}

/* In a process of its own, as always. */
static const struct fm_timing_counts *consume(void)
{
	const struct fm_engine_options options = {.machine = &description, .cores = "0", .timing = true};
	const struct fm_consumer_task task = {
	    .options = &options, .session = session, .trace = trace, .results = path, .first = true};
	pid_t child = fork();
	int status, file;

	if (!child) {
		struct fm_error error;

		alarm(60);
		_exit(fm_consumer_run(&task, &error) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	file = open(path, O_RDONLY);
	results = mmap(NULL, sizeof(*results), PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	assert_true(results != MAP_FAILED);
	assert_int_equal(results->timing, 1);
	return &results->timings[0];
}

/* What so many rounds of a loop take, in cycles per round. `far`: another line each time. */
static double cycles_per_round(unsigned loop, bool far)
{
	const struct fm_timing_counts *timing;

	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t address = 0x1000000 + (far ? 4096 * i : 0);

		piece(loop);
		if (loop == CHASE || loop == LOADS)
			put(loop, address);
		if (loop == LOADS)
			put(SECOND, address + 64);
	}
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	assert_int_equal(timing->instructions, ROUNDS * trace->pieces[loop].instructions);
	assert_int_equal(results->threads[0].work.instructions, timing->instructions);
	assert_int_equal(results->threads[0].timing_at_end.cycles, timing->cycles);
	assert_true(results->threads[0].clock <= timing->cycles);
	print_message("%.2f cycles per round\n", (double)timing->cycles / ROUNDS);
	return (double)timing->cycles / ROUNDS;
}

static void dependent_additions_wait_for_each_other(void **state)
{
	(void)state;
	assert_near(cycles_per_round(CHAIN, false), 8, 0.08);
}

/* Ten instructions, four at a time; the last two are one to the core. */
static void independent_additions_do_not(void **state)
{
	(void)state;
	assert_near(cycles_per_round(APART, false), 2.25, 0.05);
}

static void a_chase_takes_the_latency_of_the_first_cache(void **state)
{
	(void)state;
	assert_near(cycles_per_round(CHASE, false), 4, 0.1);
}

static void a_chase_takes_the_latency_of_memory(void **state)
{
	(void)state;
	assert_near(cycles_per_round(CHASE, true) / MEMORY_LATENCY, 1, 0.05);
	assert_true(results->timings[0].latency_stalls[FM_SERVED_MEMORY] > 190 * ROUNDS);
}

/* Two of ten at a time. */
static void independent_loads_are_under_way_together(void **state)
{
	(void)state;
	assert_near(cycles_per_round(LOADS, true), 2 * MEMORY_LATENCY / 10.0, 4);
	assert_int_equal(results->cores[0].counts.loads, 2 * ROUNDS);
}

/* Every second load was not logged. */
static void references_may_be_missing(void **state)
{
	const struct fm_timing_counts *timing;

	(void)state;
	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		piece(LOADS);
		put(SECOND, 0x1000000);
	}
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	assert_int_equal(timing->instructions, 4 * ROUNDS);
	assert_int_equal(results->cores[0].counts.loads, ROUNDS);
	assert_near((double)timing->cycles / ROUNDS, 1, 0.3);
}

/* References without a piece, and of a piece that is another one: they count, and are no instructions. */
static void pieces_may_be_missing(void **state)
{
	const struct fm_timing_counts *timing;

	(void)state;
	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < ROUNDS; i++)
		put(CHASE, 0x1000000);
	piece(LOADS);
	put(CHASE, 0x1000000);
	piece(APART);
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	assert_int_equal(timing->instructions, 4 + 10);
	assert_int_equal(results->cores[0].counts.loads, ROUNDS + 1);
	assert_int_equal(results->cores[0].counts.caches[0].load_hits, ROUNDS);
}

/* A signal came between the two loads: what follows the handler is a piece of its own. */
static void a_piece_may_be_cut_short(void **state)
{
	const struct fm_timing_counts *timing;

	(void)state;
	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		piece(LOADS);
		put(LOADS, 0x1000000);
		if (i % 2)
			piece(SECOND);
		put(SECOND, 0x1000000);
	}
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	assert_int_equal(timing->instructions, 4 * ROUNDS);
	assert_int_equal(results->cores[0].counts.loads, 2 * ROUNDS);
}

/* A repeated instruction is one, with accesses of whole lines. */
static void a_repeated_instruction_is_one(void **state)
{
	enum { LINES = 100 };
	const struct fm_timing_counts *timing;

	(void)state;
	control(FM_TRACE_THREAD_BEGIN, 1);
	piece(COPY);
	put(COPY, 0x1000000);
	put(COPY, 64 * LINES);
	put(COPY_STORE, 0x2000000);
	put(COPY_STORE, 64 * LINES);
	piece(APART);
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	assert_int_equal(timing->instructions, 11);
	assert_int_equal(results->cores[0].counts.loads, LINES);
	assert_int_equal(results->cores[0].counts.stores, LINES);
	assert_true(timing->cycles > LINES * 64 / 25);
}

static void windows_are_timed_in_stretches(void **state)
{
	enum { LONG = 10000 };
	const struct fm_timing_counts *timing;
	const struct fm_result_window *window;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->window_references = LONG;
	control(FM_TRACE_THREAD_BEGIN, 1);
	control(FM_TRACE_WINDOW_BEGIN, 1);
	for (unsigned i = 0; i < LONG; i++) {
		if (i == LONG / 10)
			control(FM_TRACE_WINDOW_WARM, 0);
		piece(CHASE);
		put(CHASE, 0x1000000);
	}
	control(FM_TRACE_WINDOW_END, 3 * LONG);
	control(FM_TRACE_THREAD_END, 0);
	timing = consume();
	window = &results->windows[0];
	assert_int_equal(results->window_count, 1);
	assert_int_equal(window->work.instructions, 3 * LONG * 9 / 10);
	assert_int_equal(window->timing.instructions, window->work.instructions);
	assert_in_range(window->timed, 1000, 3000);
	assert_near((double)window->timing.cycles / (LONG * 9 / 10.0), 4, 0.1);
	assert_memory_equal(timing, &window->timing, sizeof(*timing));
	assert_memory_equal(&results->threads[0].timing_at_end, timing, sizeof(*timing));
	assert_int_equal(window->counts.loads, LONG * 9 / 10);
}

/* One string instruction over 16 MiB, and 6 windows in it, none of which sees it begin or end. Each has cycles for the
   lines that it saw, and by these the whole run has them for all. */
static void a_window_may_lie_in_one_instruction(void **state)
{
	enum { WINDOWS = 6, ALL = 16 << 20, PART = ALL / (2 * WINDOWS) / 64 * 64 };
	uint64_t at = 0x10000000, cycles = 0, lines = 0;

	(void)state;
	session->mode = FM_TRACE_WINDOWS;
	session->line_limit = 1u << 27;
	session->line_multiplier = 1u << 17 | 1;
	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 1; i <= WINDOWS; i++) {
		put(FM_TRACE_LINE | COPY_STORE, at);
		put(FM_TRACE_LINE | COPY_STORE, PART);
		at += PART;
		control(FM_TRACE_WINDOW_BEGIN, i);
		control(FM_TRACE_BEGAN, 1000 * i);
		control(FM_TRACE_WINDOW_WARM, 0);
		piece(COPY);
		put(COPY, at + ALL);
		put(COPY, PART);
		put(COPY_STORE, at);
		put(COPY_STORE, PART);
		at += PART;
		control(FM_TRACE_ENDED, 1000 * i + 10);
		control(FM_TRACE_WINDOW_END, i);
	}
	control(FM_TRACE_THREAD_END, 0);
	trace->pieces[COPY].executed = WINDOWS;
	trace->head.piece_count = COPY + 1;
	consume();
	assert_int_equal(results->window_count, WINDOWS);
	for (unsigned i = 0; i < WINDOWS; i++) {
		const struct fm_result_window *window = &results->windows[i];

		assert_int_equal(window->work.instructions, 1);
		assert_int_equal(window->timing.instructions, 1);
		assert_int_equal(window->string_lines, 2 * PART / 64);
		cycles += window->timing.cycles;
		lines += window->string_lines;
	}
	/* one line is loaded, another brought to be written: ten are under way together */
	assert_near((double)cycles / ((double)lines / 2), 2 * MEMORY_LATENCY / 10.0, 4);
	assert_int_equal(results->pieces.timing.instructions, WINDOWS);
	/* the windows were in half of it */
	assert_near((double)results->pieces.timing.cycles / (double)cycles, 2, 0.05);
	assert_true(results->pieces.timed > 0.99);
	assert_true(results->pieces.error < 0.05);
}

/* Whatever a program has written over its trace. */
static void nonsense_does_no_harm(void **state)
{
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	make_piece(7, chain, UINT16_MAX, UINT16_MAX);
	make_piece(8, chase + 1, 1, 1000);
	make_piece(9, (const char *)8, 100, 20);
	make_site(7, chase + 1, 1000, FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE);
	make_site(8, copy, 9, FM_TRANSLATE_LOAD | FM_TRANSLATE_REPEATED);
	control(FM_TRACE_THREAD_BEGIN, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t number = fm_random_next(&random), kind = number % 16;

		number = number >> 8 & 0xffff;
		if (kind == 0)
			control((enum fm_trace_control)(number % 12), fm_random_next(&random));
		else if (kind < 7)
			piece((unsigned)(number % 12 == 7 && i % 64 ? 1 : number % 12));
		else
			put(number % 12, kind == 8 && number % 12 < COPY ? fm_random_next(&random) : number);
	}
	consume();
	assert_int_equal(results->magic, FM_RESULT_MAGIC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(dependent_additions_wait_for_each_other),
	    TEST(independent_additions_do_not),
	    TEST(a_chase_takes_the_latency_of_the_first_cache),
	    TEST(a_chase_takes_the_latency_of_memory),
	    TEST(independent_loads_are_under_way_together),
	    TEST(references_may_be_missing),
	    TEST(pieces_may_be_missing),
	    TEST(a_piece_may_be_cut_short),
	    TEST(a_repeated_instruction_is_one),
	    TEST(windows_are_timed_in_stretches),
	    TEST(a_window_may_lie_in_one_instruction),
	    TEST(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
