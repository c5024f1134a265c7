/* A function of the program as the only counted region: an instance is a call, from its first instruction to its
   return; of recursive calls the outermost. From the first marker of the same name on, only markers count.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_FUNCTIONS_H
#define FATHOM_ENGINE_QEMU_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Stack slot of the return address of this thread's current call of the function; UINT64_MAX: none. */
extern __thread uint64_t fm_function_slot __attribute__((tls_model("initial-exec")));

/* Registers a function of a module; called during QEMU's translation. */
void fm_functions_add(const char *name, uint64_t address);

/* True if the counted function begins at the address. */
bool fm_functions_begin_at(uint64_t address);

/* Call before the first instruction of the function; and at its return. */
void fm_function_enter(void);
void fm_function_leave(void);

/* Call when a marker begins a region. */
void fm_functions_marked(const char *name);

/* On a call or return through this slot: ends the current call if its slot is this one or an inner one. */
static inline void fm_functions_pass(uint64_t slot)
{
	if (__builtin_expect(slot >= fm_function_slot, 0))
		fm_function_leave();
}

#endif
