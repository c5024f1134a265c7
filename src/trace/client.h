/* The client of translators: choices and numbers for a thread's code. */
#ifndef FATHOM_TRACE_CLIENT_H
#define FATHOM_TRACE_CLIENT_H

#include "trace/place.h"

/* Makes a translator of the place: FM_COUNTING, FM_LOGGING or FM_PLAIN. 0 or a negative errno. */
int fm_client_create(struct fm_place *place, unsigned which);

#endif
