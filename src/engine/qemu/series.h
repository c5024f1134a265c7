/* A time series: what all cores together have counted, noted in steps of simulated time.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_SERIES_H
#define FATHOM_ENGINE_QEMU_SERIES_H

#include <stdint.h>

struct fm_engine_thread;

/* Every so many cycles; 0: none. */
void fm_series_begin(uint64_t interval);

/* When the next moment is to be noted; UINT64_MAX: never. */
uint64_t fm_series_next(void);

/* It has come: `now` is the time of the thread furthest behind, `running` are how many have something to do. With the
   turns held, all threads waiting but the caller's. */
void fm_series_note(uint64_t now, unsigned running, const struct fm_engine_thread *first);

#endif
