/* How much slower the program runs since its pieces are counted and its lines followed: now and then a thread runs
   without both for a few ticks, in turns with ticks as usual (an episode). How far it comes in either is told by some
   branches that are counted in both, seldom enough to cost nothing. With all signals blocked. */
#ifndef FATHOM_NATIVE_PACE_H
#define FATHOM_NATIVE_PACE_H

#include "native/place.h"

/* Whether fm_pace_step() would do something. */
bool fm_pace_is_due(const struct fm_place *place);

/* At a tick: begins an episode, or ends one of its slices and begins the next, or does nothing. The thread is outside,
   and its log was delivered. */
void fm_pace_step(struct fm_place *place);

/* The number of a piece of the plain translator that is counted. */
uint32_t fm_pace_number(const struct fm_place *place, const struct fm_translate_piece *piece);

/* A thread begins, or its process was forked. */
void fm_pace_begin(struct fm_place *place);
/* The thread ends, or goes on in another way. */
void fm_pace_abandon(struct fm_place *place);

#endif
