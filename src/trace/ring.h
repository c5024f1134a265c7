/* The ring of a thread and its entries. With all signals blocked. */
#ifndef FATHOM_TRACE_RING_H
#define FATHOM_TRACE_RING_H

#include "trace/place.h"

/* Reserves the place's ring for a new thread, a large one if the place has one. False: unread entries, or no room in
   the file. */
bool fm_ring_take(struct fm_place *place);

/* Gives the thread a large ring, if it has none and one is free. */
void fm_ring_enlarge(struct fm_place *place);
/* In a forked child: drops the rings, which belong to the parent. */
void fm_rings_forked(void);

/* Is much of the large rings' content unread? */
bool fm_rings_are_behind(void);

/* Have all threads of the process room for a phase of counting, without waiting for the reader? */
bool fm_rings_have_room(void);

/* Entries that the thread can log without waiting for the reader. */
uint64_t fm_ring_room(const struct fm_place *place);

void fm_ring_control(struct fm_place *place, enum fm_trace_control control, uint64_t value);

/* Writes the log since place->began to the ring, framed by time stamps. Threads of a team do not wait for room: without
   it, the entries are lost and counted, and place->is_full is set. Other threads wait. If no reader remains: counts the
   entries as lost, and sets fm_stopped. */
void fm_ring_log(struct fm_place *place, const struct fm_translate_entry *entries, size_t count);

/* Releases the ring after the thread's last entry. */
void fm_ring_release(struct fm_place *place);

#endif
