/* Repeated string instructions. QEMU emulates them by elements of 1 to 8 bytes and enters the block again for each; a
   processor moves whole lines. Elements are joined into accesses of up to a line.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_REPEATED_H
#define FATHOM_ENGINE_QEMU_REPEATED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

/* One of the two address streams of such an instruction: loads and stores, or two loads (cmps). */
struct fm_gathered {
	const struct fm_result_site *site; /* NULL: no open access */
	uint64_t expected;                 /* next address that extends the access upwards; 0: none */
	uint64_t step;                     /* distance of elements; negative downwards */
	unsigned left;                     /* remaining elements of the access */
	bool store;
	uint64_t first;
	unsigned element; /* bytes */
};

struct fm_engine_thread;

/* Simulates a complete or partial access; in accesses.c. */
void fm_engine_gathered(struct fm_engine_thread *thread, struct fm_result_site *site, uint64_t address, unsigned bytes,
                        bool store);

/* Slow path: the element begins a new access, or the direction is still unknown. */
void fm_gather_slowly(struct fm_engine_thread *thread, const struct fm_result_site *site, uint64_t address,
                      unsigned bytes, bool store);

/* Ends the open access of one stream. */
void fm_gather_end(struct fm_engine_thread *thread, struct fm_gathered *gathered);

/* Ends the open accesses of both streams. */
void fm_gather_end_all(struct fm_engine_thread *thread);

/* Adds the element if it is the expected one (the usual case); otherwise false. */
static inline bool fm_gather(struct fm_engine_thread *thread, struct fm_gathered *streams,
                             const struct fm_result_site *site, uint64_t address, bool store)
{
	struct fm_gathered *gathered = &streams[store];

	if (__builtin_expect(gathered->site != site || gathered->expected != address || gathered->store != store, 0))
		return false;
	gathered->expected += gathered->step;
	if (!--gathered->left)
		fm_gather_end(thread, gathered);
	return true;
}

#endif
