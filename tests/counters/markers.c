/* Markers of a program that runs by itself: time and counters of regions, in threads and forked processes, and what
   happens when there is too much of it. The program is this one. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../include/fathom.h"
#include "counters/markers.h"

enum { CANNOT = 99, PAGES = 50, EXTRA = SANITIZED ? 3 * PAGES : 10 };

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

/* … and one that does so while it is in a region. */
static void closes_in_region(void)
{
	fathom_region_begin("half");
	for (int i = 3; i < 64; i++)
		close(i);
	fathom_region_end("half");
}

/* In a forked process another thread marks first; the parent's open region is none of theirs. */
static void *mark_once(void *argument)
{
	fathom_region_begin("child");
	fathom_region_end("child");
	return argument;
}

static void forks_in_region(void)
{
	int status;

	fathom_region_begin("parent");
	if (!fork()) {
		pthread_t thread;

		pthread_create(&thread, NULL, mark_once, NULL);
		pthread_join(thread, NULL);
		fathom_region_end("parent");
		mark_once(NULL);
		_exit(0);
	}
	wait(&status);
	fathom_region_end("parent");
}

/* Threads that come and go, many more than there are files for; the program's own files must still open. */
static void many_threads(void)
{
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		int file;

		pthread_create(&thread, NULL, mark_once, NULL);
		pthread_join(thread, NULL);
		file = open("/dev/null", O_RDONLY);
		if (file < 0 || file > 60)
			_exit(3);
		close(file);
	}
}

/* What errno was before a marker it is after it. */
static void keeps_errno(void)
{
	errno = ERANGE;
	mark_once(NULL);
	if (errno != ERANGE)
		_exit(4);
}

/* A program that gives up every system call but what the C library needs for threads and memory, and is killed for any
   other. */
static void forbid(void)
{
	static const unsigned allowed[] = {SYS_rt_sigaction, SYS_brk,
	                                   SYS_sigaltstack,  SYS_getrandom,
	                                   SYS_sched_yield,  SYS_sched_getaffinity,
	                                   SYS_write,        SYS_exit,
	                                   SYS_exit_group,   SYS_gettid,
	                                   SYS_mmap,         SYS_munmap,
	                                   SYS_madvise,      SYS_clock_gettime,
	                                   SYS_prctl,        SYS_futex,
	                                   SYS_mprotect,     SYS_rt_sigreturn,
	                                   SYS_clone3,       SYS_set_robust_list,
	                                   SYS_rseq,         SYS_rt_sigprocmask,
	                                   SYS_clone};
	struct sock_filter filter[2 * sizeof(allowed) / sizeof(allowed[0]) + 2];
	struct sock_fprog program = {0, filter};

	filter[program.len++] =
	    (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(CANNOT);
}

static void filtered(void)
{
	pthread_t thread;

	forbid();
	mark(NULL);
	if (pthread_create(&thread, NULL, mark, NULL) || pthread_join(thread, NULL))
		_exit(5);
	_exit(0); /* without whatever a sanitizer does at the end */
}

/* Has this program more rights than who started it? */
static void privileged(void)
{
	mark(NULL);
	_exit(getauxval(AT_SECURE) ? 0 : CANNOT);
}

/* Marks for as long as somebody writes rubbish into the file. */
static void *mark_for_long(void *argument)
{
	char name[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "region %d", i % 7);
		fathom_region_begin(name);
		fathom_region_begin("inside");
		fathom_region_end("inside");
		fathom_region_end(name);
	}
	return argument;
}

static void beside_a_hostile_writer(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, mark_for_long, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} acts[] = {{"threads", in_threads},
            {"processes", in_processes},
            {"many", too_many},
            {"deep", too_deep},
            {"closes files", closes_files},
            {"closes in region", closes_in_region},
            {"forks in region", forks_in_region},
            {"many threads", many_threads},
            {"keeps errno", keeps_errno},
            {"filtered", filtered},
            {"privileged", privileged},
            {"hostile", beside_a_hostile_writer}};

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

/* Each page that is touched first is one fault of that thread, in that region. Clock and counters are read one after
   the other: a thread that loses its processor in between has more processor time than time, so one quiet run of five
   must show that it is not more. */
static void counters_count_the_region(void **state)
{
	bool quiet = false;

	(void)state;
	for (unsigned attempt = 0; attempt < 5 && !quiet; attempt++) {
		unsigned count;
		uint64_t lost;
		struct fm_marked *marked = run("threads", "page-faults,task-clock", &count, &lost);

		assert_int_equal(count, 8);
		quiet = true;
		for (unsigned i = 0; i < count; i++) {
			if (!marked[i].counts[0].figure.available)
				fail_msg("%s", marked[i].counts[0].figure.why);
			print_message("%s, thread %u: %.0f page faults, %.0f ns of %.0f\n", marked[i].name,
			              marked[i].ordinal, marked[i].counts[0].figure.value,
			              marked[i].counts[1].figure.value, marked[i].seconds * 1e9);
			assert_true(marked[i].counts[0].value >= 3 * PAGES);
			/* stack and heap may grow on the way */
			assert_true(marked[i].counts[0].value <= 3 * PAGES + EXTRA);
			assert_true(marked[i].counts[1].value > 0);
			quiet &= marked[i].counts[1].figure.value <= marked[i].seconds * 1e9 * 1.01 + 1e5;
		}
		fm_marked_free(marked, count);
	}
	assert_true(quiet);
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
	/* half of them were not counted: then there is no count */
	assert_false(marked[0].counts[0].figure.available);
	fm_marked_free(marked, count);
	marked = run("closes in region", "page-faults,task-clock", &count, &lost);
	assert_int_equal(marked[0].instances, 1);
	assert_true(marked[0].seconds > 0);
	assert_false(marked[0].counts[0].figure.available || marked[0].counts[1].figure.available);
	fm_marked_free(marked, count);
}

static void processes_do_not_mix(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("forks in region", NULL, &count, &lost);

	(void)state;
	/* two threads of the child, one of the parent, which alone began its region */
	assert_int_equal(count, 3);
	assert_string_equal(marked[2].name, "parent");
	assert_int_equal(marked[2].instances, 1);
	assert_true(marked[0].process == marked[1].process && marked[0].process != marked[2].process);
	fm_marked_free(marked, count);
}

static void the_program_keeps_its_files(void **state)
{
	unsigned count;
	uint64_t lost;
	struct fm_marked *marked = run("many threads", "page-faults,task-clock,context-switches", &count, &lost);
	unsigned counted = 0;

	(void)state;
	assert_int_equal(count, 100);
	for (unsigned i = 0; i < count; i++)
		counted += marked[i].counts[1].figure.available;
	print_message("%u of 100 threads counted\n", counted);
	assert_int_equal(counted, 100);
	fm_marked_free(marked, count);
	fm_marked_free(run("keeps errno", "page-faults", &count, &lost), 1);
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

/* Run an act with variables of the environment; its status as waitpid gives it. */
static int run_with(const char *program, const char *act, const char *engine, const char *path, uid_t user)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (engine)
			setenv("FATHOM_ENGINE", engine, 1);
		if (path)
			setenv("FATHOM_MARKERS", path, 1);
		if (user && (setresgid(user, user, user) || setresuid(user, user, user)))
			_exit(CANNOT);
		execl(program, program, act, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* What a filter kills for is not done: neither without a listener, nor for a file, nor because the environment speaks
   of an engine that is not there, nor for counters. */
static void filters_do_not_kill(void **state)
{
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_markers *markers;
	struct fm_marked *marked;
	struct fm_error error;
	unsigned count;
	uint64_t lost;
	int status = run_with(self, "filtered", NULL, NULL, 0);

	(void)state;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
		print_message("SKIPPED: this kernel lets no program filter its system calls\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(run_with(self, "filtered", "exact", NULL, 0), 0);
	for (unsigned engine = 0; engine < 2; engine++)
		for (int counters = 0; counters < 2; counters++) {
			if (counters)
				assert_int_equal(fm_events_parse("page-faults", events, FM_EVENTS_MAX, &error), 1);
			assert_int_equal(fm_markers_create(events, (unsigned)counters, &markers, &error), 0);
			fm_markers_announce(markers);
			assert_int_equal(
			    run_with(self, "filtered", engine ? "exact" : NULL, getenv("FATHOM_MARKERS"), 0), 0);
			unsetenv("FATHOM_MARKERS");
			assert_int_equal(fm_markers_read(markers, &marked, &count, &lost, &error), 0);
			assert_int_equal(count, 4);
			for (unsigned i = 0; i < count; i++) {
				assert_int_equal(marked[i].instances, 3);
				if (counters)
					assert_false(marked[i].counts[0].figure.available);
			}
			fm_marked_free(marked, count);
			fm_markers_free(markers);
		}
}

/* A copy of this program that a user may run with more rights than are theirs; false where that cannot be made. */
static bool make_privileged(const char *path, bool by_capability, uid_t owner)
{
	/* struct vfs_cap_data: revision 2, effective; permitted: CAP_NET_BIND_SERVICE */
	const uint32_t capability[5] = {0x02000001, 1u << 10, 0, 0, 0};
	char command[9000];

	snprintf(command, sizeof(command), "cp '%s' '%s'", self, path);
	if (geteuid() || system(command) || chown(path, owner, owner) || chmod(path, by_capability ? 0755 : 06755))
		return false;
	return !by_capability || !setxattr(path, "security.capability", capability, sizeof(capability), 0);
}

/* Who starts a program that has more rights than theirs does not tell it where to write. */
static void privileged_programs_do_not_listen(void **state)
{
	enum { NOBODY = 65534, SOMEBODY = 65533 };
	char folder[] = "/tmp/fathom-test-XXXXXX", program[64], path[64];
	struct fathom_markers_ *file = calloc(1, sizeof(*file)), *after = calloc(1, sizeof(*after));
	unsigned tried = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	chmod(folder, 0755);
	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(path, sizeof(path), "%s/markers", folder);
	file->magic = FATHOM_MARKERS_MAGIC_;
	for (unsigned by_capability = 0; by_capability < 2; by_capability++) {
		/* the file is its user's, whose rights the program has beside others, or whose name it runs under */
		uid_t owner = by_capability ? 0 : SOMEBODY;
		int descriptor, status;

		unlink(path);
		descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(descriptor >= 0);
		assert_int_equal(write(descriptor, file, sizeof(*file)), sizeof(*file));
		unlink(program);
		if (make_privileged(program, by_capability, owner) &&
		    !fchown(descriptor, by_capability ? NOBODY : SOMEBODY, (gid_t)-1)) {
			status = run_with(program, "privileged", "exact", path, NOBODY);
			if (!WIFEXITED(status) || WEXITSTATUS(status) != CANNOT) {
				assert_int_equal(status, 0);
				tried++;
			}
		}
		assert_int_equal(pread(descriptor, after, sizeof(*after), 0), sizeof(*after));
		assert_memory_equal(file, after, sizeof(*file));
		close(descriptor);
	}
	unlink(program);
	unlink(path);
	rmdir(folder);
	free(file);
	free(after);
	print_message("%u of 2 ways to have more rights tried\n", tried);
	if (!tried) {
		print_message("SKIPPED: no program with more rights than its user's can be made here\n");
		skip();
	}
}

/* Counts and numbers that nobody wrote in good faith, changed all the time. */
static void scribble(struct fathom_markers_ *file, unsigned seed, unsigned rounds)
{
	static const uint32_t values[] = {0, 1, FATHOM_THREADS_MAX_, FATHOM_SLOTS_MAX_ + 1, 0x7fffffff, UINT32_MAX};
	uint32_t *words = (uint32_t *)(void *)file;

	for (unsigned i = 0; i < rounds; i++) {
		seed = seed * 1103515245u + 12345;
		file->slot_count = values[seed >> 16 & 3];
		file->thread_count = values[(seed >> 18) % 6];
		file->wishes.counter_count = values[(seed >> 20) % 6];
		file->slots[seed >> 8 & 7].thread = values[(seed >> 16) % 6];
		memset(file->slots[seed >> 8 & 7].name, 'x', FATHOM_NAME_MAX_);
		words[(seed >> 4) % (sizeof(*file) / 4)] = values[(seed >> 12) % 6];
	}
}

static struct fathom_markers_ *map_announced(const struct fm_markers *markers, int *ret_descriptor)
{
	struct fathom_markers_ *file;

	fm_markers_announce(markers);
	*ret_descriptor = open(getenv("FATHOM_MARKERS"), O_RDWR | O_CLOEXEC);
	unsetenv("FATHOM_MARKERS");
	assert_true(*ret_descriptor >= 0);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, *ret_descriptor, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	return file;
}

static void hostile_writers_do_no_harm(void **state)
{
	struct fm_event events[FM_EVENTS_MAX];
	struct fathom_markers_ *file;
	struct fm_markers *markers;
	struct fm_marked *marked;
	struct fm_error error;
	unsigned count;
	uint64_t lost;
	int descriptor, status;
	pid_t child, writer;

	(void)state;
	assert_int_equal(fm_events_parse("page-faults", events, FM_EVENTS_MAX, &error), 1);
	assert_int_equal(fm_markers_create(events, 1, &markers, &error), 0);
	file = map_announced(markers, &descriptor);
	child = fork();
	if (!child) {
		fm_markers_announce(markers);
		execl(self, self, "hostile", NULL);
		_exit(127);
	}
	writer = fork();
	if (!writer)
		for (unsigned seed = 1;; seed++)
			scribble(file, seed, 1000);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* the tool reads while it goes on */
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(fm_markers_read(markers, &marked, &count, &lost, &error), 0);
		for (unsigned k = 0; k < count; k++)
			assert_true(strlen(marked[k].name) < FATHOM_NAME_MAX_);
		fm_marked_free(marked, count);
	}
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	/* cut short, it is refused; a tool that has it mapped would end by SIGBUS */
	assert_int_equal(ftruncate(descriptor, 4096), 0);
	assert_int_equal(fm_markers_read(markers, &marked, &count, &lost, &error), -EBADMSG);
	munmap(file, sizeof(*file));
	close(descriptor);
	fm_markers_free(markers);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_are_told_apart),
	    cmocka_unit_test(counters_count_the_region),
	    cmocka_unit_test(forked_processes_have_their_own),
	    cmocka_unit_test(what_has_no_room_is_counted),
	    cmocka_unit_test(files_of_the_program_are_not_read),
	    cmocka_unit_test(processes_do_not_mix),
	    cmocka_unit_test(the_program_keeps_its_files),
	    cmocka_unit_test(strange_files_are_left_alone),
	    cmocka_unit_test(filters_do_not_kill),
	    cmocka_unit_test(privileged_programs_do_not_listen),
	    cmocka_unit_test(hostile_writers_do_no_harm),
	};

	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[1], acts[i].name)) {
			acts[i].run();
			return 0;
		}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	/* The others count page faults and close files; the sanitizer has pages of its own and keeps a record of files,
	   which does not know those that the header opens by system calls. */
	if (THREADS_SANITIZED)
		cmocka_set_test_filter("threads_*");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
