/* The runtime in a program that forbids itself system calls: it must not be ended for one of the runtime's. No colours
   are needed: the runtime only looks how much memory there is, or is told that every page has the only colour. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "colours/shared.h"

/* the program has twice MAPPED_BYTES of heap */
enum { CANNOT = 99, PAGES = 16, HEAP_LEAST = 600 << 10, HEAP_PAGES = 1024, MAPPED_BYTES = 300 << 10 };

static const char *const ways[] = {"prctl", "syscall"};

static char path[] = "/tmp/fathom-runtime-XXXXXX";
static struct fm_colours_shared *shared;

static int set_up(void **state)
{
	size_t at = (sizeof(*shared) + FM_PAGE_BYTES - 1) / FM_PAGE_BYTES * FM_PAGE_BYTES;
	int file = mkstemp(path);

	(void)state;
	if (file < 0 || ftruncate(file, (off_t)(at + PAGES * FM_PAGE_BYTES)))
		return -1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (shared == MAP_FAILED)
		return -1;
	shared->magic = FM_COLOURS_MAGIC;
	shared->bytes = sizeof(*shared);
	shared->filtered = 1; /* by whoever runs the test, perhaps */
	shared->pool_at = (uint32_t)at;
	shared->pool_pages = PAGES;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(shared, sizeof(*shared));
	return unlink(path);
}

static int run(const char *way)
{
	pid_t process = fork();
	int status = 0;

	if (!process) {
		setenv("LD_PRELOAD", LIBRARY, 1);
		setenv(FM_COLOURS_VARIABLE, path, 1);
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(PROGRAM, PROGRAM, way, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(process, &status, 0), process);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What the runtime says of a program that ended well. */
static const struct fm_colours_process *run_well(const char *way)
{
	const struct fm_colours_process *process = &shared->processes[0];
	int status;

	shared->process_count = 0;
	memset(shared->processes, 0, sizeof(shared->processes));
	status = run(way);
	if (status == CANNOT)
		skip();
	assert_int_equal(status, 0);
	assert_int_equal(shared->process_count, 1);
	assert_string_equal(process->why, "");
	assert_int_equal(process->state, FM_COLOURS_READY);
	assert_true(process->filtered && process->ended);
	return process;
}

static void a_survey_notices_filters(void **state)
{
	(void)state;
	shared->survey = 1;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const struct fm_colours_process *process = run_well(ways[i]);

		/* what it had before, and what its heap got afterwards */
		assert_true(process->heap_bytes >= HEAP_LEAST);
		assert_true(process->anonymous_bytes >= process->heap_bytes);
	}
}

/* Any time is longer than none: all pages have the only colour. */
static void pages_are_given_before_a_filter(void **state)
{
	(void)state;
	shared->survey = 0;
	shared->keep = shared->geometry.colours = 1;
	shared->geometry.ways = shared->geometry.first_ways = 4;
	shared->set_counts[0] = 1;
	shared->lines.count = 2;
	shared->lines.offsets[1] = 640;
	shared->threshold = 0;
	shared->longest = UINT32_MAX;
	shared->heap_pages = HEAP_PAGES;
	shared->other_pages = shared->stack_pages = 64;
	shared->most_pages = 4 * HEAP_PAGES;
	shared->free_bytes = 1ull << 40;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const struct fm_colours_process *process = run_well(ways[i]);

		assert_int_equal(process->heap, HEAP_PAGES);
		/* what it maps afterwards is not confined, and its heap is */
		assert_true(process->left_bytes >= MAPPED_BYTES && process->left_bytes < 2 * MAPPED_BYTES);
	}
	/* control groups that leave nothing */
	shared->free_bytes = 1 << 20;
	shared->process_count = 0;
	memset(shared->processes, 0, sizeof(shared->processes));
	assert_int_equal(run(ways[0]), 0);
	assert_int_equal(shared->processes[0].state, FM_COLOURS_OFF);
	assert_non_null(strstr(shared->processes[0].why, "not enough free memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_survey_notices_filters),
	                                   cmocka_unit_test(pages_are_given_before_a_filter)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
