/* Processes in which a preloaded library stays inactive: a tracer would intercept each of its signals, and Valgrind
   emulates its code. For preloaded libraries. */
#ifndef FATHOM_BASE_FOREIGN_H
#define FATHOM_BASE_FOREIGN_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_kind.h"
#include "base/system_call.h"

/* Reads "TracerPid:" in /proc/self/status; false without /proc. */
static inline int fm_is_traced(void)
{
	static const char name[] = "\nTracerPid:\t";
	long file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0),
	     length;
	char text[1024];
	const char *found;

	if (fm_failed(file))
		return 0;
	length = fm_system_call(SYS_read, file, (long)text, sizeof(text) - 1, 0, 0, 0);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	if (length <= 0)
		return 0;
	text[length] = 0;
	found = strstr(text, name);
	return found && found[sizeof(name) - 1] > '0' && found[sizeof(name) - 1] <= '9';
}

/* The process namespace, which may differ from that of the tool (namespaces.h); 0 if unknown. */
static inline uint64_t fm_foreign_namespace(void)
{
	struct stat there = {0};

	return fm_failed(fm_system_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&there, 0, 0, 0))
	           ? 0
	           : there.st_ino;
}

static inline enum fm_foreign fm_foreign_here(void)
{
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, "LD_PRELOAD=", 11) && strstr(*at, "/vgpreload_"))
			return FM_FOREIGN_EMULATED;
	return fm_is_traced() ? FM_FOREIGN_TRACED : FM_FOREIGN_NONE;
}

#endif
