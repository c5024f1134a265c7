/* Which way a stream goes, and in what steps, from points of one folded instance. */
#ifndef FATHOM_FOLD_ORDER_H
#define FATHOM_FOLD_ORDER_H

#include "fold/streams.h"

/* A sample of one stream. */
struct fm_order_point {
	double place;
	uint64_t address; /* relative to its object */
	uint32_t code, thread, bytes;
	bool load, store;
};

struct fm_order_hints {
	double most_passes;           /* that are possible in one instance at all; infinite: not known */
	double first_low, first_high; /* share of references that the first cache serves; 0 … 1 when not known */
	double first_bytes;           /* its capacity */
};

/* Points by place. Sets direction, falling, confidence, reason, begin, end, lowest, highest, passes, stride_bytes and
   fields of the stream. -ENOMEM. */
int fm_order_tell(const struct fm_order_point *points, size_t count, const struct fm_order_hints *hints,
                  struct fm_stream *stream);

/* The range of addresses, estimated from the outermost ones. */
double fm_order_range(const struct fm_stream *stream, size_t count);

#endif
