#include "engine/trace/curve.h"

#include <stdlib.h>

#include "engine/account/room.h"
#include "engine/trace/tuning.h"
#include "reuse/stack.h"

int fm_traced_curve_create(struct fm_consumer *consumer)
{
	const struct fm_stack_options options = {.lines_most = CURVE_LINES_MOST};

	consumer->stack = calloc(1, sizeof(*consumer->stack));
	return consumer->stack ? fm_stack_create(consumer->stack, &options) : -1;
}

void fm_traced_curve_touch(struct fm_consumer *consumer, uint64_t address)
{
	fm_stack_touch(consumer->stack, address >> consumer->account->hierarchy->line_shift);
}

void fm_traced_curve_finish(struct fm_consumer *consumer)
{
	struct fm_results *results = consumer->account->results;
	struct fm_result_distances *distances = &results->distances;
	struct fm_distances counted;

	if (!consumer->stack || !fm_room_claim(&consumer->account->room, distances, sizeof(*distances)))
		return;
	fm_stack_result(consumer->stack, &counted);
	for (unsigned i = 0; i < FM_DISTANCE_BINS; i++)
		distances->bins[i] = counted.bins[i];
	distances->cold = counted.cold;
	for (unsigned i = 0; i < results->core_count && i < FM_SIMULATED_CORES_MAX; i++)
		distances->references += (double)(results->cores[i].counts.loads + results->cores[i].counts.stores);
	fm_stack_free(consumer->stack);
	free(consumer->stack);
	consumer->stack = NULL;
}
