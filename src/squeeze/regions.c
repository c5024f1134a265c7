#include "squeeze/regions.h"

#include <math.h>
#include <string.h>

#include "squeeze/tuning.h"

static void begin_window(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count)
{
	bool less = watch->window == 0 ? watch->pair.less_first : !watch->pair.less_first;

	if (!watch->toggle(watch->context, less, watch->pair.bytes, watch->pair.gbs) && watch->window)
		watch->pair.disturbed = true;
	watch->state = FM_REGION_SETTLING;
	watch->since = now;
	watch->at = *count;
}

static void begin_pair(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count)
{
	watch->pair = (struct fm_region_pair){.less_first = fm_random_below(watch->random, 2)};
	watch->window = 0;
	if (watch->next(watch->context, &watch->pair.bytes, &watch->pair.gbs)) {
		begin_window(watch, now, count);
		return;
	}
	watch->toggle(watch->context, false, 0, 0);
	watch->state = FM_REGION_OVER;
}

static void end_window(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count)
{
	double mean = (count->seconds - watch->at.seconds) / (double)(count->instances - watch->at.instances);

	if ((watch->window == 0) == watch->pair.less_first)
		watch->pair.less = mean;
	else
		watch->pair.whole = mean;
	if (watch->window++ == 0) {
		begin_window(watch, now, count);
		return;
	}
	/* the limits of the last window */
	if (!watch->toggle(watch->context, false, 0, 0))
		watch->pair.disturbed = true;
	watch->done(watch->context, &watch->pair);
	begin_pair(watch, now, count);
}

void fm_region_tick(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count)
{
	uint64_t passed = now - watch->since;

	if (watch->state == FM_REGION_OVER)
		return;
	if (watch->state == FM_REGION_IDLE) {
		/* not before the region has begun */
		if (count->instances)
			begin_pair(watch, now, count);
		return;
	}
	if (passed > REGION_PATIENCE * watch->window_ns) {
		watch->toggle(watch->context, false, 0, 0);
		watch->state = FM_REGION_OVER;
		return;
	}
	/* the instance during which it changed is over */
	if (watch->state == FM_REGION_SETTLING && passed >= watch->settle_ns &&
	    count->instances > watch->at.instances) {
		watch->state = FM_REGION_COUNTING;
		watch->since = now;
		watch->at = *count;
	} else if (watch->state == FM_REGION_COUNTING && passed >= watch->window_ns &&
	           count->instances - watch->at.instances >= watch->least) {
		end_window(watch, now, count);
	}
}

const char *fm_region_choose(const struct fm_marked *marked, unsigned count, double seconds)
{
	const char *best = NULL;
	double most = 0;

	for (unsigned i = 0; i < count && seconds >= REGION_LEAST; i++) {
		uint64_t instances = 0;
		double own = 0;

		for (unsigned k = 0; k < count; k++)
			if (!strcmp(marked[k].name, marked[i].name)) {
				instances += marked[k].instances;
				own += marked[k].seconds;
			}
		if (instances >= REGION_INSTANCES && own > most) {
			most = own;
			best = marked[i].name;
		}
	}
	return best;
}
