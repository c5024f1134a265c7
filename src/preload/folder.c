#include "preload/folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/put.h"

enum { PATH_ROOM = 4096 };

static char folder[PATH_ROOM], path[PATH_ROOM + 64];
static volatile uint32_t *alive;

static char **find_variable(const char *name)
{
	size_t length = strlen(name);
	char **found = NULL;

	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, length) && (*at)[length] == '=')
			found = at;
	return found;
}

void fm_folder_hide(const char *variable)
{
	char **found = find_variable(variable);

	if (found)
		(*found)[strlen(variable) + 1] = 0;
}

/* A regular file of the right size; how much of it is mapped. */
static int map_file(long file, size_t least, size_t most, void **ret_session, size_t *ret_bytes)
{
	struct stat about = {0};

	if (fm_failed(fm_system_call(SYS_fstat, file, (long)&about, 0, 0, 0, 0)) || !S_ISREG(about.st_mode) ||
	    about.st_size < (off_t)least)
		return -EBADMSG;
	*ret_bytes = about.st_size >= (off_t)most ? most : least;
	*ret_session = fm_map(*ret_bytes, MAP_SHARED, file);
	return *ret_session ? 0 : -EBADMSG;
}

static bool is_ours_alone(long directory)
{
	struct stat about = {0};

	return !fm_system_call(SYS_fstat, directory, (long)&about, 0, 0, 0, 0) && !(about.st_mode & 022) &&
	       about.st_uid == (uid_t)fm_system_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

static int map_session(size_t least, size_t most, void **ret_session, size_t *ret_bytes)
{
	long directory = fm_system_call(SYS_openat, AT_FDCWD, (long)folder,
	                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0),
	     file;
	int error = -EPERM;

	if (fm_failed(directory))
		return (int)directory;
	if (is_ours_alone(directory)) {
		file = fm_system_call(SYS_openat, directory, (long)"session", O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0);
		error = fm_failed(file) ? (int)file : map_file(file, least, most, ret_session, ret_bytes);
		if (!fm_failed(file))
			fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	}
	fm_system_call(SYS_close, directory, 0, 0, 0, 0, 0);
	return error;
}

int fm_folder_open(const char *variable, struct fm_folder_identity identity, size_t least, size_t most,
                   void **ret_session, size_t *ret_bytes)
{
	char **found = find_variable(variable);
	const char *name = found ? *found + strlen(variable) + 1 : NULL;
	void *session = NULL;
	const struct fm_folder_identity *begins;
	size_t length;
	int error;

	if (getauxval(AT_SECURE))
		return -EPERM;
	if (!name || name[0] != '/')
		return -ENOENT;
	length = strlen(name);
	if (length >= PATH_ROOM)
		return -ENAMETOOLONG;
	memcpy(folder, name, length + 1);
	error = map_session(least, most, &session, ret_bytes);
	begins = session;
	if (!error && (begins->magic != identity.magic || begins->version != identity.version))
		error = -EBADMSG;
	*ret_session = error ? NULL : session;
	return error;
}

bool fm_folder_reader_lives(void)
{
	char name[PATH_ROOM + 16];
	long file, result;

	fm_put_text(fm_put_text(name, folder), "/session");
	file = fm_system_call(SYS_openat, AT_FDCWD, (long)name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0);
	/* the next tool removes the files of a dead one; other failures prove nothing */
	if (fm_failed(file))
		return file != -ENOENT;
	result = fm_system_call(SYS_flock, file, LOCK_SH | LOCK_NB, 0, 0, 0, 0);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return fm_failed(result);
}

void fm_folder_name_file(const char *suffix)
{
	char *at = fm_put_text(fm_put_text(path, folder), "/");

	at = fm_put_number(at, (uint64_t)fm_process_id());
	at = fm_put_text(at, "-");
	at = fm_put_number(at, fm_ticks());
	fm_put_text(at, suffix);
}

long fm_folder_open_file(long flags)
{
	return fm_system_call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600, 0, 0);
}

void fm_folder_remove_file(void)
{
	fm_system_call(SYS_unlink, (long)path, 0, 0, 0, 0, 0);
}

int fm_folder_claim(long file, uint64_t from, uint64_t size)
{
	static const uint8_t zeros[4096];
	long result;

	do
		result = fm_system_call(SYS_fallocate, file, 0, (long)from, (long)size, 0, 0);
	while (result == -EINTR);
	if (result != -EOPNOTSUPP && result != -ENOSYS)
		return fm_failed(result) ? (int)result : 0;
	for (uint64_t at = from; at < from + size; at += sizeof(zeros)) {
		result = fm_system_call(SYS_pwrite64, file, (long)zeros, sizeof(zeros), (long)at, 0, 0);
		if (result != (long)sizeof(zeros))
			return fm_failed(result) ? (int)result : -ENOSPC;
	}
	return 0;
}

int fm_alive_open(void)
{
	const size_t page = 4096;

	alive = fm_map(page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!alive || fm_failed(fm_system_call(SYS_madvise, (long)alive, (long)page, MADV_WIPEONFORK, 0, 0, 0)))
		return -ENOMEM;
	return 0;
}

void fm_alive_set(bool value)
{
	if (alive)
		*alive = value;
}

bool fm_is_alive(void)
{
	return alive && *alive;
}
