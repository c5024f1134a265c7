/* Do string instructions (rep stos, rep movs: what memset and memcpy use) read the lines that they overwrite? A
   processor need not, since it knows from the count that it will write them whole. No counter says so on most virtual
   machines, but time does: plain stores to memory read and write every line, non-temporal stores only write it. */
#ifndef FATHOM_MACHINE_STRING_STORES_H
#define FATHOM_MACHINE_STRING_STORES_H

#include "base/figure.h"
#include "machine/bandwidth.h"
#include "machine/session.h"

enum { FM_STRING_POINTS_MAX = 16 };

struct fm_string_stores {
	/* Share of the overwritten lines that are read first: 0 none, 1 all. Modelled from measured times; not
	   available, with the reason, when those do not tell. Of instructions of short_bytes … */
	struct fm_figure clear_allocates; /* rep stos */
	struct fm_figure copy_allocates;  /* rep movs */
	/* … and of long_bytes, more than any cache holds: some processors change their ways with the length. */
	struct fm_figure clear_long_allocates;
	struct fm_figure copy_long_allocates;
	uint64_t short_bytes, long_bytes;
	struct fm_bandwidth points[FM_STRING_POINTS_MAX]; /* what was timed, on one thread */
	unsigned point_count;                             /* 0: not measured */
};

/* Streams of `memory_bytes` (to be larger than all caches together) and of `cache_bytes` in a private cache whose level
   number is `cache_level`; 0 bytes: not there. */
int fm_string_stores_measure(struct fm_machine_session *session, size_t memory_bytes, unsigned memory_level,
                             size_t cache_bytes, unsigned cache_level, double seconds,
                             struct fm_string_stores *ret_stores, struct fm_error *error);

/* The share, from the costs of moving the same bytes by a string instruction, by plain stores, which read every line,
   and by non-temporal ones, which read none. Pure arithmetic. */
struct fm_figure fm_string_allocates(const struct fm_figure *string, const struct fm_figure *plain,
                                     const struct fm_figure *nontemporal);

#endif
