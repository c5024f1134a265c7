/* A stand-in for the runtime's log and unwinder that keeps entries in memory, and lets the program that it is preloaded
   into look at them. FATHOM_DOUBLE_INTERVAL: of small allocations, from the beginning. FATHOM_DOUBLE_REPORT: a file
   that gets a line of counts when a program ends. FATHOM_DOUBLE_OFF: nothing is recorded. */
#ifndef FATHOM_TESTS_RECORD_LOG_DOUBLE_H
#define FATHOM_TESTS_RECORD_LOG_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

#include "record/stream.h"

struct double_entry {
	uint32_t kind, unused;
	uint64_t time;
	union {
		struct fm_stream_allocation allocation;
		struct fm_stream_release release;
	};
};

struct double_stack {
	uint32_t state, count;
	uint64_t frames[FM_STREAM_STACK_MAX];
};

struct record_double {
	struct fm_session *session;
	struct fm_stream_process *process;
	const struct double_entry *entries;
	const size_t *count;
	const struct double_stack *stacks; /* number 1 is stacks[0] */
	void (*set_interval)(uint64_t interval);
	uint64_t (*cost)(void);
	void (*forked)(void);
	void (*enter)(void), (*leave)(void);
	void (*seed)(uint64_t random); /* of the calling thread */
	size_t (*live_bytes)(void);
	int (*live_insert)(const void *address);
	_Bool (*live_remove)(const void *address);
};

/* Found with dlsym. */
const struct record_double *record_double(void);

#endif
