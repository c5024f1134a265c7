/* A consumer that only checks: makes a session, runs a command with the native engine's library, reads all rings until
   the end, and prints sums, one "name value" per line, to the file REPORT. The command's exit status is its own.

       drain LIBRARY REPORT [-w references warm slowdown] [-n run-in-ms overhead] [-b share] [-p] [-c] [-l RINGS]
   [-r REGION] [-s] -- COMMAND ...

   -w: windows; -n: native rests; -b: the laboratory may take this share of the time, also more than 1; -p: pieces are
   logged; -c: children are not traced; -l: number of large rings; -r: only in the region; -s: reads nothing
   and says so at once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/shared.h"
#include "translate/translate.h"

enum { MOST_FILES = 4096 };

/* What the grammar of entries allows next. */
struct ring_state {
	bool begun, framed, windowed, warm, repeats;
	uint64_t site, epoch, last_end;
};

struct process {
	char name[64];
	const struct fm_trace_file *file;
	struct fm_trace_file *writable;
	const struct fm_trace_large *large; /* NULL: the file has none */
	struct ring_state rings[FM_TRACE_THREADS];
};

static struct process *processes;
static unsigned process_count;
static char folder[4096];
static struct fm_trace_session *session;
static unsigned large_rings = FM_TRACE_LARGE_RINGS;
static uint64_t references, loads, stores, elements, pieces, threads, ended_threads, windows_begun, windows_ended,
    rests, windows_warm, in_window, after_warm, regions, frames, errors, in_large, largest;

static void wrong(const struct process *process, const char *what, uint64_t value)
{
	if (errors++ < 10)
		fprintf(stderr, "drain: %s: %s (%" PRIu64 ")\n", process->name, what, value);
}

static void read_control(const struct process *process, struct ring_state *ring, unsigned control, uint64_t value)
{
	if (control == FM_TRACE_THREAD_BEGIN) {
		if (ring->begun)
			wrong(process, "a thread begins in another", value);
		memset(ring, 0, sizeof(*ring));
		ring->begun = true;
		threads++;
		return;
	}
	if (!ring->begun)
		wrong(process, "an entry of no thread", control);
	if (ring->framed && control != FM_TRACE_ENDED)
		wrong(process, "control in a frame", control);
	switch (control) {
	case FM_TRACE_BEGAN:
		if (value < ring->last_end)
			wrong(process, "a frame begins before the last one ended", value);
		ring->framed = true;
		ring->last_end = value;
		frames++;
		break;
	case FM_TRACE_ENDED:
		if (!ring->framed || value < ring->last_end || ring->repeats)
			wrong(process, "a frame ends that did not begin, or before it began", value);
		ring->framed = false;
		ring->last_end = value;
		break;
	case FM_TRACE_THREAD_END:
		if (ring->windowed)
			wrong(process, "a thread ends in a window", 0);
		ring->begun = false;
		ended_threads++;
		break;
	case FM_TRACE_REGION_BEGIN:
	case FM_TRACE_REGION_END:
		if (value >= process->file->head.name_count)
			wrong(process, "no such name", value);
		regions += control == FM_TRACE_REGION_BEGIN;
		break;
	case FM_TRACE_WINDOW_BEGIN:
		if (ring->windowed || value <= ring->epoch)
			wrong(process, "a window in a window", value);
		ring->windowed = true;
		ring->warm = false;
		ring->epoch = value;
		windows_begun++;
		break;
	case FM_TRACE_WINDOW_WARM:
		if (!ring->windowed || ring->warm)
			wrong(process, "warm, but not in a window", value);
		ring->warm = true;
		windows_warm++;
		break;
	case FM_TRACE_WINDOW_END:
		if (!ring->windowed)
			wrong(process, "a window ends that did not begin", value);
		ring->windowed = false;
		windows_ended++;
		break;
	case FM_TRACE_RESTED:
		if (ring->windowed || !(session->overhead > 0))
			wrong(process, "a rest in a window, or not permitted", value);
		rests++;
		break;
	default:
		wrong(process, "unknown control", control);
	}
}

static void read_entry(const struct process *process, struct ring_state *ring, const struct fm_trace_entry *entry)
{
	uint64_t kind = entry->what & ~(uint64_t)FM_TRACE_NUMBER, number = entry->what & FM_TRACE_NUMBER;
	const struct fm_trace_site *site;

	if (kind == FM_TRACE_CONTROL) {
		read_control(process, ring, (unsigned)number, entry->address);
		return;
	}
	if (!ring->framed)
		wrong(process, "an entry outside of a frame", entry->what);
	if (kind == FM_TRACE_PIECE) {
		if (number >= process->file->head.piece_count || !process->file->pieces[number].ready || ring->repeats)
			wrong(process, "no such piece", number);
		pieces++;
		return;
	}
	if (kind != FM_TRACE_REFERENCE || number >= process->file->head.site_count ||
	    !process->file->sites[number].ready) {
		wrong(process, "no such site", entry->what);
		return;
	}
	site = &process->file->sites[number];
	if (ring->repeats) {
		if (number != ring->site)
			wrong(process, "a repeated reference without its count", number);
		elements += entry->address;
		ring->repeats = false;
		return;
	}
	if (session->mode == FM_TRACE_WINDOWS && !ring->windowed)
		wrong(process, "a reference outside of windows", number);
	ring->repeats = site->kind & FM_TRANSLATE_REPEATED;
	ring->site = number;
	references++;
	loads += (site->kind & FM_TRANSLATE_LOAD) != 0;
	stores += (site->kind & FM_TRANSLATE_STORE) != 0;
	in_window += ring->windowed;
	after_warm += ring->warm;
}

static const struct fm_trace_entry *entry_at(const struct process *process, unsigned index, uint32_t large,
                                             uint64_t number)
{
	if (!large || number < process->file->threads[index].large_from)
		return &process->file->rings[index][number % FM_TRACE_RING];
	in_large++;
	return &process->large->rings[large - 1][number % FM_TRACE_LARGE];
}

static bool read_rings(struct process *process)
{
	bool found = false;

	for (unsigned i = 0; process->writable && i < FM_TRACE_THREADS; i++) {
		struct fm_trace_thread *thread = &process->writable->threads[i];
		uint64_t read = thread->read, written = __atomic_load_n(&thread->written, __ATOMIC_ACQUIRE);
		uint32_t large = __atomic_load_n(&thread->large, __ATOMIC_ACQUIRE);

		if (read == written)
			continue;
		if (large > (process->large ? large_rings : 0) ||
		    written - read > (large ? FM_TRACE_LARGE : FM_TRACE_RING)) {
			wrong(process, "too much was written", written);
			return false;
		}
		if (large > largest)
			largest = large;
		for (; read < written; read++)
			read_entry(process, &process->rings[i], entry_at(process, i, large, read));
		__atomic_store_n(&thread->read, read, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&thread->waiting, __ATOMIC_SEQ_CST))
			syscall(SYS_futex, &thread->read, FUTEX_WAKE, 1, NULL, NULL, 0);
		found = true;
	}
	return found;
}

static bool is_known(const char *name)
{
	for (unsigned i = 0; i < process_count; i++)
		if (!strcmp(processes[i].name, name))
			return true;
	return false;
}

static const struct fm_trace_large *map_large(int file, off_t size)
{
	const off_t from = sizeof(struct fm_trace_file);
	const struct fm_trace_large *large = MAP_FAILED;

	if (size >= from + (off_t)sizeof(*large))
		large = mmap(NULL, sizeof(*large), PROT_READ, MAP_SHARED, file, from);
	return large == MAP_FAILED ? NULL : large;
}

static bool add_process(const char *name)
{
	struct process *process = &processes[process_count];
	char path[sizeof(folder) + 300];
	struct stat about;
	bool added = false;
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (file >= 0 && !fstat(file, &about) && about.st_size >= (off_t)sizeof(struct fm_trace_file)) {
		process->writable =
		    mmap(NULL, sizeof(struct fm_trace_file), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (process->writable != MAP_FAILED &&
		    __atomic_load_n(&process->writable->head.magic, __ATOMIC_ACQUIRE) == FM_TRACE_MAGIC) {
			process->file = process->writable;
			process->large = map_large(file, about.st_size);
			process->writable->head.large_rings = process->large ? large_rings : 0;
			snprintf(process->name, sizeof(process->name), "%.63s", name);
			process_count++;
			added = true;
		} else if (process->writable != MAP_FAILED) {
			munmap(process->writable, sizeof(struct fm_trace_file));
		}
	}
	if (file >= 0)
		close(file);
	return added;
}

static bool find_processes(void)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	bool found = false;

	while (directory && (entry = readdir(directory)))
		if (strstr(entry->d_name, ".trace") && !is_known(entry->d_name) && process_count < MOST_FILES)
			found |= add_process(entry->d_name);
	if (directory)
		closedir(directory);
	return found;
}

static bool read_all(void)
{
	bool found = false;

	for (unsigned i = 0; i < process_count; i++)
		found |= read_rings(&processes[i]);
	return found;
}

static void remove_folder(void)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(folder);
}

static uint64_t ticks_per_second(void)
{
	struct timespec begin, end;
	uint64_t ticks = __builtin_ia32_rdtsc();
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	usleep(10000);
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	return (uint64_t)((double)(__builtin_ia32_rdtsc() - ticks) / seconds);
}

static int make_session(void)
{
	char path[sizeof(folder) + 16];
	int file;

	/* not on a disk, whose file system would have its own work with every page */
	snprintf(folder, sizeof(folder), "%s/fathom-drain-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(folder))
		return -errno;
	snprintf(path, sizeof(path), "%s/session", folder);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* as long as it is held, somebody reads */
	if (file < 0 || ftruncate(file, sizeof(*session)) || flock(file, LOCK_EX))
		return -errno;
	session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (session == MAP_FAILED)
		return -errno;
	session->magic = FM_TRACE_MAGIC;
	session->version = FM_TRACE_VERSION;
	session->children = 1;
	session->ticks_per_second = ticks_per_second();
	return 0;
}

/* Natural ones, those with all lines placed, and the others. */
static void count_timings(const struct fm_trace_timings *timings, uint64_t *values)
{
	for (uint32_t i = 0; i < timings->count && i < FM_TRACE_TIMINGS; i++)
		values[timings->list[i].problem ? 2 : timings->list[i].kind != FM_TIMING_NATURAL]++;
}

static void report(FILE *file)
{
	static const char *const sums[] = {"instructions",
	                                   "sites",
	                                   "piece_kinds",
	                                   "in_cache",
	                                   "outside",
	                                   "native",
	                                   "lost",
	                                   "windows",
	                                   "window_us",
	                                   "waited_us",
	                                   "translator_us",
	                                   "cpu_us",
	                                   "mappings",
	                                   "ended",
	                                   "errors_of_processes",
	                                   "filtered",
	                                   "rest_us",
	                                   "plain_us",
	                                   "plain_instructions",
	                                   "natural",
	                                   "placed",
	                                   "not_placed"};
	uint64_t values[sizeof(sums) / sizeof(sums[0])] = {0}, left[FM_LEFT_REASONS] = {0};
	double us = (double)session->ticks_per_second / 1e6;

	for (unsigned i = 0; i < process_count; i++) {
		const struct fm_trace_head *head = &processes[i].file->head;

		for (unsigned k = 0; k < head->piece_count && k < FM_TRACE_PIECES; k++)
			values[0] += processes[i].file->pieces[k].executed * processes[i].file->pieces[k].instructions;
		values[1] += head->site_count;
		values[2] += head->piece_count;
		values[3] += head->ticks_in_cache;
		values[4] += head->ticks_outside;
		values[5] += head->native_threads;
		values[6] += head->lost_entries + head->lost_sites + head->lost_pieces;
		values[7] += head->windows;
		values[8] += (uint64_t)((double)head->window_ticks / us);
		values[9] += (uint64_t)((double)head->waited_ticks / us);
		values[10] += (uint64_t)((double)head->translator_ticks / us);
		values[11] += head->cpu_ns / 1000;
		values[12] += head->mappings;
		values[13] += head->ended != 0;
		values[14] += head->error != 0;
		values[15] += head->filtered;
		values[16] += head->rest_ns / 1000;
		values[17] += head->plain_ns / 1000;
		values[18] += head->plain_instructions;
		count_timings(&processes[i].file->timings, values + 19);
		for (unsigned k = 0; k < FM_LEFT_REASONS; k++)
			left[k] += head->left[k];
	}
	fprintf(file,
	        "processes %u\nlost_processes %u\nreferences %" PRIu64 "\nloads %" PRIu64 "\nstores %" PRIu64
	        "\nelements %" PRIu64 "\npieces %" PRIu64 "\nthreads %" PRIu64 "\nended_threads %" PRIu64
	        "\nwindows_begun %" PRIu64 "\nwindows_warm %" PRIu64 "\nwindows_ended %" PRIu64 "\nin_window %" PRIu64
	        "\nafter_warm %" PRIu64 "\nregions %" PRIu64 "\nframes %" PRIu64 "\nerrors %" PRIu64
	        "\nin_large %" PRIu64 "\nlarge_rings %" PRIu64 "\nrests %" PRIu64 "\n",
	        process_count, session->lost_processes, references, loads, stores, elements, pieces, threads,
	        ended_threads, windows_begun, windows_warm, windows_ended, in_window, after_warm, regions, frames,
	        errors, in_large, largest, rests);
	for (unsigned i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		fprintf(file, "%s %" PRIu64 "\n", sums[i], values[i]);
	for (unsigned i = 0; i < FM_LEFT_REASONS; i++)
		if (left[i])
			fprintf(file, "left %" PRIu64 " %u\n", left[i], i);
}

static void run(char **command, const char *library)
{
	setenv(FM_TRACE_VARIABLE, folder, 1);
	setenv("LD_PRELOAD", library, 1);
	execvp(command[0], command);
	_exit(127);
}

int main(int count, char **arguments)
{
	bool stops = false;
	int at = 3, status = 0;
	FILE *file;
	pid_t child;

	if (count < 5 || make_session())
		return 125;
	for (; at < count && strcmp(arguments[at], "--"); at++) {
		if (!strcmp(arguments[at], "-p"))
			session->log_pieces = 1;
		if (!strcmp(arguments[at], "-c"))
			session->children = 0;
		if (!strcmp(arguments[at], "-s"))
			stops = true;
		if (!strcmp(arguments[at], "-l") && at + 1 < count)
			large_rings = (unsigned)strtoul(arguments[++at], NULL, 10);
		if (!strcmp(arguments[at], "-r") && at + 1 < count)
			snprintf(session->region, sizeof(session->region), "%s", arguments[++at]);
		if (!strcmp(arguments[at], "-n") && at + 2 < count) {
			session->pace = 1;
			session->run_in_ns = strtoull(arguments[++at], NULL, 10) * 1000000;
			session->busy_least = 2;
			session->overhead = strtod(arguments[++at], NULL);
		}
		if (!strcmp(arguments[at], "-b") && at + 1 < count)
			session->laboratory = strtod(arguments[++at], NULL);
		if (!strcmp(arguments[at], "-w") && at + 3 < count) {
			session->mode = FM_TRACE_WINDOWS;
			session->window_references = strtoull(arguments[++at], NULL, 10);
			session->window_warm = strtoull(arguments[++at], NULL, 10);
			session->slowdown = strtod(arguments[++at], NULL);
		}
	}
	processes = calloc(MOST_FILES, sizeof(*processes));
	child = fork();
	if (!child)
		run(arguments + at + 1, arguments[1]);
	for (bool over = false;;) {
		uint32_t published = __atomic_load_n(&session->published, __ATOMIC_ACQUIRE);
		struct timespec timeout = {0, 2000000};
		bool found = find_processes();

		found |= !stops && read_all();
		if (over && !found)
			break;
		over = over || waitpid(child, &status, WNOHANG) == child;
		if (stops && process_count)
			session->stop = 1;
		if (!found && !over)
			syscall(SYS_futex, &session->published, FUTEX_WAIT, published, &timeout, NULL, 0);
	}
	session->stop = 1;
	file = fopen(arguments[2], "w");
	if (file) {
		report(file);
		fclose(file);
	}
	remove_folder();
	if (errors)
		return 126;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}
