/* Spinning threads: loops that only load from one line. */
#ifndef FATHOM_ENGINE_TRACE_SPINNING_H
#define FATHOM_ENGINE_TRACE_SPINNING_H

#include <stdbool.h>
#include <stdint.h>

struct fm_consumer;
struct fm_traced_thread;
struct fm_trace_entry;

enum { FM_SPUN_LINES = 8 };

/* Spin loops of a thread by line. Stores of other threads to these lines are known only at the end of the thread. */
struct fm_traced_spinning {
	struct fm_spun_line {
		uint64_t line; /* line number + 1 */
		uint64_t references, instructions;
		double ticks;
		bool pauses; /* the loop has a pause instruction */
	} lines[FM_SPUN_LINES];
};

/* Looks for spin loops in entries, before their simulation. `ticks`: their duration. */
void fm_spinning_look(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                      const struct fm_trace_entry *entries, uint64_t count, double ticks);

/* At the end of the thread: writes the sums into its record. */
void fm_spinning_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread);

#endif
