/* Uncore events are counted by several boxes: per memory channel, per slice of a cache, per socket. */
#ifndef FATHOM_COUNTERS_BOXES_H
#define FATHOM_COUNTERS_BOXES_H

#include "counters/event.h"

/* The event in all boxes of its kind and in all sockets: uncore_imc_0 becomes uncore_imc_*, on each CPU of their masks.
   An event of the core, or of a PMU without a number, is unchanged. Returns the number of events, which may exceed the
   room. */
unsigned fm_event_boxes(const struct fm_event *event, struct fm_event *ret_events, unsigned room);

#endif
