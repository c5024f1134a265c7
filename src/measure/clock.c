#include "measure/clock.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/disturbance.h"
#include "base/statistics.h"
#include "measure/session.h"
#include "measure/tuning.h"

struct fm_figure fm_clock_measure(void)
{
	struct fm_disturbance_watch watch;
	struct fm_figure clock;
	uint64_t begin = fm_clock_now();

	while (fm_clock_now() - begin < CLOCK_RISE_NS)
		fm_heartbeat();
	fm_disturbance_open(&watch);
	while (fm_clock_now() - begin < CLOCK_RISE_NS + CLOCK_WATCH_NS) {
		fm_disturbance_begin(&watch);
		fm_disturbance_end(&watch, false, NULL);
	}
	clock = fm_disturbance_clock(&watch);
	fm_disturbance_close(&watch);
	return clock;
}
