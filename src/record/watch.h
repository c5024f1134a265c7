/* Watches lines until they are used again, by hardware breakpoints of the calling thread. Where the kernel does not
   allow them, or does not send SIGTRAP by itself (before 5.13), nothing is watched. */
#ifndef FATHOM_RECORD_WATCH_H
#define FATHOM_RECORD_WATCH_H

#include <signal.h>

#include "record/rhythm.h"
#include "record/watch_slots.h"

/* A thread's. */
struct fm_watches {
	struct fm_watch_slots slots;
	int files[FM_WATCHPOINTS]; /* of the breakpoints, + 1; 0: none yet */
	uint64_t ids[FM_WATCHPOINTS];
	/* The thread's account: processor time of the runtime itself, and references made in bursts. */
	uint64_t own_ns, references;
	struct fm_rhythm_choice choice; /* of the word for the clock */
	uint64_t unpaid_ns;             /* of own_ns: nobody has counted it as a cost yet */
};

/* Tries it out and measures how long a hit takes to arrive, once per process: with SIGTRAP's handler installed and not
   blocked. Negative errno: lines cannot be watched. */
int fm_watch_open(void);
bool fm_watch_is_open(void);

/* What a touch of a watched word takes, ns. */
uint64_t fm_watch_cycle(void);

/* Processor time of the calling thread. */
uint64_t fm_watch_now(void);

/* Watches these words (addresses / 8) from now on. False: it could not be done. */
bool fm_watch_begin(struct fm_watches *watches, const uint64_t *words, unsigned count, float share, uint32_t window,
                    uint32_t position);

/* Watches a word for some touches, to tell how fast references follow each other, and writes that down. */
void fm_watch_pace(struct fm_watches *watches, const struct fm_rhythm_choice *choice);

/* How many words could be watched now. */
unsigned fm_watch_room(const struct fm_watches *watches);

/* A window has ended, whose references these are: what was hit meanwhile, or is hit in it, or has been kept long
   enough, ends and is written down. `began_ns`: the window's beginning. The account does not have the window yet.
   Inside (self.h). */
void fm_watch_pass(struct fm_watches *watches, const uint64_t *words, uint32_t count, uint64_t began_ns);

/* Did a watchpoint send this signal? Then it has been noted. */
bool fm_watch_note(struct fm_watches *watches, const siginfo_t *information);

/* The thread ends. Inside. */
void fm_watch_end(struct fm_watches *watches);

/* In the child after a fork: the files are closed by fm_timer_forked(). */
void fm_watch_forked(struct fm_watches *watches);

#endif
