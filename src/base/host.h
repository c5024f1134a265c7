/* What kind of machine this is. */
#ifndef FATHOM_BASE_HOST_H
#define FATHOM_BASE_HOST_H

#include <stdbool.h>

/* Does a hypervisor run it? Then what is missing must be asked of its owner. */
bool fm_host_is_virtual(void);

#endif
