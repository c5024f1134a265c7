#include "observe/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/namespaces.h"
#include "base/processor.h"
#include "base/index_map.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "record/starts.h"

/* With the table of programs behind it. */
enum { FM_SESSION_BYTES = FM_STARTS_OFFSET + sizeof(struct fm_starts) };
_Static_assert(sizeof(struct fm_session) <= FM_STARTS_OFFSET, "the table lies behind the session");

/* The time stamp */

/* Both clocks at one moment: of several tries the one that took least. */
static void read_clocks(uint64_t *ret_ticks, uint64_t *ret_ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = fm_ticks(), ns = fm_clock_now(), after = fm_ticks();

		if (after - before < least) {
			least = after - before;
			*ret_ticks = before + (after - before) / 2;
			*ret_ns = ns;
		}
	}
}

double fm_ticks_per_second(void)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	uint64_t ticks, ns, later_ticks, later_ns;

	read_clocks(&ticks, &ns);
	nanosleep(&pause, NULL);
	read_clocks(&later_ticks, &later_ns);
	return (double)(later_ticks - ticks) / (double)(later_ns - ns) * 1e9;
}

/* Are nearly all of them multiples of the step? A hypervisor may scale the counter: then steps are no whole numbers,
   and differences are off by one. */
static bool fits(const uint32_t *differences, unsigned count, double step)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < count && wrong <= count / 33; i++) {
		double steps = (double)(uint64_t)((double)differences[i] / step + 0.5);
		double off = (double)differences[i] - steps * step;

		wrong += differences[i] && (steps < 1 || off > 1.1 || off < -1.1);
	}
	return wrong <= count / 33;
}

uint32_t fm_ticks_step_of(const uint32_t *differences, unsigned count)
{
	enum { LARGEST = 400, SMALLEST = 5, PARTS = 20 };
	unsigned best = 0, last = 0;

	/* the largest that fits; of those around it the middle */
	for (unsigned step = LARGEST * PARTS; step >= SMALLEST * PARTS; step--) {
		if (fits(differences, count, (double)step / PARTS)) {
			best = best ? best : step;
			last = step;
		} else if (best) {
			break;
		}
	}
	return best ? ((best + last) / 2 + PARTS / 2) / PARTS : 1;
}

/* Between two readings passes more or less time, so that a fine counter shows every difference. */
uint32_t fm_ticks_step(void)
{
	enum { READINGS = 2048, DELAYS = 61 };
	static uint32_t differences[READINGS];
	unsigned count = 0;

	for (unsigned i = 0; i < 2 * READINGS && count < READINGS; i++) {
		uint64_t began, ended, value = i;

		began = fm_ticks();
		for (unsigned k = 0; k < i % DELAYS; k++) {
			value++;
			__asm__ volatile("" : "+r"(value));
		}
		ended = fm_ticks();
		/* interrupted readings prove nothing */
		if (ended - began < 2000)
			differences[count++] = (uint32_t)(ended - began);
	}
	return count ? fm_ticks_step_of(differences, count) : 1;
}

/* The folder */

static bool is_part_name(const char *name)
{
	size_t first = strspn(name, "0123456789"), second;
	const char *rest;

	if (!strcmp(name, "session"))
		return true;
	if (!first || name[first] != '-')
		return false;
	second = strspn(name + first + 1, "0123456789");
	rest = name + first + 1 + second;
	return second && (!*rest || !strcmp(rest, "-engine"));
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Is everything in it ours? */
static bool is_ours(int folder)
{
	DIR *list = fdopendir(dup(folder));
	bool ours = list != NULL, session = false, empty = true;
	struct dirent *each;
	struct stat there;

	if (fstat(folder, &there) || there.st_uid != geteuid())
		ours = false;
	while (ours && (each = readdir(list))) {
		if (!strcmp(each->d_name, ".") || !strcmp(each->d_name, ".."))
			continue;
		ours = is_part_name(each->d_name);
		empty = false;
		session |= !strcmp(each->d_name, "session");
	}
	if (list)
		closedir(list);
	/* a tool may have died right after it made the folder */
	return ours && (session || empty);
}

void fm_session_remove(const char *path)
{
	int folder = open_folder(path);
	DIR *list = folder < 0 ? NULL : fdopendir(folder);
	struct dirent *each;

	if (!list) {
		if (folder >= 0)
			close(folder);
		return;
	}
	/* the file that shows whose folder it is goes last: the tool may be killed meanwhile */
	while ((each = readdir(list)))
		if (is_part_name(each->d_name) && strcmp(each->d_name, "session") != 0)
			unlinkat(dirfd(list), each->d_name, 0);
	unlinkat(dirfd(list), "session", 0);
	closedir(list);
	rmdir(path);
}

int fm_session_is_locked(const char *path, bool *ret_locked)
{
	int folder = open_folder(path), file;

	if (folder < 0)
		return -ENOENT;
	file = openat(folder, "session", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	close(folder);
	if (file < 0)
		return -ENOENT;
	*ret_locked = flock(file, LOCK_EX | LOCK_NB) != 0;
	close(file);
	return 0;
}

/* A folder of that name is there already. */
static int clear_place(const char *path, struct fm_error *error)
{
	int folder = open_folder(path);
	bool ours = folder >= 0 && is_ours(folder), locked = false;

	if (folder >= 0)
		close(folder);
	if (!ours)
		return fm_error_set(error, EEXIST,
		                    "%s is in the way: it is not what a recording left; remove it or choose another -o",
		                    path);
	if (!fm_session_is_locked(path, &locked) && locked)
		return fm_error_set(error, EBUSY, "%s: another fathom record is writing there", path);
	fm_session_remove(path);
	return 0;
}

void fm_session_clear(const char *path)
{
	struct fm_error ignored;
	char parts[PATH_MAX];

	if ((size_t)snprintf(parts, sizeof(parts), "%s.parts", path) < sizeof(parts) && !access(parts, F_OK))
		clear_place(parts, &ignored);
}

static bool count_node(const char *name, void *context)
{
	unsigned *count = context;

	*count += !strncmp(name, "node", 4) && name[4] >= '0' && name[4] <= '9';
	return true;
}

static void fill(struct fm_session *session, const struct fm_sampling_wishes *wishes)
{
	unsigned nodes = 0;
	double ticks = fm_ticks_per_second();

	fm_sysfs_each(count_node, &nodes, "devices/system/node");
	*session = (struct fm_session){
	    .magic = FM_SESSION_MAGIC,
	    .version = FM_STREAM_VERSION,
	    .children = !wishes->no_children,
	    .overhead = wishes->overhead,
	    .rate = wishes->rate,
	    .ticks_per_second = ticks,
	    .delay = (uint64_t)(wishes->delay * ticks),
	    .duration = (uint64_t)(wishes->duration * ticks),
	    .max_bytes = wishes->max_bytes,
	    .track = !wishes->no_allocations,
	    .arguments = !wishes->no_arguments,
	    .coarse_step = fm_ticks_step(),
	    .signal_cost = wishes->signal_cost,
	    .filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0,
	    .nodes = nodes ? nodes : 1,
	    .sampling = 1,
	    .windows = wishes->windows,
	};
	session->begun = fm_ticks();
}

static int make_session(struct fm_session_folder *made, const struct fm_sampling_wishes *wishes, struct fm_error *error)
{
	int folder = open_folder(made->path);
	void *map = MAP_FAILED;
	int code;

	made->file =
	    folder < 0 ? -1 : openat(folder, "session", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	code = errno;
	if (folder >= 0)
		close(folder);
	if (made->file >= 0) {
		/* really there, or a full disk would kill us later */
		code = posix_fallocate(made->file, 0, FM_SESSION_BYTES);
		if (!code && flock(made->file, LOCK_EX | LOCK_NB))
			code = errno;
		if (!code) {
			map = mmap(NULL, FM_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, made->file, 0);
			code = errno;
		}
	}
	if (map == MAP_FAILED)
		return fm_error_set(error, EIO, "%s/session: %s", made->path, strerror(code));
	made->session = map;
	fill(made->session, wishes);
	return 0;
}

int fm_session_create(const char *path, const struct fm_sampling_wishes *wishes, struct fm_session_folder *ret_folder,
                      struct fm_error *error)
{
	struct fm_session_folder made = {.file = -1};
	char here[PATH_MAX] = "";
	int r = 0;

	/* programs may change their folder: an absolute path */
	if (path[0] != '/' && !getcwd(here, sizeof(here)))
		return fm_error_set(error, errno, "the current folder: %s", strerror(errno));
	if ((size_t)snprintf(made.path, sizeof(made.path), "%s%s%s.parts", here, *here ? "/" : "", path) >=
	    sizeof(made.path) - 64)
		return fm_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
	if (mkdir(made.path, 0700)) {
		if (errno != EEXIST)
			return fm_error_set(error, EIO, "%s: %s", made.path, strerror(errno));
		r = clear_place(made.path, error);
		if (!r && mkdir(made.path, 0700))
			r = fm_error_set(error, EIO, "%s: %s", made.path, strerror(errno));
	}
	if (!r)
		r = make_session(&made, wishes, error);
	if (r && made.file >= 0) {
		close(made.file);
		fm_session_remove(made.path);
	}
	if (!r)
		*ret_folder = made;
	return r;
}

void fm_session_close(struct fm_session_folder *folder)
{
	if (folder->session)
		munmap(folder->session, FM_SESSION_BYTES);
	if (folder->file >= 0)
		close(folder->file);
	folder->session = NULL;
	folder->file = -1;
}

int fm_session_folder_of(const char *path, const char *name, char *ret_folder, size_t size, struct fm_error *error)
{
	const char *slash = strrchr(path, '/');
	int before = slash ? (int)(slash - path) + 1 : 0;

	if (!fm_sysfs_is_name(name))
		return fm_error_set(error, EBADMSG, "%s: the recording names no folder beside it for its parts", path);
	if ((size_t)snprintf(ret_folder, size, "%.*s%s", before, path, name) >= size)
		return fm_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
	return 0;
}

uint64_t fm_session_skipped(const struct fm_session *session)
{
	const struct fm_starts *starts = (const void *)((const char *)session + FM_STARTS_OFFSET);
	uint64_t skipped = 0;

	for (unsigned i = 0; i < FM_STARTS_PROGRAMS; i++)
		skipped += starts->programs[i].skipped;
	return skipped;
}

/* Zombies are dead, whether their parent has noticed it or not. A name with a newline hides the state. */
static bool is_living(uint32_t process)
{
	char path[32], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%u/stat", process);
	if (fm_text_read_line(path, text, sizeof(text)) || !*text)
		return false;
	end = strrchr(text, ')');
	return !end || end[1] != ' ' || (end[2] != 'Z' && end[2] != 'X');
}

/* Numbers of processes are used again: one that records has its part mapped. */
static bool has_mapped(uint32_t process, const char *part)
{
	char path[32], line[4352];
	FILE *maps;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/maps", process);
	maps = fopen(path, "re");
	if (!maps)
		return true; /* not known */
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, part);
	fclose(maps);
	return found;
}

static bool is_at_work(const struct fm_stream_process *head, const char *part)
{
	/* in another namespace another process has its number */
	if (head->process_space && head->process_space != fm_namespace_of_processes())
		return fm_namespace_find(part) > 0;
	return is_living(head->process) && has_mapped(head->process, part);
}

unsigned fm_session_living(const char *path)
{
	int folder = open_folder(path);
	DIR *list = folder < 0 ? NULL : fdopendir(folder);
	struct fm_index_map processes = {0};
	unsigned living = 0;
	struct dirent *each;

	while (list && (each = readdir(list))) {
		struct fm_stream_process head;
		int file = is_part_name(each->d_name) && strcmp(each->d_name, "session") != 0
		               ? openat(dirfd(list), each->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
		               : -1;

		if (file < 0)
			continue;
		/* one that executed another program has a file for each */
		if (pread(file, &head, sizeof(head), 0) == sizeof(head) && head.magic == FM_STREAM_MAGIC &&
		    !head.ended && is_at_work(&head, each->d_name)) {
			uint32_t *seen = fm_index_map_place(&processes, (struct fm_index_key){head.process, 0, 0});

			living += seen && !*seen;
			if (seen)
				*seen = 1;
		}
		close(file);
	}
	if (list)
		closedir(list);
	fm_index_map_free(&processes);
	return living;
}

/* The environment */

static char *copy_of(const char *name, bool *ret_there)
{
	const char *value = getenv(name);

	*ret_there = value != NULL;
	return value ? strdup(value) : NULL;
}

int fm_session_export(const struct fm_session_folder *folder, const char *library,
                      struct fm_session_environment *ret_saved)
{
	struct fm_session_environment saved = {0};
	char *preload = NULL;
	int r = 0;

	saved.preload = copy_of("LD_PRELOAD", &saved.had_preload);
	saved.folder = copy_of(FM_RECORD_VARIABLE, &saved.had_folder);
	if ((saved.had_preload && !saved.preload) || (saved.had_folder && !saved.folder))
		r = -ENOMEM;
	/* ours first: then its functions come before those of other preloaded libraries */
	if (!r && asprintf(&preload, "%s%s%s", library, saved.preload && *saved.preload ? ":" : "",
	                   saved.preload ? saved.preload : "") < 0)
		r = -ENOMEM;
	if (!r && (setenv("LD_PRELOAD", preload, 1) || setenv(FM_RECORD_VARIABLE, folder->path, 1)))
		r = -ENOMEM;
	free(preload);
	if (r)
		fm_session_restore(&saved);
	else
		*ret_saved = saved;
	return r;
}

static void restore(const char *name, bool had, char *value)
{
	if (had && value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	free(value);
}

void fm_session_restore(struct fm_session_environment *saved)
{
	restore("LD_PRELOAD", saved->had_preload, saved->preload);
	restore(FM_RECORD_VARIABLE, saved->had_folder, saved->folder);
	*saved = (struct fm_session_environment){0};
}
