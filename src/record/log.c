#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/processor.h"
#include "record/log.h"
#include "record/starts.h"

enum {
	FIRST_CHUNKS = 8,
	MORE_CHUNKS = 64,
	SPARE_CHUNKS = 64,
	PATIENCE = 2000,
	STACK_TABLE = 1 << 16,
	NAME_TABLE = 1 << 12,
};

struct fm_session *fm_session;
struct fm_stream_process *fm_process;
__thread struct fm_self fm_self __attribute__((tls_model("initial-exec")));

static struct {
	uint64_t file_size;
	uint8_t *unit; /* chunks that are given out, one after the other */
	uint32_t next, count;
	uint32_t growing;
	uint64_t cpu_before;           /* processor time of what the process was before it executed this program */
	bool failed;                   /* no more chunks for this process */
	uint8_t *spares[SPARE_CHUNKS]; /* begun by threads that ended: where they go on */
	uint64_t *stacks;              /* hashes; the number of a stack is its place, plus one */
	uint64_t *names;
} log_file;

static void *map(long size, long protection, long flags, long file, long offset)
{
	long result = fm_system_call(SYS_mmap, 0, size, protection, flags, file, offset);

	return fm_failed(result) ? NULL : (void *)result;
}

/* A full disk is everybody's; what else one process may not do is its own. */
static void note_full(int error)
{
	uint64_t nothing = 0;

	log_file.failed = true;
	if (error && error != ENOSPC && error != EDQUOT)
		return;
	if (__atomic_compare_exchange_n(&fm_session->full, &nothing, fm_ticks(), false, __ATOMIC_RELAXED,
	                                __ATOMIC_RELAXED))
		fm_session->full_error = error;
}

/* Claims the bytes up to `size` of the file, so that they can be written. */
static int claim(long file, uint64_t from, uint64_t size)
{
	struct rlimit limit = {0};
	long result;

	/* beyond it the kernel sends a signal, which ends programs */
	result = fm_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
	if (!fm_failed(result) && limit.rlim_cur < size)
		return EFBIG;
	return -fm_folder_claim(file, from, size - from);
}

/* Chunks lie at multiples of their size, so that their ends are known from any address in them. */
static uint8_t *map_chunks(uint32_t count, long file, uint64_t offset)
{
	long size = (long)count * FM_STREAM_CHUNK, slack = FM_STREAM_CHUNK - 4096;
	uint8_t *reserved = map(size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *aligned;

	if (!reserved)
		return NULL;
	aligned = (uint8_t *)(((uintptr_t)reserved + FM_STREAM_CHUNK - 1) & ~(uintptr_t)(FM_STREAM_CHUNK - 1));
	if (fm_failed(fm_system_call(SYS_mmap, (long)aligned, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	                             file, (long)offset)))
		return NULL;
	fm_system_call(SYS_madvise, (long)aligned, size, MADV_DONTFORK, 0, 0, 0); /* children have files of their own */
	if (aligned > reserved)
		fm_system_call(SYS_munmap, (long)reserved, aligned - reserved, 0, 0, 0, 0);
	if (reserved + slack > aligned)
		fm_system_call(SYS_munmap, (long)(aligned + size), reserved + slack - aligned, 0, 0, 0, 0);
	return aligned;
}

/* More chunks. One thread at a time; the caller has `growing`. */
static bool grow(long flags)
{
	uint64_t from = log_file.file_size;
	uint64_t left =
	    fm_session->max_bytes > fm_session->used_bytes ? fm_session->max_bytes - fm_session->used_bytes : 0;
	uint32_t count = from && left > 2 * MORE_CHUNKS * FM_STREAM_CHUNK ? MORE_CHUNKS : FIRST_CHUNKS;
	uint64_t size = (from ? from : FM_STREAM_HEAD) + (uint64_t)count * FM_STREAM_CHUNK;
	uint64_t used = __atomic_add_fetch(&fm_session->used_bytes, size - from, __ATOMIC_RELAXED);
	uint8_t *head, *unit = NULL;
	long file;
	int error;

	if (used > fm_session->max_bytes) {
		__atomic_sub_fetch(&fm_session->used_bytes, size - from, __ATOMIC_RELAXED);
		note_full(0);
		return false;
	}
	file = fm_folder_open_file(flags);
	if (fm_failed(file)) {
		note_full((int)-file);
		return false;
	}
	error = claim(file, from, size);
	if (!error && !from) {
		head = fm_map(FM_STREAM_HEAD, MAP_SHARED, file);
		fm_process = (struct fm_stream_process *)head;
		error = head ? 0 : ENOMEM;
	}
	if (!error) {
		unit = map_chunks(count, file, size - (uint64_t)count * FM_STREAM_CHUNK);
		error = unit ? 0 : ENOMEM;
	}
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (error) {
		note_full(error);
		return false;
	}
	log_file.file_size = size;
	log_file.unit = unit;
	fm_process->chunks += count;
	log_file.count = count;
	__atomic_store_n(&log_file.next, 0, __ATOMIC_RELEASE);
	return true;
}

static uint8_t *take_chunk(void)
{
	for (unsigned i = 0; i < SPARE_CHUNKS; i++) {
		uint8_t *spare = __atomic_load_n(&log_file.spares[i], __ATOMIC_RELAXED);

		if (spare && __atomic_compare_exchange_n(&log_file.spares[i], &spare, NULL, false, __ATOMIC_ACQUIRE,
		                                         __ATOMIC_RELAXED))
			return spare;
	}
	for (unsigned attempt = 0; attempt < PATIENCE; attempt++) {
		uint32_t free_lock = 0;
		uint8_t *chunk = NULL;

		if (!__atomic_compare_exchange_n(&log_file.growing, &free_lock, 1, false, __ATOMIC_ACQUIRE,
		                                 __ATOMIC_RELAXED)) {
			fm_pause();
			continue;
		}
		if (log_file.next < log_file.count || grow(0))
			chunk = log_file.unit + (size_t)log_file.next++ * FM_STREAM_CHUNK;
		__atomic_store_n(&log_file.growing, 0, __ATOMIC_RELEASE);
		return chunk;
	}
	return NULL;
}

static uint8_t *chunk_end(const uint8_t *chunk)
{
	return (uint8_t *)(((uintptr_t)chunk & ~(uintptr_t)(FM_STREAM_CHUNK - 1)) + FM_STREAM_CHUNK);
}

void *fm_log_begin(enum fm_stream_kind kind, size_t size)
{
	size_t bytes = (sizeof(struct fm_stream_entry) + size + 7) & ~(size_t)7;
	struct fm_stream_entry *entry;

	if (!fm_is_alive() || fm_session->stop || bytes > FM_STREAM_CHUNK)
		return NULL;
	if (!fm_self.at || (size_t)(fm_self.end - fm_self.at) < bytes) {
		fm_self.at =
		    log_file.failed || __atomic_load_n(&fm_session->full, __ATOMIC_RELAXED) ? NULL : take_chunk();
		fm_self.end = fm_self.at ? chunk_end(fm_self.at) : NULL;
		if (fm_self.at && (size_t)(fm_self.end - fm_self.at) < bytes &&
		    !log_file.failed) { /* a spare one with little room */
			fm_self.at = take_chunk();
			fm_self.end = fm_self.at ? chunk_end(fm_self.at) : NULL;
		}
		if (!fm_self.at || (size_t)(fm_self.end - fm_self.at) < bytes) {
			__atomic_fetch_add(&fm_process->lost_entries, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	entry = (struct fm_stream_entry *)(void *)fm_self.at;
	entry->words = (uint16_t)(bytes / 8);
	entry->thread = fm_self.number;
	entry->time = fm_ticks();
	fm_self.kind = (uint16_t)kind;
	return entry + 1;
}

void fm_log_commit(void *body)
{
	struct fm_stream_entry *entry = (struct fm_stream_entry *)body - 1;

	fm_self.at += (size_t)entry->words * 8;
	__atomic_store_n(&entry->kind, fm_self.kind, __ATOMIC_RELEASE);
}

void fm_log_write(enum fm_stream_kind kind, const void *body, size_t size)
{
	void *room = fm_log_begin(kind, size);

	if (room) {
		memcpy(room, body, size);
		fm_log_commit(room);
	}
}

void fm_log_write_text(enum fm_stream_kind kind, const void *body, size_t size, const char *text)
{
	size_t length = strnlen(text, FM_STREAM_TEXT_MAX - 1);
	uint8_t *room = fm_log_begin(kind, size + length + 1);

	if (room) {
		memcpy(room, body, size);
		memcpy(room + size, text, length);
		room[size + length] = 0;
		fm_log_commit(room);
	}
}

/* The place of a hash in a table, which is a power of two. *ret_new: nobody had it. 0: the table is full. */
static uint32_t place_of(uint64_t *table, uint32_t size, uint64_t hash, bool *ret_new)
{
	uint32_t at = (uint32_t)(hash >> 32) & (size - 1);

	*ret_new = false;
	hash |= 1; /* 0 is for nobody */
	for (uint32_t i = 0; i < size / 2; i++, at = (at + 1) & (size - 1)) {
		uint64_t there = __atomic_load_n(&table[at], __ATOMIC_RELAXED);

		if (!there &&
		    __atomic_compare_exchange_n(&table[at], &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*ret_new = true;
			return at + 1;
		}
		if (there == hash)
			return at + 1;
		if (i > 64) /* crowded: as good as full */
			break;
	}
	return 0;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

uint32_t fm_log_name(const char *text)
{
	uint64_t hash = 1;
	uint32_t number;
	bool is_new;

	if (!fm_is_alive())
		return 0;
	for (unsigned i = 0; i < FM_STREAM_TEXT_MAX - 1 && text[i]; i++)
		hash = mix(hash, (uint8_t)text[i]);
	number = place_of(log_file.names, NAME_TABLE, hash, &is_new);
	if (number && is_new)
		fm_log_write_text(FM_STREAM_NAME, &(struct fm_stream_name){.number = number},
		                  sizeof(struct fm_stream_name), text);
	return number;
}

uint32_t fm_log_stack(const uint64_t *addresses, unsigned count)
{
	uint64_t hash = count;
	uint32_t number;
	bool is_new;

	if (!count || !fm_is_alive())
		return 0;
	if (count > FM_STREAM_STACK_MAX)
		count = FM_STREAM_STACK_MAX;
	for (unsigned i = 0; i < count; i++)
		hash = mix(hash, addresses[i]);
	number = place_of(log_file.stacks, STACK_TABLE, hash, &is_new);
	if (!number)
		__atomic_fetch_add(&fm_process->lost_stacks, 1, __ATOMIC_RELAXED);
	if (number && is_new) {
		size_t bytes = count * sizeof(uint64_t);
		struct fm_stream_stack *stack = fm_log_begin(FM_STREAM_STACK, sizeof(*stack) + bytes);

		if (stack) {
			stack->number = number;
			stack->count = count;
			memcpy(stack + 1, addresses, bytes);
			fm_log_commit(stack);
		}
	}
	return number;
}

void fm_log_end_thread(void)
{
	uint8_t *at = fm_self.at;

	if (!at || at == fm_self.end)
		at = NULL;
	fm_self.at = fm_self.end = NULL;
	for (unsigned i = 0; at && i < SPARE_CHUNKS; i++) {
		uint8_t *nobody = NULL;

		if (__atomic_compare_exchange_n(&log_file.spares[i], &nobody, at, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return;
	}
}

void fm_log_clock(void)
{
	uint64_t cpu = fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	fm_process->last_ns = fm_clock_ns(CLOCK_MONOTONIC);
	fm_process->last_ticks = fm_ticks();
	/* a child of vfork has another clock, and its parent's memory */
	if (cpu >= log_file.cpu_before)
		fm_process->cpu_ns = cpu - log_file.cpu_before;
}

/* The command line, as far as there is room, ended by an empty argument. */
static void note_arguments(void)
{
	long file, got;

	fm_system_call(SYS_readlink, (long)"/proc/self/exe", (long)fm_process->program,
	               (long)sizeof(fm_process->program) - 1, 0, 0, 0);
	if (!fm_session->arguments)
		return;
	file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fm_failed(file))
		return;
	got = fm_system_call(SYS_read, file, (long)fm_process->arguments, (long)sizeof(fm_process->arguments) - 2, 0, 0,
	                     0);
	if (got > 0)
		fm_process->arguments[got] = fm_process->arguments[got + 1] = 0;
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
}

static int make_file(bool forked)
{
	uint64_t ticks = fm_ticks();
	uint32_t process = (uint32_t)fm_process_id();

	fm_folder_name_file("");
	log_file.file_size = 0;
	log_file.next = log_file.count = 0;
	log_file.growing = 0;
	log_file.failed = false;
	fm_log_mappings_forked();
	memset(log_file.spares, 0, sizeof(log_file.spares));
	fm_self.at = fm_self.end = NULL;
	if (!grow(O_CREAT | O_EXCL)) {
		__atomic_fetch_add(&fm_session->lost_processes, 1, __ATOMIC_RELAXED);
		fm_process = NULL;
		return -EIO;
	}
	fm_process->version = FM_STREAM_VERSION;
	fm_process->process = process;
	fm_process->parent = (uint32_t)fm_system_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
	fm_process->forked = forked;
	fm_process->process_space = fm_foreign_namespace();
	fm_process->begun = ticks;
	fm_process->began_ns = fm_clock_ns(CLOCK_REALTIME);
	log_file.cpu_before = forked ? 0 : fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	fm_process->first_ns = fm_clock_ns(CLOCK_MONOTONIC);
	fm_process->first_ticks = fm_ticks();
	note_arguments();
	fm_log_clock();
	__atomic_store_n(&fm_process->magic, FM_STREAM_MAGIC, __ATOMIC_RELEASE);
	__atomic_fetch_add(&fm_session->processes, 1, __ATOMIC_RELAXED);
	fm_alive_set(true);
	return 0;
}

int fm_log_open(void)
{
	const size_t whole = FM_STARTS_OFFSET + sizeof(struct fm_starts);
	void *session = NULL;
	enum fm_foreign foreign;
	size_t bytes;
	int error = fm_folder_open(FM_RECORD_VARIABLE, (struct fm_folder_identity){FM_SESSION_MAGIC, FM_STREAM_VERSION},
	                           sizeof(struct fm_session), whole, &session, &bytes);

	fm_session = session;
	if (error)
		return error;
	if (fm_session->sampling && bytes >= whole)
		fm_starts_open((struct fm_starts *)(void *)((char *)fm_session + FM_STARTS_OFFSET));
	if (fm_session->sampling && !fm_starts_is_worth()) {
		fm_session = NULL;
		return -ECANCELED;
	}
	foreign = fm_session->sampling ? fm_foreign_here() : FM_FOREIGN_NONE;
	if (foreign != FM_FOREIGN_NONE) {
		__atomic_fetch_add(&fm_session->foreign[foreign], 1, __ATOMIC_RELAXED);
		fm_session = NULL;
		return -EPERM;
	}
	log_file.stacks = fm_map(STACK_TABLE * sizeof(uint64_t), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	log_file.names = fm_map(NAME_TABLE * sizeof(uint64_t), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!log_file.stacks || !log_file.names || fm_alive_open()) {
		fm_session = NULL;
		return -ENOMEM;
	}
	fm_empty_in_children(log_file.stacks, STACK_TABLE * sizeof(uint64_t));
	fm_empty_in_children(log_file.names, NAME_TABLE * sizeof(uint64_t));
	return make_file(false);
}

void fm_log_forked(void)
{
	if (!fm_session)
		return;
	fm_process = NULL;
	if (!fm_session->children || fm_session->stop || make_file(true))
		fm_session = NULL;
}
