/* Streams: references of a code to an object within a region. Also bandwidth and working sets. */
#ifndef FATHOM_FOLD_STREAMS_H
#define FATHOM_FOLD_STREAMS_H

#include "fold/fold.h"

enum fm_direction {
	FM_DIRECTION_INCONCLUSIVE,
	FM_DIRECTION_UP,
	FM_DIRECTION_DOWN,
	FM_DIRECTION_RANDOM,
	FM_DIRECTION_STRIDED, /* in order, with unused bytes between; `falling` is the direction */
	FM_DIRECTION_FIXED,   /* one cache line */
	FM_DIRECTION_COUNT
};

enum { FM_STREAM_FIELDS = 16 };

/* A used part of each element. */
struct fm_stream_field {
	uint32_t offset, bytes;
	double share; /* of the stream's references */
	bool stores;
};

struct fm_stream {
	uint32_t object;  /* index in samples->objects */
	int64_t line;     /* index in samples->lines */
	int64_t region;   /* index in fold->regions; FM_FOLD_NONE: of the whole program */
	uint32_t mode;    /* of the region */
	int64_t phase;    /* of the mode */
	bool load, store; /* kinds of its references; may be both */
	enum fm_direction direction;
	bool falling;
	double confidence; /* 0 … 1 */
	char reason[160];
	double begin, end;             /* places of its first and last reference */
	uint64_t lowest, highest;      /* first address in the object, and end of the last element */
	struct fm_figure passes;       /* passes through that range in one instance */
	struct fm_figure stride_bytes; /* from one reference of an instruction to the next element */
	struct fm_figure coverage;     /* share of the object's bytes between lowest and highest */
	struct fm_figure gbs;          /* traffic of cache lines between begin and end */
	struct fm_figure moved;        /* bytes of cache lines in one instance, if `gbs` is known */
	struct fm_stream_field fields[FM_STREAM_FIELDS];
	unsigned field_count;
	unsigned together;       /* streams with the same number advance together; 0: alone */
	struct fm_served served; /* share: of the mode's references */
};

/* Working set of one instance: of one object, or of all. */
struct fm_working_set {
	int64_t region;
	uint32_t mode;
	int64_t object; /* index; FM_FOLD_NONE: all objects */
	struct fm_figure bytes;
	struct fm_figure gbs; /* mean traffic of its streams over the instance, if all streams have an order */
	char fits[16];        /* smallest cache that holds it, or "memory"; "": unknown */
	char exceeds[16];     /* largest cache that does not hold it; "": fits into the first cache */
};

int fm_fold_streams(struct fm_fold *fold);
int fm_fold_working_sets(struct fm_fold *fold);

/* Name and size of a data cache of the machine, from index 0; false after the last. */
bool fm_fold_cache(const struct fm_recording *recording, size_t index, char *name, size_t size, double *ret_bytes);

const char *fm_direction_name(enum fm_direction direction);

#endif
