/* Classification of system calls for the engine.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_CALLS_H
#define FATHOM_ENGINE_QEMU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FM_CALL_READS = 1, /* writes into a buffer of the program */
	FM_CALL_WAITS = 2, /* may wait for another thread: releases the turn */
	FM_CALL_EXECUTES = 4,
	FM_CALL_EXITS = 8,
	FM_CALL_EXITS_ALL = 16,
	FM_CALL_CLONES = 32,
	FM_CALL_FUTEX = 64,
	FM_CALL_SETS_AFFINITY = 128,
	FM_CALL_GETS_AFFINITY = 256,
	FM_CALL_PAUSES = 512, /* waits for time only */
	/* all earlier accesses must be simulated first */
	FM_CALL_SETTLES = FM_CALL_EXECUTES | FM_CALL_EXITS | FM_CALL_EXITS_ALL | FM_CALL_CLONES | FM_CALL_SETS_AFFINITY,
};

/* Flags of a call by its number on x86-64 or aarch64. 0: assumed to be quick; it keeps the turn until it is found
   waiting. */
unsigned fm_call_kind(int64_t number, bool x86);

/* True if the futex operation waits; false if it wakes. */
bool fm_futex_waits(uint64_t operation);

#endif
