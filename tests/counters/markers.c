/* Markers of a program that runs by itself: time and counters of regions, in threads and forked processes, and what
   happens when there is too much of it. The program is this one. */
#include "unit/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/fathom.h"
#include "counters/markers.h"

enum { PAGES = 50, EXTRA = SANITIZED ? 3 * PAGES : 10 };

/* What the program does, by name. */

static void touch(unsigned pages)
{
	char *memory = mmap(NULL, pages * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, pages * 4096ul, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < pages; i++)
		((volatile char *)memory)[i * 4096ul] = 1;
	munmap(memory, pages * 4096ul);
}

static void *mark(void *argument)
{
	(void)argument;
	for (int i = 0; i < 3; i++) {
		fathom_region_begin("outer");
		fathom_region_begin("pages");
		touch(PAGES);
		fathom_region_end("pages");
		fathom_region_end("outer");
	}
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, mark, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void in_processes(void)
{
	int status;

	mark(NULL);
	if (!fork()) {
		mark(NULL);
		_exit(0);
	}
	wait(&status);
	mark(NULL);
}

static void too_many(void)
{
	char name[32];

	for (int i = 0; i < FATHOM_SLOTS_MAX_ + 10; i++) {
		snprintf(name, sizeof(name), "region %d", i);
		fathom_region_begin(name);
		fathom_region_end(name);
	}
}

static void too_deep(void)
{
	for (int i = 0; i < FATHOM_OPEN_MAX_ + 5; i++)
		fathom_region_begin("deep");
	for (int i = 0; i < FATHOM_OPEN_MAX_ + 5; i++)
		fathom_region_end("deep");
	fathom_region_end("never begun");
}

/* A program that closes what it does not know, and opens files of its own under the same numbers. */
static void closes_files(void)
{
	char text[] = "text of its own", back[sizeof(text)] = "";
	char path[] = "/tmp/fathom-test-XXXXXX";
	int file;

	mark(NULL);
	file = mkstemp(path);
	unlink(path);
	if (write(file, text, sizeof(text)) != sizeof(text) || lseek(file, 0, SEEK_SET))
		_exit(1);
	for (int i = 3; i < 64; i++)
		if (i != file)
			dup2(file, i);
	mark(NULL);
	if (read(file, back, sizeof(back)) != sizeof(back) || strcmp(text, back) != 0)
		_exit(2);
}

static const struct {
	const char *name;
	void (*run)(void);
} acts[] = {{"threads", in_threads},
            {"processes", in_processes},
            {"many", too_many},
            {"deep", too_deep},
            {"closes files", closes_files}};

/* The tool's side. */

static char self[4096];

static struct fm_marked *run(const char *act, const char *list, unsigned *ret_count, uint64_t *ret_lost)
{
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_markers *markers;
	struct fm_marked *marked;
	struct fm_error error;
	int count = list ? fm_events_parse(list, events, FM_EVENTS_MAX, &error) : 0, status;
	pid_t child;

	assert_true(count >= 0);
	if (fm_markers_create(events, (unsigned)count, &markers, &error))
		fail_msg("%s", error.message);
	child = fork();
	if (!child) {
		fm_markers_announce(markers);
		execl(self, self, act, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fm_markers_read(markers, &marked, ret_count, ret_lost, &error), 0);
	fm_markers_free(markers);
	return marked;
}

static void threads_are_told_apart(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("threads", NULL, &count, &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_int_equal(count, 8);
	for (unsigned i = 0; i < count; i++) {
		assert_string_equal(marked[i].name, i < 4 ? "outer" : "pages");
		assert_int_equal(marked[i].ordinal, i % 4);
		assert_int_equal(marked[i].instances, 3);
		assert_true(marked[i].seconds > 0);
	}
	/* what is inside takes no longer */
	for (unsigned i = 0; i < 4; i++)
		assert_true(marked[i].seconds >= marked[i + 4].seconds);
	fm_marked_free(marked, count);
}

/* Each page that is touched first is one fault of that thread, in that region. */
static void counters_count_the_region(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("threads", "page-faults,task-clock", &count, &lost);

	(void)state;
	assert_int_equal(count, 8);
	for (unsigned i = 0; i < count; i++) {
		if (!marked[i].counts[0].figure.available)
			fail_msg("%s", marked[i].counts[0].figure.why);
		print_message("%s, thread %u: %.0f page faults, %.0f ns\n", marked[i].name, marked[i].ordinal,
		              marked[i].counts[0].figure.value, marked[i].counts[1].figure.value);
		assert_true(marked[i].counts[0].value >= 3 * PAGES);
		/* stack and heap may grow on the way */
		assert_true(marked[i].counts[0].value <= 3 * PAGES + EXTRA);
		assert_true(marked[i].counts[1].value > 0);
		assert_true(marked[i].counts[1].figure.value <= marked[i].seconds * 1e9 * 1.01 + 1e5);
	}
	fm_marked_free(marked, count);
}

static void forked_processes_have_their_own(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("processes", NULL, &count, &lost);

	(void)state;
	assert_int_equal(count, 4);
	assert_int_equal(marked[0].instances, 6);
	assert_int_equal(marked[1].instances, 3);
	assert_true(marked[0].process != marked[1].process);
	fm_marked_free(marked, count);
}

static void what_has_no_room_is_counted(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("many", NULL, &count, &lost);

	(void)state;
	assert_int_equal(count, FATHOM_SLOTS_MAX_);
	assert_int_equal(lost, 10);
	fm_marked_free(marked, count);
	marked = run("deep", NULL, &count, &lost);
	assert_int_equal(count, 1);
	assert_int_equal(marked[0].instances, FATHOM_OPEN_MAX_);
	assert_int_equal(lost, 5);
	fm_marked_free(marked, count);
}

static void files_of_the_program_are_not_read(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("closes files", "page-faults", &count, &lost);

	(void)state;
	assert_int_equal(marked[0].instances, 6);
	fm_marked_free(marked, count);
}

/* A name in the environment that is no file of ours: a link, another size, another content. */
static void strange_files_are_left_alone(void **state)
{
	char path[] = "/tmp/fathom-test-XXXXXX", link[64], before[4096] = "not ours", after[4096];
	int file = mkstemp(path);

	(void)state;
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	for (unsigned i = 0; i < 3; i++) {
		const char *name = i == 1 ? link : path;
		int status;
		pid_t child;

		assert_int_equal(ftruncate(file, i ? (off_t)sizeof(struct fathom_markers_) : 100), 0);
		assert_int_equal(pwrite(file, before, i ? sizeof(before) : 100, 0), i ? sizeof(before) : 100);
		child = fork();
		if (!child) {
			setenv("FATHOM_MARKERS", name, 1);
			execl(self, self, "deep", NULL);
			_exit(127);
		}
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		assert_true(pread(file, after, sizeof(after), 0) > 0);
		assert_memory_equal(before, after, i ? sizeof(before) : 100);
	}
	unlink(link);
	unlink(path);
	close(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_are_told_apart),
	    cmocka_unit_test(counters_count_the_region),
	    cmocka_unit_test(forked_processes_have_their_own),
	    cmocka_unit_test(what_has_no_room_is_counted),
	    cmocka_unit_test(files_of_the_program_are_not_read),
	    cmocka_unit_test(strange_files_are_left_alone),
	};

	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[1], acts[i].name)) {
			acts[i].run();
			return 0;
		}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
