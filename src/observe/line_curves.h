/* Miss-ratio curves from followed lines (reuse/lines.h): of the program, its regions, objects and source lines; sums
   over processes. */
#ifndef FATHOM_OBSERVE_LINE_CURVES_H
#define FATHOM_OBSERVE_LINE_CURVES_H

#include "engine/engine.h"
#include "recording/recording.h"

/* Parts of the program by kind and name. Zero-initialise. */
struct fm_line_parts {
	struct fm_line_part *parts;
	size_t count;
};

/* Adds a part of one process; `uncounted` is a share. 0 or -ENOMEM. */
int fm_line_parts_add(struct fm_line_parts *parts, enum fm_curve_kind kind, const char *name, double uncounted,
                      const struct fm_result_reuse_part *part);
void fm_line_parts_free(struct fm_line_parts *parts);

/* "sort.c:120 (compare)", or "compare [libc.so.6]" without a known line. Returns buffer. */
const char *fm_line_name(char *buffer, size_t size, const char *function, const char *inlined, const char *file,
                         int64_t line, const char *module);

/* Adds the curves of the program and its heaviest parts, and the machine's caches, as rows; none without recorded
   distances. The recording must have the run's processes. 0 or -ENOMEM. */
int fm_line_curves_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                          const struct fm_line_parts *parts, struct fm_recording *recording);

/* Sets each part's share of all references, or of those of the requested region. Call after the rows of windows are
   scaled to the whole run. */
void fm_line_curves_settle(const char *region, struct fm_recording *recording);

#endif
