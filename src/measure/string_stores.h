/* Write-allocate reads of string instructions (rep stos, rep movs, as in memset and memcpy). A processor may omit these
   reads, since whole lines are overwritten. The time shows the reads: plain stores read and write each line,
   non-temporal stores only write it. */
#ifndef FATHOM_MEASURE_STRING_STORES_H
#define FATHOM_MEASURE_STRING_STORES_H

#include "base/figure.h"
#include "measure/bandwidth.h"
#include "measure/session.h"
#include "profile/curves.h"

/* Streams of `memory_bytes` (more than all caches together) and of `cache_bytes` in the private cache of level
   `cache_level`; 0 bytes: none. */
int fm_string_stores_measure(struct fm_machine_session *session, size_t memory_bytes, unsigned memory_level,
                             size_t cache_bytes, unsigned cache_level, double seconds,
                             struct fm_string_stores *ret_stores, struct fm_error *error);

/* The share of lines read, from the cost of a string instruction between that of plain stores (1) and of non-temporal
   stores (0), for equal bytes. Pure arithmetic. */
struct fm_figure fm_string_allocates(const struct fm_figure *string, const struct fm_figure *plain,
                                     const struct fm_figure *nontemporal);

#endif
