#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/foreign.h"

enum { IN_MEMORY = 0x01021994 /* TMPFS_MAGIC */ };

static const uint64_t whole_size = sizeof(struct fm_trace_file) + sizeof(struct fm_trace_large);

struct fm_trace_session *fm_session;
struct fm_trace_file *fm_file;
uint32_t fm_stopped;

static uint64_t cpu_before; /* processor time of what the process was before it executed this program */

int fm_file_reserve(const void *start, size_t size)
{
	uint64_t from = (uint64_t)((const uint8_t *)start - (const uint8_t *)fm_file), end = from + size;
	long file = fm_folder_open_file(0);
	int error;

	if (fm_failed(file))
		return (int)file;
	from &= ~(uint64_t)4095;
	end = (end + 4095) & ~(uint64_t)4095;
	error = fm_folder_claim(file, from, end - from);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return error;
}

void fm_file_touch(const void *start, size_t size)
{
	const long populate = 23; /* MADV_POPULATE_WRITE; older kernels refuse, which does no harm */
	uint64_t from = (uint64_t)start & ~(uint64_t)4095, end = ((uint64_t)start + size + 4095) & ~(uint64_t)4095;

	fm_system_call(SYS_madvise, (long)from, (long)(end - from), populate, 0, 0, 0);
}

/* Pages of addresses that the process has; 0: not known. */
static uint64_t mapped_pages(void)
{
	long file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0, 0, 0),
	     length;
	char text[128] = {0};
	uint64_t pages = 0;

	if (fm_failed(file))
		return 0;
	length = fm_system_call(SYS_read, file, (long)text, sizeof(text), 0, 0, 0);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	for (long i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		pages = 10 * pages + (uint64_t)(text[i] - '0');
	return pages;
}

static uint64_t limit_of(int resource)
{
	struct rlimit limit = {0};

	return fm_failed(fm_system_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0)) ? RLIM_INFINITY
	                                                                                    : limit.rlim_cur;
}

/* The program may need what is left more than we do. */
bool fm_has_addresses(uint64_t size)
{
	uint64_t limit = limit_of(RLIMIT_AS), pages;

	if (limit == RLIM_INFINITY)
		return true;
	pages = mapped_pages();
	return pages && pages < limit / 4096 && (limit / 4096 - pages) / 2 >= size / 4096;
}

/* Not on a disk, which would have work with each of so many pages. */
static bool has_memory(long file, uint64_t from, uint64_t size)
{
	struct statfs system = {0};
	struct stat about = {0};

	return !fm_system_call(SYS_fstat, file, (long)&about, 0, 0, 0, 0) && (uint64_t)about.st_size >= from + size &&
	       !fm_system_call(SYS_fstatfs, file, (long)&system, 0, 0, 0, 0) && system.f_type == IN_MEMORY &&
	       system.f_bavail / 2 >= size / (uint64_t)system.f_bsize;
}

struct fm_trace_entry *fm_file_large_ring(unsigned number, uint64_t entries, uint64_t touched)
{
	const uint64_t size = entries * sizeof(struct fm_trace_entry),
	               from = sizeof(struct fm_trace_file) + number * sizeof(((struct fm_trace_large *)0)->rings[0]);
	struct fm_trace_entry *ring = NULL;
	long file = fm_folder_open_file(0), mapped;

	if (fm_failed(file))
		return NULL;
	if (fm_has_addresses(size) && has_memory(file, from, size)) {
		mapped = fm_system_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		                        file, (long)from);
		if (!fm_failed(mapped) && fm_folder_claim(file, from, size))
			fm_system_call(SYS_munmap, mapped, (long)size, 0, 0, 0, 0);
		else if (!fm_failed(mapped))
			ring = (struct fm_trace_entry *)mapped;
	}
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (ring)
		fm_file_touch(ring, (touched < entries ? touched : entries) * sizeof(*ring));
	return ring;
}

/* A soft limit is the program's: it is put aside for a moment, at which the process does nothing else. */
static struct rlimit lift_file_limit(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY}, lifted;

	fm_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
	lifted = (struct rlimit){limit.rlim_max, limit.rlim_max};
	if (limit.rlim_cur != limit.rlim_max)
		fm_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&lifted, 0, 0, 0);
	return limit;
}

/* A file of the right size, of which the head and the places of threads are reserved. */
static int map_file(struct fm_trace_file **ret_file)
{
	uint64_t limit;
	struct fm_trace_file *mapped = NULL;
	struct rlimit programs;
	long file;
	int error;

	file = fm_folder_open_file(O_CREAT | O_EXCL);
	if (fm_failed(file))
		return (int)file;
	programs = lift_file_limit();
	limit = programs.rlim_max;
	/* beyond it the kernel sends a signal, which ends programs */
	error = limit < sizeof(struct fm_trace_file)
	            ? -EFBIG
	            : (int)fm_system_call(SYS_ftruncate, file,
	                                  (long)(limit < whole_size ? sizeof(struct fm_trace_file) : whole_size), 0, 0,
	                                  0, 0);
	if (!error)
		error = fm_folder_claim(file, 0, offsetof(struct fm_trace_file, sites));
	if (!error) {
		mapped = fm_map(sizeof(struct fm_trace_file), MAP_SHARED | MAP_NORESERVE, file);
		error = mapped ? 0 : -ENOMEM;
	}
	if (programs.rlim_cur != programs.rlim_max)
		fm_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&programs, 0, 0, 0);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (error)
		fm_folder_remove_file();
	else
		*ret_file = mapped;
	return error;
}

static int make_file(bool forked)
{
	uint64_t ticks = fm_ticks();
	uint32_t process = (uint32_t)fm_process_id();
	struct fm_trace_head *head;
	int error;

	fm_folder_name_file(".trace");
	error = map_file(&fm_file);
	if (error) {
		__atomic_fetch_add(&fm_session->lost_processes, 1, __ATOMIC_RELAXED);
		return error;
	}
	head = fm_head();
	head->version = FM_TRACE_VERSION;
	head->process = process;
	head->parent = (uint32_t)fm_system_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
	head->process_space = fm_foreign_namespace();
	head->forked = forked;
	head->begun = ticks;
	head->begun_ns = fm_clock_ns(CLOCK_MONOTONIC);
	head->mappings = 1;
	cpu_before = forked ? 0 : fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	fm_system_call(SYS_readlink, (long)"/proc/self/exe", (long)head->program, (long)sizeof(head->program) - 1, 0, 0,
	               0);
	return 0;
}

static void announce(void)
{
	__atomic_store_n(&fm_head()->magic, FM_TRACE_MAGIC, __ATOMIC_RELEASE);
	__atomic_fetch_add(&fm_session->processes, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fm_session->published, 1, __ATOMIC_RELEASE);
	fm_wake(&fm_session->published);
	fm_alive_set(true);
}

/* Of the processor time that the program may have (ulimit -t): code in the cache takes two to three times as long, so
   this lengthens it by a twentieth of that. */
enum { PART_OF_LIMIT = 10 };

bool fm_file_limit_is_near(void)
{
	static uint64_t most;

	if (!most) {
		uint64_t limit = limit_of(RLIMIT_CPU);

		most = limit < UINT64_MAX / 1000000000u ? limit * (1000000000u / PART_OF_LIMIT) : UINT64_MAX;
	}
	return fm_head()->cpu_ns > most;
}

void fm_file_clock(void)
{
	fm_head()->cpu_ns = fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
}

int fm_file_open(void)
{
	void *session = NULL;
	enum fm_foreign foreign;
	size_t bytes;
	int error = fm_folder_open(FM_TRACE_VARIABLE, (struct fm_folder_identity){FM_TRACE_MAGIC, FM_TRACE_VERSION},
	                           sizeof(struct fm_trace_session), sizeof(struct fm_trace_session), &session, &bytes);

	fm_session = session;
	foreign = error ? FM_FOREIGN_NONE : fm_foreign_here();
	if (foreign != FM_FOREIGN_NONE) {
		__atomic_fetch_add(&fm_session->foreign[foreign], 1, __ATOMIC_RELAXED);
		return -EPERM;
	}
	if (!error && fm_session->stop)
		error = -ECANCELED;
	if (!error)
		error = fm_alive_open();
	if (!error)
		error = make_file(false);
	if (!error)
		announce();
	return error;
}

int fm_file_forked(void)
{
	struct fm_trace_file *parents = fm_file;
	uint32_t sites = __atomic_load_n(&parents->head.site_count, __ATOMIC_ACQUIRE),
	         pieces = __atomic_load_n(&parents->head.piece_count, __ATOMIC_ACQUIRE);
	int error;

	fm_file = NULL;
	if (sites > FM_TRACE_SITES || pieces > FM_TRACE_PIECES)
		return -EBADMSG;
	error = make_file(true);
	if (!error && sites)
		error = fm_file_reserve(fm_file->sites, sites * sizeof(struct fm_trace_site));
	if (!error && pieces)
		error = fm_file_reserve(fm_file->pieces, pieces * sizeof(struct fm_trace_piece));
	if (!error) {
		memcpy(fm_file->sites, parents->sites, sites * sizeof(struct fm_trace_site));
		memcpy(fm_file->pieces, parents->pieces, pieces * sizeof(struct fm_trace_piece));
		for (uint32_t i = 0; i < pieces; i++)
			fm_file->pieces[i].executed = 0;
		memcpy(fm_file->head.names, parents->head.names, sizeof(parents->head.names));
		fm_file->head.name_count = parents->head.name_count;
		fm_file->head.site_count = sites;
		fm_file->head.piece_count = pieces;
		announce();
	} else if (fm_file) {
		fm_file->head.error = -error;
		__atomic_store_n(&fm_file->head.magic, FM_TRACE_MAGIC, __ATOMIC_RELEASE);
	}
	fm_system_call(SYS_munmap, (long)parents, sizeof(struct fm_trace_file), 0, 0, 0, 0);
	return error;
}
