/* What recording costs, and how often the timer may fire for that. */
#ifndef FATHOM_RECORD_COSTS_H
#define FATHOM_RECORD_COSTS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on. `started` are ticks when the runtime began to work in this process. */
void fm_costs_open(uint64_t started);

/* An attempt to take a sample (0), a window (1) or a pace (2) took so many ticks in the runtime. Now and then this
   looks at the clocks and chooses a new period; cheap otherwise. Inside (self.h). */
void fm_costs_add(uint64_t ticks, unsigned kind);

/* The same look, if it is time for one: from whatever else costs something. Inside. */
void fm_costs_poll(void);

/* Processor time between two samples of a thread, in ns, as it is now. */
uint64_t fm_costs_period(void);

/* The share of the timer's signals that are for windows; the others are for samples. Each gets half of what there is to
   spend. */
double fm_costs_window_share(void);

/* Is it time to measure the program's pace? */
bool fm_costs_wants_pace(void);

/* The last figures, before the process ends. */
void fm_costs_close(void);

#endif
