/* The kind of machine. */
#ifndef FATHOM_BASE_HOST_H
#define FATHOM_BASE_HOST_H

#include <stdbool.h>

/* True under a hypervisor. Only the owner of the host can then enable missing capabilities. */
bool fm_host_is_virtual(void);

#endif
