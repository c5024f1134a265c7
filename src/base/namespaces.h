/* A program may make process namespaces of its own (unshare -p, containers): there it has other numbers than here. */
#ifndef FATHOM_BASE_NAMESPACES_H
#define FATHOM_BASE_NAMESPACES_H

#include <stdint.h>
#include <sys/types.h>

/* The namespace of the caller's process numbers; 0: not known (no /proc). */
uint64_t fm_namespace_of_processes(void);

/* The process that has a file mapped whose path ends so, looked for among all; 0: none that we may look at. */
pid_t fm_namespace_find(const char *file);

#endif
