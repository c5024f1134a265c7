/* How far apart the touches of followed lines are (engine/native/followed.h, reuse/lines.h), for the misses of caches
   of any size: of the program, of marked regions, of objects and of instructions. */
#ifndef FATHOM_ENGINE_NATIVE_LINE_CURVES_H
#define FATHOM_ENGINE_NATIVE_LINE_CURVES_H

#include <stdint.h>

#include "engine/results.h"

struct fm_line_curves;
struct fm_native_thread;

/* NULL: no memory. */
struct fm_line_curves *fm_line_curves_create(void);
void fm_line_curves_destroy(struct fm_line_curves *curves);

/* A touch of a followed line. What does not count, outside of the region that alone is wanted, still touches it. `site`
   may be NULL: not known. */
void fm_line_curves_touch(struct fm_line_curves *curves, const struct fm_native_thread *thread, unsigned group,
                          uint64_t address, const struct fm_result_site *site);

/* Into the results. */
void fm_line_curves_finish(const struct fm_line_curves *curves, unsigned group_count, unsigned share,
                           struct fm_results *results);

#endif
