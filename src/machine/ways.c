#include "machine/ways.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/chain.h"
#include "kernels/kernel.h"
#include "machine/buffer.h"
#include "machine/core.h"

enum { STEPS = 2048 };

static const struct {
	const char *name;
	size_t distance;
} caches[FM_WAYS_COUNT] = {{"l1_ways", FM_FIRST_SETS_BYTES}, {"l2_ways", FM_SECOND_SETS_BYTES}};

const char *fm_ways_name(enum fm_ways ways)
{
	return caches[ways].name;
}

size_t fm_ways_distance(enum fm_ways ways)
{
	return caches[ways].distance;
}

struct fm_figure fm_ways_find(const double *costs, const struct fm_figure *model)
{
	unsigned low, high;

	if (!fm_core_find_step(costs, FM_WAYS_MAX, &low, &high))
		return fm_figure_unavailable("up to %u lines of one set, if they are, take the same: not conclusive",
		                             FM_WAYS_MAX);
	/* so many lines fit, and not one more; a policy that is not that of the oldest line lets them go earlier */
	return fm_figure_make(low + 1, low + 1, high, "ways", model->origin, model->backend, model->trials);
}

static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct fm_kernel_arguments *arguments = context;
	uint64_t begin;

	(void)error;
	arguments->count = STEPS;
	begin = fm_clock_now();
	fm_kernel_chase(arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / STEPS;
	return 0;
}

static int measure_one(struct fm_machine_session *session, enum fm_ways ways, double seconds,
                       struct fm_figure *ret_figure, struct fm_error *error)
{
	struct fm_measurement measurements[FM_WAYS_MAX];
	struct fm_kernel_arguments arguments[FM_WAYS_MAX];
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 0);
	struct fm_buffer buffers[FM_WAYS_MAX] = {{0}};
	double costs[FM_WAYS_MAX];
	bool whole = true;
	int status = 0;

	memset(measurements, 0, sizeof(measurements));
	memset(arguments, 0, sizeof(arguments));
	for (unsigned i = 0; i < FM_WAYS_MAX && !status; i++) {
		status =
		    fm_buffer_allocate(fm_chain_bytes(i + 1, caches[ways].distance),
		                       session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, -1, &buffers[i], error);
		if (status)
			break;
		arguments[i].chain[0] = fm_chain_link_same(buffers[i].memory, i + 1, caches[ways].distance,
		                                           fm_random_next(&session->random));
		measurements[i] = (struct fm_measurement){
		    .trial = trial, .context = &arguments[i], .wanted_width = 0.01, .core_clock = true};
	}
	if (!status)
		status = fm_machine_session_measure(session, measurements, FM_WAYS_MAX, 8, 60, seconds, error);
	for (unsigned i = 0; i < FM_WAYS_MAX; i++) {
		struct fm_figure figure = fm_measurement_figure(&measurements[i], "ns");

		costs[i] = figure.value;
		model.trials += figure.trials;
		whole &= figure.available;
		fm_measurement_free(&measurements[i]);
		fm_buffer_free(&buffers[i]);
	}
	if (!status)
		*ret_figure =
		    whole ? fm_ways_find(costs, &model) : fm_figure_unavailable("the times were too unsteady");
	return status;
}

int fm_ways_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                    struct fm_error *error)
{
	int status = measure_one(session, FM_WAYS_first, seconds / 2, &ret_figures[FM_WAYS_first], error);

	ret_figures[FM_WAYS_second] = fm_figure_unavailable("there are no huge pages here");
	if (!status && session->huge_pages)
		status = measure_one(session, FM_WAYS_second, seconds / 2, &ret_figures[FM_WAYS_second], error);
	return status;
}
