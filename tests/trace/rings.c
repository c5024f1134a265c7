/* The rings that the library writes to, small and large, and when the next window may open: in this process, with
   nothing of the rest of the library. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/ring.h"
#include "trace/opening.h"

enum { MEBIBYTE = 1 << 20, IN_MEMORY = 0x01021994 };

struct fm_place fm_places[FM_TRACE_THREADS];

uint8_t fm_place_usual(const struct fm_place *place)
{
	(void)place;
	return FM_COUNTING;
}

void fm_place_publish(struct fm_place *place)
{
	(void)place;
}

uint64_t fm_places_instructions(void)
{
	return 0;
}

/* Also in forked processes, of which cmocka knows nothing. */
#define HOLDS(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
			_exit(1);                                                   \
		}                                                                   \
	} while (0)

static char folder[64];

static void make_folder(const char *above)
{
	char path[128];
	int file;

	snprintf(folder, sizeof(folder), "%s/fathom-rings-XXXXXX", above);
	HOLDS(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/session", folder);
	file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	HOLDS(file >= 0);
	HOLDS(!posix_fallocate(file, 0, sizeof(struct fm_trace_session)));
	fm_session = mmap(NULL, sizeof(*fm_session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	HOLDS(fm_session != MAP_FAILED);
	close(file);
	*fm_session = (struct fm_trace_session){.magic = FM_TRACE_MAGIC,
	                                        .version = FM_TRACE_VERSION,
	                                        .mode = FM_TRACE_WINDOWS,
	                                        .ticks_per_second = 1000000000,
	                                        .window_references = 600000,
	                                        .slowdown = 2};
	setenv(FM_TRACE_VARIABLE, folder, 1);
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* In a process of its own, since the file is this process's, and limits are for good. */
static void in_child(void (*test)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(60);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static struct fm_place *take(unsigned number)
{
	struct fm_place *place = &fm_places[number];

	place->number = number;
	place->taken = 1;
	HOLDS(fm_ring_take(place));
	return place;
}

static void give_back(struct fm_place *place)
{
	fm_ring_release(place);
	place->taken = 0;
}

static void open_file(void)
{
	HOLDS(!fm_file_open());
	fm_head()->large_rings = FM_TRACE_LARGE_RINGS;
}

static void read_all(unsigned number)
{
	fm_file->threads[number].read = fm_file->threads[number].written;
}

static void a_thread_goes_over(void)
{
	struct fm_place *place;
	struct fm_trace_thread *line;

	open_file();
	place = take(0);
	line = &fm_file->threads[0];
	HOLDS(place->ring == fm_file->rings[0] && place->ring_size == FM_TRACE_RING);
	fm_ring_control(place, FM_TRACE_REGION_BEGIN, 1);
	fm_head()->large_rings = 0; /* nobody can read one */
	fm_ring_enlarge(place);
	HOLDS(!place->large && !line->large);
	fm_head()->large_rings = FM_TRACE_LARGE_RINGS;
	fm_ring_enlarge(place);
	HOLDS(place->large == 1 && line->large == 1 && line->large_from == 1 && line->written == 1);
	fm_ring_control(place, FM_TRACE_REGION_BEGIN, 2);
	HOLDS(fm_file->rings[0][0].address == 1 && place->ring[1].address == 2 && line->written == 2);
}

/* All around, with what crosses the end. */
static void a_large_ring_goes_round(void)
{
	enum { COUNT = 5000 };
	struct fm_translate_entry entries[COUNT];
	struct fm_place *place;
	struct fm_trace_thread *line;

	open_file();
	place = take(3);
	line = &fm_file->threads[3];
	fm_ring_enlarge(place);
	for (uint64_t at = 0; at < 3 * FM_TRACE_LARGE; at += COUNT + 2) {
		HOLDS(line->written == at);
		for (unsigned i = 0; i < COUNT; i++)
			entries[i] = (struct fm_translate_entry){.address = at + i, .site = i};
		fm_ring_log(place, entries, COUNT);
		for (unsigned i = 0; i < COUNT; i++) {
			const struct fm_trace_entry *entry = &place->ring[(at + 1 + i) % FM_TRACE_LARGE];

			HOLDS(entry->address == at + i && entry->what == i);
		}
		HOLDS(place->ring[(at + COUNT + 1) % FM_TRACE_LARGE].what == (FM_TRACE_CONTROL | FM_TRACE_ENDED));
		line->read = line->written;
	}
	HOLDS(!place->waited && !fm_head()->lost_entries);
}

/* A place keeps its ring; another thread gets it once it is free and read. */
static void rings_are_used_again(void)
{
	struct fm_place *places[FM_TRACE_LARGE_RINGS + 1];

	open_file();
	for (unsigned i = 0; i <= FM_TRACE_LARGE_RINGS; i++) {
		places[i] = take(i);
		fm_ring_enlarge(places[i]);
		HOLDS(places[i]->large == (i < FM_TRACE_LARGE_RINGS ? i + 1 : 0));
	}
	fm_ring_control(places[1], FM_TRACE_REGION_BEGIN, 1);
	give_back(places[1]);
	HOLDS(!fm_ring_take(places[1])); /* not read */
	fm_ring_enlarge(places[FM_TRACE_LARGE_RINGS]);
	HOLDS(!places[FM_TRACE_LARGE_RINGS]->large);
	read_all(1);
	take(1);
	HOLDS(places[1]->large == 2 && places[1]->ring_size == FM_TRACE_LARGE);
	give_back(places[1]);
	give_back(places[FM_TRACE_LARGE_RINGS]);
	take(FM_TRACE_LARGE_RINGS);
	fm_ring_enlarge(places[FM_TRACE_LARGE_RINGS]);
	HOLDS(places[FM_TRACE_LARGE_RINGS]->large == 2 && !places[1]->large && !fm_file->threads[1].large);
	take(1);
	HOLDS(places[1]->ring == fm_file->rings[1] && places[1]->ring_size == FM_TRACE_RING);
	fm_rings_forked();
	places[0]->large = 0;
	read_all(0);
	HOLDS(fm_ring_take(places[0]) && places[0]->ring == fm_file->rings[0]);
}

static uint64_t mapped_bytes(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	HOLDS(file && fscanf(file, "%llu", &pages) == 1);
	fclose(file);
	return pages * 4096;
}

static void limit(int resource, uint64_t most)
{
	struct rlimit limit = {most, most};

	HOLDS(!setrlimit(resource, &limit));
}

static void few_addresses_are_left(void)
{
	struct fm_place *place;

	open_file();
	place = take(0);
	limit(RLIMIT_AS, mapped_bytes() + 24 * MEBIBYTE);
	fm_ring_enlarge(place);
	HOLDS(place->large == 1 && place->ring_size == FM_TRACE_LARGE / 4);
	place = take(1);
	limit(RLIMIT_AS, mapped_bytes() + 6 * MEBIBYTE);
	fm_ring_enlarge(place);
	HOLDS(!place->large && place->ring_size == FM_TRACE_RING);
}

static void enough_addresses_are_left(void)
{
	struct fm_place *place;

	open_file();
	place = take(0);
	limit(RLIMIT_AS, mapped_bytes() + 64 * MEBIBYTE);
	fm_ring_enlarge(place);
	HOLDS(place->large == 1);
}

static void files_must_be_short(void)
{
	struct fm_place *place;

	limit(RLIMIT_FSIZE, sizeof(struct fm_trace_file) + MEBIBYTE);
	open_file();
	place = take(0);
	fm_ring_enlarge(place);
	HOLDS(!place->large);
	fm_ring_control(place, FM_TRACE_REGION_BEGIN, 1);
	HOLDS(fm_file->threads[0].written == 1);
}

static void on_a_disk(void)
{
	struct fm_place *place;

	open_file();
	place = take(0);
	fm_ring_enlarge(place);
	HOLDS(!place->large);
}

static bool write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return written;
}

/* A small file system that only this process has. */
static bool mount_small(const char *folder_for_it)
{
	char user[32], group[32];

	snprintf(user, sizeof(user), "0 %u 1", getuid());
	snprintf(group, sizeof(group), "0 %u 1", getgid());
	if (unshare(CLONE_NEWNS) &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_text("/proc/self/setgroups", "deny") ||
	     !write_text("/proc/self/uid_map", user) || !write_text("/proc/self/gid_map", group)))
		return false;
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", folder_for_it, "tmpfs", 0, "size=42m");
}

static char small[] = "/tmp/fathom-small-XXXXXX";

/* Room for two and a half, or for smaller ones: only half of what is left is taken each time. */
static void little_memory_is_left(void)
{
	if (!mount_small(small)) {
		fprintf(stderr, "no file system of its own: not tested\n");
		_exit(0);
	}
	make_folder(small);
	open_file();
	fm_ring_enlarge(take(0));
	fm_ring_enlarge(take(1));
	HOLDS(fm_places[0].large == 1 && fm_places[0].ring_size == FM_TRACE_LARGE);
	HOLDS(fm_places[1].large == 2 && fm_places[1].ring_size == FM_TRACE_LARGE / 4);
	fm_ring_control(&fm_places[1], FM_TRACE_REGION_BEGIN, 1);
	HOLDS(fm_file->threads[1].written == 1);
}

static void spend_time_until_due(const struct fm_place *place)
{
	while (!fm_window_is_due(place))
		;
}

static bool is_due_within(const struct fm_place *place, unsigned milliseconds)
{
	uint64_t until = fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 1000000ull * milliseconds;

	while (!fm_window_is_due(place) && fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
	return fm_window_is_due(place);
}

static bool is_due_soon(const struct fm_place *place)
{
	return is_due_within(place, 100);
}

static void have_window(struct fm_place *place)
{
	spend_time_until_due(place);
	HOLDS(fm_window_begin(place) && place->epoch);
	fm_window_end(place);
}

/* Not while the last one is being read; and the reader's time counts if it has no processor of its own. Neither for
   ever. */
static void windows_wait_for_the_reader(void)
{
	struct fm_translate_entry entries[FM_LOG_ENTRIES] = {{0}};
	struct fm_place *place;

	open_file();
	place = take(0);
	fm_opening_prepare();
	have_window(place);
	have_window(place);
	HOLDS(!place->large); /* it cannot log */
	place->translators[FM_LOGGING] = (struct fm_translator *)place;
	place->last_epoch = 0;
	have_window(place);
	HOLDS(!place->large); /* threads of one window are many */
	have_window(place);
	HOLDS(place->large);
	for (unsigned i = 0; i < 10; i++)
		fm_ring_log(place, entries, FM_LOG_ENTRIES);
	HOLDS(fm_rings_are_behind() && !is_due_within(place, 15));
	HOLDS(fm_rings_are_behind() && is_due_soon(place));
	read_all(0);
	HOLDS(is_due_soon(place));
	/* on a processor of its own */
	fm_head()->read_ns = fm_head()->read_wall_ns = 1000000000000;
	have_window(place);
	HOLDS(is_due_soon(place));
	/* in turns with others, of whom we are few */
	fm_head()->processors = 1000000000;
	fm_head()->read_ns += 1000000000;
	fm_head()->read_wall_ns += 2000000000;
	have_window(place);
	HOLDS(is_due_soon(place));
	/* in turns with us */
	fm_head()->processors = 1;
	fm_head()->read_ns += 1000000000000;
	fm_head()->read_wall_ns += 2000000000000;
	have_window(place);
	HOLDS(!is_due_within(place, 8));
	HOLDS(is_due_soon(place));
}

static void in_memory(void (*test)(void))
{
	struct statfs system;

	if (statfs("/dev/shm", &system) || system.f_type != IN_MEMORY ||
	    system.f_bavail < 256ul * MEBIBYTE / (uint64_t)system.f_bsize)
		skip();
	make_folder("/dev/shm");
	in_child(test);
	remove_folder();
}

#define IN_MEMORY_TEST(name)                  \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		in_memory(name);              \
	}
IN_MEMORY_TEST(a_thread_goes_over)
IN_MEMORY_TEST(a_large_ring_goes_round)
IN_MEMORY_TEST(rings_are_used_again)
IN_MEMORY_TEST(few_addresses_are_left)
IN_MEMORY_TEST(enough_addresses_are_left)
IN_MEMORY_TEST(files_must_be_short)
IN_MEMORY_TEST(windows_wait_for_the_reader)

static void test_on_a_disk(void **state)
{
	struct statfs system;

	(void)state;
	if (statfs("/var/tmp", &system) || system.f_type == IN_MEMORY)
		skip();
	make_folder("/var/tmp");
	in_child(on_a_disk);
	remove_folder();
}

static void test_little_memory_is_left(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(small));
	in_child(little_memory_is_left);
	assert_int_equal(rmdir(small), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_thread_goes_over),
	    cmocka_unit_test(test_a_large_ring_goes_round),
	    cmocka_unit_test(test_rings_are_used_again),
	    cmocka_unit_test(test_few_addresses_are_left),
	    cmocka_unit_test(test_enough_addresses_are_left),
	    cmocka_unit_test(test_files_must_be_short),
	    cmocka_unit_test(test_on_a_disk),
	    cmocka_unit_test(test_little_memory_is_left),
	    cmocka_unit_test(test_windows_wait_for_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
