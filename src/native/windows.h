/* When references are logged, in windows: one at a time in the whole process, which threads join as their ticks come.
   Windows are as far apart as the session's slowdown asks for. With all signals blocked. */
#ifndef FATHOM_NATIVE_WINDOWS_H
#define FATHOM_NATIVE_WINDOWS_H

#include "native/place.h"

void fm_windows_open(void);

/* Whether fm_window_begin() would do something, most probably. */
bool fm_window_is_due(const struct fm_place *place);

/* Opens a window, or joins the one that is open: then the thread is to run in FM_LOGGING. The thread is outside. */
bool fm_window_begin(struct fm_place *place);
/* The same for a thread that begins: now and then, so that threads which are too short for ticks are seen too. */
bool fm_window_begin_early(struct fm_place *place);

/* How much the log is to hold until fm_window_goes_on() is asked. */
size_t fm_window_room(const struct fm_place *place);
/* After something was logged. False: it was enough, and the window has ended. */
bool fm_window_goes_on(struct fm_place *place);
/* The thread has been in it for so long that fm_window_goes_on() is to be asked, though its log is not full: code that
   makes few references and yet takes long executes string instructions over much memory. */
bool fm_window_is_late(const struct fm_place *place);
/* Whether it has been open for too long, and others shall begin. */
bool fm_window_is_over(const struct fm_place *place);

/* What is in the log must have been delivered. */
void fm_window_end(struct fm_place *place);

#endif
