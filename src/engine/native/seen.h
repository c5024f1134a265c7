/* Which code was in a part of a window that counts. The same code may be cut into other pieces there than elsewhere: a
   window that begins in the middle of a piece makes two of it. So addresses decide, not numbers. */
#ifndef FATHOM_ENGINE_NATIVE_SEEN_H
#define FATHOM_ENGINE_NATIVE_SEEN_H

#include <stdint.h>

#include "native/trace.h"

/* `seen` has a byte for each piece: 1, it was. Those that lie in code of others that were seen become 1, too. Without
   memory for it nothing changes. */
void fm_seen_complete(const struct fm_trace_piece *pieces, uint32_t count, uint8_t *seen);

#endif
