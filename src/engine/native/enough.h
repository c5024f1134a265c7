/* When windows have seen enough of a program, so that they may become rare. */
#ifndef FATHOM_ENGINE_NATIVE_ENOUGH_H
#define FATHOM_ENGINE_NATIVE_ENOUGH_H

#include <stdbool.h>

#include "engine/results.h"

/* Are the lines that come into each cache, per instruction, known as well as this (0.05: within 5 %), as far as windows
   tell from their differences? Of a cache that hardly anything comes into it need not be known. */
bool fm_windows_are_enough(const struct fm_result_window *windows, unsigned count, unsigned caches, double precision);

#endif
