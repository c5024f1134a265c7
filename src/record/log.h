/* The file of this process, and the entries that its threads write. See stream.h. */
#ifndef FATHOM_RECORD_LOG_H
#define FATHOM_RECORD_LOG_H

#include "preload/folder.h"
#include "record/self.h"

/* NULL while nothing is recorded: the functions below then do nothing. */
extern struct fm_session *fm_session HIDDEN;
extern struct fm_stream_process *fm_process HIDDEN;

/* Maps the session named in the environment and makes the file of this process. 0, or a negative errno: the runtime
   then stays silent. */
int fm_log_open(void);

/* In the child after a fork: makes a file of its own, or stops if children are not followed. */
void fm_log_forked(void);

/* Notes the current time and processor time. */
void fm_log_clock(void);

/* Reserves an entry with `size` zeroed bytes after its header. NULL: no room (counted). The caller is inside (self.h),
   fills the entry and commits it. */
void *fm_log_begin(enum fm_stream_kind kind, size_t size);
void fm_log_commit(void *body);

/* Writes an entry of one struct. */
void fm_log_write(enum fm_stream_kind kind, const void *body, size_t size);
/* Writes an entry of one struct and a text, cut to FM_STREAM_TEXT_MAX. */
void fm_log_write_text(enum fm_stream_kind kind, const void *body, size_t size, const char *text);

/* Returns the number of a text; logs new texts. 0: no room. */
uint32_t fm_log_name(const char *text);

/* Returns the number of a call stack; logs new stacks. 0: no room. Safe in signal handlers that are inside. */
uint32_t fm_log_stack(const uint64_t *addresses, unsigned count);

/* Logs all mappings of this process as a new list, from /proc/self/maps. Not in a burst. */
void fm_log_mappings(void);
void fm_log_mappings_forked(void);

/* Was the address mapped in the last list of mappings? */
bool fm_log_knows(uint64_t address);

/* Ends the calling thread: its chunk becomes free for other threads. */
void fm_log_end_thread(void);

#endif
