/* What live back ends write down of the program and of its runs. */
#ifndef FATHOM_SQUEEZE_LIVE_RECORDING_H
#define FATHOM_SQUEEZE_LIVE_RECORDING_H

#include "squeeze/backend.h"

/* A recording with its row of `squeezes`, for a program that has not run yet. */
int fm_live_record(struct fm_squeeze_session *session, const struct fm_recorded_squeeze *how, struct fm_error *error);

/* The program once, which makes a step; its first run also tells how it ended. An interruption is -ECANCELED. */
int fm_live_step(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
                 const struct fm_live_run *run, struct fm_error *error);

/* The step that was added last, to mark it as disturbed. */
struct fm_recorded_squeeze_step *fm_live_last_step(const struct fm_squeeze_session *session);

/* Nothing was run: the recording goes. Returns r. */
int fm_live_give_up(struct fm_squeeze_session *session, int r);

#endif
