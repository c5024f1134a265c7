#include "engine/account/room.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/tuning.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ATTEMPTS = 100 };

enum page_state { PAGE_UNUSED, PAGE_IN_FILE, PAGE_REFUSED };

static size_t whole_pages(const struct fm_room *room, size_t bytes)
{
	return (bytes + room->page - 1) / room->page * room->page;
}

/* Have memory or blocks for a part of the file, or an error instead of a signal later. */
static bool reserve(struct fm_room *room, size_t offset, size_t bytes)
{
	int file, status;

	if (!madvise(room->file + offset, bytes, MADV_POPULATE_WRITE))
		return true;
	if (errno != EINVAL)
		return false;
	/* Linux before 5.14 */
	file = open(room->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return false;
	status = posix_fallocate(file, (off_t)offset, (off_t)bytes);
	close(file);
	return !status;
}

static bool reserve_part(struct fm_room *room, size_t begin, size_t end)
{
	begin = begin / room->page * room->page;
	return reserve(room, begin, whole_pages(room, end) - begin);
}

static void forget_file(struct fm_room *room)
{
	if (room->file)
		munmap(room->file, whole_pages(room, sizeof(struct fm_results)));
	room->file = NULL;
}

/* The least room of every process; other parts come as they are used, and need some free space. */
static bool has_least_room(struct fm_room *room, unsigned cores, bool timing)
{
	struct statvfs left;

	return reserve_part(room, 0, offsetof(struct fm_results, cores) + cores * sizeof(struct fm_simulated_core)) &&
	       (!timing ||
	        reserve_part(room, offsetof(struct fm_results, timings),
	                     offsetof(struct fm_results, timings) + cores * sizeof(struct fm_timing_counts))) &&
	       reserve_part(room, offsetof(struct fm_results, threads),
	                    offsetof(struct fm_results, threads) + sizeof(struct fm_result_thread)) &&
	       !statvfs(room->path, &left) && (uint64_t)left.f_bavail * left.f_frsize >= ROOM_TO_FORK;
}

static int open_file(struct fm_room *room, const char *path, int flags)
{
	int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	size_t size;
	void *memory;

	if (file < 0)
		return -errno;
	room->page = (size_t)sysconf(_SC_PAGESIZE);
	size = whole_pages(room, sizeof(struct fm_results));
	if (flags & O_CREAT && ftruncate(file, (off_t)size)) {
		close(file);
		unlink(path);
		return -ENOSPC;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	room->file = memory;
	snprintf(room->path, sizeof(room->path), "%s", path);
	return 0;
}

void fm_room_init(struct fm_room *room)
{
	pthread_mutex_init(&room->mutex, NULL);
}

void fm_room_release(struct fm_room *room)
{
	forget_file(room);
	if (room->results)
		munmap(room->results, whole_pages(room, sizeof(struct fm_results)));
	room->results = NULL;
}

bool fm_room_open(struct fm_room *room, const char *path, unsigned cores, bool timing)
{
	if (open_file(room, path, 0))
		return false;
	if (has_least_room(room, cores, timing))
		return true;
	forget_file(room);
	return false;
}

/* The numbers of processes come again: such a file may be there from an earlier one. */
static int create_file(struct fm_room *room, const char *folder, int folder_length, const char *name)
{
	char path[FM_ROOM_PATH];
	int status = -EEXIST;

	for (unsigned i = 0; i < ATTEMPTS && status == -EEXIST; i++) {
		int length = i ? snprintf(path, sizeof(path), "%.*s/%s-%u", folder_length, folder, name, i)
		               : snprintf(path, sizeof(path), "%.*s/%s", folder_length, folder, name);

		if (length >= (int)sizeof(path))
			return -ENAMETOOLONG;
		status = open_file(room, path, O_CREAT | O_EXCL);
	}
	return status;
}

bool fm_room_create(struct fm_room *room, const char *name, unsigned cores, bool timing)
{
	const char *slash = strrchr(name, '/'), *folders[] = {name, FM_RESULT_FOLDERS};

	/* a forked child has its parent's mapping, and a mutex that may be locked */
	pthread_mutex_init(&room->mutex, NULL);
	forget_file(room);
	for (size_t i = 0; slash && i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (create_file(room, folders[i], i ? (int)strlen(folders[i]) : (int)(slash - name), slash + 1))
			continue;
		if (has_least_room(room, cores, timing))
			return true;
		forget_file(room);
		unlink(room->path);
	}
	return false;
}

void fm_room_none(struct fm_room *room)
{
	room->page = (size_t)sysconf(_SC_PAGESIZE);
	forget_file(room);
}

struct fm_results *fm_room_use(struct fm_room *room, struct fm_results *where)
{
	void *memory = mmap(where, whole_pages(room, sizeof(struct fm_results)), PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED : 0), -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	room->results = memory;
	memset((void *)room->pages, PAGE_UNUSED, sizeof(room->pages));
	return memory;
}

/* Show the page of the file in place of our own. */
static enum page_state take_page(struct fm_room *room, size_t page)
{
	size_t offset = page * room->page;

	return room->file && reserve(room, offset, room->page) &&
	               mremap(room->file + offset, 0, room->page, MREMAP_MAYMOVE | MREMAP_FIXED,
	                      room->results + offset) != MAP_FAILED
	           ? PAGE_IN_FILE
	           : PAGE_REFUSED;
}

bool fm_room_claim(struct fm_room *room, const void *begin, size_t bytes)
{
	size_t offset = (size_t)((const char *)begin - room->results), first = offset / room->page,
	       last = (offset + bytes - 1) / room->page;
	bool all = true;

	if (offset + bytes > sizeof(struct fm_results) || !bytes)
		return false;
	for (size_t i = first; i <= last; i++) {
		unsigned state = atomic_load_explicit(&room->pages[i], memory_order_acquire);

		if (state == PAGE_UNUSED) {
			pthread_mutex_lock(&room->mutex);
			state = atomic_load(&room->pages[i]);
			if (state == PAGE_UNUSED) {
				/* once refused, always: what was written there meanwhile is not in the file */
				state = take_page(room, i);
				atomic_store_explicit(&room->pages[i], (unsigned char)state, memory_order_release);
			}
			pthread_mutex_unlock(&room->mutex);
		}
		all &= state == PAGE_IN_FILE;
	}
	return all;
}

struct fm_results *fm_room_first(const char *path)
{
	int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	void *memory;

	if (file < 0)
		return NULL;
	memory = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return memory == MAP_FAILED ? NULL : memory;
}
