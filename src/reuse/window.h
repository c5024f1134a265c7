/* Reuse inside a window: the references of a thread from one moment to another, all of them seen. A reuse inside the
   window is a complete sample. Of the references whose line is not touched again, the survivors, a few are watched on:
   chosen evenly among those at least `horizon` references old, each stands for all survivors divided by how many were
   chosen. Younger survivors are left out, since most of them would be used again at once and tell nothing about long
   times. */
#ifndef FATHOM_REUSE_WINDOW_H
#define FATHOM_REUSE_WINDOW_H

#include "base/random.h"
#include "reuse/times.h"

/* Its tables are used again from window to window. Zero-initialise. */
struct fm_window {
	uint32_t *places;    /* hash of lines: the next touch */
	uint32_t *survivors; /* positions in the window */
	uint32_t *next;      /* of each reference: the position of its reuse, 0 if there is none */
	uint32_t *distances; /* of each reference: other lines until then, or until the window's end */
	uint64_t *marks;     /* the first touch of each line, from here on: one bit per position */
	size_t places_size, room;
	uint32_t survivor_count;
	uint32_t count; /* references */
	uint32_t horizon;
	double weight; /* what each reference of the next window counts for; 0: 1 */
};

struct fm_window_choice {
	uint32_t position; /* in the window */
	double age;        /* references since then, at the window's end: its delayed entry */
	double distance;   /* other lines touched since then */
	double weight;
};

/* The usual horizon of a window. */
static inline uint32_t fm_window_horizon(uint32_t count)
{
	return count / 8 * 3;
}

/* Add the window's reuses to `times`, and note the survivors. written[i], unless written is NULL: another thread wrote
   to the line between this thread's touch before i and i. -ENOMEM; -EINVAL beyond 2^28 references. */
int fm_window_add(struct fm_window *window, const uint64_t *lines, const uint8_t *written, uint32_t count,
                  uint32_t horizon, uint32_t cluster, struct fm_times *times);

/* Add to `part` the references of the same window that belong to a part of the program, a region or an object:
   member[i] is not 0. For fm_miss_estimate_part(). */
int fm_window_add_part(const struct fm_window *window, const uint8_t *member, const uint8_t *written, uint32_t cluster,
                       struct fm_times *part);

/* Choose at most `wanted` different survivors; returns how many there are. */
unsigned fm_window_choose(const struct fm_window *window, struct fm_random *random, unsigned wanted,
                          struct fm_window_choice *ret_choices);
void fm_window_free(struct fm_window *window);

/* For how many windows at most a watch in the slot with this number is kept, this window's own included: slot 0 is
   free for every window, each later one is kept four times as long on average. So every window has a watch, and some
   watches see long times. When a watch ends must not depend on what it would have seen: hence terms given in advance.
   A slot whose line was reused may be given to the next window. */
uint32_t fm_window_term(struct fm_random *random, unsigned slot);

#endif
