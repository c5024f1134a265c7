/* Native stretches of a process with several threads. In the code cache threads run at a half to a third of their
   speed, unequally, so that coupled threads wait for each other. A process whose threads run at the same time
   therefore takes turns. In an active phase its threads are in the code cache, for windows and followed lines. In a
   rest they run natively. In the plain phase after it all of them run in code that counts only branches, at nearly
   native speed: this measures the pace of the rest (pace.h). By then the consumer has read the windows, and takes
   nothing from the program. The length of a rest follows from the cost of the active phase and the permitted overhead.
   Processes with one busy thread never rest. All functions need blocked signals. */
#ifndef FATHOM_TRACE_REST_H
#define FATHOM_TRACE_REST_H

#include "trace/place.h"

void fm_rest_prepare(void);

/* At a tick of the thread, or its begin: counts it as running, and changes the phase of the process if its time is
 * over. */
void fm_rest_tick(struct fm_place *place);

/* True if the thread is to leave the code cache, or to stay outside: its process rests, and the thread is neither in a
   window nor in an episode. */
bool fm_rest_is_due(const struct fm_place *place);

/* True in the plain phase: no window begins. */
bool fm_rest_is_near(void);

/* True if the reader of the trace, which was behind, takes a processor from the threads that rest. */
bool fm_rest_is_disturbed(void);

/* True if the process has rests: their plain phases replace the episodes of pace.h. */
bool fm_rest_takes_turns(void);

/* The thread, outside of the code cache with its log delivered, begins or ends its rest, or what follows it. */
void fm_rest_begin(struct fm_place *place);
void fm_rest_end(struct fm_place *place);
/* The thread begins or ends. */
void fm_rest_forget(struct fm_place *place);

/* Adds the present rest up to now to the sums of the file. Callable from other threads. */
void fm_rest_publish(struct fm_place *place);

/* Latest measured slowdown in the code cache. */
void fm_rest_note_slowdown(double slowdown);

#endif
