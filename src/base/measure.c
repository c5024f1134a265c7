#include "base/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

static int one_trial(struct fm_measurement *measurement, const struct fm_measure_plan *plan, struct fm_error *error)
{
	double cost = 0, beat;
	bool disturbed;
	int status;

	fm_disturbance_begin(plan->watch);
	status = measurement->trial(measurement->context, &cost, error);
	disturbed = fm_disturbance_end(plan->watch, measurement->elsewhere, &beat);
	if (status < 0)
		return status;
	if (status == FM_TRIAL_DISTURBED && !disturbed) {
		disturbed = true;
		plan->watch->total.disturbed++;
		plan->watch->total.cause[FM_DISTURBANCE_WAITED]++;
	}
	if (disturbed)
		return fm_sample_add(&measurement->doubtful, cost);
	status = fm_sample_add(&measurement->costs, cost);
	return status ? status : fm_sample_add(&measurement->beats, beat);
}

static void shuffle(unsigned *order, unsigned count, struct fm_random *random)
{
	for (unsigned i = count; i > 1; i--) {
		unsigned j = (unsigned)fm_random_below(random, i);
		unsigned swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static bool narrow_enough(const struct fm_measurement *measurement)
{
	struct fm_figure figure = fm_measurement_figure(measurement, "");

	return measurement->costs.count && measurement->wanted_width > 0 &&
	       fm_figure_relative_width(&figure) <= measurement->wanted_width;
}

int fm_measure(struct fm_measurement *measurements, unsigned count, const struct fm_measure_plan *plan,
               struct fm_error *error)
{
	uint64_t begin = fm_clock_now();
	unsigned *order;
	int status = 0;

	if (!count)
		return 0;
	order = calloc(count, sizeof(*order));
	if (!order)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 0; i < count; i++) {
		order[i] = i;
		measurements[i].usual_beat = measurements[i].core_clock ? plan->usual_beat : 0;
	}
	for (unsigned round = 0; round < plan->most_rounds; round++) {
		double spent = (double)(fm_clock_now() - begin) / 1e9;
		bool left = false;

		if (round >= plan->least_rounds && spent >= plan->budget_seconds)
			break;
		fm_watcher_tell(&plan->watcher, "",
		                fmax(spent / plan->budget_seconds, (double)round / plan->most_rounds), 0);
		shuffle(order, count, plan->random);
		for (unsigned i = 0; i < count; i++) {
			struct fm_measurement *measurement = &measurements[order[i]];

			if (measurement->finished)
				continue;
			left = true;
			for (unsigned j = 0; j < (measurement->weight ? measurement->weight : 1); j++) {
				if (fm_watcher_stops(&plan->watcher)) {
					status = fm_error_set(error, EINTR, "interrupted");
					goto out;
				}
				status = one_trial(measurement, plan, error);
				if (status)
					goto out;
			}
			if (round + 1 >= plan->least_rounds)
				measurement->finished = narrow_enough(measurement);
		}
		if (!left)
			break;
	}
out:
	free(order);
	return status;
}

/* Costs at the usual clock. If the clock varies within seconds, one cost in cycles forms several modes, and each figure
   would pick a different one. */
static struct fm_sample at_usual_clock(const struct fm_measurement *measurement)
{
	struct fm_sample sample = {0};

	for (unsigned i = 0; i < measurement->costs.count; i++)
		if (fm_sample_add(&sample, measurement->costs.values[i] * measurement->usual_beat /
		                               measurement->beats.values[i]))
			break;
	return sample;
}

static int location_of(const struct fm_measurement *measurement, struct fm_location *ret_location)
{
	const struct fm_sample *costs = &measurement->costs, *doubtful = &measurement->doubtful;
	struct fm_sample usual = {0};
	int status;

	if (costs->count < 3)
		return fm_statistics_location(doubtful->values, doubtful->count, ret_location);
	if (!(measurement->usual_beat > 0))
		return fm_statistics_location(costs->values, costs->count, ret_location);
	usual = at_usual_clock(measurement);
	status = fm_statistics_location(usual.values, usual.count, ret_location);
	fm_sample_free(&usual);
	return status;
}

struct fm_figure fm_measurement_figure(const struct fm_measurement *measurement, const char *unit)
{
	struct fm_location location;
	struct fm_figure figure;

	if (location_of(measurement, &location))
		return fm_figure_unavailable("only %u undisturbed trials", measurement->costs.count);
	figure = fm_figure_make(location.value, location.low, location.high, unit, FM_ORIGIN_measured, "kernels",
	                        measurement->costs.count);
	figure.set_aside = measurement->doubtful.count;
	return figure;
}

void fm_measurement_free(struct fm_measurement *measurement)
{
	fm_sample_free(&measurement->costs);
	fm_sample_free(&measurement->beats);
	fm_sample_free(&measurement->doubtful);
}
