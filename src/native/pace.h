/* How much slower the program runs since its pieces are counted and its lines followed: now and then a thread runs
   without both for a few ticks, in turns with ticks as usual (an episode). How far it comes in either is told by some
   branches that are counted in both, seldom enough to cost nothing. With all signals blocked. */
#ifndef FATHOM_NATIVE_PACE_H
#define FATHOM_NATIVE_PACE_H

#include "native/place.h"

enum {
	FM_PACE_PASSES = 32, /* of a branch, or of all of them, that a slice needs */
	FM_PACE_FASTER = 8,  /* than counted code plain code may be */
};

/* … and seem to be, by chance. */
#define FM_PACE_SLOWER 0.8

/* What the plain slices of an episode have executed: as much more than the counted ones as they came further, and no
   more than plain code can be faster. 0: nobody knows. An episode that was given up may have passed few of these
   branches, and where plain code came less far than counted code in the same time the program did something else by
   then. */
static inline uint64_t fm_pace_plain_instructions(const struct fm_pace *pace)
{
	double slowest, further;

	if (!pace->counted_ns || !pace->plain_ns || pace->counted_passes < FM_PACE_PASSES ||
	    pace->plain_passes < FM_PACE_PASSES)
		return 0;
	slowest = (double)pace->counted_instructions * (double)pace->plain_ns / (double)pace->counted_ns;
	further = (double)pace->counted_instructions * (double)pace->plain_passes / (double)pace->counted_passes;
	if (further < FM_PACE_SLOWER * slowest)
		return 0;
	return (uint64_t)(further < FM_PACE_FASTER * slowest ? further : FM_PACE_FASTER * slowest);
}

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
