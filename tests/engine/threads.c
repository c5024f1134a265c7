/* The emulator on programs of several threads and processes: turns, ends, and room for what is counted. */
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/run.h"
#include "observe/parts.h"

/* Two threads, one line: every turn from one to the other moves the line once. The same in ten runs. */
static void false_sharing_repeats(void **state)
{
	uint64_t first = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct fm_engine_run result = run("sharing", "false");
		uint64_t moved = 0;

		assert_int_equal(result.exit_status, 0);
		assert_int_equal(result.results->thread_count, 2);
		for (unsigned k = 0; k < result.results->line_count; k++)
			if (result.results->lines[k].modified > moved)
				moved = result.results->lines[k].modified;
		if (!i) {
			first = moved;
			print_message("%llu transfers of the line, %llu turns\n", (unsigned long long)moved,
			              (unsigned long long)result.results->turns);
			assert_true(moved > 100);
			/* turns before the second thread worked on the line, and after, move other lines or none */
			assert_near((double)moved, (double)result.results->turns, 12);
		}
		assert_int_equal(moved, first);
		fm_engine_run_free(&result);
	}
	{
		struct fm_engine_run result = run("sharing", "padded");

		for (unsigned k = 0; k < result.results->line_count; k++)
			assert_true(result.results->lines[k].modified < 20);
		fm_engine_run_free(&result);
	}
}

/* A smaller skew means more turns, in proportion. */
static void skew_rules_the_turns(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .skew = 500};
	struct fm_engine_run small = run_with(&options, "sharing", "false"), large;
	double ratio;

	(void)state;
	options.skew = 2000;
	large = run_with(&options, "sharing", "false");
	ratio = (double)small.results->turns / (double)large.results->turns;
	print_message("turns with a skew of 500 and of 2000: ratio %.2f\n", ratio);
	assert_near(ratio, 4, 0.8);
	fm_engine_run_free(&small);
	fm_engine_run_free(&large);
}

static void free_running_counts_accesses_alike(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .free_running = true};
	struct fm_engine_run result = run_with(&options, "sharing", "false");
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	fm_result_thread_counts(result.results, 1, &counts, &timing);
	assert_true(counts.loads >= 100000 && counts.loads < 101000);
	assert_int_equal(result.results->deterministic, 0);
	fm_engine_run_free(&result);
}

static void threads_come_and_go(void **state)
{
	struct fm_engine_run result = run("threads", NULL);

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->thread_count, 41);
	for (unsigned i = 1; i < 41; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(result.results, i, &counts, &timing);
		assert_true(counts.loads >= 1000 && counts.loads < 2000);
		assert_true(result.results->threads[i].ended);
		assert_int_equal(result.results->threads[i].shares_core, 0);
		/* four at a time beside the first: cores are used again */
		assert_true(result.results->threads[i].core >= 1 && result.results->threads[i].core <= 5);
	}
	fm_engine_run_free(&result);
}

static void forks_are_followed(void **state)
{
	struct fm_engine_run result = run("forks", "1000");

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.forked_count, 1000);
	for (unsigned i = 0; i < result.forked_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		assert_int_equal(result.forked[i]->thread_count, 1);
		assert_int_equal(result.forked[i]->parent, result.results->process);
		fm_result_thread_counts(result.forked[i], 0, &counts, &timing);
		assert_true(counts.loads >= 1000 && counts.loads < 2000);
	}
	fm_engine_run_free(&result);
}

static void bad_ends_keep_the_counts(void **state)
{
	static const struct {
		const char *how;
		int signal;
	} cases[] = {{"segv", SIGSEGV}, {"abort", SIGABRT}, {"kill", SIGKILL},
	             {"term", SIGTERM}, {"avx512", SIGILL}, {"", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_engine_run result = run("ending", cases[i].how);
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		assert_int_equal(result.signal, cases[i].signal);
		assert_int_equal(result.exit_status, cases[i].signal ? 128 + cases[i].signal : 42);
		fm_result_thread_counts(result.results, 0, &counts, &timing);
		assert_true(counts.loads >= 1000000);
		fm_engine_run_free(&result);
	}
}

/* What a program executes is followed: here a program, there a shell that makes a child and becomes another program. */
static void executed_programs_are_followed(void **state)
{
	struct fm_engine_run result = run("ending", "exec");
	const struct fm_engine_options options = {.machine = &machine};
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	struct fm_error error;
	char script[512];

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->exec_count, 0);
	assert_int_equal(result.forked_count, 1);
	assert_true(result.forked[0]->executed);
	assert_string_equal(result.forked[0]->program, "/bin/true");
	fm_result_thread_counts(result.forked[0], 0, &counts, &timing);
	assert_true(counts.loads > 1000);
	fm_engine_run_free(&result);

	snprintf(script, sizeof(script), "%sending nothing; exec %sending nothing", PROGRAMS, PROGRAMS);
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/bin/sh", "-c", script, NULL}, &result, &error), 0);
	assert_int_equal(result.exit_status, 42);
	assert_int_equal(result.results->exec_count, 0);
	/* the shell's child, as it was forked and as it became another program, and the shell as it did */
	assert_int_equal(result.forked_count, 3);
	for (unsigned i = 0, million = 0; i < 3; i++) {
		fm_result_thread_counts(result.forked[i], 0, &counts, &timing);
		million += counts.loads > 1000000;
		if (i == 2)
			assert_int_equal(million, 2);
	}
	fm_engine_run_free(&result);
}

/* What cannot be followed runs all the same, and is named. */
static void what_cannot_be_followed_is_named(void **state)
{
	struct fm_engine_run result = run("ending", "exec-missing");

	(void)state;
	assert_int_equal(result.exit_status, 42);
	assert_int_equal(result.results->exec_count, 0);
	fm_engine_run_free(&result);
	if (access("/usr/bin/su", X_OK))
		return;
	result = run("ending", "exec-privileged");
	assert_int_equal(result.results->exec_count, 1);
	assert_string_equal(result.results->execs[0], "/usr/bin/su");
	fm_engine_run_free(&result);
}

/* Threads that pin themselves, or are pinned before they begin, to cores this host need not have. */
static void affinity_is_understood(void **state)
{
	struct fm_engine_run result = run("affinity", NULL);
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->thread_count, 3);
	assert_int_equal(result.results->threads[0].core, 23);
	assert_int_equal(result.results->threads[0].moves, 2);
	assert_int_equal(result.results->threads[1].core, 7);
	assert_int_equal(result.results->threads[2].core, 19);
	/* on all its cores together */
	fm_result_thread_counts(result.results, 0, &counts, &timing);
	assert_true(counts.loads >= 200000);
	assert_true(result.results->cores[5].counts.loads >= 100000);
	/* a region that was open across the move has both sides */
	assert_true(region(&result, "moving")->counts.loads >= 200000);
	fm_engine_run_free(&result);
}

/* Threads that share a core have their own counts all the same, and a thread begins when it was made: one after the
   other takes as long as both. */
static void shared_cores_are_told_apart(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .timing = true};
	struct fm_engine_run apart = run_with(&options, "phases", NULL), together;
	uint64_t sum = 0, of_core;

	(void)state;
	options.cores = "0";
	together = run_with(&options, "phases", NULL);
	assert_int_equal(together.results->thread_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		struct fm_core_counts own, alone;
		struct fm_timing_counts timing, ignored;

		fm_result_thread_counts(together.results, i, &own, &timing);
		fm_result_thread_counts(apart.results, i, &alone, &ignored);
		print_message("thread %u: %lu loads, on a core of its own %lu\n", i, (unsigned long)own.loads,
		              (unsigned long)alone.loads);
		assert_near((double)own.loads, (double)alone.loads, 0.001 * (double)alone.loads);
		assert_true(timing.cycles < together.results->threads[i].clock);
		sum += own.loads;
		/* made when main was ready with its data */
		assert_true(!i || apart.results->threads[i].clock > ignored.cycles + 100000);
	}
	of_core = together.results->cores[0].counts.loads;
	assert_near((double)sum, (double)of_core, 0.0001 * (double)of_core);
	fm_engine_run_free(&apart);
	fm_engine_run_free(&together);
}

/* Programs whose behaviour does not depend on the host's moment give the same moments again. All but the last: main
   joins its thread there, and whether it has to wait for it in the kernel is a matter of the host's moment. Then there
   may be one more. */
static void moments_repeat(void **state)
{
	const struct fm_engine_options options = {
	    .machine = &machine, .cores = "0-23", .timing = true, .interval = 2000};
	struct fm_engine_run first = run_with(&options, "fields", NULL), second = run_with(&options, "fields", NULL);
	unsigned count = first.results->moment_count, other = second.results->moment_count;

	(void)state;
	assert_true(count > 3);
	assert_true(count <= other + 1 && other <= count + 1);
	for (unsigned i = 0; i + 1 < count && i + 1 < other; i++) {
		assert_int_equal(first.results->moments[i].cycle, second.results->moments[i].cycle);
		assert_memory_equal(&first.results->moments[i].counts, &second.results->moments[i].counts,
		                    sizeof(first.results->moments[i].counts));
	}
	fm_engine_run_free(&first);
	fm_engine_run_free(&second);
}

/* More threads over the program's life than there are records: what the later ones did is complete, and exact. */
static void check_many(const struct fm_engine_options *options, unsigned total, unsigned alive, bool killed)
{
	struct fm_engine_run result;
	const struct fm_results *results;
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;
	double loads = 0, stores = 0, of_cores = 0, stored_by_cores = 0, read = 0, written = 0, off;
	char argument[64];

	snprintf(argument, sizeof(argument), "%u/%u%s", total, alive, killed ? "/" : "");
	result = run_with(options, "many", argument);
	results = result.results;
	assert_int_equal(result.signal, killed ? SIGKILL : 0);
	assert_int_equal(result.exit_status, killed ? 128 + SIGKILL : 0);
	assert_int_equal(results->thread_count, FM_RESULT_THREADS_MAX);
	assert_int_equal(results->others.threads, total + 1 - FM_RESULT_THREADS_MAX);
	assert_int_equal(results->lost_threads, 0);
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		loads += (double)counts.loads;
		stores += (double)counts.stores;
		assert_true(!i || (counts.loads >= 1000 && counts.loads < 3000));
	}
	loads += (double)results->others.counts.loads;
	stores += (double)results->others.counts.stores;
	for (unsigned i = 0; i < results->core_count; i++) {
		of_cores += (double)results->cores[i].counts.loads;
		stored_by_cores += (double)results->cores[i].counts.stores;
	}
	/* A thread that was let go out of turn may run beside another one of its core: some accesses are counted for
	   either or for both. One or two turns are usual, in which that is rare; on a busy machine there are more. */
	off = results->forced_turns > 2 ? 0.001 * of_cores : 16.0 * (double)results->forced_turns;
	print_message("%s: %u turns were forced, loads off by %.0f\n", argument, (unsigned)results->forced_turns,
	              loads - of_cores);
	assert_near(loads, of_cores, off);
	assert_near(stores, stored_by_cores, off);
	assert_true(results->others.work.instructions >= results->others.threads * 2000);
	assert_true(!options->timing || results->others.timing.cycles > results->others.threads * 500);
	assert_int_equal(fm_results_record(&result, &machine, recording, &error), 0);
	for (size_t i = 0; i < recording->objects_count; i++) {
		if (!strcmp(recording->objects[i].name, "numbers"))
			read = (double)recording->objects[i].loads;
		if (!strcmp(recording->objects[i].name, "written"))
			written = (double)recording->objects[i].stores;
	}
	assert_near(read, 1000.0 * total, off);
	assert_near(written, 100.0 * total, off);
	fm_recording_free(recording);
	fm_engine_run_free(&result);
}

static void threads_beyond_the_table_count(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};

	(void)state;
	check_many(&options, 10000, 1, false);
	check_many(&options, 2000, 200, false);
	check_many(&options, 1600, 200, true);
	options.timing = true;
	check_many(&options, 2000, 200, false);
}

/* A process that was there is gone, or dead and not collected. */
static bool is_gone(uint32_t process)
{
	char path[64], text[256] = "";
	FILE *file;
	const char *end;

	snprintf(path, sizeof(path), "/proc/%u/stat", process);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	end = strrchr(text, ')');
	return !end || end[2] == 'Z' || end[2] == 'X';
}

/* In a process of its own: asks the test to end once so many processes of the program have done their work, and notes
 * when.
 */
static pid_t ask(const char *ready, unsigned processes, int signal, uint64_t *ret_asked)
{
	pid_t asking = fork();
	struct stat file;

	if (asking)
		return asking;
	for (unsigned tries = 0; tries < 1000 && (stat(ready, &file) || file.st_size < processes); tries++)
		usleep(20000);
	*ret_asked = fm_clock_now();
	kill(getppid(), signal);
	_exit(0);
}

/* A run of which nobody sees anything ends when we are asked to, whatever the program does: what it counted so far is
   there, and nothing of it is left. */
static void who_is_asked_ends(void **state)
{
	static const struct {
		const char *kind;
		int signal;
		bool killed;
		unsigned forked;
	} cases[] = {{"busy", SIGTERM, true, 0},
	             {"busy", SIGINT, true, 0},
	             {"blocked", SIGTERM, true, 0},
	             {"forked", SIGTERM, true, 3}};

	const struct fm_engine_options silent = {.machine = &machine, .cores = "0-23", .silent = true};
	uint64_t *asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(asked, MAP_FAILED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char ready[] = "/tmp/fathom-stubborn-XXXXXX";
		int file = mkstemp(ready);
		struct fm_engine_run result;
		struct fm_core_counts counts;
		struct fm_timing_counts timing;
		pid_t asking;
		double seconds;

		assert_true(file >= 0);
		close(file);
		setenv("STUBBORN_READY", ready, 1);
		asking = ask(ready, 1 + cases[i].forked, cases[i].signal, asked);
		result = run_with(&silent, "stubborn", cases[i].kind);
		waitpid(asking, NULL, 0);
		unlink(ready);
		seconds = (double)(fm_clock_now() - *asked) / 1e9;
		print_message("%s: ended %.1f s after it was asked\n", cases[i].kind, seconds);
		assert_true(seconds < 11);
		assert_int_equal(result.killed, cases[i].killed);
		assert_int_equal(result.signal, cases[i].forked ? SIGTERM : SIGKILL);
		fm_result_thread_counts(result.results, 0, &counts, &timing);
		assert_true(counts.loads >= 1000000);
		assert_true(is_gone(result.results->process));
		assert_int_equal(result.forked_count, cases[i].forked);
		for (unsigned k = 0; k < result.forked_count; k++) {
			assert_true(is_gone(result.forked[k]->process));
			fm_result_thread_counts(result.forked[k], 0, &counts, &timing);
			assert_true(counts.loads >= 1000000);
		}
		fm_engine_run_free(&result);
	}
	munmap(asked, sizeof(*asked));
}

/* A thread that waits in a call that is usually quick holds nobody up, and ten runs agree. */
static void waiting_is_noticed(void **state)
{
	static const char *const ways[] = {"fifo", "semaphore", "lock"};

	(void)state;
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		struct fm_core_counts first[2];
		uint64_t instructions[2] = {0};

		for (unsigned i = 0; i < 10; i++) {
			uint64_t begin = fm_clock_now();
			struct fm_engine_run result = run("waiting", ways[way]);

			assert_int_equal(result.exit_status, 0);
			assert_int_equal(result.results->thread_count, 2);
			assert_true(fm_clock_now() - begin < 20000000000ull);
			for (unsigned k = 0; k < 2; k++) {
				const struct fm_work *work = &result.results->threads[k].work;
				struct fm_core_counts counts;
				struct fm_timing_counts timing;

				fm_result_thread_counts(result.results, k, &counts, &timing);
				if (!i) {
					first[k] = counts;
					instructions[k] = work->instructions;
					print_message("%s: %llu instructions, %llu loads\n", ways[way],
					              (unsigned long long)work->instructions,
					              (unsigned long long)counts.loads);
				}
				assert_int_equal(work->instructions, instructions[k]);
				assert_int_equal(counts.loads, first[k].loads);
				assert_int_equal(counts.stores, first[k].stores);
			}
			fm_engine_run_free(&result);
		}
	}
}

/* In a process with small file systems where results may lie: what `check` says, or 77 when this cannot be done here.
 */
static int with_small_folders(const char *size, bool all, unsigned forks, int (*check)(unsigned forks))
{
	static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp"};
	pid_t child = fork();
	int status;
	char options[64];

	if (child) {
		waitpid(child, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	snprintf(options, sizeof(options), "size=%s", size);
	unsetenv("TMPDIR");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(77);
	for (unsigned i = 0; i < (all ? 3 : 1); i++)
		if (mount("small", folders[i], "tmpfs", 0, options))
			_exit(77);
	_exit(access(PROGRAMS "forks", X_OK) ? 77 : check(forks));
}

static int complain(const char *what, unsigned long long count)
{
	print_message("%s: %llu\n", what, count);
	return 1;
}

static int run_forks(unsigned forks, struct fm_engine_run *ret_run, struct fm_error *error)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};
	char number[16];

	snprintf(number, sizeof(number), "%u", forks);
	return fm_engine_execute(&options, (char *[]){PROGRAMS "forks", number, NULL}, ret_run, error);
}

static int all_forks_count(unsigned forks)
{
	struct fm_engine_run result;
	struct fm_error error;

	if (run_forks(forks, &result, &error))
		return complain(error.message, 0);
	if (result.exit_status)
		return complain("exit status", (unsigned)result.exit_status);
	if (result.forked_count != forks || result.results->lost_processes)
		return complain("processes", result.forked_count);
	for (unsigned i = 0; i < result.forked_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(result.forked[i], 0, &counts, &timing);
		if (counts.loads < 1000 || counts.loads >= 2000)
			return complain("loads of one", counts.loads);
		if (result.forked[i]->lost_sites)
			return complain("instructions without room", result.forked[i]->lost_sites);
	}
	fm_engine_run_free(&result);
	return 0;
}

/* Those that found no room are counted, the first is complete, and the program does not notice. */
static int lost_forks_are_counted(unsigned forks)
{
	struct fm_engine_run result;
	struct fm_error error;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	if (run_forks(forks, &result, &error))
		return complain(error.message, 0);
	if (result.exit_status)
		return complain("exit status", (unsigned)result.exit_status);
	print_message("%u of %u forked processes found room, %llu did not\n", result.forked_count, forks,
	              (unsigned long long)result.results->lost_processes);
	fm_result_thread_counts(result.results, 0, &counts, &timing);
	if (!result.forked_count || !result.results->lost_processes || counts.loads < 10000 ||
	    result.forked_count + result.results->lost_processes != forks)
		return complain("lost processes", result.results->lost_processes);
	fm_engine_run_free(&result);
	return 0;
}

static int no_room_is_explained(unsigned forks)
{
	struct fm_engine_run result;
	struct fm_error error;
	int status = run_forks(forks, &result, &error);

	if (status != -ENOSPC || !strstr(error.message, "TMPDIR"))
		return complain("no error", (unsigned)-status);
	return 0;
}

static void little_room_is_enough(void **state)
{
	static const struct {
		const char *size;
		bool all;
		unsigned forks;
		int (*check)(unsigned forks);
	} cases[] = {{"64m", false, 300, all_forks_count},      {"4m", false, 60, all_forks_count},
	             {"64m", true, 20, all_forks_count},        {"100k", false, 20, all_forks_count},
	             {"4m", true, 150, lost_forks_are_counted}, {"100k", true, 1, no_room_is_explained}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = with_small_folders(cases[i].size, cases[i].all, cases[i].forks, cases[i].check);

		if (status == 77) {
			print_message("SKIPPED: mounting needs root, and programs outside /tmp\n");
			skip();
		}
		if (status)
			fail_msg("with %s in %s: %d", cases[i].size, cases[i].all ? "all folders" : "/dev/shm", status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(false_sharing_repeats),
	    cmocka_unit_test(skew_rules_the_turns),
	    cmocka_unit_test(free_running_counts_accesses_alike),
	    cmocka_unit_test(threads_come_and_go),
	    cmocka_unit_test(forks_are_followed),
	    cmocka_unit_test(bad_ends_keep_the_counts),
	    cmocka_unit_test(executed_programs_are_followed),
	    cmocka_unit_test(what_cannot_be_followed_is_named),
	    cmocka_unit_test(affinity_is_understood),
	    cmocka_unit_test(moments_repeat),
	    cmocka_unit_test(shared_cores_are_told_apart),
	    cmocka_unit_test(threads_beyond_the_table_count),
	    cmocka_unit_test(who_is_asked_ends),
	    cmocka_unit_test(waiting_is_noticed),
	    cmocka_unit_test(little_room_is_enough),
	};
	int status = prepare();

	return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
