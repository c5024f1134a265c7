/* The times of windows. One window at a time in the process; threads join it at their ticks. The distance of windows
   follows from the session's slowdown. With all signals blocked. */
#ifndef FATHOM_TRACE_OPENING_H
#define FATHOM_TRACE_OPENING_H

#include "trace/place.h"

void fm_opening_prepare(void);

/* From now on this number of threads of the process run at a time. Their windows are shorter, have a few threads each,
   and never wait for the reader. `turn`: one window opens in each turn of this number; 0: windows are apart as usual.
 */
void fm_opening_team(unsigned threads, uint32_t turn);

/* Do several threads of the process run at a time? */
bool fm_opening_is_team(void);
bool fm_opening_is_large_team(void);

/* Is a thread in a window? */
bool fm_window_is_open(void);

/* Would fm_window_begin() probably act now? */
bool fm_window_is_due(const struct fm_place *place);

/* Opens a window, or joins the open one. True: the thread is to run in FM_LOGGING. The thread is outside of the
   cache. */
bool fm_window_begin(struct fm_place *place);
/* The same for a new thread, now and then: threads too short for ticks are sampled too. */
bool fm_window_begin_early(struct fm_place *place);

/* Size of the log until the next fm_window_goes_on(). */
size_t fm_window_room(const struct fm_place *place);
/* Called after logging. False: the window was long enough and has ended. */
bool fm_window_goes_on(struct fm_place *place);
/* Is fm_window_goes_on() due although the log is not full? The thread has been in the window for long: few references
   take long in string instructions over much memory. */
bool fm_window_is_late(const struct fm_place *place);
/* Has the window been open for too long? New windows may then begin. */
bool fm_window_is_over(const struct fm_place *place);

/* Ends the window. The log must have been delivered. */
void fm_window_end(struct fm_place *place);

#endif
