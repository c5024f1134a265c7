/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/part.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/processor.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { WINDOW_CHUNKS_MAX = 64, STACKS_LEAST = 1 << 12, STACKS_MAX = 1 << 21 };

/* Chunks that one writer got at once, side by side. */
struct window {
	struct window *next;
	uint8_t *begin, *end;
};

struct fm_part_writer {
	struct fm_part_writer *next, *next_spare;
	uint8_t *at, *end;    /* the chunk it writes */
	struct window *first; /* the one it writes, and those in which something is not committed yet */
	unsigned chunks;      /* that it will ask for next */
};

struct known {
	uint64_t hash;
	uint32_t number; /* 0: nothing */
};

struct fm_session *fm_part_session;
struct fm_stream_process *fm_part_process;

static struct {
	pthread_mutex_t mutex;
	char folder[PATH_MAX], path[PATH_MAX + 64];
	struct fm_part_writer *writers, *spare;
	bool full;
	struct known *stacks; /* by hash; a power of two of them */
	size_t stack_room, stack_used;
	uint32_t stack_number;
} part = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The file */

static void say_full(int code)
{
	uint64_t none = 0;

	part.full = true;
	if (fm_part_session && __atomic_compare_exchange_n(&fm_part_session->full, &none, fm_ticks(), false,
	                                                   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		fm_part_session->full_error = code;
}

/* The limit of all processes together. */
static bool may_use(uint64_t bytes)
{
	struct fm_session *session = fm_part_session;

	if (!session || __atomic_add_fetch(&session->used_bytes, bytes, __ATOMIC_SEQ_CST) <= session->max_bytes ||
	    !session->max_bytes)
		return true;
	__atomic_sub_fetch(&session->used_bytes, bytes, __ATOMIC_SEQ_CST);
	return false;
}

static void may_not_use(uint64_t bytes)
{
	if (fm_part_session)
		__atomic_sub_fetch(&fm_part_session->used_bytes, bytes, __ATOMIC_SEQ_CST);
}

/* Blocks for a part of the file, so that to write there never fails. A limit on the size of files sends a signal, which
   is not for the program. */
static int reserve(int file, off_t offset, off_t bytes)
{
	sigset_t limit, before;
	int code;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	code = posix_fallocate(file, offset, bytes);
	if (code == EFBIG)
		sigtimedwait(&limit, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

/* So many bytes more of the file, as memory; NULL with the reason. The descriptor is not kept, since programs close
   those that they do not know. */
static uint8_t *extend(int flags, off_t offset, size_t bytes, int *ret_code)
{
	int file;
	void *memory = MAP_FAILED;

	if (!may_use(bytes)) {
		*ret_code = 0;
		return NULL;
	}
	file = open(part.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	*ret_code = file < 0 ? errno : reserve(file, offset, (off_t)bytes);
	if (!*ret_code)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
	if (!*ret_code && memory == MAP_FAILED)
		*ret_code = errno;
	if (file >= 0)
		close(file);
	if (memory != MAP_FAILED) {
		/* all pages at once are cheaper than one by one; older kernels do not know how */
		madvise(memory, bytes, MADV_POPULATE_WRITE);
		return memory;
	}
	may_not_use(bytes);
	return NULL;
}

void fm_part_use(const char *folder)
{
	struct fm_session *session = MAP_FAILED;
	int file;

	snprintf(part.folder, sizeof(part.folder), "%s", folder);
	snprintf(part.path, sizeof(part.path), "%s/session", part.folder);
	file = open(part.path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return;
	if (lseek(file, 0, SEEK_END) >= (off_t)sizeof(*session))
		session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (session == MAP_FAILED)
		return;
	if (session->magic == FM_SESSION_MAGIC && session->version == FM_STREAM_VERSION)
		fm_part_session = session;
	else
		munmap(session, sizeof(*session));
}

bool fm_part_is_ours(const char *path)
{
	size_t length = strlen(part.folder);

	return length && !strncmp(path, part.folder, length) && path[length] == '/';
}

static void note_moment(void)
{
	fm_part_process->last_ticks = fm_ticks();
	fm_part_process->last_ns = nanoseconds(CLOCK_MONOTONIC);
	fm_part_process->cpu_ns = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
}

bool fm_part_open(uint64_t every, uint32_t parent, bool forked)
{
	struct fm_stream_process *process;
	uint64_t ticks = fm_ticks();
	int code;

	snprintf(part.path, sizeof(part.path), "%s/%d-%llu-engine", part.folder, (int)getpid(),
	         (unsigned long long)ticks);
	process = (struct fm_stream_process *)extend(O_CREAT | O_EXCL, 0, FM_STREAM_HEAD, &code);
	if (!process) {
		say_full(code);
		if (fm_part_session)
			__atomic_fetch_add(&fm_part_session->lost_processes, 1, __ATOMIC_RELAXED);
		return false;
	}
	process->version = FM_STREAM_VERSION;
	process->process = (uint32_t)getpid();
	process->parent = parent;
	process->forked = forked;
	process->begun = process->first_ticks = ticks;
	process->began_ns = nanoseconds(CLOCK_REALTIME);
	process->first_ns = nanoseconds(CLOCK_MONOTONIC);
	process->sampler = FM_SAMPLER_ENGINE;
	process->period_ns = every;
	fm_part_process = process;
	note_moment();
	__atomic_store_n(&process->magic, FM_STREAM_MAGIC, __ATOMIC_RELEASE);
	return true;
}

void fm_part_end(void)
{
	if (!fm_part_process)
		return;
	note_moment();
	fm_part_process->ended = fm_ticks();
}

/* Writers */

/* Is everything in it committed? Whoever still has to do so has its address. */
static bool is_settled(const struct window *window)
{
	for (const uint8_t *chunk = window->begin; chunk < window->end; chunk += FM_STREAM_CHUNK)
		for (const uint8_t *at = chunk; at + sizeof(struct fm_stream_entry) <= chunk + FM_STREAM_CHUNK;) {
			const struct fm_stream_entry *entry = (const struct fm_stream_entry *)at;

			if (!entry->words)
				break;
			if (!__atomic_load_n(&entry->kind, __ATOMIC_ACQUIRE))
				return false;
			at += 8 * entry->words;
		}
	return true;
}

static void drop(struct window *window)
{
	munmap(window->begin, (size_t)(window->end - window->begin));
	free(window);
}

static void drop_settled(struct fm_part_writer *writer)
{
	for (struct window **place = &writer->first; *place;) {
		struct window *window = *place;

		if (is_settled(window)) {
			*place = window->next;
			drop(window);
		} else {
			place = &window->next;
		}
	}
}

/* The next chunk of the writer's window, or another window. */
static bool next_chunk(struct fm_part_writer *writer)
{
	struct window *window = writer->end ? writer->first : NULL;
	size_t bytes = (size_t)writer->chunks * FM_STREAM_CHUNK;
	uint8_t *memory = NULL;
	int code = ENOMEM;

	if (window && writer->end < window->end) {
		writer->at = writer->end;
		writer->end += FM_STREAM_CHUNK;
		return true;
	}
	if (part.full)
		return false;
	writer->at = writer->end = NULL;
	drop_settled(writer);
	window = calloc(1, sizeof(*window));
	pthread_mutex_lock(&part.mutex);
	while (window && !memory && bytes >= FM_STREAM_CHUNK) {
		uint64_t chunks = fm_part_process->chunks;

		memory = extend(0, (off_t)(FM_STREAM_HEAD + chunks * FM_STREAM_CHUNK), bytes, &code);
		if (memory)
			fm_part_process->chunks = chunks + bytes / FM_STREAM_CHUNK;
		else
			bytes = bytes / FM_STREAM_CHUNK / 2 * FM_STREAM_CHUNK;
	}
	if (memory)
		note_moment();
	pthread_mutex_unlock(&part.mutex);
	if (!memory) {
		say_full(code);
		free(window);
		return false;
	}
	*window = (struct window){.next = writer->first, .begin = memory, .end = memory + bytes};
	writer->first = window;
	writer->at = memory;
	writer->end = memory + FM_STREAM_CHUNK;
	if (writer->chunks < WINDOW_CHUNKS_MAX)
		writer->chunks *= 2;
	return true;
}

struct fm_part_writer *fm_part_take(void)
{
	struct fm_part_writer *writer;

	if (!fm_part_process)
		return NULL;
	pthread_mutex_lock(&part.mutex);
	writer = part.spare;
	if (writer) {
		part.spare = writer->next_spare;
	} else {
		writer = calloc(1, sizeof(*writer));
		if (writer) {
			writer->chunks = 1;
			writer->next = part.writers;
			part.writers = writer;
		}
	}
	pthread_mutex_unlock(&part.mutex);
	return writer;
}

void fm_part_give_back(struct fm_part_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&part.mutex);
	writer->next_spare = part.spare;
	part.spare = writer;
	pthread_mutex_unlock(&part.mutex);
}

void *fm_part_begin(struct fm_part_writer *writer, uint32_t thread, uint64_t time, size_t size)
{
	size_t words = (sizeof(struct fm_stream_entry) + size + 7) / 8;
	struct fm_stream_entry *entry;

	if (!fm_part_process)
		return NULL;
	if (!writer || ((size_t)(writer->end - writer->at) < 8 * words && !next_chunk(writer))) {
		__atomic_fetch_add(&fm_part_process->lost_entries, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	entry = (struct fm_stream_entry *)writer->at;
	writer->at += 8 * words;
	entry->words = (uint16_t)words;
	entry->thread = thread;
	entry->time = time;
	return entry + 1;
}

void fm_part_commit(void *body, enum fm_stream_kind kind)
{
	struct fm_stream_entry *entry = (struct fm_stream_entry *)body - 1;

	__atomic_store_n(&entry->kind, (uint16_t)kind, __ATOMIC_RELEASE);
}

void fm_part_write(struct fm_part_writer *writer, uint32_t thread, enum fm_stream_kind kind, const void *body,
                   size_t size, const char *text)
{
	size_t length = text ? strnlen(text, FM_STREAM_TEXT_MAX - 1) : 0;
	char *entry = fm_part_begin(writer, thread, fm_ticks(), size + (text ? length + 1 : 0));

	if (!entry)
		return;
	if (size)
		memcpy(entry, body, size);
	if (text)
		memcpy(entry + size, text, length);
	fm_part_commit(entry, kind);
}

/* Stacks */

/* With the mutex. Where it is or would be; NULL: no memory. */
static struct known *find_place(uint64_t hash)
{
	size_t at = hash & (part.stack_room - 1);

	if (!part.stacks)
		return NULL;
	while (part.stacks[at].number && part.stacks[at].hash != hash)
		at = (at + 1) & (part.stack_room - 1);
	return &part.stacks[at];
}

static bool make_room(void)
{
	struct known *before = part.stacks;
	size_t room = part.stack_room, larger = room ? 2 * room : STACKS_LEAST;
	struct known *stacks;

	if (2 * (part.stack_used + 2) <= room)
		return true;
	stacks = larger <= STACKS_MAX ? calloc(larger, sizeof(*stacks)) : NULL;
	if (!stacks)
		return false;
	part.stacks = stacks;
	part.stack_room = larger;
	for (size_t i = 0; i < room; i++)
		if (before[i].number)
			*find_place(before[i].hash) = before[i];
	free(before);
	return true;
}

static void remember(uint64_t hash, uint32_t number)
{
	struct known *place = find_place(hash);

	part.stack_used += !place->number;
	*place = (struct known){.hash = hash, .number = number};
}

uint32_t fm_part_find_stack(uint64_t quick)
{
	const struct known *place;
	uint32_t number;

	pthread_mutex_lock(&part.mutex);
	place = find_place(quick);
	number = place ? place->number : 0;
	pthread_mutex_unlock(&part.mutex);
	return number;
}

/* Of the addresses alone: those that were cut off in front of them made `quick` another. */
static uint64_t hash_of(const uint64_t *addresses, unsigned count)
{
	uint64_t hash = 0x5bd1e9955bd1e995u + count;

	for (unsigned i = 0; i < count; i++) {
		hash = (hash ^ addresses[i]) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 29;
	}
	return hash;
}

uint32_t fm_part_stack(struct fm_part_writer *writer, uint32_t thread, uint64_t quick, const uint64_t *addresses,
                       unsigned count)
{
	const uint64_t own = hash_of(addresses, count);
	struct fm_stream_stack *stack;
	uint32_t number = fm_part_find_stack(own);

	if (!number) {
		stack = fm_part_begin(writer, thread, fm_ticks(), sizeof(*stack) + count * sizeof(addresses[0]));
		if (!stack)
			return 0;
		/* the same one twice, should two threads meet here, is none the worse */
		number = __atomic_add_fetch(&part.stack_number, 1, __ATOMIC_RELAXED);
		stack->number = number;
		stack->count = count;
		memcpy(stack + 1, addresses, count * sizeof(addresses[0]));
		fm_part_commit(stack, FM_STREAM_STACK);
	}
	pthread_mutex_lock(&part.mutex);
	if (make_room()) {
		remember(own, number);
		remember(quick, number);
	} else {
		__atomic_fetch_add(&fm_part_process->lost_stacks, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&part.mutex);
	return number;
}

/* Forks */

void fm_part_before_fork(void)
{
	pthread_mutex_lock(&part.mutex);
}

void fm_part_after_fork_in_parent(void)
{
	pthread_mutex_unlock(&part.mutex);
}

void fm_part_after_fork_in_child(void)
{
	pthread_mutex_init(&part.mutex, NULL);
	if (fm_part_process)
		munmap(fm_part_process, FM_STREAM_HEAD);
	fm_part_process = NULL;
	while (part.writers) {
		struct fm_part_writer *writer = part.writers;

		part.writers = writer->next;
		while (writer->first) {
			struct window *window = writer->first;

			writer->first = window->next;
			drop(window);
		}
		free(writer);
	}
	part.spare = NULL;
	part.full = false;
	/* stacks keep their numbers: those of the parent are known to it */
}
