/* Recordings of live back ends. */
#ifndef FATHOM_SQUEEZE_LIVE_RECORDING_H
#define FATHOM_SQUEEZE_LIVE_RECORDING_H

#include "squeeze/backend.h"

/* Creates a recording with its row of `squeezes`, before the first run. */
int fm_live_record(struct fm_squeeze_session *session, const struct fm_recorded_squeeze *how, struct fm_error *error);

/* Runs the program and adds a step; the first run also records its result. -ECANCELED if interrupted. */
int fm_live_step(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
                 const struct fm_live_run *run, struct fm_error *error);

/* The last step, to mark it as disturbed. */
struct fm_recorded_squeeze_step *fm_live_last_step(const struct fm_squeeze_session *session);

/* Discards a recording without runs. Returns `r`. */
int fm_live_give_up(struct fm_squeeze_session *session, int r);

#endif
