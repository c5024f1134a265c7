/* Several cores that want the same line at the same time: what an operation takes each of them, by the number of
   threads. A handover between two (concurrency.h) is a polite exchange; this is a crowd. */
#ifndef FATHOM_MACHINE_CONTENTION_H
#define FATHOM_MACHINE_CONTENTION_H

#include "base/figure.h"
#include "machine/session.h"

enum fm_contention_kind {
#define CONTENTION_KIND(identifier, ...) FM_CONTENTION_##identifier,
#include "machine/contention.def"
#undef CONTENTION_KIND
	FM_CONTENTION_KINDS
};

struct fm_contention_point {
	unsigned threads;
	enum fm_contention_kind kind;
	/* What one operation takes one of the threads. All together end one every ns / threads. */
	struct fm_figure ns;
};

enum { FM_CONTENTION_POINTS_MAX = 32 };

const char *fm_contention_kind_name(enum fm_contention_kind kind);
const char *fm_contention_kind_words(enum fm_contention_kind kind);

/* FM_CONTENTION_KINDS when the name is unknown. */
enum fm_contention_kind fm_contention_kind_find(const char *name);

/* 1, 2, 4 … and all of `cpus`, in rising order; at most `most` of them. Returns how many. */
unsigned fm_contention_threads(unsigned cpus, unsigned *ret_threads, unsigned most);

/* -ENOTSUP with one CPU. `points` has FM_CONTENTION_POINTS_MAX. */
int fm_contention_measure(struct fm_machine_session *session, double seconds, struct fm_contention_point *points,
                          unsigned *ret_count, struct fm_error *error);

#endif
