/* Time series: sums of the counts of all cores in steps of simulated time.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_SERIES_H
#define FATHOM_ENGINE_QEMU_SERIES_H

#include <stdint.h>

struct fm_engine_thread;

/* Sets the cycles between two moments; 0: no series. */
void fm_series_begin(uint64_t interval);

/* Simulated time of the next moment; UINT64_MAX: none. */
uint64_t fm_series_next(void);

/* Records a moment. `now`: time of the thread furthest behind; `running`: threads that do not wait. The caller holds
   the turn, and all other threads wait. */
void fm_series_note(uint64_t now, unsigned running, const struct fm_engine_thread *first);

#endif
