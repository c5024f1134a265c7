/* Stack distances of followed lines (engine/trace/followed.h, reuse/lines.h), for the misses of caches of any size: by
   program, marked region, object and instruction. */
#ifndef FATHOM_ENGINE_TRACE_LINE_CURVES_H
#define FATHOM_ENGINE_TRACE_LINE_CURVES_H

#include <stdint.h>

#include "engine/results.h"

struct fm_account;
struct fm_line_curves;
struct fm_traced_thread;

/* NULL: no memory. */
struct fm_line_curves *fm_line_curves_create(void);
void fm_line_curves_destroy(struct fm_line_curves *curves);

/* Records a touch of a followed line. Touches outside of a single counted region change the order without being
   counted. `site` is NULL if unknown. */
void fm_line_curves_touch(struct fm_line_curves *curves, const struct fm_traced_thread *thread, unsigned group,
                          uint64_t address, const struct fm_result_site *site);

/* Writes the histograms into the results. */
void fm_line_curves_finish(const struct fm_line_curves *curves, unsigned group_count, unsigned share,
                           struct fm_account *account);

#endif
