/* Access to sysfs. FATHOM_SYSFS in the environment names another root, such as a captured tree. Arguments are formats
   of paths below the root, without a leading slash. */
#ifndef FATHOM_BASE_SYSFS_H
#define FATHOM_BASE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

/* "/sys", or $FATHOM_SYSFS. */
const char *fm_sysfs_root(void);

/* The whole path, for writing and for messages. Returns buffer, which is "" if it is too small. */
const char *fm_sysfs_path(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

bool fm_sysfs_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first line without its newline; 0 or -errno. */
int fm_sysfs_read_line(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The first number; 0 or -errno, -ENODATA if there is none. */
int fm_sysfs_read_number(long long *ret_value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if the text is one component of a path: user input becomes part of paths. */
bool fm_sysfs_is_name(const char *text);

/* Calls back for each name in a folder, sorted, without names that begin with a dot; false ends the loop. */
void fm_sysfs_each(bool (*callback)(const char *name, void *context), void *context, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
