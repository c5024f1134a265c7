/* System calls that matter to the engine.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_CALLS_H
#define FATHOM_ENGINE_QEMU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FM_CALL_READS = 1, /* writes into a buffer of the program */
	FM_CALL_WAITS = 2, /* may wait for somebody else: does not hold the others up */
	FM_CALL_EXECUTES = 4,
	FM_CALL_EXITS = 8,
	FM_CALL_EXITS_ALL = 16,
	FM_CALL_CLONES = 32,
	FM_CALL_FUTEX = 64,
	FM_CALL_SETS_AFFINITY = 128,
	FM_CALL_GETS_AFFINITY = 256,
	FM_CALL_PAUSES = 512, /* waits for nobody but the time */
	/* the simulator must have seen all that came before */
	FM_CALL_SETTLES = FM_CALL_EXECUTES | FM_CALL_EXITS | FM_CALL_EXITS_ALL | FM_CALL_CLONES | FM_CALL_SETS_AFFINITY,
};

/* What a call does, by its number on x86-64 or aarch64; 0 for all others: they are taken for quick and
   keep the turn until it is seen that they wait. */
unsigned fm_call_kind(int64_t number, bool x86);

/* Does this futex operation wait, rather than wake? */
bool fm_futex_waits(uint64_t operation);

#endif
