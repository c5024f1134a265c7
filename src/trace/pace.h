/* The slowdown by counting pieces and following lines. An episode: a thread runs some ticks without both, in turns with
   ticks as usual. The progress in either is measured by a few branches counted in both, rare enough to cost nothing.
   With all signals blocked. */
#ifndef FATHOM_TRACE_PACE_H
#define FATHOM_TRACE_PACE_H

#include "trace/place.h"

enum {
	FM_PACE_PASSES = 32, /* least passes of one branch, or of all, per slice */
	FM_PACE_FASTER = 8,  /* limit of the speed of plain code, relative to counted code … */
};

/* … and the least speed of plain code, by chance. */
#define FM_PACE_SLOWER 0.8

/* Instructions executed in the plain slices of an episode: those of the counted slices, scaled by the passes of the
   branches. At most FM_PACE_FASTER times the speed of counted code. 0: not known. An aborted episode may have passed
   few branches; and if plain code progressed less than counted code in the same time, the program did other work. */
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

/* Would fm_pace_step() act now? */
bool fm_pace_is_due(const struct fm_place *place);

/* At a tick: begins an episode, ends one of its slices and begins the next, or does nothing. The thread is outside of
   the cache, and its log was delivered. */
void fm_pace_step(struct fm_place *place);

/* Before a rest: chooses what the plain phase after it will count. */
void fm_pace_prepare_together(struct fm_place *place);
/* The thread leaves its plain code at the end of the process' plain phase. */
void fm_pace_end_together(struct fm_place *place);
/* After the counted code that follows: the instructions of the plain phase, and the pace of the rest before it. The
   same part of the program shows how many instructions a pass of the branches stands for. */
void fm_pace_settle_together(struct fm_place *place);

/* The number of a piece that the plain translator counts; others get none. */
uint32_t fm_pace_number(const struct fm_place *place, const struct fm_translate_piece *piece);

/* A thread begins, or its process was forked. */
void fm_pace_begin(struct fm_place *place);
/* Aborts the episode: the thread ends, or changes its mode. */
void fm_pace_abandon(struct fm_place *place);

#endif
