/* Reuse inside a window: all references of a thread between two moments. A reuse inside the window is a complete
   sample. References whose line is not touched again are survivors. A few of them are watched after the window, chosen
   evenly among those at least `horizon` references old; each represents its share of these survivors. Younger ones are
   excluded: most would be reused at once, without information on long times. */
#ifndef FATHOM_REUSE_WINDOW_H
#define FATHOM_REUSE_WINDOW_H

#include "base/random.h"
#include "reuse/times.h"

/* A window, with tables that later windows reuse. Zero-initialise. */
struct fm_window {
	uint32_t *places;    /* hash of lines: the next touch */
	uint32_t *survivors; /* positions in the window */
	uint32_t *next;      /* of each reference: position of its reuse, 0: none */
	uint32_t *distances; /* of each reference: other lines up to the reuse, or to the window's end */
	uint64_t *marks;     /* first touch of each line after a position: one bit per position */
	size_t places_size, room;
	uint32_t survivor_count;
	uint32_t count; /* references */
	uint32_t horizon;
	double weight; /* weight of each reference of the next window; 0: 1 */
};

struct fm_window_choice {
	uint32_t position; /* in the window */
	double age;        /* references from there to the window's end: its delayed entry */
	double distance;   /* other lines touched from there on */
	double weight;
};

/* The usual horizon of a window. */
static inline uint32_t fm_window_horizon(uint32_t count)
{
	return count / 8 * 3;
}

/* Adds the window's reuses to `times`, and notes the survivors. written[i]: another thread wrote to the line between
   this thread's touches before i and at i; `written` may be NULL. 0; -ENOMEM; -EINVAL beyond 2^28 references. */
int fm_window_add(struct fm_window *window, const uint64_t *lines, const uint8_t *written, uint32_t count,
                  uint32_t horizon, uint32_t cluster, struct fm_times *times);

/* Adds the references of the same window with member[i] != 0, those of a region or an object, to `part`, for
   fm_miss_estimate_part(). 0 or -ENOMEM. */
int fm_window_add_part(const struct fm_window *window, const uint8_t *member, const uint8_t *written, uint32_t cluster,
                       struct fm_times *part);

/* Chooses at most `wanted` different survivors. Returns their number. */
unsigned fm_window_choose(const struct fm_window *window, struct fm_random *random, unsigned wanted,
                          struct fm_window_choice *ret_choices);
void fm_window_free(struct fm_window *window);

/* Draws the number of windows, this one included, after which the watch in a slot ends: 1 in slot 0, on average four
   times as many in each later slot. So every window has a watch, and some watches see long times. Terms are given in
   advance: the end of a watch must not depend on the observation. A slot whose line was reused is free for the next
   window. */
uint32_t fm_window_term(struct fm_random *random, unsigned slot);

#endif
