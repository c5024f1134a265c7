/* Makes folders as recorded programs leave them (record/stream.h), for tests: what is in them is known exactly. */
#ifndef FATHOM_TESTS_RECORD_MAKE_PARTS_H
#define FATHOM_TESTS_RECORD_MAKE_PARTS_H

#include <stddef.h>

#include "record/stream.h"

enum { MAKER_PROCESSES = 64, MAKER_THREADS = 16 };

/* Ticks are nanoseconds here. */
struct maker_process {
	struct fm_stream_process head;
	int engine; /* 1: the file is the engine's */
	uint8_t *chunks;
	size_t count; /* of chunks */
	struct {
		size_t chunk, used;
	} threads[MAKER_THREADS];
};

struct maker {
	char folder[512];
	struct fm_session session;
	struct maker_process processes[MAKER_PROCESSES];
	unsigned count;
};

/* A new folder in /tmp; the session begins at tick 1,000,000,000. */
void maker_begin(struct maker *maker);

/* Times are ticks after the beginning, here and below. */
struct maker_process *maker_process(struct maker *maker, uint32_t number, uint32_t parent, int forked, uint64_t time);

/* Where the next entry of a thread goes; its body of `size` bytes is to be filled. */
void *maker_entry(struct maker_process *process, enum fm_stream_kind kind, uint32_t thread, uint64_t time, size_t size);

void maker_thread(struct maker_process *process, uint32_t thread, uint64_t time, uint32_t id, const char *name,
                  uint64_t stack_begin, uint64_t stack_end);
void maker_map(struct maker_process *process, uint64_t time, uint64_t begin, uint64_t end, uint64_t offset,
               uint32_t protection, const char *path, int first);
void maker_stack(struct maker_process *process, uint32_t thread, uint64_t time, uint32_t number, unsigned count,
                 const uint64_t *addresses);
void maker_name(struct maker_process *process, uint64_t time, uint32_t number, const char *text);
void maker_allocate(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t address, uint64_t size,
                    uint32_t stack, uint32_t allocator, double weight);
void maker_release(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t address, uint64_t size);
struct fm_stream_sample *maker_sample(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t pc,
                                      uint64_t address, uint32_t stack);

/* All mappings of the calling process, as a new list. */
void maker_map_self(struct maker_process *process, uint64_t time);

/* Writes the files; what was made is forgotten. */
void maker_write(struct maker *maker);
void maker_remove(struct maker *maker);

#endif
