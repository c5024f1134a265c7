/* Repeated string instructions. QEMU does them element by element, which may be byte by byte, and enters their block
   anew for each; a processor moves whole lines. The elements are gathered into accesses of up to a line.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_REPEATED_H
#define FATHOM_ENGINE_QEMU_REPEATED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

/* One of the two streams of such an instruction: what it loads, what it stores, or the other thing it loads. */
struct fm_gathered {
	const struct fm_result_site *site; /* NULL: nothing is gathered */
	uint64_t
	    expected;  /* the address of the next element, if it belongs to the same access; 0: upwards there is none */
	uint64_t step; /* from one element to the next; negative downwards */
	unsigned left; /* elements until the access is complete */
	bool store;
	uint64_t first;
	unsigned element; /* bytes */
};

struct fm_engine_thread;

/* A complete access, or what there is of one: accesses.c simulates it. */
void fm_engine_gathered(struct fm_engine_thread *thread, struct fm_result_site *site, uint64_t address, unsigned bytes,
                        bool store);

/* The element begins another access than the one under way, or it is not yet known that it does not. */
void fm_gather_slowly(struct fm_engine_thread *thread, const struct fm_result_site *site, uint64_t address,
                      unsigned bytes, bool store);

/* The access has got all that it will. */
void fm_gather_end(struct fm_engine_thread *thread, struct fm_gathered *gathered);

/* Both streams have. */
void fm_gather_end_all(struct fm_engine_thread *thread);

/* One element, if it is the expected one, as most are. False: it is not. */
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
