/* Signals that are sent to the tool while a program runs are meant for the program: they are passed on as they are, and
   the tool goes on, since the results are wanted. Handlers that the tool itself has for them are called, too. Signals
   of a terminal, and those sent to the whole process group, reach the program without help and are not passed on: it
   must not see them twice. */
#ifndef FATHOM_BASE_PASS_SIGNALS_H
#define FATHOM_BASE_PASS_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on to this process; 0: to none, and our own handlers are back. */
void fm_pass_signals_to(pid_t process);

/* The last signal that arrived since the program was launched, passed on or not; 0: none. It stays until the next
   launch. */
int fm_pass_signals_asked(void);

#endif
