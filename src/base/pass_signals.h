/* Signals to the tool are meant for the running program: they are forwarded unchanged, and the tool continues. Handlers
   of the tool are called, too. Signals of a terminal, or to the whole process group, already reach the program and are
   not forwarded. */
#ifndef FATHOM_BASE_PASS_SIGNALS_H
#define FATHOM_BASE_PASS_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* Forwards signals to this process; 0 stops forwarding and restores the handlers. */
void fm_pass_signals_to(pid_t process);

/* The last signal since the launch, forwarded or not; 0 if none. It is kept until the next launch. */
int fm_pass_signals_asked(void);

#endif
