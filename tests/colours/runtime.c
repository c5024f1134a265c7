/* The runtime in a program that forbids itself system calls: it must not be ended for one of the runtime's. No colours
   are needed: the runtime only looks how much memory there is. */
#include "unit/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "colours/shared.h"

enum { CANNOT = 99, PAGES = 1, HEAP_LEAST = 600 << 10 };

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
	shared->survey = 1;
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

static void filters_are_noticed(void **state)
{
	static const char *const ways[] = {"prctl", "syscall"};

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const struct fm_colours_process *process = &shared->processes[0];
		int status;

		shared->process_count = 0;
		memset(shared->processes, 0, sizeof(shared->processes));
		status = run(ways[i]);
		if (status == CANNOT)
			skip();
		assert_int_equal(status, 0);
		assert_int_equal(shared->process_count, 1);
		assert_int_equal(process->state, FM_COLOURS_READY);
		assert_true(process->filtered && process->ended);
		/* what it had before, and what its heap got afterwards */
		assert_true(process->heap_bytes >= HEAP_LEAST);
		assert_true(process->anonymous_bytes >= process->heap_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(filters_are_noticed)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
