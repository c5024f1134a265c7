/* The preliminary recording of a running program: it names the parts, also if the tool is killed. */
#ifndef FATHOM_OBSERVE_UNFINISHED_H
#define FATHOM_OBSERVE_UNFINISHED_H

#include "observe/observe.h"
#include "observe/session.h"

/* Fills in the description of the sampling, before the first samples. */
void fm_unfinished_describe(const struct fm_session_folder *folder, const char *sampler,
                            struct fm_recording *recording);

/* Saves the preliminary recording. */
int fm_unfinished_keep(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error);

/* If no program ran: removes the parts, and the recording if `kept`. */
void fm_unfinished_discard(const struct fm_observation *wanted, struct fm_session_folder *folder, bool kept);

#endif
