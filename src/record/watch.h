/* Watches lines until their next use, by hardware breakpoints of the calling thread. Nothing is watched where the
   kernel forbids them or cannot send SIGTRAP (before 5.13). */
#ifndef FATHOM_RECORD_WATCH_H
#define FATHOM_RECORD_WATCH_H

#include <signal.h>

#include "record/rhythm.h"
#include "record/watch_slots.h"

/* The watches of a thread. */
struct fm_watches {
	struct fm_watch_slots slots;
	int files[FM_WATCHPOINTS]; /* of the breakpoints, + 1; 0: none yet */
	uint64_t ids[FM_WATCHPOINTS];
	/* The thread's account: processor time of the runtime, and references in bursts. */
	uint64_t own_ns, references;
	struct fm_rhythm_choice choice; /* the word for the clock */
	uint64_t unpaid_ns;             /* part of own_ns not yet counted as a cost */
};

/* Tries a watchpoint and measures the delay of a hit, once per process, with SIGTRAP's handler installed and unblocked.
   Negative errno: lines cannot be watched. */
int fm_watch_open(void);
bool fm_watch_is_open(void);

/* Cost of one touch of a watched word, ns. */
uint64_t fm_watch_cycle(void);

/* Processor time of the calling thread. */
uint64_t fm_watch_now(void);

/* Watches the words (addresses / 8). False: not possible. */
bool fm_watch_begin(struct fm_watches *watches, const uint64_t *words, unsigned count, float share, uint32_t window,
                    uint32_t position);

/* Watches a word for some touches, to measure the time between references, and logs the result. */
void fm_watch_pace(struct fm_watches *watches, const struct fm_rhythm_choice *choice);

/* The number of words that can be watched now. */
unsigned fm_watch_room(const struct fm_watches *watches);

/* At the end of a window with these references: ends and logs each watch that was hit before or in the window, or has
   expired. `began_ns`: start of the window, which the account does not include yet. Inside (self.h). */
void fm_watch_pass(struct fm_watches *watches, const uint64_t *words, uint32_t count, uint64_t began_ns);

/* Did a watchpoint send this signal? If so, the hit is noted. */
bool fm_watch_note(struct fm_watches *watches, const siginfo_t *information);

/* Ends the watches of a thread. Inside (self.h). */
void fm_watch_end(struct fm_watches *watches);

/* In the child after a fork: the files are closed by fm_timer_forked(). */
void fm_watch_forked(struct fm_watches *watches);

#endif
