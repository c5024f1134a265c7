/* The region that alone is counted may be a function of the program: each call of it is an instance, from its first
   instruction to its return; of recursive calls the outermost. A marker of the same name wins: from the first one on
   only markers count.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_FUNCTIONS_H
#define FATHOM_ENGINE_QEMU_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the return address of this thread's call under way lies; UINT64_MAX: there is none. */
extern __thread uint64_t fm_function_slot __attribute__((tls_model("initial-exec")));

/* A function of a module. While QEMU translates. */
void fm_functions_add(const char *name, uint64_t address);

/* Does it begin there? */
bool fm_functions_begin_at(uint64_t address);

/* Its first instruction is about to be executed. */
void fm_function_enter(void);
void fm_function_leave(void);

/* A marker begins a region. */
void fm_functions_marked(const char *name);

/* A return address in this slot was stored or used: whatever had its own there, or further in, is over. */
static inline void fm_functions_pass(uint64_t slot)
{
	if (__builtin_expect(slot >= fm_function_slot, 0))
		fm_function_leave();
}

#endif
