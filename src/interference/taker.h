/* What one taker does: BWThr and CSThr of Casas and Bronevetsky, "Active Measurement of Memory Resource Consumption".

   `bandwidth` changes integers of many buffers in turn, in each with the stride of a large prime: nearly all accesses
   miss the caches, many are under way at a time, and lines are used too seldom to stay. `storage` changes random
   integers of one buffer, as fast as it can, so that a shared cache keeps the buffer.

   The same code is a taker, and the program that shows what other takers do to it (calibrate.h). */
#ifndef FATHOM_INTERFERENCE_TAKER_H
#define FATHOM_INTERFERENCE_TAKER_H

#include <stdint.h>

#include "base/random.h"
#include "machine/buffer.h"

enum fm_taker_kind { FM_TAKER_BANDWIDTH, FM_TAKER_STORAGE, FM_TAKER_KINDS };

const char *fm_taker_name(enum fm_taker_kind kind);

enum {
	FM_TAKER_BUFFERS = 44,                 /* of a bandwidth taker */
	FM_TAKER_BATCH = 8 * FM_TAKER_BUFFERS, /* accesses between two looks at what it is told */
};
#define FM_TAKER_PRIME 1000003ull

struct fm_taker_memory {
	enum fm_taker_kind kind;
	struct fm_buffer buffer;
	uint64_t most;     /* bytes of the buffer, of a bandwidth taker of each of its buffers */
	uint64_t bytes;    /* of these in use */
	uint64_t distance; /* of bandwidth buffers, in integers */
	uint64_t at;       /* where a bandwidth taker is in each of its buffers */
	struct fm_random random;
};

/* How much memory a taker of that kind has in all. */
uint64_t fm_taker_bytes(enum fm_taker_kind kind, uint64_t bytes);

/* Huge pages where there are, all of them present, on the node of the calling thread. */
int fm_taker_allocate(enum fm_taker_kind kind, uint64_t bytes, uint64_t seed, struct fm_taker_memory *ret_memory,
                      struct fm_error *error);
void fm_taker_free(struct fm_taker_memory *memory);

/* Use so much from now on; at least a page, at most what was allocated. */
void fm_taker_resize(struct fm_taker_memory *memory, uint64_t bytes);

/* A batch of accesses. */
void fm_taker_step(struct fm_taker_memory *memory);

#endif
