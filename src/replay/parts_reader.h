/* Reads the folder of a recorded program (record/stream.h): the session, the processes, and their entries in the order
   of time. The files are not trusted: an invalid entry ends its chunk and is counted. */
#ifndef FATHOM_REPLAY_PARTS_READER_H
#define FATHOM_REPLAY_PARTS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/stream.h"

struct fm_parts;

/* A process of the recording. Its head is a copy: the process may still write. */
struct fm_part_process {
	struct fm_stream_process head;
	uint32_t origin; /* index of the parent of its fork; its own without one */
	bool engine;     /* the engine's file of a process, PID-TICKS-engine */
	uint32_t same;   /* of an engine's file: index of the runtime's file of the same process; its own without one */
	uint64_t first, last; /* ticks of its start and of its last entry */
	uint64_t damaged;     /* chunks with an invalid end */
};

/* One entry. `body` has `size` bytes, aligned to 8; texts in it may lack their 0. */
struct fm_part_entry {
	uint32_t process; /* index */
	enum fm_stream_kind kind;
	uint32_t thread;
	uint64_t time;
	const void *body;
	size_t size;
};

/* Opens a folder. -ENOENT, or -EBADMSG for another kind of folder. Symbolic links are not followed. */
int fm_parts_open(const char *folder, struct fm_parts **ret_parts, struct fm_error *error);
void fm_parts_close(struct fm_parts *parts);

const struct fm_session *fm_parts_session(const struct fm_parts *parts); /* a copy from the file */
size_t fm_parts_process_count(const struct fm_parts *parts);
const struct fm_part_process *fm_parts_process(const struct fm_parts *parts, size_t index);

/* The next entry in order of time; false after the last. */
bool fm_parts_next(struct fm_parts *parts, struct fm_part_entry *ret_entry);

/* A call stack by its number in the process. Returns the number of frames, 0 without a stack. */
unsigned fm_parts_stack(const struct fm_parts *parts, uint32_t process, uint32_t number, const uint64_t **ret_addresses,
                        uint32_t *ret_owner);

/* A name by its number; NULL: none. It is valid as long as the parts. */
const char *fm_parts_name(const struct fm_parts *parts, uint32_t process, uint32_t number);

/* Converts ticks of a process to seconds since the start of the recording. */
double fm_parts_seconds(const struct fm_parts *parts, uint32_t process, uint64_t ticks);

/* Copies the text behind a struct of an entry to the buffer, always terminated. */
const char *fm_part_text(const struct fm_part_entry *entry, size_t offset, char *buffer, size_t size);

#endif
