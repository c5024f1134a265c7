/* The cost of recording, and the sampling period that follows from it. */
#ifndef FATHOM_RECORD_COSTS_H
#define FATHOM_RECORD_COSTS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins the account. `started`: ticks when the runtime began in this process. */
void fm_costs_open(uint64_t started);

/* Adds the ticks of an attempt at a sample (0), a window (1) or a pace (2). From time to time it reads the clocks and
   chooses a new period; otherwise cheap. Inside (self.h). */
void fm_costs_add(uint64_t ticks, unsigned kind);

/* The same check of the clocks, if due, for other costs. Inside. */
void fm_costs_poll(void);

/* Current sampling period of a thread: processor time in ns. */
uint64_t fm_costs_period(void);

/* Share of the timer's signals that serve windows; the others serve samples. Each gets half of the budget. */
double fm_costs_window_share(void);

/* Is the program's pace to be measured now? */
bool fm_costs_wants_pace(void);

/* Writes the final figures, before the process ends. */
void fm_costs_close(void);

#endif
