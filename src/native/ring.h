/* Entries of a thread's ring. With all signals blocked. */
#ifndef FATHOM_NATIVE_RING_H
#define FATHOM_NATIVE_RING_H

#include "native/place.h"

/* Takes the place's ring for a new thread, a large one if the place has one. False: not everything is read, or there is
 * no room in the file. */
bool fm_ring_take(struct fm_place *place);

/* Gives the thread a large ring, if it has none and there is one. */
void fm_ring_enlarge(struct fm_place *place);
/* In a forked child: rings are its parent's. */
void fm_rings_forked(void);

/* Whether much of what was written into large rings is not read yet. */
bool fm_rings_are_behind(void);

void fm_ring_control(struct fm_place *place, enum fm_trace_control control, uint64_t value);

/* What was logged since place->began, framed by time stamps. Without a reader, in the end: counts it as lost, and sets
   fm_stopped. */
void fm_ring_log(struct fm_place *place, const struct fm_translate_entry *entries, size_t count);

/* The thread has written its last entry. */
void fm_ring_release(struct fm_place *place);

#endif
