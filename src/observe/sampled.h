/* Recordings of sampled references: made of what the runtime left (record/stream.h), also after the tool was killed. */
#ifndef FATHOM_OBSERVE_SAMPLED_H
#define FATHOM_OBSERVE_SAMPLED_H

#include "recording/recording.h"

/* Fills the tables of samples from the folder, which may still be written to. They must be empty; what else the
   recording holds, `calibration` too, stays. */
int fm_sampled_read(const char *folder, struct fm_recording *recording, struct fm_error *error);

/* The recording is kept: its parts are removed. */
void fm_sampled_discard_parts(const char *path);

/* A recording that was loaded and whose state is "unfinished" gets what its parts hold. If the tool that recorded it is
   gone, it is kept in its file then and the parts are removed. `remark` says what happened. -ENOENT when the parts are
   gone. Nothing happens to other recordings: the remark is "". */
int fm_sampled_recover(const char *path, struct fm_recording *recording, char *remark, size_t size,
                       struct fm_error *error);

#endif
