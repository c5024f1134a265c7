/* Code executed in the counted part of a window. A window that begins inside a piece splits it, so the same code may
   belong to several pieces: addresses are compared, not numbers. */
#ifndef FATHOM_ENGINE_TRACE_SEEN_H
#define FATHOM_ENGINE_TRACE_SEEN_H

#include <stdint.h>

#include "trace/shared.h"

/* `seen` has a byte per piece, 1: seen. Also sets it for pieces inside the code of seen pieces. No effect without
   memory. */
void fm_seen_complete(const struct fm_trace_piece *pieces, uint32_t count, uint8_t *seen);

#endif
