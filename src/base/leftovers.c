#include "base/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANDOM = 6, ATTEMPTS = 16, FOLDERS = 4, RUNS = 256, NAME = 32, KINDS = 2, ABANDONED = 7 * 86400 /* s */ };
enum pass { LOOK, REMOVE_PARTS, REMOVE_LOCKS };
static const char *const kinds[KINDS] = {FM_RUN_NAME, FM_MARKERS_NAME};

int fm_leftovers_create(char *path)
{
	char *pattern = path + strlen(path) - RANDOM;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		struct stat there;
		int file;

		memset(pattern, 'X', RANDOM);
		file = mkostemp(path, O_CLOEXEC);
		if (file < 0)
			return -errno;
		/* another tool may have taken it for a leftover before it was locked */
		if (!flock(file, LOCK_EX | LOCK_NB) && !fstat(file, &there) && there.st_nlink)
			return file;
		close(file);
	}
	return -EBUSY;
}

/* Runs in one folder, by the beginning of their names. */
struct found {
	char names[RUNS][NAME];
	bool alive[RUNS], dead[RUNS]; /* both false: its lock was not found */
	int locks[RUNS][2]; /* held until all is removed: an interrupted removal is repeated by the next tool */
	unsigned count;
};

static void note(struct found *found, const char *name)
{
	size_t length = 0;

	for (unsigned i = 0; i < KINDS; i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			length = strlen(kinds[i]) + RANDOM;
	if (!length || strlen(name) < length)
		return;
	for (unsigned i = 0; i < found->count; i++)
		if (!strncmp(found->names[i], name, length))
			return;
	if (found->count < RUNS)
		memcpy(found->names[found->count++], name, length);
}

static bool is_own(int file, bool folder)
{
	struct stat there;

	return !fstat(file, &there) && there.st_uid == geteuid() &&
	       (folder ? S_ISDIR(there.st_mode) : S_ISREG(there.st_mode));
}

/* Looks for the lock of a run in this folder: on the results, and on the session of the native engine. */
static void look(int folder, struct found *found, unsigned run)
{
	const char *const locked[] = {"", "-native/session"};

	for (unsigned i = 0; i < 2 && !found->alive[run]; i++) {
		char name[NAME + 32];
		int file;

		if (found->locks[run][i] >= 0) /* TMPDIR is one of the other folders */
			continue;
		snprintf(name, sizeof(name), "%s%s", found->names[run], locked[i]);
		file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (file < 0)
			continue;
		/* what belongs to others is theirs to remove */
		if (!is_own(file, false) || flock(file, LOCK_EX | LOCK_NB)) {
			found->alive[run] = true;
			close(file);
			continue;
		}
		found->dead[run] = true;
		found->locks[run][i] = file;
	}
}

static void remove_folder(int parent, const char *name)
{
	int file = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = file >= 0 && is_own(file, true) ? fdopendir(file) : NULL;
	const struct dirent *entry;

	if (!folder) {
		if (file >= 0)
			close(file);
		return;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, "session") != 0)
			unlinkat(dirfd(folder), entry->d_name, 0);
	unlinkat(dirfd(folder), "session", 0); /* it has the lock: last */
	closedir(folder);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* All files but the one with the lock. `older`: only those that were not changed for this time, s. */
static void remove_run(DIR *folder, const char *run, time_t older)
{
	time_t before = time(NULL) - older;
	const struct dirent *entry;

	rewinddir(folder);
	while ((entry = readdir(folder))) {
		struct stat there;

		if (strncmp(entry->d_name, run, strlen(run)) != 0 || !strcmp(entry->d_name, run) ||
		    fstatat(dirfd(folder), entry->d_name, &there, AT_SYMLINK_NOFOLLOW) || there.st_uid != geteuid() ||
		    (older && there.st_mtime > before))
			continue;
		if (S_ISDIR(there.st_mode))
			remove_folder(dirfd(folder), entry->d_name);
		else
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
}

static void pass(const char *path, struct found *found, enum pass pass)
{
	DIR *folder = path && *path ? opendir(path) : NULL;
	const struct dirent *entry;

	if (!folder)
		return;
	while (pass == LOOK && (entry = readdir(folder)))
		note(found, entry->d_name);
	for (unsigned k = 0; k < found->count; k++)
		if (pass == LOOK)
			look(dirfd(folder), found, k);
		else if (pass == REMOVE_PARTS && !found->alive[k])
			remove_run(folder, found->names[k], found->dead[k] ? 0 : ABANDONED);
		else if (pass == REMOVE_LOCKS && !found->alive[k] && found->dead[k])
			unlinkat(dirfd(folder), found->names[k], 0);
	closedir(folder);
}

void fm_leftovers_remove(void)
{
	const char *const folders[FOLDERS] = {getenv("TMPDIR"), FM_LEFTOVERS_FOLDERS};
	struct found found = {.count = 0};

	memset(found.locks, -1, sizeof(found.locks));
	/* The parts of one run may lie in several folders. One whose lock is in none of them may belong to a tool that
	   has another /dev/shm, as in a container. */
	for (enum pass each = LOOK; each <= REMOVE_LOCKS; each++)
		for (unsigned i = 0; i < FOLDERS; i++)
			pass(folders[i], &found, each);
	for (unsigned k = 0; k < found.count; k++)
		for (unsigned i = 0; i < 2; i++)
			if (found.locks[k][i] >= 0)
				close(found.locks[k][i]);
}
