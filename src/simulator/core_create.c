#include <errno.h>
#include <stdlib.h>

#include "simulator/core_parts.h"

void fm_core_timing_destroy(struct fm_core_timing *timing)
{
	if (!timing)
		return;
	if (timing->core && timing->core->prefetch_context == timing) {
		timing->core->on_prefetch = NULL;
		timing->core->is_coming = NULL;
	}
	for (unsigned i = 0; timing->shared && i < FM_SIMULATED_THREADS_MAX; i++)
		if (timing->shared->timings[i] == timing)
			timing->shared->timings[i] = NULL;
	fm_branches_destroy(timing->branches);
	fm_code_cache_destroy(timing->code);
	fm_code_cache_destroy(timing->taken);
	free(timing->ring);
	free(timing->window);
	free(timing->load_buffers);
	free(timing->store_buffers);
	free(timing->fill_buffers);
	free(timing->super_queue);
	free(timing);
}

/* Of operations that are limited in number by ports alone there is nothing to keep. Dividers are, by themselves. */
static bool set_operations(struct fm_core_timing *timing)
{
	for (unsigned i = 0; i < FM_OPERATION_COUNT; i++) {
		struct fm_operation_description described = timing->shape->operations[i];
		struct fm_lane **lane = &timing->shared->operations[fm_operation_shares((enum fm_operation)i)];

		if (!described.given)
			described = fm_operation_usual((enum fm_operation)i);
		timing->operations[i].unit = fm_operation_unit((enum fm_operation)i);
		timing->operations[i].latency = described.latency;
		timing->operations[i].interval = described.interval;
		if (!described.interval || timing->operations[i].unit == FM_UNIT_DIVIDE ||
		    timing->operations[i].unit == FM_UNIT_SERIAL)
			continue;
		if (!*lane)
			*lane = calloc(1, sizeof(**lane));
		if (!*lane)
			return false;
		timing->operations[i].lane = *lane;
	}
	for (unsigned i = 0; i < FM_OPERATION_COUNT; i++) {
		enum fm_operation among = fm_operation_among((enum fm_operation)i);

		timing->operations[i].among = timing->operations[among].lane;
		timing->operations[i].among_interval = timing->operations[among].interval;
	}
	for (unsigned i = 0; i < FM_ACCESS_WIDTHS; i++) {
		unsigned shares = 100 * LOAD_SHARES / fm_core_loads(timing->shape, i);

		timing->load_shares[i] = shares > LOAD_SHARES ? LOAD_SHARES : shares;
		timing->store_intervals[i] = 10000 / fm_core_stores(timing->shape, i);
	}
	timing->forward_latency = timing->shape->forward ? timing->shape->forward : FM_FORWARD_LATENCY;
	timing->vector_ports = fm_core_vector_ports(timing->shape);
	timing->reload_latency = timing->shape->reload ? timing->shape->reload : timing->forward_latency;
	return true;
}

void fm_shared_timing_destroy(struct fm_shared_timing *shared)
{
	for (unsigned i = 0; shared && i < FM_OPERATION_COUNT; i++)
		free(shared->operations[i]);
	free(shared);
}

int fm_core_timing_create(struct fm_hierarchy *hierarchy, unsigned core, struct fm_core_timing **ret_timing,
                          struct fm_error *error)
{
	const struct fm_core_description *shape = &hierarchy->description.core;
	struct fm_core_timing *timing = calloc(1, sizeof(*timing));

	if (!timing)
		return fm_error_set(error, ENOMEM, "out of memory");
	timing->hierarchy = hierarchy;
	timing->core = fm_hierarchy_core(hierarchy, core);
	timing->shape = shape;
	timing->ring = calloc(RING_CYCLES, sizeof(*timing->ring));
	timing->window = calloc(shape->window, sizeof(*timing->window));
	timing->load_buffers = calloc(shape->load_buffers, sizeof(*timing->load_buffers));
	timing->store_buffers = calloc(shape->store_buffers, sizeof(*timing->store_buffers));
	timing->fill_buffers = calloc(shape->fill_buffers, sizeof(*timing->fill_buffers));
	timing->super_queue = calloc(shape->super_queue, sizeof(*timing->super_queue));
	timing->branches = shape->misprediction ? fm_branches_create() : NULL;
	if (shape->taken)
		timing->taken = fm_code_cache_create(shape->taken, TAKEN_WAYS, 1);
	timing->delivers = shape->taken || shape->code_bytes || shape->return_wait || shape->indirect_wait;
	if (shape->code_bytes)
		timing->code =
		    fm_code_cache_create(shape->code_bytes, shape->code_ways ? shape->code_ways : FM_CODE_WAYS,
		                         hierarchy->description.line_bytes);
	if (timing->core && !timing->core->physical->timing)
		timing->core->physical->timing = calloc(1, sizeof(*timing->shared));
	timing->shared = timing->core ? timing->core->physical->timing : NULL;
	timing->sharers = 1;
	if (!timing->shared || !timing->ring || !timing->window || !timing->load_buffers || !timing->store_buffers ||
	    !timing->fill_buffers || !timing->super_queue || (shape->misprediction && !timing->branches) ||
	    (shape->code_bytes && !timing->code) || (shape->taken && !timing->taken) || !set_operations(timing)) {
		fm_core_timing_destroy(timing);
		return fm_error_set(error, ENOMEM, "not enough memory for the timing of core %u", core);
	}
	timing->shared->timings[core / hierarchy->physical_count] = timing;
	timing->core->on_prefetch = fm_core_on_prefetch;
	timing->core->is_coming = fm_core_is_coming;
	timing->core->prefetch_context = timing;
	*ret_timing = timing;
	return 0;
}
