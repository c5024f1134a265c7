/* The file of this process, and the entries that its threads write. See stream.h. */
#ifndef FATHOM_RECORD_LOG_H
#define FATHOM_RECORD_LOG_H

#include "base/system_call.h"
#include "record/self.h"

/* NULL while nothing is recorded: then nothing below does anything. */
extern struct fm_session *fm_session __attribute__((visibility("hidden")));
extern struct fm_stream_process *fm_process __attribute__((visibility("hidden")));

/* Maps the session that the environment names and makes the file of this process. 0, or a negative errno; then the
   runtime stays silent. */
int fm_log_open(void);

/* After fork, in the child: a file of its own, or nothing when children are not followed. */
void fm_log_forked(void);

/* Whether entries can be written: not before, not in a child that nobody has told of the fork. */
bool fm_log_is_open(void);

/* No more entries from now on. */
void fm_log_close(void);

/* Notes what time it is, and the processor time. */
void fm_log_clock(void);

/* Room for an entry with `size` bytes after its header, zeroed; NULL when there is none (counted). The caller is inside
   (self.h), fills it and commits it. */
void *fm_log_begin(enum fm_stream_kind kind, size_t size);
void fm_log_commit(void *body);

/* An entry that is one struct. */
void fm_log_write(enum fm_stream_kind kind, const void *body, size_t size);
/* … and a text after it, cut to FM_STREAM_TEXT_MAX. */
void fm_log_write_text(enum fm_stream_kind kind, const void *body, size_t size, const char *text);

/* The number of a text, which is logged when it is new. 0: no room. */
uint32_t fm_log_name(const char *text);

/* The number of a call stack, which is logged when it is new. 0: no room. Safe in signal handlers that are inside. */
uint32_t fm_log_stack(const uint64_t *addresses, unsigned count);

/* All mappings of this process, as a new list. Reads /proc/self/maps; not in a burst. */
void fm_log_mappings(void);
void fm_log_mappings_forked(void);

/* Was something mapped there when the mappings were listed last? */
bool fm_log_knows(uint64_t address);

/* The calling thread ends: its chunk is for others. */
void fm_log_end_thread(void);

#endif
