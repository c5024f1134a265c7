#include "measure/core.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

_Static_assert((int)FM_CORE_CODE_STEP == FM_CODE_STEP, "kernels/layout.h");

enum way { COST, AFTER_ADDITION, RATE, FOUND };

static const struct {
	enum way way;
	enum fm_core_kernel_index kernel;
} parameters[FM_CORE_PARAMETERS] = {
#define PARAMETER(identifier, words, unit, way, kernel) {way, FM_CORE_KERNEL_##kernel},
#include "profile/core.def"
#undef PARAMETER
};

enum {
	STEPS = 64 * FM_CORE_STEPS,
	WINDOW_STEPS = 200,
	/* measurements: the addition, one for each kernel, and random branches */
	ADDITION = FM_CORE_KERNELS,
	RANDOM_BRANCHES,
	SIMPLE,
	CODE_LINES = 5000, /* that are passed in a trial */
};

struct work {
	fm_kernel_function function;
	struct fm_kernel_arguments *arguments; /* of windows shared: every trial goes on where another ended */
	uint64_t steps;
	uint64_t passes;
	double clock; /* ns of a trial that are not its own */
};

/* What reading the clock takes: of the shortest trials, some per cent. */
static double reading_the_clock(void)
{
	double least = INFINITY;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t begin = fm_clock_now();

		least = fmin(least, (double)(fm_clock_now() - begin));
	}
	return least;
}

static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	uint64_t begin;

	(void)error;
	work->arguments->count = work->steps;
	work->arguments->passes = work->passes;
	begin = fm_clock_now();
	work->function(work->arguments);
	*ret_cost = fmax(0, (double)(fm_clock_now() - begin) - work->clock) / (double)work->steps;
	return 0;
}

static struct fm_figure *cost_of(struct fm_core_costs *costs, unsigned index)
{
	return index == ADDITION          ? &costs->addition
	       : index == RANDOM_BRANCHES ? &costs->random_branches
	                                  : &costs->kernels[index];
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
static int measure_simple(struct fm_machine_session *session, double seconds, struct fm_core_costs *ret_costs,
                          struct fm_error *error)
{
	static _Alignas(4096) char memory[4096];
	struct fm_kernel_arguments arguments = {.stream = {memory}};
	struct fm_measurement measurements[SIMPLE];
	struct work work[SIMPLE];
	unsigned used[SIMPLE], count = 0;
	double clock = reading_the_clock();
	int status;

	memset(measurements, 0, sizeof(measurements));
	for (unsigned i = 0; i < SIMPLE; i++) {
		*cost_of(ret_costs, i) = fm_figure_unavailable("this processor does not support the instructions");
		if (!is_there(i))
			continue;
		work[count] = (struct work){.function = i == ADDITION          ? fm_kernel_adds_chain
		                                        : i == RANDOM_BRANCHES ? fm_kernel_branches
		                                                               : fm_core_kernels[i].function,
		                            .arguments = &arguments,
		                            /* which takes microseconds where a hypervisor answers */
		                            .steps = i == FM_CORE_KERNEL_identify ? FM_CORE_STEPS : STEPS,
		                            .clock = clock,
		                            .passes = i == RANDOM_BRANCHES ? 1ull << FM_CORE_RANDOM_BIT : 0};
		measurements[count] = (struct fm_measurement){
		    .trial = trial,
		    .context = &work[count],
		    .wanted_width = i == ADDITION ? ADDITION_WIDTH : CORE_WIDTH,
		    .core_clock = true,
		};
		used[count++] = i;
	}
	status = fm_machine_session_measure(session, measurements, count, CORE_LEAST, CORE_MOST, seconds, error);
	for (unsigned i = 0; i < count; i++) {
		if (!status)
			*cost_of(ret_costs, used[i]) = fm_measurement_figure(&measurements[i], "ns");
		fm_measurement_free(&measurements[i]);
	}
	return status;
}

/* Costs climb slowly with what lies between, and at one place at once. */
bool fm_core_find_step(const double *costs, unsigned count, unsigned *ret_low, unsigned *ret_high)
{
	unsigned low = 0, high = 0;
	double largest = 0;

	for (unsigned i = 0; i + 1 < count; i++)
		if (costs[i + 1] - costs[i] > largest) {
			largest = costs[i + 1] - costs[i];
			low = i;
			high = i + 1;
		}
	if (!(largest > 0))
		return false;
	/* a step may take some points, of which one may be off */
	while (low && costs[low] - costs[low - 1] > STEP_PART * largest)
		low--;
	while (high + 1 < count && costs[high + 1] - costs[high] > STEP_PART * largest)
		high++;
	if (costs[high] < (1 + STEP_LEAST) * costs[low] || high - low > count / 4)
		return false;
	/* lower points stay lower, and higher ones higher */
	for (unsigned i = 0; i < count; i++)
		if (i < low ? costs[i] > (costs[low] + costs[high]) / 2
		            : i > high && costs[i] < (costs[low] + costs[high]) / 2)
			return false;
	*ret_low = low;
	*ret_high = high;
	return true;
}

const fm_kernel_function *const fm_core_windows[FM_CORE_WINDOWS] = {fm_kernel_window_instructions,
                                                                    fm_kernel_window_loads, fm_kernel_window_stores};

static const struct {
	enum fm_core_parameter parameter;
	unsigned each;
	unsigned itself; /* the load at the end takes a place, too */
} families[FM_CORE_WINDOWS] = {
    {FM_CORE_window, FM_WINDOW_INSTRUCTIONS, 1},
    {FM_CORE_load_buffers, FM_WINDOW_LOADS, 1},
    {FM_CORE_store_buffers, FM_WINDOW_STORES, 0},
};

/* As many fit as the last function has whose loads were on their way together, and not as many as the first whose were
   not. */
static struct fm_figure find_window(const struct fm_figure *figures, unsigned family)
{
	double costs[FM_WINDOW_FUNCTIONS], fits, does_not;
	unsigned trials = 0, low, high;

	for (unsigned i = 0; i < FM_WINDOW_FUNCTIONS; i++) {
		if (!figures[i].available)
			return figures[i];
		costs[i] = figures[i].value;
		trials += figures[i].trials;
	}
	if (!fm_core_find_step(costs, FM_WINDOW_FUNCTIONS, &low, &high))
		return fm_figure_unavailable("inconclusive: two misses always overlapped");
	fits = (low + 1) * families[family].each + families[family].itself;
	does_not = (high + 1) * families[family].each + families[family].itself;
	return fm_figure_make((fits + does_not) / 2, fits, does_not,
	                      fm_core_parameters[families[family].parameter].unit, figures[0].origin,
	                      figures[0].backend, trials);
}

static int measure_windows(struct fm_machine_session *session, size_t bytes, double seconds,
                           struct fm_core_costs *ret_costs, struct fm_error *error)
{
	enum { COUNT = FM_CORE_WINDOWS * FM_WINDOW_FUNCTIONS };
	static _Alignas(64) char memory[64];
	struct fm_kernel_arguments arguments = {.stream = {memory}};
	struct fm_measurement *measurements = calloc(COUNT, sizeof(*measurements));
	struct work *work = calloc(COUNT, sizeof(*work));
	struct fm_buffer buffer = {0};
	int status = 0;

	if (!measurements || !work)
		status = fm_error_set(error, ENOMEM, "out of memory");
	if (!status)
		status =
		    fm_buffer_allocate(bytes, session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL, -1, &buffer, error);
	if (!status)
		status = fm_chain_build(&buffer, &session->random, arguments.chain, 2, error);
	for (unsigned i = 0; i < COUNT && !status; i++) {
		work[i] = (struct work){.function = fm_core_windows[i / FM_WINDOW_FUNCTIONS][i % FM_WINDOW_FUNCTIONS],
		                        .arguments = &arguments,
		                        .steps = WINDOW_STEPS};
		measurements[i] =
		    (struct fm_measurement){.trial = trial, .context = &work[i], .wanted_width = WINDOWS_WIDTH};
	}
	if (!status)
		status = fm_machine_session_measure(session, measurements, COUNT, WINDOWS_LEAST, WINDOWS_MOST, seconds,
		                                    error);
	for (unsigned i = 0; measurements && i < COUNT; i++) {
		if (!status)
			ret_costs->windows[i / FM_WINDOW_FUNCTIONS][i % FM_WINDOW_FUNCTIONS] =
			    fm_measurement_figure(&measurements[i], "ns");
		fm_measurement_free(&measurements[i]);
	}
	fm_buffer_free(&buffer);
	free(measurements);
	free(work);
	return status;
}

/* Passes over code or branches line by line, the first one untimed for warm-up. */
static int passing_trial(void *context, double *ret_cost, struct fm_error *error)
{
	const struct work *work = context;
	struct fm_kernel_arguments arguments = {.passes = work->passes};
	uint64_t begin, lines;

	(void)error;
	arguments.count = 1;
	work->function(&arguments);
	arguments.count = 1 + CODE_LINES / work->steps;
	begin = fm_clock_now();
	work->function(&arguments);
	lines = arguments.count * work->steps;
	*ret_cost = (double)(fm_clock_now() - begin) / (double)lines;
	return 0;
}

static int measure_passing(struct fm_machine_session *session, double seconds, struct fm_core_costs *ret_costs,
                           struct fm_error *error)
{
	enum { COUNT = FM_CODE_POINTS + FM_TAKEN_POINTS };
	struct fm_measurement measurements[COUNT];
	struct work work[COUNT];
	int status;

	for (unsigned i = 0; i < FM_CODE_POINTS; i++)
		work[i] = (struct work){.function = fm_kernel_straight,
		                        .passes = (i + 1ull) * FM_CODE_STEP,
		                        .steps = (i + 1ull) * FM_CODE_STEP / FM_LINE_BYTES};
	for (unsigned i = 0; i < FM_TAKEN_POINTS; i++)
		work[FM_CODE_POINTS + i] = (struct work){.function = fm_kernel_taken,
		                                         .passes = (i + 1ull) * FM_TAKEN_STEP,
		                                         .steps = fm_core_branches_in_pass(i)};
	for (unsigned i = 0; i < COUNT; i++)
		measurements[i] = (struct fm_measurement){
		    .trial = passing_trial, .context = &work[i], .wanted_width = PASSING_WIDTH, .core_clock = true};
	status = fm_machine_session_measure(session, measurements, COUNT, PASSING_LEAST, PASSING_MOST, seconds, error);
	for (unsigned i = 0; i < COUNT; i++) {
		if (!status)
			*(i < FM_CODE_POINTS ? &ret_costs->code[i] : &ret_costs->taken[i - FM_CODE_POINTS]) =
			    fm_measurement_figure(&measurements[i], "ns");
		fm_measurement_free(&measurements[i]);
	}
	return status;
}

/* In cycles: a dependent addition takes one. The loop around the steps takes its time, too. */
static struct fm_figure in_cycles(const struct fm_core_costs *costs, const struct fm_figure *cost)
{
	struct fm_figure beat = fm_figure_inverted(&costs->addition, 1, ""), cycles;

	if (!cost->available || !costs->addition.available)
		return *cost;
	cycles = fm_figure_product(cost, &beat, "cycles");
	cycles.low *= 1 - LOOP_ERROR;
	cycles.high *= 1 + LOOP_ERROR;
	return cycles;
}

/* The first cache of code holds what comes as quickly as the least; the most that is tried comes from the second. */
static void find_code(const struct fm_core_costs *costs, struct fm_figure *ret_bytes, struct fm_figure *ret_interval)
{
	double values[FM_CODE_POINTS], fits, does_not;
	unsigned low, high, trials = 0;

	for (unsigned i = 0; i < FM_CODE_POINTS; i++) {
		if (!costs->code[i].available) {
			*ret_bytes = *ret_interval = costs->code[i];
			return;
		}
		values[i] = costs->code[i].value;
		trials += costs->code[i].trials;
	}
	if (!fm_core_find_step(values, FM_CODE_POINTS, &low, &high)) {
		*ret_bytes = *ret_interval =
		    fm_figure_unavailable("inconclusive: up to %d KiB of code have the same fetch rate as small code",
		                          FM_STRAIGHT_BYTES >> 10);
		return;
	}
	fits = (low + 1.0) * FM_CODE_STEP;
	does_not = (high + 1.0) * FM_CODE_STEP;
	*ret_bytes = fm_figure_make((fits + does_not) / 2, fits, does_not, "bytes", costs->code[0].origin,
	                            costs->code[0].backend, trials);
	*ret_interval = in_cycles(costs, &costs->code[FM_CODE_POINTS - 1]);
}

unsigned fm_core_branches_in_pass(unsigned point)
{
	return (point + 1) * FM_TAKEN_STEP + 1;
}

/* As many as take no longer than few. Beyond these they begin to, until all do. The code of all that are looked at has
   to be at hand. */
static void find_taken(const struct fm_core_costs *costs, const struct fm_figure *code_bytes,
                       struct fm_figure *ret_taken, struct fm_figure *ret_wait)
{
	const unsigned points = code_bytes->available
	                            ? (unsigned)fmin(FM_TAKEN_POINTS, code_bytes->low / FM_LINE_BYTES / FM_TAKEN_STEP)
	                            : FM_TAKEN_POINTS;
	struct fm_figure few = in_cycles(costs, &costs->taken[0]), many;
	unsigned low = 0, high, trials = 0;

	if (points < 4) {
		*ret_taken = *ret_wait = fm_figure_unavailable("not enough memory for code");
		return;
	}
	many = in_cycles(costs, &costs->taken[points - 1]);
	for (unsigned i = 0; i < points; i++) {
		if (!costs->taken[i].available) {
			*ret_taken = *ret_wait = costs->taken[i];
			return;
		}
		/* the first points include most of the overhead of a trial */
		if (i < points / 4 && in_cycles(costs, &costs->taken[i]).value < few.value)
			few = in_cycles(costs, &costs->taken[i]);
		trials += costs->taken[i].trials;
	}
	*ret_wait = difference(&many, &few, 1, "cycles");
	if (ret_wait->low < TAKEN_WAIT_LEAST) {
		*ret_taken = *ret_wait = fm_figure_unavailable(
		    "inconclusive: %u taken branches are as fast as few; the branch target buffer is larger",
		    points * FM_TAKEN_STEP);
		return;
	}
	while (low + 2 < points &&
	       in_cycles(costs, &costs->taken[low + 1]).value < few.value + TAKEN_BEGUN * ret_wait->value)
		low++;
	high = low + 1;
	while (high + 1 < points && in_cycles(costs, &costs->taken[high]).value < few.value + ret_wait->value / 2)
		high++;
	*ret_taken = fm_figure_make((low + high + 2) * FM_TAKEN_STEP / 2.0, (low + 1.0) * FM_TAKEN_STEP,
	                            (high + 1.0) * FM_TAKEN_STEP, "branches", costs->taken[0].origin,
	                            costs->taken[0].backend, trials);
}

static struct fm_figure less(const struct fm_figure *cost, double cycles)
{
	return cost->available
	           ? fm_figure_make(fmax(cost->value - cycles, 0), fmax(cost->low - cycles, 0),
	                            fmax(cost->high - cycles, 0), cost->unit, cost->origin, cost->backend, cost->trials)
	           : *cost;
}

/* Cycles are dependent additions, so one takes one. */
static struct fm_figure less_an_addition(const struct fm_figure *cost)
{
	return less(cost, 1);
}

void fm_core_find(const struct fm_core_costs *costs, struct fm_figure *ret_figures)
{
	struct fm_figure random = in_cycles(costs, &costs->random_branches),
	                 steady = in_cycles(costs, &costs->kernels[FM_CORE_KERNEL_branches]),
	                 root = in_cycles(costs, &costs->kernels[FM_CORE_KERNEL_float_root_chain]);

	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++) {
		struct fm_figure cost = in_cycles(costs, &costs->kernels[parameters[i].kernel]);

		ret_figures[i] = parameters[i].way == RATE && cost.available
		                     ? fm_figure_inverted(&cost, 1, fm_core_parameters[i].unit)
		                 : parameters[i].way == AFTER_ADDITION ? less_an_addition(&cost)
		                                                       : cost;
	}
	for (unsigned i = 0; i < FM_CORE_WINDOWS; i++)
		ret_figures[families[i].parameter] = find_window(costs->windows[i], i);
	find_code(costs, &ret_figures[FM_CORE_code_bytes], &ret_figures[FM_CORE_code_interval]);
	find_taken(costs, &ret_figures[FM_CORE_code_bytes], &ret_figures[FM_CORE_taken],
	           &ret_figures[FM_CORE_taken_wait]);
	ret_figures[FM_CORE_float_root_latency] =
	    difference(&root, &ret_figures[FM_CORE_float_add_latency], 1, "cycles");
	ret_figures[FM_CORE_return_wait] = less(&ret_figures[FM_CORE_return_wait], RETURN_CYCLES + 1.0 / FM_CORE_CALLS);
	ret_figures[FM_CORE_indirect_wait] = less(&ret_figures[FM_CORE_indirect_wait], 2);
	/* every other random branch goes the other way */
	ret_figures[FM_CORE_misprediction] = difference(&random, &steady, 2, "cycles");
}

int fm_core_measure(struct fm_machine_session *session, size_t memory_bytes, double seconds,
                    struct fm_figure *ret_figures, struct fm_error *error)
{
	struct fm_core_costs *costs = calloc(1, sizeof(*costs));
	int status = costs ? measure_simple(session, SIMPLE_SHARE * seconds, costs, error)
	                   : fm_error_set(error, ENOMEM, "out of memory");

	if (!status)
		status = measure_passing(session, PASSING_SHARE * seconds, costs, error);
	if (!status)
		status = measure_windows(session, memory_bytes, WINDOWS_SHARE * seconds, costs, error);
	if (!status)
		fm_core_find(costs, ret_figures);
	free(costs);
	return status;
}
