#include "base/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { NAMES_MAX = 4096 };

const char *fm_sysfs_root(void)
{
	const char *root = getenv("FATHOM_SYSFS");

	return root && *root ? root : "/sys";
}

static const char *make_path(char *buffer, size_t size, const char *format, va_list arguments)
{
	size_t used = (size_t)snprintf(buffer, size, "%s/", fm_sysfs_root());

	if (used < size)
		used += (size_t)vsnprintf(buffer + used, size - used, format, arguments);
	if (used >= size)
		*buffer = 0;
	return buffer;
}

const char *fm_sysfs_path(char *buffer, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	make_path(buffer, size, format, arguments);
	va_end(arguments);
	return buffer;
}

bool fm_sysfs_exists(const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	make_path(path, sizeof(path), format, arguments);
	va_end(arguments);
	return !access(path, F_OK);
}

int fm_sysfs_read_line(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	make_path(path, sizeof(path), format, arguments);
	va_end(arguments);
	return fm_text_read_line(path, text, size);
}

int fm_sysfs_read_number(long long *ret_value, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	make_path(path, sizeof(path), format, arguments);
	va_end(arguments);
	return fm_text_read_number(path, ret_value);
}

bool fm_sysfs_is_name(const char *text)
{
	return *text && *text != '.' && !strchr(text, '/') && strlen(text) < 128;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void fm_sysfs_each(bool (*callback)(const char *name, void *context), void *context, const char *format, ...)
{
	char path[PATH_MAX], *names[NAMES_MAX];
	va_list arguments;
	size_t count = 0;
	bool more = true;
	DIR *folder;

	va_start(arguments, format);
	make_path(path, sizeof(path), format, arguments);
	va_end(arguments);
	folder = opendir(path);
	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder)) && count < NAMES_MAX;)
		if (fm_sysfs_is_name(entry->d_name)) {
			names[count] = strdup(entry->d_name);
			count += names[count] != NULL;
		}
	closedir(folder);
	qsort(names, count, sizeof(names[0]), by_text);
	for (size_t i = 0; i < count; i++) {
		if (more)
			more = callback(names[i], context);
		free(names[i]);
	}
}
