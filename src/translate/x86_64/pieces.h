/* Pieces of straight code, counted or logged at their start. */
#ifndef FATHOM_TRANSLATE_X86_64_PIECES_H
#define FATHOM_TRANSLATE_X86_64_PIECES_H

#include "translate/x86_64/making.h"

/* Number of instructions of the piece that begins at `from`. */
unsigned fm_piece_length(const struct instruction *instructions, unsigned from, unsigned count);

/* Logs the start of a piece, and counts the piece or sets work->count_at to a later place for that. True if its
   executions are visits. */
bool fm_piece_begin(struct work *work, unsigned from, unsigned count);

/* A visit of the piece, or one for each of `copies` passes of it: timed now and then. */
void fm_piece_visit(struct work *work);

/* Counts the piece here, where the flags may be overwritten. */
void fm_piece_count(struct work *work);

#endif
