/* Miss-ratio curves of a recording: windows of references, lines that were watched after them, and how fast references
   follow each other, as the runtime has written them down (record/stream.h). Nothing of that is trusted: what makes no
   sense is left out. */
#ifndef FATHOM_OBSERVE_CURVES_H
#define FATHOM_OBSERVE_CURVES_H

#include "observe/parts_reader.h"
#include "recording/curve_rows.h"
#include "reuse/curve.h"

struct fm_curves;

/* NULL without memory. */
struct fm_curves *fm_curves_create(const struct fm_parts *parts);
void fm_curves_free(struct fm_curves *curves);

/* An entry of one of the three kinds, in the order of time. -ENOMEM. */
int fm_curves_add(struct fm_curves *curves, const struct fm_part_entry *entry);

/* Estimates the curve of the program, if there were windows, and adds it to the recording. -ENOMEM. */
int fm_curves_finish(struct fm_curves *curves, struct fm_recording *recording);

/* The caches of this machine as they are advertised, for what was recorded on it. -ENOMEM. */
int fm_curves_write_caches(struct fm_recording *recording);

#endif
