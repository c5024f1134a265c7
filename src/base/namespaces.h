/* A program may create process namespaces (unshare -p, containers), in which processes have other numbers. */
#ifndef FATHOM_BASE_NAMESPACES_H
#define FATHOM_BASE_NAMESPACES_H

#include <stdint.h>
#include <sys/types.h>

/* The process namespace of the caller; 0 if unknown (no /proc). */
uint64_t fm_namespace_of_processes(void);

/* The process that maps a file with a path ending in `file`; 0 if no such process is found or readable. */
pid_t fm_namespace_find(const char *file);

#endif
