/* Programs beside the one that is observed, on the same simulated machine: the program's consumer reads their traces
   too, and feeds them to its hierarchy, each process with an address space of its own (simulator/space.h). What they do
   is counted for each neighbour as a whole; lines of code and variables are the program's alone.

   Processes share no memory that matters here, so that nothing but the model decides who is next: simulated time, which
   is instructions and the latency of misses, as in the exact engine (docs/decisions/turns.md). The program is one
   runner, whose threads are in the order of their time stamps; each thread of a neighbour is another. The runner that
   is furthest behind goes on; if it has written nothing yet it is waited for, unless its thread sleeps. How fast this
   machine happens to run each of them does not matter then. With core timing, time is that of the cores. */
#ifndef FATHOM_ENGINE_NATIVE_BESIDE_H
#define FATHOM_ENGINE_NATIVE_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "native/trace.h"
#include "engine/engine.h"

enum { FM_BESIDE_TRACES = 4096, FM_BESIDE_TRACE_NAME = 64 };

/* Which traces are neighbours': written by the tool, read by the consumer; in memory that both have. */
struct fm_beside_roster {
	uint32_t count; /* of traces, ready to be read */
	struct {
		char name[FM_BESIDE_TRACE_NAME]; /* in the folder of the run */
		uint32_t neighbour;
		uint32_t begins; /* it is the neighbour's own process, not one that it made */
	} traces[FM_BESIDE_TRACES];
	/* of each neighbour: 1, it will not be started again */
	uint32_t over[FM_ENGINE_BESIDE_MAX];
};

struct fm_consumer;
struct fm_beside;

/* Neighbours get the cores behind the program's first, one each, and more as they have more threads. -EINVAL when the
   machine has too few. */
int fm_beside_create(const struct fm_engine_options *options, const struct fm_beside_roster *roster, const char *folder,
                     struct fm_consumer *consumer, struct fm_beside **ret_beside, struct fm_error *error);
void fm_beside_destroy(struct fm_beside *beside);

/* What has come since. */
void fm_beside_look(struct fm_beside *beside);

enum fm_beside_turn {
	FM_BESIDE_WAIT,    /* for somebody who is furthest behind and has written nothing */
	FM_BESIDE_READ,    /* a neighbour was, and has gone on */
	FM_BESIDE_PROGRAM, /* the program is next */
};

/* Whose turn it is. `has`: the program has entries. */
enum fm_beside_turn fm_beside_turn(struct fm_beside *beside, bool has);

/* The program went on: entries that were read, and the latency of its misses. `running`: threads that did so at a time.
 */
void fm_beside_pass(struct fm_beside *beside, const struct fm_trace_entry *entries, uint64_t count, uint64_t delay,
                    unsigned running);

/* The same with core timing: a thread of it has reached this cycle. And the cycle in which the program last came back
   from sleep: none of its threads is behind that. */
void fm_beside_reach(struct fm_beside *beside, uint64_t clock);
uint64_t fm_beside_woken(const struct fm_beside *beside);

/* Entries of one turn. */
enum { FM_BESIDE_SLICE = 64 };

/* What neighbours did, into the results. */
void fm_beside_finish(struct fm_beside *beside);

#endif
