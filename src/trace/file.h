/* The session, and the file of this process (trace.h). */
#ifndef FATHOM_TRACE_FILE_H
#define FATHOM_TRACE_FILE_H

#include "trace/shared.h"
#include "preload/folder.h"

/* NULL while nothing is traced. */
extern struct fm_trace_session *fm_session HIDDEN;
extern struct fm_trace_file *fm_file HIDDEN;
/* Tracing has ended in this process, for good. */
extern uint32_t fm_stopped HIDDEN;

/* Maps the session named in the environment and makes the file. 0 or a negative errno. */
int fm_file_open(void);

/* In a forked child that is to be traced: makes a file of its own, with the sites and pieces of the parent, which the
   inherited code refers to. 0 or a negative errno. */
int fm_file_forked(void);

/* Makes the bytes writable, by reserving their part of the file. Reserving twice is harmless. 0 or a negative errno. */
int fm_file_reserve(const void *start, size_t size);

/* A large ring of the file, by its number from 0, made writable; NULL: too little room. Uses at most half of the
   remaining file system, and of the remaining addresses if limited. */
struct fm_trace_entry *fm_file_large_ring(unsigned number, uint64_t entries, uint64_t touched);

/* Prepares memory for writing: one system call instead of a fault for each page. */
void fm_file_touch(const void *start, size_t size);

/* Notes the processor time so far. */
void fm_file_clock(void);

/* Is the processor time near its limit, so that more tracing could exceed it? */
bool fm_file_limit_is_near(void);

static inline struct fm_trace_head *fm_head(void)
{
	return &fm_file->head;
}

static inline void fm_add(uint64_t *sum, uint64_t value)
{
	if (value)
		__atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

/* Does the address space have room for `size` bytes, and as many more for the program? */
bool fm_has_addresses(uint64_t size);

#endif
