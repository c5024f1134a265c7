/* Times of basic blocks (pieces), and the time of the whole run from them. Only short stretches of windows are timed,
   but executions are always counted: the run's time is the sum of executions times the time of each block. A window
   then need not represent the instructions around it. Long string instructions are separate: their time depends on
   their lines. */
#ifndef FATHOM_ENGINE_TRACE_PIECE_TIMES_H
#define FATHOM_ENGINE_TRACE_PIECE_TIMES_H

#include <stdint.h>

#include "engine/trace/string_class.h"
#include "engine/results.h"
#include "simulator/core.h"

struct fm_piece_times;

struct fm_piece_times *fm_piece_times_create(void);
void fm_piece_times_destroy(struct fm_piece_times *times);

/* Adds one timed execution of a piece, without its long string instructions. */
void fm_piece_times_note(struct fm_piece_times *times, uint32_t piece, const struct fm_timing_counts *took);

/* Adds timed lines of a long string instruction of a class. */
void fm_piece_times_note_lines(struct fm_piece_times *times, unsigned class, uint64_t lines,
                               const struct fm_timing_counts *took);

/* Ends a stretch. */
void fm_piece_times_end_stretch(struct fm_piece_times *times);

/* Ends a window: its times represent the code executed since the previous window. `executed`: instructions and string
   lines of the process so far. */
void fm_piece_times_end_window(struct fm_piece_times *times, uint64_t executed);

/* Address, length and executions of a piece. */
struct fm_piece_total {
	uint64_t pc;
	uint64_t executed;
	uint32_t bytes, instructions;
};

/* The time of the run, from all pieces and the lines of each class of string instructions. timing.instructions is 0 if
   too little was timed. */
void fm_piece_times_total(struct fm_piece_times *times, const struct fm_piece_total *pieces, uint32_t count,
                          const uint64_t *lines, struct fm_result_pieces *ret);

#endif
