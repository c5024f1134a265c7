/* Following a program that executes another: QEMU would let it run outside, so we run QEMU on it ourselves.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_EXECUTE_H
#define FATHOM_ENGINE_QEMU_EXECUTE_H

#include <stdint.h>

/* Keep what we were started with. */
void fm_execute_remember(int argc, char **argv);

/* The program is about to call execve with these. Does not return when all is well; when it does, what was asked for is
   left to QEMU, and runs untraced or fails as it should. */
void fm_execute_follow(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
