/* What each piece of code took where it was timed, and what the whole run took by that. Only short stretches of windows
   are timed, but how often each piece was executed is counted always: the run's time is the sum over the pieces of how
   often, times how long it took where somebody looked. A window then need not stand for the instructions around it,
   which may be others. Long string instructions are apart: their time is a matter of their lines. */
#ifndef FATHOM_ENGINE_NATIVE_PIECE_TIMES_H
#define FATHOM_ENGINE_NATIVE_PIECE_TIMES_H

#include <stdint.h>

#include "engine/native/string_class.h"
#include "engine/results.h"
#include "simulator/core.h"

struct fm_piece_times;

struct fm_piece_times *fm_piece_times_create(void);
void fm_piece_times_destroy(struct fm_piece_times *times);

/* One execution of a piece, without its long string instructions. */
void fm_piece_times_note(struct fm_piece_times *times, uint32_t piece, const struct fm_timing_counts *took);

/* Lines of a long string instruction, of that class. */
void fm_piece_times_note_lines(struct fm_piece_times *times, unsigned class, uint64_t lines,
                               const struct fm_timing_counts *took);

/* The stretch is over. */
void fm_piece_times_end_stretch(struct fm_piece_times *times);

/* A window is over: what was noted in it stands for what was executed since the one before, up to so many instructions
   and string lines of the process in all. */
void fm_piece_times_end_window(struct fm_piece_times *times, uint64_t executed);

/* Where each piece lies, how long it is, and how often it was executed. */
struct fm_piece_total {
	uint64_t pc;
	uint64_t executed;
	uint32_t bytes, instructions;
};

/* Of all pieces, and of the lines of each class of string instructions; timing.instructions is 0 when too little was
   timed. */
void fm_piece_times_total(struct fm_piece_times *times, const struct fm_piece_total *pieces, uint32_t count,
                          const uint64_t *lines, struct fm_result_pieces *ret);

#endif
