/* Miss-ratio curves from lines that were followed for a whole run (reuse/lines.h): of the program, and of its regions,
   objects and source lines. All processes together, each with its own lines. */
#ifndef FATHOM_OBSERVE_LINE_CURVES_H
#define FATHOM_OBSERVE_LINE_CURVES_H

#include "engine/engine.h"
#include "recording/recording.h"

/* Parts of the program by kind and name. Zero-initialise. */
struct fm_line_parts {
	struct fm_line_part *parts;
	size_t count;
};

/* What a process did in one; so much of it, as a share, was not counted. -ENOMEM. */
int fm_line_parts_add(struct fm_line_parts *parts, enum fm_curve_kind kind, const char *name, double uncounted,
                      const struct fm_result_reuse_part *part);
void fm_line_parts_free(struct fm_line_parts *parts);

/* "sort.c:120 (compare)", or "compare [libc.so.6]" where no line is known. Returns buffer. */
const char *fm_line_name(char *buffer, size_t size, const char *function, const char *inlined, const char *file,
                         int64_t line, const char *module);

/* The curves of the program and of its heaviest parts, and the caches of the machine, as rows; nothing if no distances
   were noted. The recording has the run's processes. -ENOMEM. */
int fm_line_curves_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                          const struct fm_line_parts *parts, struct fm_recording *recording);

/* Once the rows of windows are those of the whole run: how much each part refers to memory at all. If only a region is
   wanted, shares are those of its references. */
void fm_line_curves_settle(const char *region, struct fm_recording *recording);

#endif
