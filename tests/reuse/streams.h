/* Synthetic streams of references, each with parameters drawn from a seed. */
#ifndef FATHOM_TESTS_REUSE_STREAMS_H
#define FATHOM_TESTS_REUSE_STREAMS_H

#include <stdint.h>

#include "base/random.h"

struct stream {
	struct fm_random random;
	uint64_t place;      /* references so far */
	uint64_t total;      /* references in all */
	double a, b, c;      /* parameters of the kind */
	uint64_t i, j, k, n; /* where it is */
	char words[80];      /* the parameters */
};

struct stream_kind {
	const char *name;
	void (*begin)(struct stream *stream);
	uint64_t (*next)(struct stream *stream);
};

extern const struct stream_kind stream_kinds[]; /* ended by a name of NULL */

void stream_start(struct stream *stream, const struct stream_kind *kind, uint64_t seed, uint64_t total);

#endif
