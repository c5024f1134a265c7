/* Miss-ratio curves of a recording, from the runtime's notes (record/stream.h): windows of references, watched lines,
   and the pace of references. Notes are not trusted; inconsistent ones are excluded. */
#ifndef FATHOM_REPLAY_CURVES_H
#define FATHOM_REPLAY_CURVES_H

#include "replay/parts_reader.h"
#include "recording/curve_rows.h"
#include "reuse/curve.h"

struct fm_curves;

/* Creates the curves of a recording. NULL without memory. */
struct fm_curves *fm_curves_create(const struct fm_parts *parts);
void fm_curves_free(struct fm_curves *curves);

/* Adds an entry of one of the three kinds, in order of time. 0 or -ENOMEM. */
int fm_curves_add(struct fm_curves *curves, const struct fm_part_entry *entry);

/* Estimates the curve of the program, if it has windows, and adds it to the recording. 0 or -ENOMEM. */
int fm_curves_finish(struct fm_curves *curves, struct fm_recording *recording);

/* Adds the advertised caches of this machine to a recording of it. 0 or -ENOMEM. */
int fm_curves_write_caches(struct fm_recording *recording);

#endif
