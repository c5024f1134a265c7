/* A taker: BWThr or CSThr of Casas and Bronevetsky, "Active Measurement of Memory Resource Consumption". `bandwidth`
   changes integers of many buffers in turn, each with the stride of a large prime: nearly all accesses miss the caches,
   many are in flight, and lines are too rarely used to stay. `storage` changes random integers of one buffer at full
   speed, so that a shared cache keeps the buffer.
   This code is also the victim of other takers (calibrate.h). */
#ifndef FATHOM_INTERFERENCE_TAKER_H
#define FATHOM_INTERFERENCE_TAKER_H

#include <stdint.h>

#include "base/random.h"
#include "measure/buffer.h"

enum fm_taker_kind { FM_TAKER_BANDWIDTH, FM_TAKER_STORAGE, FM_TAKER_KINDS };

const char *fm_taker_name(enum fm_taker_kind kind);

enum {
	FM_TAKER_BUFFERS = 44,                 /* buffers of a bandwidth taker */
	FM_TAKER_BATCH = 8 * FM_TAKER_BUFFERS, /* accesses between two checks of its setting */
};
#define FM_TAKER_PRIME 1000003ull

struct fm_taker_memory {
	enum fm_taker_kind kind;
	struct fm_buffer buffer;
	uint64_t most;     /* bytes of the buffer, or of each buffer of a bandwidth taker */
	uint64_t bytes;    /* bytes in use */
	uint64_t distance; /* distance of bandwidth buffers, in integers */
	uint64_t at;       /* position of a bandwidth taker in each of its buffers */
	struct fm_random random;
};

/* Memory of a taker of that kind. */
uint64_t fm_taker_bytes(enum fm_taker_kind kind, uint64_t bytes);

/* Allocates memory with all pages present, huge if available, on the node of the calling thread. */
int fm_taker_allocate(enum fm_taker_kind kind, uint64_t bytes, uint64_t seed, struct fm_taker_memory *ret_memory,
                      struct fm_error *error);
void fm_taker_free(struct fm_taker_memory *memory);

/* Sets the bytes in use: at least a page, at most the allocated ones. */
void fm_taker_resize(struct fm_taker_memory *memory, uint64_t bytes);

/* A batch of accesses. */
void fm_taker_step(struct fm_taker_memory *memory);

#endif
