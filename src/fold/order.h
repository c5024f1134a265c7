/* Direction and stride of a stream, from points of one folded instance. */
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
	double most_passes;           /* upper limit of passes in one instance; infinite: unknown */
	double first_low, first_high; /* interval of the share of references that the first cache serves; 0 … 1:
	                                 unknown */
	double first_bytes;           /* its capacity */
};

/* Judges points, sorted by place. Sets direction, falling, confidence, reason, begin, end, lowest, highest, passes,
   stride_bytes and fields of the stream. 0 or -ENOMEM. */
int fm_order_judge(const struct fm_order_point *points, size_t count, const struct fm_order_hints *hints,
                   struct fm_stream *stream);

/* Estimates the range of addresses from the lowest and the highest sampled one. */
double fm_order_range(const struct fm_stream *stream, size_t count);

#endif
