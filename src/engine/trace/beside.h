/* Programs beside the observed one, on the same simulated machine. The program's consumer also reads their traces and
   feeds them to its hierarchy, each process in its own address space (simulator/space.h). Counts are per program
   beside; source lines and variables exist for the observed program only.
   Processes share no memory here, so simulated time (instructions plus the latency of misses) alone decides the order,
   as in the emulator (docs/decisions/turns.md). The observed program is one runner, with its threads in the order of
   their time stamps. Each thread of a program beside is another runner. The runner furthest behind in simulated time is
   next. If it has no entries yet, the consumer waits, unless its thread sleeps. Native speeds therefore have no
   influence. With core timing, simulated time is that of the cores. */
#ifndef FATHOM_ENGINE_TRACE_BESIDE_H
#define FATHOM_ENGINE_TRACE_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/shared.h"
#include "engine/engine.h"

enum { FM_BESIDE_TRACES = 4096, FM_BESIDE_TRACE_NAME = 64 };

/* Traces of the programs beside: written by the tool, read by the consumer; in shared memory. */
struct fm_beside_roster {
	uint32_t count; /* number of readable traces */
	struct {
		char name[FM_BESIDE_TRACE_NAME]; /* file in the folder of the run */
		uint32_t neighbour;
		uint32_t begins; /* the first process of the program beside, not a descendant */
	} traces[FM_BESIDE_TRACES];
	/* of each program beside: 1, it will not be restarted */
	uint32_t over[FM_ENGINE_BESIDE_MAX];
};

struct fm_consumer;
struct fm_beside;

/* Assigns the cores after the observed program's first: one per program beside, and one per additional thread. -EINVAL
   if the machine has too few cores. */
int fm_beside_create(const struct fm_engine_options *options, const struct fm_beside_roster *roster, const char *folder,
                     struct fm_consumer *consumer, struct fm_beside **ret_beside, struct fm_error *error);
void fm_beside_destroy(struct fm_beside *beside);

/* Looks for new traces and entries. */
void fm_beside_look(struct fm_beside *beside);

enum fm_beside_turn {
	FM_BESIDE_WAIT,    /* the thread furthest behind has no entries yet */
	FM_BESIDE_READ,    /* entries of a program beside were simulated */
	FM_BESIDE_PROGRAM, /* the observed program is next */
};

/* The next turn. `has`: the observed program has entries. */
enum fm_beside_turn fm_beside_turn(struct fm_beside *beside, bool has);

/* Advances the observed program's time by the entries read and the latency of its misses. `running`: number of
   simultaneous threads. */
void fm_beside_pass(struct fm_beside *beside, const struct fm_trace_entry *entries, uint64_t count, uint64_t delay,
                    unsigned running);

/* With core timing: a thread of the program has reached cycle `clock`. fm_beside_woken() is the cycle of the program's
   last wake-up, a lower limit of its threads' clocks. */
void fm_beside_reach(struct fm_beside *beside, uint64_t clock);
uint64_t fm_beside_woken(const struct fm_beside *beside);

/* Entries of one turn. */
enum { FM_BESIDE_SLICE = 64 };

/* Writes the counts of the programs beside into the results. */
void fm_beside_finish(struct fm_beside *beside);

#endif
