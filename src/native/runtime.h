/* Tracing of this process as a whole. */
#ifndef FATHOM_NATIVE_RUNTIME_H
#define FATHOM_NATIVE_RUNTIME_H

/* All of these natively or in a client's function, with all signals blocked. */

/* The process ends now. */
void fm_runtime_end(void);

/* It may end, or become another program: everything that is known goes into the file. */
void fm_runtime_publish(void);
/* … and it did not. */
void fm_runtime_go_on(void);

/* A filter of system calls may end the program for one of ours: before there is one, all of it stops. Called anywhere.
 */
void fm_runtime_stop_for_good(void);
/* The same from the code cache of a place's own thread, which is about to leave it. */
struct fm_place;
void fm_runtime_stop_before_filter(struct fm_place *place);

#endif
