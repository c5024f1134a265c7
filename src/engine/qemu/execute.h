/* Follows execve: QEMU would run the new program natively, so the call is replaced by QEMU with that program.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_EXECUTE_H
#define FATHOM_ENGINE_QEMU_EXECUTE_H

#include <stdint.h>

/* Stores the plugin's own options. */
void fm_execute_remember(int argc, char **argv);

/* Before the program's execve: executes QEMU instead. Returns only on failure; QEMU then performs the original call,
   which runs the new program untraced or fails. */
void fm_execute_follow(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
