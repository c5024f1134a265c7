/* Threads that wait by looking: a loop that loads from one line and does nothing else. */
#ifndef FATHOM_ENGINE_NATIVE_SPINNING_H
#define FATHOM_ENGINE_NATIVE_SPINNING_H

#include <stdbool.h>
#include <stdint.h>

struct fm_consumer;
struct fm_native_thread;
struct fm_trace_entry;

enum { FM_SPUN_LINES = 8 };

/* What a thread did in such loops, line by line: only at its end is known which of the lines others store to. */
struct fm_native_spinning {
	struct fm_spun_line {
		uint64_t line; /* plus one */
		uint64_t references, instructions;
		double ticks;
		bool pauses; /* the loop has a pause instruction */
	} lines[FM_SPUN_LINES];
	uint64_t piece; /* plus one: of which is known whether it … */
	bool pauses;    /* … has a pause instruction */
};

/* Entries that the thread is about to execute, in this time. */
void fm_spinning_look(struct fm_consumer *consumer, struct fm_native_thread *thread,
                      const struct fm_trace_entry *entries, uint64_t count, double ticks);

/* At the end of the thread: into its record. */
void fm_spinning_settle(struct fm_consumer *consumer, struct fm_native_thread *thread);

#endif
