#include "base/installed.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_MAX = 4 };

static const struct {
	const char *variable;
	int access;
	const char *folders[FOLDERS_MAX];
} kinds[FM_INSTALLED_COUNT] = {
#define INSTALLED(identifier, variable, access, ...) {variable, access, {__VA_ARGS__}},
#include "base/installed.def"
#undef INSTALLED
};

/* The executable's folder, the same for the whole life of the process. */
static bool own_folder(char folder[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX);
	const char *executed = (const char *)getauxval(AT_EXECFN);
	char *slash;

	if (length > 0 && length < PATH_MAX)
		folder[length] = 0;
	else if (!executed || !realpath(executed, folder)) /* no /proc: as it was executed */
		return false;
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	slash[slash == folder] = 0;
	return true;
}

static bool is_folder(const char *path)
{
	struct stat what;

	return !stat(path, &what) && S_ISDIR(what.st_mode);
}

static bool is_file(const char *path, int access_wanted)
{
	struct stat what;

	return !stat(path, &what) && S_ISREG(what.st_mode) && !access(path, access_wanted);
}

/* The folder of this number, from the environment or as seen from the executable; false after the last. */
static bool folder_at(enum fm_installed_kind kind, unsigned index, char path[PATH_MAX])
{
	const char *chosen = kinds[kind].variable ? getenv(kinds[kind].variable) : NULL;
	char own[PATH_MAX];

	if (chosen && *chosen)
		return !index && (size_t)snprintf(path, PATH_MAX, "%s", chosen) < PATH_MAX;
	return index < FOLDERS_MAX && kinds[kind].folders[index] && own_folder(own) &&
	       (size_t)snprintf(path, PATH_MAX, "%s/%s", own, kinds[kind].folders[index]) < PATH_MAX;
}

/* A name may have folders in it, but none that leads out. */
static bool stays_inside(const char *name)
{
	if (!*name || *name == '/')
		return false;
	while (*name) {
		size_t length = strcspn(name, "/");

		if (!length || (length == 2 && !strncmp(name, "..", 2)))
			return false;
		name += length + (name[length] == '/');
	}
	return true;
}

int fm_installed_find(enum fm_installed_kind kind, const char *name, char *ret_path, size_t size)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (!stays_inside(name))
		return -EINVAL;
	for (unsigned i = 0; folder_at(kind, i, folder); i++) {
		size_t length = (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name);

		if (length >= sizeof(path) || !is_file(path, kinds[kind].access))
			continue;
		if (length >= size)
			return -ENAMETOOLONG;
		memcpy(ret_path, path, length + 1);
		return 0;
	}
	return -ENOENT;
}

int fm_installed_folder(enum fm_installed_kind kind, char *ret_path, size_t size)
{
	char folder[PATH_MAX];

	for (unsigned i = 0; folder_at(kind, i, folder); i++) {
		if (!is_folder(folder))
			continue;
		if (strlen(folder) >= size)
			return -ENAMETOOLONG;
		memcpy(ret_path, folder, strlen(folder) + 1);
		return 0;
	}
	return -ENOENT;
}

const char *fm_installed_variable(enum fm_installed_kind kind)
{
	return kinds[kind].variable;
}
