#include "machine/core.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernel.h"
#include "machine/buffer.h"

enum way { COST, RATE, FOUND };

static const struct {
	const char *name, *words, *unit;
	enum way way;
	enum fm_core_kernel_index kernel;
} parameters[FM_CORE_PARAMETERS] = {
#define PARAMETER(identifier, words, unit, way, kernel) {#identifier, words, unit, way, FM_CORE_KERNEL_##kernel},
#include "machine/core.def"
#undef PARAMETER
};

enum {
	STEPS = 64 * FM_CORE_STEPS,
	WINDOW_STEPS = 200,
	RANDOM_BIT = 33,
	FAMILIES = 3,
	/* measurements: the addition, one for each kernel, and random branches */
	ADDITION = FM_CORE_KERNELS,
	RANDOM_BRANCHES,
	SIMPLE,
};

const char *fm_core_parameter_name(enum fm_core_parameter parameter)
{
	return parameters[parameter].name;
}

const char *fm_core_parameter_words(enum fm_core_parameter parameter)
{
	return parameters[parameter].words;
}

const char *fm_core_parameter_unit(enum fm_core_parameter parameter)
{
	return parameters[parameter].unit;
}

struct work {
	fm_kernel_function function;
	struct fm_kernel_arguments *arguments; /* of windows shared: every trial goes on where another ended */
	uint64_t steps;
	uint64_t passes;
};

static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	uint64_t begin;

	(void)error;
	work->arguments->count = work->steps;
	work->arguments->passes = work->passes;
	begin = fm_clock_now();
	work->function(work->arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / (double)work->steps;
	return 0;
}

static bool is_there(unsigned index)
{
	return index >= FM_CORE_KERNELS || fm_isa_available(fm_core_kernels[index].isa);
}

static struct fm_figure difference(const struct fm_figure *one, const struct fm_figure *other, double factor,
                                   const char *unit)
{
	double value, half;

	if (!one->available || !other->available)
		return one->available ? *other : *one;
	value = factor * (one->value - other->value);
	half = factor * hypot((one->high - one->low) / 2, (other->high - other->low) / 2);
	return fm_figure_make(value, value - half, value + half, unit, one->origin, one->backend, one->trials);
}

/* One kernel after the other; all but windows. */
static int measure_simple(struct fm_machine_session *session, double seconds, struct fm_figure *ret_cycles,
                          struct fm_error *error)
{
	static _Alignas(4096) char memory[4096];
	struct fm_kernel_arguments arguments = {.stream = {memory}};
	struct fm_measurement measurements[SIMPLE];
	struct work work[SIMPLE];
	unsigned used[SIMPLE], count = 0;
	struct fm_figure beat, costs[SIMPLE];
	int status;

	memset(measurements, 0, sizeof(measurements));
	for (unsigned i = 0; i < SIMPLE; i++) {
		if (!is_there(i))
			continue;
		work[count] = (struct work){.function = i == ADDITION          ? fm_kernel_adds
		                                        : i == RANDOM_BRANCHES ? fm_kernel_branches
		                                                               : fm_core_kernels[i].function,
		                            .arguments = &arguments,
		                            .steps = STEPS,
		                            .passes = i == RANDOM_BRANCHES ? 1ull << RANDOM_BIT : 0};
		measurements[count] = (struct fm_measurement){
		    .trial = trial, .context = &work[count], .wanted_width = i == ADDITION ? 0.001 : 0.005};
		used[count++] = i;
	}
	status = fm_machine_session_measure(session, measurements, count, 20, 300, seconds, error);
	for (unsigned i = 0; i < SIMPLE; i++)
		costs[i] = fm_figure_unavailable("this processor does not have the instructions");
	for (unsigned i = 0; i < count; i++) {
		if (!status)
			costs[used[i]] = fm_measurement_figure(&measurements[i], "ns");
		fm_measurement_free(&measurements[i]);
	}
	if (status)
		return status;
	beat = fm_figure_inverted(&costs[ADDITION], 1, "GHz");
	for (unsigned i = 0; i < SIMPLE; i++)
		ret_cycles[i] = costs[i].available ? fm_figure_product(&costs[i], &beat, "cycles") : costs[i];
	return 0;
}

bool fm_core_find_step(const double *costs, unsigned count, double *ret_at, double *ret_low, double *ret_high)
{
	enum { EDGE = 3 };
	double low = INFINITY, high, before, after;
	unsigned first = 0, last = 0;

	if (count < 4 * EDGE)
		return false;
	/* the lower level is that of the beginning; the upper one follows, since two waits come one after the other */
	for (unsigned i = 0; i < EDGE; i++)
		low = fmin(low, costs[i]);
	high = 2 * low;
	before = low + (high - low) * 0.3;
	after = low + (high - low) * 0.6;
	while (first < count && costs[first] < after)
		first++;
	if (first < EDGE || first == count)
		return false;
	/* the last point from which on it is as it was at the beginning, going back from there */
	last = first - 1;
	while (last && costs[last] > before)
		last--;
	for (unsigned i = first; i < count; i++)
		if (costs[i] < before)
			return false;
	*ret_low = last;
	*ret_high = first;
	*ret_at = (last + first) / 2.0;
	return true;
}

static const struct {
	enum fm_core_parameter parameter;
	const fm_kernel_function *functions;
	unsigned each;
} families[FAMILIES] = {
    {FM_CORE_window, fm_kernel_window_instructions, FM_WINDOW_INSTRUCTIONS},
    {FM_CORE_load_buffers, fm_kernel_window_loads, FM_WINDOW_LOADS},
    {FM_CORE_store_buffers, fm_kernel_window_stores, FM_WINDOW_STORES},
};

/* A function's number is its index and one; with `each` at either side, the load itself is one more. */
static struct fm_figure find_window(const struct fm_measurement *measurements, unsigned family)
{
	double costs[FM_WINDOW_FUNCTIONS], at, low, high, each = families[family].each;
	unsigned trials = 0;

	for (unsigned i = 0; i < FM_WINDOW_FUNCTIONS; i++) {
		struct fm_figure figure = fm_measurement_figure(&measurements[i], "ns");

		if (!figure.available)
			return fm_figure_unavailable("the times were too unsteady");
		costs[i] = figure.value;
		trials += figure.trials;
	}
	if (!fm_core_find_step(costs, FM_WINDOW_FUNCTIONS, &at, &low, &high))
		return fm_figure_unavailable("two misses were not seen to part: not conclusive");
	return fm_figure_make((at + 1) * each, (low + 1) * each, (high + 1) * each,
	                      parameters[families[family].parameter].unit, FM_ORIGIN_measured, "kernels", trials);
}

static int measure_windows(struct fm_machine_session *session, size_t bytes, double seconds,
                           struct fm_figure *ret_figures, struct fm_error *error)
{
	enum { COUNT = FAMILIES * FM_WINDOW_FUNCTIONS };
	static _Alignas(64) char memory[64];
	struct fm_kernel_arguments arguments = {.stream = {memory}};
	struct fm_measurement *measurements = calloc(COUNT, sizeof(*measurements));
	struct work *work = calloc(COUNT, sizeof(*work));
	struct fm_buffer buffer = {0};
	int status = 0;

	if (!measurements || !work)
		status = fm_error_set(error, ENOMEM, "out of memory");
	if (!status)
		status = fm_buffer_allocate(bytes, session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, -1, &buffer,
		                            error);
	if (!status)
		status = fm_chain_build(&buffer, &session->random, arguments.chain, 2, error);
	for (unsigned i = 0; i < COUNT && !status; i++) {
		work[i] = (struct work){
		    .function = families[i / FM_WINDOW_FUNCTIONS].functions[i % FM_WINDOW_FUNCTIONS],
		    .arguments = &arguments,
		    .steps = WINDOW_STEPS};
		measurements[i] =
		    (struct fm_measurement){.trial = trial, .context = &work[i], .wanted_width = 0.05};
	}
	if (!status)
		status = fm_machine_session_measure(session, measurements, COUNT, 8, 60, seconds, error);
	for (unsigned i = 0; i < FAMILIES && !status; i++)
		ret_figures[families[i].parameter] = find_window(&measurements[i * FM_WINDOW_FUNCTIONS], i);
	for (unsigned i = 0; measurements && i < COUNT; i++)
		fm_measurement_free(&measurements[i]);
	fm_buffer_free(&buffer);
	free(measurements);
	free(work);
	return status;
}

int fm_core_measure(struct fm_machine_session *session, size_t memory_bytes, double seconds,
                    struct fm_figure *ret_figures, struct fm_error *error)
{
	struct fm_figure cycles[SIMPLE], figures[FM_CORE_PARAMETERS];
	int status = measure_simple(session, 0.4 * seconds, cycles, error);

	for (unsigned i = 0; i < FM_CORE_PARAMETERS && !status; i++) {
		const struct fm_figure *cost = &cycles[parameters[i].kernel];

		figures[i] = parameters[i].way == RATE && cost->available
		                 ? fm_figure_inverted(cost, 1, parameters[i].unit)
		                 : *cost;
	}
	if (!status)
		status = measure_windows(session, memory_bytes, 0.6 * seconds, figures, error);
	if (status)
		return status;
	figures[FM_CORE_float_root_latency] = difference(&cycles[FM_CORE_KERNEL_float_root_chain],
	                                                 &figures[FM_CORE_float_add_latency], 1, "cycles");
	/* every other random branch goes the other way */
	figures[FM_CORE_misprediction] =
	    difference(&cycles[RANDOM_BRANCHES], &cycles[FM_CORE_KERNEL_branches], 2, "cycles");
	memcpy(ret_figures, figures, sizeof(figures));
	return 0;
}
