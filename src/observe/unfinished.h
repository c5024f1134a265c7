/* The recording as it is while the program runs: whoever opens it then, or after the tool was killed, finds the parts.
 */
#ifndef FATHOM_OBSERVE_UNFINISHED_H
#define FATHOM_OBSERVE_UNFINISHED_H

#include "observe/observe.h"
#include "observe/session.h"

int fm_unfinished_keep(const struct fm_observation *wanted, const struct fm_session_folder *folder, const char *sampler,
                       struct fm_recording *recording, struct fm_error *error);

/* Nothing ran: nothing is kept. */
void fm_unfinished_discard(const struct fm_observation *wanted, struct fm_session_folder *folder);

#endif
