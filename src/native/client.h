/* What translators tell of a thread's code. */
#ifndef FATHOM_NATIVE_CLIENT_H
#define FATHOM_NATIVE_CLIENT_H

#include "native/place.h"

/* One of FM_COUNTING, FM_LOGGING and FM_PLAIN for the place. 0 or a negative errno. */
int fm_client_create(struct fm_place *place, unsigned which);

#endif
