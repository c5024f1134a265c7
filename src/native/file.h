/* The session, and the file of this process (trace.h). */
#ifndef FATHOM_NATIVE_FILE_H
#define FATHOM_NATIVE_FILE_H

#include "native/calls.h"
#include "native/next.h"
#include "native/trace.h"

/* NULL while nothing is traced. */
extern struct fm_trace_session *fm_session HIDDEN;
extern struct fm_trace_file *fm_file HIDDEN;
/* Tracing has ended in this process, for good. */
extern uint32_t fm_stopped HIDDEN;

/* Maps the session that the environment names and makes the file. 0 or a negative errno. */
int fm_file_open(void);

/* In a forked child that is to be traced: a file of its own, with the sites and pieces that the parent had, since the
   code that it has inherited refers to them. 0 or a negative errno. */
int fm_file_forked(void);

/* Whether this process may write to the file: not after the end, and not in a child that nobody has told of the fork.
 */
bool fm_file_is_open(void);
void fm_file_close(void);

/* From now on the bytes can be written to. Reserving twice does no harm. 0 or a negative errno. */
int fm_file_reserve(const void *start, size_t size);

/* A large ring of the file, from 0, that can be written to; NULL: there is too little room for it. At most half of what
   is left is taken: of the file system, and of addresses where these are limited. */
struct fm_trace_entry *fm_file_large_ring(unsigned number);

/* All of it will be written to: one system call in place of a fault for each page. */
void fm_file_touch(const void *start, size_t size);

/* Programs that are executed from now on find no session. The variable stays: markers look for it. */
void fm_file_hide(void);

/* Notes the processor time so far. */
void fm_file_clock(void);

/* Whether more of it would bring the program close to the limit that it has. */
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

/* Is there room in the address space for so many bytes, and as many more for the program? */
/* Whether the tool that made the session still lives: it holds a lock on it. */
bool fm_file_reader_lives(void);

bool fm_has_addresses(uint64_t size);

#endif
