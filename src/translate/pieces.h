/* Pieces of straight code, counted or logged as they begin. */
#ifndef FATHOM_TRANSLATE_PIECES_H
#define FATHOM_TRANSLATE_PIECES_H

#include "translate/internal.h"

/* Instructions of the piece that begins at `from`. */
unsigned fm_piece_length(const struct instruction *instructions, unsigned from, unsigned count);

/* Logs that it begins, and counts it, or says where (work->count_at). */
void fm_piece_begin(struct work *work, unsigned from, unsigned count);

/* Counts it, here, where the flags may be overwritten. */
void fm_piece_count(struct work *work);

#endif
