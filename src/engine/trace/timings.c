#include "engine/trace/timings.h"

#include "engine/account/room.h"
#include "engine/trace/state.h"

void fm_traced_timings(struct fm_consumer *consumer)
{
	const struct fm_trace_timings *from = &consumer->trace->timings;
	struct fm_results *results = consumer->account->results;
	double ns = 1e9 / (double)consumer->session->ticks_per_second;
	uint32_t count = __atomic_load_n(&from->count, __ATOMIC_ACQUIRE);

	if (count > FM_TRACE_TIMINGS)
		count = FM_TRACE_TIMINGS;
	results->timings_lost += from->lost;
	for (uint32_t i = 0; i < count; i++) {
		struct fm_trace_timing timing = from->list[i];
		struct fm_result_timing *to = &results->timed[results->timing_count];

		/* the program may have written there */
		if (timing.kind >= FM_TIMING_KINDS || timing.problem >= FM_TIMING_PROBLEMS)
			continue;
		if (results->timing_count == FM_RESULT_TIMINGS_MAX ||
		    !fm_room_claim(&consumer->account->room, to, sizeof(*to))) {
			results->timings_lost += count - i;
			return;
		}
		fm_code_note_module(consumer->code, consumer->account, timing.mark);
		*to = (struct fm_result_timing){.mark = timing.mark,
		                                .ns = (uint64_t)((double)timing.ticks * ns + 0.5),
		                                .visits = timing.visits,
		                                .instructions = timing.instructions,
		                                .kind = (uint8_t)timing.kind,
		                                .problem = (uint8_t)timing.problem,
		                                .lines = timing.lines,
		                                .pages = timing.pages};
		results->timing_count++;
	}
}
