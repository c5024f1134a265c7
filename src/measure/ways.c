#include "measure/ways.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/chain.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"
#include "measure/core.h"

enum { STEPS = 2048 };

static const size_t distances[FM_WAYS_COUNT] = {FM_FIRST_SETS_BYTES, FM_SECOND_SETS_BYTES};

size_t fm_ways_distance(enum fm_ways ways)
{
	return distances[ways];
}

struct fm_figure fm_ways_find(const double *costs, const struct fm_figure *model)
{
	unsigned low, high;

	if (!fm_core_find_step(costs, FM_WAYS_MAX, &low, &high))
		return fm_figure_unavailable("inconclusive: up to %u lines of one set have the same latency",
		                             FM_WAYS_MAX);
	/* the last number of lines that fits; other policies than LRU evict them earlier */
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
		    fm_buffer_allocate(fm_chain_bytes(i + 1, distances[ways]),
		                       session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, -1, &buffers[i], error);
		if (status)
			break;
		arguments[i].chain[0] =
		    fm_chain_link_same(buffers[i].memory, i + 1, distances[ways], fm_random_next(&session->random));
		measurements[i] = (struct fm_measurement){
		    .trial = trial, .context = &arguments[i], .wanted_width = WAYS_WIDTH, .core_clock = true};
	}
	if (!status)
		status = fm_machine_session_measure(session, measurements, FM_WAYS_MAX, WAYS_LEAST, WAYS_MOST, seconds,
		                                    error);
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
