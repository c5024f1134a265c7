/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/series.h"

#include <string.h>

#include "simulator/numbers.h"
#include "engine/account/room.h"
#include "engine/qemu/state.h"

static struct {
	uint64_t interval, next;
} series = {.next = UINT64_MAX};

void fm_series_begin(uint64_t interval)
{
	series.interval = interval;
	series.next = interval ? interval : UINT64_MAX;
}

uint64_t fm_series_next(void)
{
	return series.next;
}

/* No room: every second moment is enough from now on. They are sums from the beginning, so nothing is lost with one. */
static void thin_out(struct fm_results *results)
{
	unsigned half = results->moment_count / 2;

	for (unsigned i = 0; i < half; i++)
		results->moments[i] = results->moments[2 * i + 1];
	results->moment_count = half;
	series.interval *= 2;
}

static bool has_room(const struct fm_results *results)
{
	return results->moment_count < FM_RESULT_MOMENTS_MAX &&
	       fm_room_claim(&fm_engine.account->room, &results->moments[results->moment_count],
	                     sizeof(results->moments[0]));
}

void fm_series_note(uint64_t now, unsigned running, const struct fm_engine_thread *first)
{
	struct fm_results *results = fm_engine.account->results;
	struct fm_result_moment *moment;

	for (const struct fm_engine_thread *thread = first; thread; thread = thread->next)
		if (thread->timing && thread->core)
			results->timings[thread->core->index] = *fm_core_timing_counts(thread->timing);
	if (!has_room(results))
		thin_out(results);
	if (!has_room(results)) {
		series.next = now + series.interval;
		return;
	}
	moment = &results->moments[results->moment_count];
	memset(moment, 0, sizeof(*moment));
	moment->cycle = now;
	moment->running = running;
	for (unsigned i = 0; i < results->core_count; i++) {
		fm_core_counts_add(&moment->counts, &results->cores[i].counts);
		fm_numbers_add(&moment->timing, &results->timings[i], sizeof(moment->timing));
	}
	results->moment_count++;
	series.next = now + series.interval;
}
