/* The kernel's account of one process or thread. */
#ifndef FATHOM_BASE_PROCESS_STATE_H
#define FATHOM_BASE_PROCESS_STATE_H

#include <sys/types.h>

/* Reads a `stat` file below /proc. Returns the state 'R', 'S', 'Z' …; 0: no such process. ret_parent may be NULL. */
char fm_process_state(const char *path, pid_t *ret_parent);

#endif
