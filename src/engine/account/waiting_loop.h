/* Loops that only wait for a change of memory: spin locks, barriers, queues. Found in the code alone. */
#ifndef FATHOM_ENGINE_ACCOUNT_WAITING_LOOP_H
#define FATHOM_ENGINE_ACCOUNT_WAITING_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_WAITING_LOOP_BYTES = 128 };

/* `bytes`: the code around an instruction, which is at offset `at`. True if the innermost loop around it has a pause
   instruction, or does nothing but load the same addresses again and again, by plain or atomic instructions, and
   compare. */
bool fm_is_waiting_loop(const uint8_t *bytes, size_t length, size_t at);

#endif
