/* Tracing of this process as a whole. */
#ifndef FATHOM_TRACE_RUNTIME_H
#define FATHOM_TRACE_RUNTIME_H

/* Call these natively or in a client's function, with all signals blocked. */

/* Ends tracing at the end of the process. */
void fm_runtime_end(void);

/* Writes all results to the file: the process may end, or execute another program. */
void fm_runtime_publish(void);
/* Continues tracing, if the process did neither. */
void fm_runtime_go_on(void);

/* Stops tracing before the program installs a system call filter, which may end the program for a call of ours.
   Callable anywhere. */
void fm_runtime_stop_for_good(void);
/* The same from the code cache, by the place's own thread, which is about to leave. */
struct fm_place;
void fm_runtime_stop_before_filter(struct fm_place *place);

#endif
