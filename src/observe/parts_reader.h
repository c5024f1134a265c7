/* Reads the folder that a recorded program leaves (record/stream.h): the session, the processes, and the entries of all
   of them in the order of time. Nothing in the files is trusted; what is no entry ends its chunk and is counted. */
#ifndef FATHOM_OBSERVE_PARTS_READER_H
#define FATHOM_OBSERVE_PARTS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/stream.h"

struct fm_parts;

/* A process of the recording. Its head is a copy: the process may go on writing. */
struct fm_part_process {
	struct fm_stream_process head;
	uint32_t origin; /* index of the process it was forked from; its own when there is none */
	bool engine;     /* the engine's file of a process, PID-TICKS-engine */
	uint32_t same;   /* of an engine's file: the runtime's file of the same process; its own when there is none */
	uint64_t first, last; /* ticks: its beginning, and of its last entry */
	uint64_t damaged;     /* chunks that did not end well */
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

/* -ENOENT, or -EBADMSG for what is no such folder. Symbolic links are not followed. */
int fm_parts_open(const char *folder, struct fm_parts **ret_parts, struct fm_error *error);
void fm_parts_close(struct fm_parts *parts);

const struct fm_session *fm_parts_session(const struct fm_parts *parts); /* a copy of what was there */
size_t fm_parts_process_count(const struct fm_parts *parts);
const struct fm_part_process *fm_parts_process(const struct fm_parts *parts, size_t index);

/* The next entry in the order of time; false after the last. */
bool fm_parts_next(struct fm_parts *parts, struct fm_part_entry *ret_entry);

/* A call stack by its number, as the process knows it; 0 frames when there is none. */
unsigned fm_parts_stack(const struct fm_parts *parts, uint32_t process, uint32_t number, const uint64_t **ret_addresses,
                        uint32_t *ret_owner);

/* A name by its number; NULL when there is none. It lasts as long as the parts. */
const char *fm_parts_name(const struct fm_parts *parts, uint32_t process, uint32_t number);

/* Ticks of a process as seconds since the recording began. */
double fm_parts_seconds(const struct fm_parts *parts, uint32_t process, uint64_t ticks);

/* The text behind a struct of an entry, always ended: a copy in the buffer. */
const char *fm_part_text(const struct fm_part_entry *entry, size_t offset, char *buffer, size_t size);

#endif
