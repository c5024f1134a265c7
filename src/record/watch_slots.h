/* Which of a thread's four watchpoints are in use, by whom, and for how long. A watch has one watchpoint or several:
   one for each word of its line. How long it is kept at most is drawn in advance, in windows: when it ends must not
   depend on what it would have seen. */
#ifndef FATHOM_RECORD_WATCH_SLOTS_H
#define FATHOM_RECORD_WATCH_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_WATCHPOINTS = 4 };

enum fm_watch_state { FM_WATCH_FREE, FM_WATCH_ARMED, FM_WATCH_HIT };

struct fm_watch {
	uint32_t state;  /* enum fm_watch_state; a signal handler makes ARMED HIT */
	uint32_t points; /* a bit for each of its watchpoints */
	uint32_t window, position;
	uint32_t term; /* windows that it is still kept for */
	float share;
	bool is_pace; /* a word for the clock: touched again and again, see watch.h */
	uint32_t hits;
	uint64_t line;
	uint64_t began_ns, hit_ns;                 /* of the thread's processor time */
	uint64_t own_ns_before, references_before; /* of the thread's account then, see watch.h */
	uint64_t own_ns_hit, references_hit;
};

struct fm_watch_slots {
	struct fm_watch watches[FM_WATCHPOINTS];
};

/* Bits of the watchpoints that nobody has. */
uint32_t fm_watch_slots_free(const struct fm_watch_slots *slots);

/* A watch with so many watchpoints, at least 1, at most those that are free: the last ones, which are kept longest.
   NULL when none is free. `random` draws its term: 1 window for the first watchpoint, and four times as many on average
   with each of the others. */
struct fm_watch *fm_watch_slots_take(struct fm_watch_slots *slots, unsigned points, uint64_t random);

/* The watch that has this watchpoint. NULL: none. */
struct fm_watch *fm_watch_slots_of(struct fm_watch_slots *slots, unsigned point);

/* A window has passed: is it the watch's last? */
bool fm_watch_slots_expired(struct fm_watch *watch);

void fm_watch_slots_release(struct fm_watch *watch);

#endif
