/* Uncore events are counted by several boxes: each memory channel, each slice of a cache, in each socket. */
#ifndef FATHOM_COUNTERS_BOXES_H
#define FATHOM_COUNTERS_BOXES_H

#include "counters/event.h"

/* The event in all boxes of its kind and in all sockets: uncore_imc_0 stands for uncore_imc_*, on every CPU of their
   masks. An event of the core, or one whose PMU has no number, is itself. Returns how many there are, which may be
   more than there is room for. */
unsigned fm_event_boxes(const struct fm_event *event, struct fm_event *ret_events, unsigned room);

#endif
