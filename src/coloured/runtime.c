/* Begins in a process: the library is preloaded, and this is what runs first. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/processor.h"
#include "coloured/self.h"

struct fm_coloured fm_coloured;

/* One more chunk than what malloc has at first, so that it asks the kernel for all of the heap at once. */
enum { FIRST_REQUEST = 1 << 20, READ_ROOM = 4096 };

void fm_coloured_block(sigset_t *ret_old)
{
	sigset_t all;

	sigfillset(&all);
	fm_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)ret_old, 8, 0, 0);
}

void fm_coloured_unblock(const sigset_t *old)
{
	fm_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)old, 0, 8, 0, 0);
}

static void turn_off(const char *why)
{
	struct fm_colours_process *process = fm_coloured.process;

	for (unsigned i = 0; why[i] && i + 1 < sizeof(process->why); i++)
		process->why[i] = why[i];
	process->ready_ns = fm_clock_now();
	__atomic_store_n(&process->state, FM_COLOURS_OFF, __ATOMIC_RELEASE);
	fm_coloured.process = NULL;
}

/* The shared file, checked; the pool of pages is mapped behind it. False: there is nothing to do here. */
static bool open_shared(const char **ret_pool)
{
	const char *path = getenv(FM_COLOURS_VARIABLE);
	struct fm_colours_shared *shared;
	struct stat what;
	uint32_t place;
	void *pool = MAP_FAILED;
	int file = path ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

	if (file < 0)
		return false;
	if (fstat(file, &what) || !S_ISREG(what.st_mode) || what.st_uid != geteuid() ||
	    (size_t)what.st_size < sizeof(*shared)) {
		close(file);
		return false;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared != MAP_FAILED && shared->magic == FM_COLOURS_MAGIC && shared->bytes == sizeof(*shared) &&
	    shared->pool_at % FM_PAGE_BYTES == 0 && shared->pool_at >= sizeof(*shared) &&
	    shared->pool_at + (uint64_t)shared->pool_pages * FM_PAGE_BYTES <= (uint64_t)what.st_size)
		pool = mmap(NULL, (size_t)shared->pool_pages * FM_PAGE_BYTES, PROT_READ, MAP_SHARED, file,
		            (off_t)shared->pool_at);
	close(file);
	if (pool == MAP_FAILED) {
		if (shared != MAP_FAILED)
			munmap(shared, sizeof(*shared));
		return false;
	}
	place = __atomic_fetch_add(&shared->process_count, 1, __ATOMIC_RELAXED);
	if (place >= FM_COLOURS_PROCESSES) {
		munmap(pool, (size_t)shared->pool_pages * FM_PAGE_BYTES);
		munmap(shared, sizeof(*shared));
		return false;
	}
	fm_coloured.shared = shared;
	fm_coloured.process = &shared->processes[place];
	*ret_pool = pool;
	return true;
}

/* The sets as the tool found them, with addresses of this process. */
static bool take_over(const char *pool, struct fm_colours *colours, char **others)
{
	const struct fm_colours_shared *shared = fm_coloured.shared;

	colours->geometry = shared->geometry;
	colours->probe = fm_colours_probe_live;
	colours->hash = shared->hash;
	colours->lines = shared->lines;
	colours->threshold = shared->threshold;
	colours->longest = shared->longest;
	/* neither none at all nor for ever */
	colours->passes = shared->passes < 1                        ? 1
	                  : shared->passes > FM_COLOURS_PASSES_MOST ? FM_COLOURS_PASSES_MOST
	                                                            : shared->passes;
	colours->count = shared->geometry.colours;
	fm_random_seed(&colours->random, shared->seed + (uint64_t)getpid());
	if (!colours->count || colours->count > FM_COLOURS_MOST || !shared->keep || shared->keep > colours->count ||
	    colours->lines.count > FM_PAGE_LINES || colours->lines.warm >= FM_PAGE_BYTES || !shared->pool_pages ||
	    colours->geometry.first_ways > FM_COLOURS_WAYS_MOST || colours->geometry.ways > FM_COLOURS_WAYS_MOST)
		return false;
	for (unsigned i = 0; i < colours->lines.count; i++)
		if (colours->lines.offsets[i] >= FM_PAGE_BYTES)
			return false;
	for (unsigned i = 0; i < colours->count; i++) {
		colours->sets[i].count = shared->set_counts[i];
		if (shared->set_counts[i] > FM_COLOURS_SET_PAGES)
			return false;
		for (unsigned k = 0; k < shared->set_counts[i]; k++) {
			if (shared->set_pages[i][k] >= shared->pool_pages)
				return false;
			colours->sets[i].pages[k] = (char *)pool + (size_t)shared->set_pages[i][k] * FM_PAGE_BYTES;
		}
	}
	for (unsigned i = 0; i < shared->pool_pages; i++)
		others[i] = (char *)pool + (size_t)i * FM_PAGE_BYTES;
	colours->others = others;
	colours->other_count = shared->pool_pages;
	return true;
}

/* The program's own variables that are written to: behind those that the linker made read-only. */
struct data {
	char *begin, *end;
};

static int find_data(struct dl_phdr_info *info, size_t size, void *context)
{
	struct data *data = context;
	uintptr_t read_only = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			read_only = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_W) || header->p_flags & PF_X)
			continue;
		begin = begin / FM_PAGE_BYTES * FM_PAGE_BYTES;
		if (read_only > begin && read_only <= end)
			begin = read_only / FM_PAGE_BYTES * FM_PAGE_BYTES;
		end = (end + FM_PAGE_BYTES - 1) / FM_PAGE_BYTES * FM_PAGE_BYTES;
		data->begin = (char *)begin;
		data->end = (char *)end;
	}
	/* the program is the first; the others are libraries */
	return 1;
}

static unsigned pages_between(const char *begin, const char *end)
{
	return end > begin ? (unsigned)((size_t)(end - begin) / FM_PAGE_BYTES) : 0;
}

/* All of malloc's memory in one piece that is there from the beginning: large blocks are not mapped by themselves,
   threads have no heaps of their own, and nothing is given back. */
static void prepare_heap(unsigned pages, const char *least)
{
	char *before = sbrk(0), *block, *begin;
	unsigned char vector;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	mallopt(M_TOP_PAD,
	        (int)((size_t)pages * FM_PAGE_BYTES < INT32_MAX / 2 ? pages * FM_PAGE_BYTES : INT32_MAX / 2));
	if (!pages)
		return;
	block = malloc(FIRST_REQUEST);
	if (!block)
		return;
	fm_coloured.heap_end = (char *)((uintptr_t)sbrk(0) / FM_PAGE_BYTES * FM_PAGE_BYTES);
	free(block);
	/* otherwise another allocator is in use, and maps its memory */
	if (fm_coloured.heap_end <= before) {
		fm_coloured.heap_end = NULL;
		return;
	}
	/* the heap begins behind the program's variables, or where nothing is mapped below */
	begin = (char *)(((uintptr_t)before + FM_PAGE_BYTES - 1) / FM_PAGE_BYTES * FM_PAGE_BYTES);
	while (begin > least && !mincore(begin - FM_PAGE_BYTES, FM_PAGE_BYTES, &vector))
		begin -= FM_PAGE_BYTES;
	fm_coloured.heap_begin = begin;
	mallopt(M_TOP_PAD, FIRST_REQUEST);
}

/* How far the first thread's stack may grow; NULL: not known, or not far. */
static const char *lowest_of_stack(void)
{
	struct rlimit limit;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	/* the arguments and the environment are above, within the limit */
	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < 1 << 20)
		return NULL;
	return (const char *)here - (1 << 19);
}

/* "" if the file cannot be read. */
static const char *read_text(const char *path, char text[READ_ROOM])
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file >= 0 ? read(file, text, READ_ROOM - 1) : 0;

	if (file >= 0)
		close(file);
	text[length > 0 ? length : 0] = 0;
	return text;
}

/* Memory that others may be using is not exchanged. */
static bool is_alone(void)
{
	char text[READ_ROOM];
	const char *at;

	/* behind the name, which may hold anything, the 18th is the number of threads */
	at = __builtin_strrchr(read_text("/proc/self/stat", text), ')');
	for (unsigned i = 0; at && i < 18; i++)
		at = __builtin_strchr(at + 1, ' ');
	return at && strtol(at, NULL, 10) == 1;
}

static const char *confine(const char *pool)
{
	static struct fm_colours colours;
	const struct fm_colours_shared *shared = fm_coloured.shared;
	struct fm_colours_process *process = fm_coloured.process;
	size_t others_bytes = (size_t)shared->pool_pages * sizeof(char *);
	char **others = mmap(NULL, others_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *why = "there is no memory";
	const char *lowest = lowest_of_stack();
	struct data data = {0};
	unsigned heap, variables;
	uint64_t wanted;

	if (others == MAP_FAILED)
		return why;
	dl_iterate_phdr(find_data, &data);
	prepare_heap(shared->heap_pages, data.end);
	heap = pages_between(fm_coloured.heap_begin, fm_coloured.heap_end);
	if (heap > shared->heap_pages)
		heap = shared->heap_pages;
	variables = pages_between(data.begin, data.end);
	/* the rest was unused */
	if (variables > shared->data_pages)
		variables = shared->data_pages;
	wanted = (uint64_t)heap + variables + shared->stack_pages + shared->other_pages;
	/* enough pages for a verification */
	if (wanted < (uint64_t)shared->keep * shared->geometry.ways * 3 / 2)
		wanted = (uint64_t)shared->keep * shared->geometry.ways * 3 / 2;
	why = wanted > shared->most_pages          ? "the program has more memory than can be confined"
	      : !take_over(pool, &colours, others) ? "the colour settings from fathom are invalid"
	                                           : fm_coloured_collect(&colours, (unsigned)wanted, process);
	if (!why) {
		process->data = variables ? fm_coloured_exchange(data.begin, variables) : 0;
		process->heap = heap ? fm_coloured_fill(fm_coloured.heap_begin, heap, FM_COLOURED_KEEP) : 0;
		process->stack =
		    lowest && shared->stack_pages ? fm_coloured_fill_stack(shared->stack_pages, lowest) : 0;
		fm_coloured.heap_end = fm_coloured.heap_begin + (size_t)process->heap * FM_PAGE_BYTES;
		if (process->heap < heap || process->data < variables)
			why = "pages cannot be moved here: the kernel has neither UFFDIO_MOVE nor enough mappings";
	}
	munmap(others, others_bytes);
	return why;
}

static void note_fork(void)
{
	if (fm_coloured.process)
		__atomic_add_fetch(&fm_coloured.process->forks, 1, __ATOMIC_RELAXED);
}

/* The child's memory becomes its own page by page, and has any colour then. */
static void in_child(void)
{
	fm_coloured.process = NULL;
}

__attribute__((constructor(101))) static void begin(void)
{
	uint64_t started = fm_clock_now();
	const char *pool, *why = NULL;
	int problem = errno;
	cpu_set_t cpus, one;

	if (!open_shared(&pool)) {
		errno = problem;
		return;
	}
	fm_coloured.process->process = getpid();
	fm_coloured.process->begun_ns = started;
	fm_coloured.process->state = FM_COLOURS_BEGUN;
	if (!fm_coloured.shared->filtered && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0) {
		why = "a filter of system calls is active and may end the program for a call by Fathom";
	} else if (!is_alone()) {
		why = "threads exist before the program begins";
	} else if (fm_coloured.shared->survey) {
		prepare_heap(0, NULL);
	} else {
		int cpu = sched_getcpu();
		bool bound = !sched_getaffinity(0, sizeof(cpus), &cpus) && cpu >= 0 && cpu < CPU_SETSIZE;

		CPU_ZERO(&one);
		if (bound) {
			CPU_SET(cpu, &one);
			bound = !sched_setaffinity(0, sizeof(one), &one);
		}
		why = bound ? confine(pool) : "the process cannot be kept on one CPU during the search for pages";
		if (bound)
			sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	munmap((void *)pool, (size_t)fm_coloured.shared->pool_pages * FM_PAGE_BYTES);
	if (why) {
		turn_off(why);
	} else {
		pthread_atfork(note_fork, NULL, in_child);
		fm_coloured.process->ready_ns = fm_clock_now();
		__atomic_store_n(&fm_coloured.process->state, FM_COLOURS_READY, __ATOMIC_RELEASE);
	}
	errno = problem;
}

/* How much of it is used. */
static uint64_t resident_bytes(char *begin, char *end)
{
	unsigned char vector[1024];
	uint64_t pages = 0;

	for (char *at = begin; at < end; at += sizeof(vector) * FM_PAGE_BYTES) {
		size_t count = pages_between(at, end) < sizeof(vector) ? pages_between(at, end) : sizeof(vector);

		if (mincore(at, count * FM_PAGE_BYTES, vector))
			break;
		for (size_t i = 0; i < count; i++)
			pages += vector[i] & 1;
	}
	return pages * FM_PAGE_BYTES;
}

/* Up to the last page that is used. */
static uint64_t used_bytes(char *begin, char *end)
{
	unsigned char vector;

	while (end > begin && (mincore(end - FM_PAGE_BYTES, FM_PAGE_BYTES, &vector) || !(vector & 1)))
		end -= FM_PAGE_BYTES;
	return (uint64_t)(end - begin);
}

/* "Anonymous:  123 kB" */
static uint64_t anonymous_bytes(void)
{
	char text[READ_ROOM];
	const char *found = __builtin_strstr(read_text("/proc/self/smaps_rollup", text), "Anonymous:");

	return found ? strtoull(found + sizeof("Anonymous:") - 1, NULL, 10) * 1024 : 0;
}

/* The report on memory for the tool. */
static void survey(struct fm_colours_process *process, char *top)
{
	char *begin = top;
	struct data data = {0};

	process->anonymous_bytes = anonymous_bytes();
	if (!fm_coloured.shared->survey) {
		if (fm_coloured.heap_end && top > fm_coloured.heap_end)
			process->left_bytes += resident_bytes(fm_coloured.heap_end, top);
		return;
	}
	dl_iterate_phdr(find_data, &data);
	if (data.end > data.begin)
		process->data_bytes = used_bytes(data.begin, data.end);
	/* the heap reaches down to the variables, or to where nothing is mapped any more */
	while (process->anonymous_bytes && begin > (char *)(uintptr_t)FM_PAGE_BYTES && begin != data.end &&
	       (size_t)(top - begin) < (size_t)1 << 36) {
		unsigned char vector;

		if (mincore(begin - FM_PAGE_BYTES, FM_PAGE_BYTES, &vector))
			break;
		begin -= FM_PAGE_BYTES;
		process->heap_bytes += vector & 1 ? FM_PAGE_BYTES : 0;
	}
}

static char *top_of_heap(void)
{
	/* of the C library's own account, without a system call */
	return (char *)((uintptr_t)sbrk(0) / FM_PAGE_BYTES * FM_PAGE_BYTES);
}

bool fm_coloured_enter(void)
{
	__atomic_add_fetch(&fm_coloured.busy, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&fm_coloured.quiet, __ATOMIC_SEQ_CST))
		return true;
	fm_coloured_leave();
	return false;
}

void fm_coloured_leave(void)
{
	__atomic_sub_fetch(&fm_coloured.busy, 1, __ATOMIC_SEQ_CST);
}

void fm_coloured_be_quiet(void)
{
	struct fm_colours_process *process = fm_coloured.process;
	int problem = errno;
	uint32_t none = 0;

	if (!process)
		return;
	if (!__atomic_compare_exchange_n(&fm_coloured.quiet, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		/* another thread's filter may be for this one, too: it is not made before that one's look is over */
		while (__atomic_load_n(&fm_coloured.quiet, __ATOMIC_SEQ_CST) == 1)
			fm_pause();
		return;
	}
	while (__atomic_load_n(&fm_coloured.busy, __ATOMIC_SEQ_CST))
		fm_pause();
	process->filtered = 1;
	fm_coloured.quiet_top = top_of_heap();
	survey(process, fm_coloured.quiet_top);
	__atomic_store_n(&fm_coloured.quiet, 2, __ATOMIC_SEQ_CST);
	errno = problem;
}

/* What came to the heap since a filter is there, all of it. */
static void add_growth(struct fm_colours_process *process, const char *top)
{
	const char *from = fm_coloured.quiet_top;

	if (!fm_coloured.shared->survey && fm_coloured.heap_end > from)
		from = fm_coloured.heap_end;
	if (top <= from)
		return;
	if (fm_coloured.shared->survey)
		process->heap_bytes += (uint64_t)(top - from);
	else
		process->left_bytes += (uint64_t)(top - from);
	process->anonymous_bytes += (uint64_t)(top - from);
}

__attribute__((destructor)) static void end(void)
{
	struct fm_colours_process *process = fm_coloured.process;
	int problem = errno;

	if (!process)
		return;
	if (__atomic_load_n(&fm_coloured.quiet, __ATOMIC_SEQ_CST)) {
		if (fm_coloured.quiet_top)
			add_growth(process, top_of_heap());
	} else {
		if (process->process != getpid())
			return;
		survey(process, top_of_heap());
	}
	__atomic_store_n(&process->ended, 1, __ATOMIC_RELEASE);
	errno = problem;
}
