/* Use of a thread's four watchpoints. A watch has one or several: one for each word of its line. Its longest duration,
   in windows, is drawn in advance: its end must not depend on what would have been seen. */
#ifndef FATHOM_RECORD_WATCH_SLOTS_H
#define FATHOM_RECORD_WATCH_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_WATCHPOINTS = 4 };

enum fm_watch_state { FM_WATCH_FREE, FM_WATCH_ARMED, FM_WATCH_HIT };

struct fm_watch {
	uint32_t state;  /* enum fm_watch_state; a signal handler makes ARMED HIT */
	uint32_t points; /* one bit per watchpoint of the watch */
	uint32_t window, position;
	uint32_t term; /* windows left */
	float share;
	bool is_pace; /* a word for the clock, touched repeatedly: see watch.h */
	uint32_t hits;
	uint64_t line;
	uint64_t began_ns, hit_ns;                 /* in processor time of the thread */
	uint64_t own_ns_before, references_before; /* of the thread's account at the start, see watch.h */
	uint64_t own_ns_hit, references_hit;
};

struct fm_watch_slots {
	struct fm_watch watches[FM_WATCHPOINTS];
};

/* Bits of the free watchpoints. */
uint32_t fm_watch_slots_free(const struct fm_watch_slots *slots);

/* Reserves a watch with `points` watchpoints, from 1 to the free ones: the last ones, which are kept longest. NULL:
   none is free. `random` draws its term: 1 window for the first watchpoint, on average four times as many for each next
   one. */
struct fm_watch *fm_watch_slots_take(struct fm_watch_slots *slots, unsigned points, uint64_t random);

/* The watch that uses this watchpoint. NULL: none. */
struct fm_watch *fm_watch_slots_of(struct fm_watch_slots *slots, unsigned point);

/* Counts a window that has passed. Was it the last of the watch? */
bool fm_watch_slots_expired(struct fm_watch *watch);

void fm_watch_slots_release(struct fm_watch *watch);

#endif
