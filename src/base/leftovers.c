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
#include <unistd.h>

enum { RANDOM = 6, ATTEMPTS = 16, FOLDERS = 4, RUNS = 256, NAME = 32, KINDS = 2 };
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
	bool alive[RUNS];
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

/* Whether its tool lives, as far as this folder tells: the lock is on the results, and on the session of the native
   engine. */
static bool is_alive(int folder, const char *run)
{
	const char *const locked[] = {"", "-native/session"};
	bool alive = false;

	for (unsigned i = 0; i < 2 && !alive; i++) {
		char name[NAME + 32];
		int file;

		snprintf(name, sizeof(name), "%s%s", run, locked[i]);
		file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (file < 0)
			continue;
		/* what belongs to others is theirs to remove */
		alive = !is_own(file, false) || flock(file, LOCK_EX | LOCK_NB);
		/* nobody may begin to use it: the file is removed before the lock is given back */
		if (!alive)
			unlinkat(folder, name, 0);
		close(file);
	}
	return alive;
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
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_run(DIR *folder, const char *run)
{
	const struct dirent *entry;

	rewinddir(folder);
	while ((entry = readdir(folder))) {
		struct stat there;

		if (strncmp(entry->d_name, run, strlen(run)) != 0 ||
		    fstatat(dirfd(folder), entry->d_name, &there, AT_SYMLINK_NOFOLLOW) || there.st_uid != geteuid())
			continue;
		if (S_ISDIR(there.st_mode))
			remove_folder(dirfd(folder), entry->d_name);
		else
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
}

void fm_leftovers_remove(void)
{
	const char *const folders[FOLDERS] = {getenv("TMPDIR"), FM_LEFTOVERS_FOLDERS};
	struct found found = {.count = 0};

	/* the parts of one run may lie in several folders: it is dead where no lock says otherwise */
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < FOLDERS; i++) {
			DIR *folder = folders[i] && *folders[i] ? opendir(folders[i]) : NULL;
			const struct dirent *entry;

			if (!folder)
				continue;
			while (!pass && (entry = readdir(folder)))
				note(&found, entry->d_name);
			for (unsigned k = 0; k < found.count; k++) {
				if (!pass)
					found.alive[k] |= is_alive(dirfd(folder), found.names[k]);
				else if (!found.alive[k])
					remove_run(folder, found.names[k]);
			}
			closedir(folder);
		}
}
