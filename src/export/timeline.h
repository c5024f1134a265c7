/* All records in the order of time: samples, beginnings and ends of regions, allocations, counts. */
#ifndef FATHOM_EXPORT_TIMELINE_H
#define FATHOM_EXPORT_TIMELINE_H

#include "export/exported.h"

/* The order of simultaneous records: a region ends before the next begins. */
enum fm_moment_kind {
	FM_MOMENT_THREAD, /* begin of a thread: index in sampled_threads */
	FM_MOMENT_REGION_END,
	FM_MOMENT_REGION_BEGIN, /* index in instances */
	FM_MOMENT_REGION_EMPTY, /* the end of a region without duration */
	FM_MOMENT_ALLOCATED,    /* index in memories */
	FM_MOMENT_FREED,
	FM_MOMENT_SAMPLE, /* index in samples */
	FM_MOMENT_COUNT,  /* index in the series' points */
};

struct fm_moment {
	uint64_t at; /* ns */
	enum fm_moment_kind kind;
	uint32_t index;
};

struct fm_timeline {
	const struct fm_exported *exported;
	struct fm_moment *others; /* records other than samples and counts */
	size_t other_count, next_other, next_sample, next_count;
};

int fm_timeline_begin(struct fm_timeline *timeline, const struct fm_exported *exported);
/* The next record; false after the last. */
bool fm_timeline_next(struct fm_timeline *timeline, struct fm_moment *ret_moment);
void fm_timeline_end(struct fm_timeline *timeline);

/* The thread of an allocation, or the first thread of its process; -1: not exported. */
int64_t fm_timeline_allocator(const struct fm_exported *exported, const struct fm_recorded_memory *memory);

#endif
