#include "model/decompose.h"

#include <math.h>
#include <string.h>

static double not_negative(double value, struct fm_decomposition *ret)
{
	if (value < 0)
		ret->clamped++;
	return fmax(value, 0);
}

static void divide(const struct fm_stall_events *events, double memory, double bandwidth, struct fm_decomposition *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->active = events->active;
	ret->stall = events->no_execute;
	ret->productive = not_negative(events->active - events->no_execute, ret);
	ret->memory_bound = fmin(memory, events->no_execute);
	ret->bandwidth_bound = fmin(bandwidth, ret->memory_bound);
	ret->latency_bound = not_negative(ret->memory_bound - bandwidth, ret);
	ret->other_stall = not_negative(events->no_execute - ret->memory_bound, ret);
}

void fm_decompose(const struct fm_stall_events *events, struct fm_decomposition *ret)
{
	divide(events, fmax(events->stores_full, events->load_pending),
	       fmax(events->stores_full, events->fill_full + events->queue_full), ret);
}

void fm_decompose_corrected(const struct fm_stall_events *events, struct fm_decomposition *ret)
{
	double seen = fmax(events->stores_full, events->fill_full + events->queue_full);
	double least = events->lines * events->line_cycles; /* the traffic takes so long */
	double share = events->active > 0 ? least / events->active : 0;
	double saturated = fmin(1, fmax(0, (share - 0.3) / 0.4));

	/* Traffic that takes nearly all of the time is what the stalls wait for; traffic that takes little is not,
	   however long they are. In between, in proportion. Look-ups are waited for only where requests are not queued
	   anyway. */
	divide(events, fmax(events->stores_full, events->load_pending + (1 - saturated) * events->lookups),
	       fmax(seen, events->load_pending * saturated), ret);
}
