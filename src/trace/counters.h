/* Executions of each piece of code in one translator since the last query. Counters only grow: a reset could be lost,
   since the thread may be between reading and writing a counter. */
#ifndef FATHOM_TRACE_COUNTERS_H
#define FATHOM_TRACE_COUNTERS_H

#include <errno.h>
#include <sys/mman.h>

#include "preload/calls.h"
#include "trace/shared.h"

struct fm_counters {
	const uint64_t *now; /* NULL: none */
	uint64_t *taken;
};

static inline int fm_counters_open(struct fm_counters *counters, const uint64_t *now)
{
	counters->now = NULL;
	if (!counters->taken)
		counters->taken =
		    fm_map(FM_TRACE_PIECES * sizeof(uint64_t), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!counters->taken)
		return -ENOMEM;
	__atomic_store_n(&counters->now, now, __ATOMIC_RELEASE);
	return 0;
}

static inline void fm_counters_close(struct fm_counters *counters)
{
	if (counters->taken)
		fm_system_call(SYS_munmap, (long)counters->taken, FM_TRACE_PIECES * sizeof(uint64_t), 0, 0, 0, 0);
	*counters = (struct fm_counters){0};
}

static inline uint64_t fm_counters_since(const struct fm_counters *counters, uint32_t piece)
{
	return __atomic_load_n(&counters->now[piece], __ATOMIC_RELAXED) - counters->taken[piece];
}

static inline uint64_t fm_counters_take(struct fm_counters *counters, uint32_t piece)
{
	uint64_t times = fm_counters_since(counters, piece);

	if (times)
		counters->taken[piece] += times;
	return times;
}

#endif
