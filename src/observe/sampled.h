/* Recordings of sampled references, from the files of the runtime (record/stream.h), also after the tool was killed. */
#ifndef FATHOM_OBSERVE_SAMPLED_H
#define FATHOM_OBSERVE_SAMPLED_H

#include "recording/recording.h"

/* Fills the tables of samples from the folder, which may still be written to. The tables must be empty; the rest of the
   recording stays, `calibration` too. */
int fm_sampled_read(const char *folder, struct fm_recording *recording, struct fm_error *error);

/* Removes the parts of a saved recording. */
void fm_sampled_discard_parts(const char *path);

/* Has this recording parts, and does a recording tool write there? -ENOENT without parts. */
int fm_sampled_parts(const char *path, bool *ret_at_work);

/* Adds the contents of the parts to a loaded recording in state "unfinished". If the recording tool has ended, saves
   the file and removes the parts; `remark` describes this. -ENOENT without parts. Other recordings are unchanged, with
   remark "". */
int fm_sampled_recover(const char *path, struct fm_recording *recording, char *remark, size_t size,
                       struct fm_error *error);

#endif
