#include "model/decompose.h"

#include <math.h>
#include <string.h>

#include "model/doubt.h"

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
	double least = events->lines * events->line_cycles; /* the traffic takes so long */
	double stores = fmin(events->stores_full,
	                     least > 0 ? fmin(events->no_execute, FM_STORES_WAIT * least) : events->no_execute);
	/* lines are on their way to loads, or to stores that fill their buffer */
	double while_missing =
	    events->misses_pending > 0 ? fmin(events->active, events->misses_pending + stores) : events->active;
	double share = while_missing > 0 ? least / while_missing : 0;
	double saturated = fmin(1, fmax(0, (share - FM_UNSATURATED) / (FM_SATURATED - FM_UNSATURATED)));
	/* requests that wait for a buffer and those that wait for the queue may do so in the same cycles; those of
	   stores do while the store buffer is full */
	double queued = fmin(fmax(0, fmax(events->fill_full, events->queue_full) - stores), events->load_pending);
	double bandwidth = fmax(queued, saturated * events->load_pending);
	double alone = events->load_pending > 0 ? 1 - bandwidth / events->load_pending : 1;

	/* Look-ups and walks are waited for only where requests are not queued anyway. */
	divide(events, stores + events->load_pending + alone * (events->lookups + events->walks), stores + bandwidth,
	       ret);
}
