#include "measure/prefetch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernel.h"
#include "measure/buffer.h"
#include "measure/tuning.h"

struct finding {
	const struct fm_prefetch_costs *costs;
	const struct fm_figure *model;
	struct fm_figure *figures;
};

static void set(struct finding *finding, enum fm_prefetch_parameter parameter, double value, double low, double high)
{
	const struct fm_figure *model = finding->model;

	finding->figures[parameter] = fm_figure_make(value, low, high, fm_prefetch_parameters[parameter].unit,
	                                             model->origin, model->backend, model->trials);
}

/* The share of present lines in a walk, from its cost and those of walks to present and to missing lines. NAN: the
   costs do not differ. */
static double share_of(double there, double asked, double elsewhere)
{
	return elsewhere > MISS_APART * there ? fmin(1, fmax(0, (elsewhere - asked) / (elsewhere - there))) : NAN;
}

static void set_share(struct finding *finding, enum fm_prefetch_parameter parameter, double share)
{
	if (isnan(share))
		finding->figures[parameter] =
		    fm_figure_unavailable("inconclusive: lines from memory had the same latency as others");
	else
		set(finding, parameter, share, fmax(0, share - SHARE_ERROR), fmin(1, share + SHARE_ERROR));
}

/* The share of lines that come along with the one before. */
static double find_neighbours(struct finding *finding)
{
	const double *pairs = finding->costs->walks[FM_WALK_pairs];
	double upper = share_of(pairs[0], pairs[1], pairs[2]), lower = share_of(pairs[0], pairs[3], pairs[2]),
	       next = share_of(pairs[0], pairs[4], pairs[2]);

	/* a prefetcher of the next line fetches the upper one, too */
	set_share(finding, FM_PREFETCH_prefetch_adjacent, isnan(upper) ? NAN : fmin(upper, lower));
	set_share(finding, FM_PREFETCH_prefetch_next, next);
	return isnan(upper) ? 0 : upper;
}

/* The first place from which on two costs in a row are above; `count`: none. */
static unsigned exceeds_at(const double *costs, unsigned from, unsigned count, double above)
{
	for (unsigned i = from; i < count; i++)
		if (costs[i] > above && (i + 1 == count || costs[i + 1] > above))
			return i;
	return count;
}

/* Where costs go up from one level to another one, by at least `least` and clearly more than they vary; `count`:
 * nowhere.
 */
static unsigned climbs_at(const double *costs, unsigned count, double least)
{
	unsigned found = count;
	double best = INFINITY;

	for (unsigned split = 1; split < count; split++) {
		double before = 0, after = 0, squares = 0, error;

		for (unsigned i = 0; i < count; i++)
			*(i < split ? &before : &after) += costs[i];
		before /= split;
		after /= count - split;
		for (unsigned i = 0; i < count; i++)
			squares += pow(costs[i] - (i < split ? before : after), 2);
		error = sqrt(squares / count * (1.0 / split + 1.0 / (count - split)));
		if (after - before > fmax(least, CLIMB_CLEAR * error) && squares < best) {
			best = squares;
			found = split;
		}
	}
	return found;
}

/* Lines ahead that are there, in a near cache and in any. */
static void find_distance(struct finding *finding)
{
	enum { MOST = FM_WALK_AHEAD_MOST, PAGE_LINES = 64 };
	const double *costs = finding->costs->walks[FM_WALK_ahead];
	const double *pairs = finding->costs->walks[FM_WALK_pairs];
	/* every second step of the pairs is one that the first walk saves */
	double memory = 2 * (pairs[2] - pairs[0]) / FM_WALK_AHEAD_STEPS, there = costs[MOST] - memory;
	unsigned distance, reach;

	if (isnan(share_of(pairs[0], pairs[1], pairs[2])) || !(memory > MEMORY_LEAST * costs[MOST])) {
		finding->figures[FM_PREFETCH_prefetch_distance] = finding->figures[FM_PREFETCH_prefetch_beyond] =
		    fm_figure_unavailable("inconclusive: lines from memory had the same latency as others");
		return;
	}
	reach = exceeds_at(costs, 0, MOST, there + REACH_END * memory);
	distance = climbs_at(costs, reach, CLIMB_LEAST * memory);
	/* lines come by twos; the end of the walk is not that of the stream */
	set(finding, FM_PREFETCH_prefetch_distance, distance, distance ? distance - 1 : 0,
	    distance == MOST ? PAGE_LINES
	    : distance       ? distance + 1
	                     : 0);
	set(finding, FM_PREFETCH_prefetch_beyond, reach - distance, reach > distance + 2 ? reach - distance - 2 : 0,
	    reach == MOST      ? PAGE_LINES
	    : reach > distance ? reach - distance + 2
	                       : 0);
}

/* Cost of a sequential line without a stream prefetcher: lines that come in pairs are not followed. */
static double unfollowed(const struct finding *finding, double along)
{
	return finding->costs->walks[FM_WALK_shuffled][0] * (1 - along / 2);
}

static void find_streams(struct finding *finding, double along)
{
	const double *costs = finding->costs->walks[FM_WALK_streams];
	unsigned count = fm_walk_values(FM_WALK_streams), quick = 0, low, high;
	double slow;

	for (unsigned i = 1; i < count; i++)
		if (costs[i] < costs[quick])
			quick = i;
	if (costs[quick] > STREAM_FOLLOWED * unfollowed(finding, along)) {
		set(finding, FM_PREFETCH_prefetch_streams, 0, 0, 0);
		return;
	}
	slow = costs[quick];
	for (unsigned i = quick; i < count; i++)
		slow = fmax(slow, costs[i]);
	low = fm_walk_value(FM_WALK_streams, count - 1);
	if (slow < STREAMS_LOST * costs[quick]) {
		/* at least */
		set(finding, FM_PREFETCH_prefetch_streams, low, low, 4 * low);
		return;
	}
	high = exceeds_at(costs, quick, count, costs[quick] + STREAMS_RISE_END * (slow - costs[quick]));
	low = exceeds_at(costs, quick, count, costs[quick] + STREAMS_RISE_BEGIN * (slow - costs[quick]));
	low = fm_walk_value(FM_WALK_streams, low ? low - 1 : 0);
	high = fm_walk_value(FM_WALK_streams, high < count ? high : count - 1);
	set(finding, FM_PREFETCH_prefetch_streams, low, low, high);
}

/* What of a run can be ahead of its use: a page may have to be learnt by three lines of it. */
static double possible_share(unsigned stride)
{
	return stride <= 16 ? 1 - 3 * stride / 64.0 : STRIDE_WIDE_SHARE;
}

static void find_strides(struct finding *finding, enum fm_walk_kind kind, enum fm_prefetch_parameter parameter,
                         double along)
{
	unsigned count = fm_walk_values(kind), first = fm_walk_value(FM_WALK_shuffled, 0), control = 0, low = 0, high,
	         index;

	for (index = 0; index < count; index++) {
		unsigned stride = fm_walk_value(kind, index);
		double random;

		control += stride > first && control + 1 < fm_walk_values(FM_WALK_shuffled);
		random = stride == 1 ? unfollowed(finding, along) : finding->costs->walks[FM_WALK_shuffled][control];
		if (1 - finding->costs->walks[kind][index] / random < STRIDE_ENOUGH * possible_share(stride))
			break;
		low = stride;
	}
	high = index < count ? fm_walk_value(kind, index) - 1 : 2 * low;
	set(finding, parameter, low, low, high);
}

/* A step that is too wide for the prefetcher ends its stream, and the next lines are not there. With a largest step
   that is just too wide simulated machines find 0.45 of the lines, with one that is not 0.69 to 0.83, as far ahead as
   they run. */
static void find_gaps(struct finding *finding)
{
	const double random = finding->costs->walks[FM_WALK_shuffled][0];
	/* the least that is tried is two */
	unsigned count = fm_walk_values(FM_WALK_uneven), low = 1, high = 1;

	for (unsigned i = 0; i < count; i++) {
		unsigned most = fm_walk_value(FM_WALK_uneven, i);
		double share = 1 - finding->costs->walks[FM_WALK_uneven][i] / random;

		if (most == FM_WALK_BACK || share < GAPS_LOST)
			break;
		low = share > GAPS_FOUND && low == high ? most : low;
		high = most;
	}
	set(finding, FM_PREFETCH_prefetch_gaps, low, low, high);
	set_share(finding, FM_PREFETCH_prefetch_back, 1 - finding->costs->walks[FM_WALK_uneven][count - 1] / random);
}

/* In a page with lines in random order, a jump prefetcher with one line finds 0.41 of them, with two lines 0.59; of
   every second line none and 0.39. Even lines therefore show the second line: no other prefetcher fetches it. A single
   line shows in whole pages, unless lines come in pairs, with which half are found. A core that jumps only at times
   finds less than 0.39 of even lines. */
static unsigned jump_lines(double even, double all)
{
	return even > JUMP_SECOND ? 2 : all > JUMP_FIRST ? 1 : 0;
}

/* The most pages at a time of which half as many even lines are found as of four. */
static void find_pages(struct finding *finding, double there, double even)
{
	enum { FEW = 4, FIRST = 3 };
	const double *dense = finding->costs->walks[FM_WALK_dense];
	unsigned count = fm_walk_values(FM_WALK_dense), index = FIRST, pages;

	if (jump_lines(even, 0) < 2) {
		finding->figures[FM_PREFETCH_prefetch_pages] = fm_figure_unavailable("jumps bring no second line");
		return;
	}
	while (index < count && share_of(there, dense[index], dense[0]) > even / 2)
		index++;
	pages = index == FIRST ? FEW : fm_walk_value(FM_WALK_dense, index - 1);
	/* the next walk has four times as many; where the walks end, there may be many more */
	set(finding, FM_PREFETCH_prefetch_pages, pages, pages / 2.0, 4.0 * pages);
}

static void find_jumps(struct finding *finding, double along)
{
	const double *pairs = finding->costs->walks[FM_WALK_pairs], *dense = finding->costs->walks[FM_WALK_dense];
	double there = 2 * pairs[0] - pairs[2]; /* every second step of the first is elsewhere */
	double even = share_of(there, dense[1], dense[0]), all = share_of(there, dense[2], dense[0]);

	if (isnan(share_of(pairs[0], pairs[1], pairs[2])) || isnan(even) || isnan(all)) {
		finding->figures[FM_PREFETCH_prefetch_jumps] = finding->figures[FM_PREFETCH_prefetch_pages] =
		    fm_figure_unavailable("inconclusive: lines from memory had the same latency as others");
		return;
	}
	set(finding, FM_PREFETCH_prefetch_jumps, jump_lines(even, along > JUMP_ALONG ? 0 : all),
	    jump_lines(even - JUMP_EVEN_ERROR, along > JUMP_ALONG ? 0 : all - JUMP_ERROR),
	    jump_lines(even + JUMP_EVEN_ERROR, all + JUMP_ERROR));
	find_pages(finding, there, even);
}

/* Chases side by side: how many are on their way when it does not grow any more. */
static double most_in_flight(const double *costs)
{
	double most = 0;

	/* those that were not measured are not more */
	for (unsigned i = 0; i < FM_WALK_CHAIN_COUNTS; i++)
		most = fmax(most, costs[0] / costs[i]);
	return most;
}

static void find_buffers(struct finding *finding, double along)
{
	const double *memory = finding->costs->parallel[FM_PREFETCH_MEMORY];
	double lines = most_in_flight(memory), stream = memory[0] / finding->costs->stream,
	       pairs = (1 + along) * memory[0] / finding->costs->pairs;
	bool limited = lines > CHAINS_NEAR * FM_CHAINS_MAX || fmax(stream, pairs) < QUEUE_APART * lines;
	double most;

	most = fmax(lines, fmax(stream, pairs));
	set(finding, FM_PREFETCH_queue, most, (1 - BUFFERS_ERROR) * most, (1 + BUFFERS_ERROR) * most);
	/* without more lines from prefetchers, bandwidth may be the limit: a lower bound */
	set(finding, FM_PREFETCH_fill_buffers, lines, (1 - BUFFERS_ERROR) * lines - 0.5,
	    limited ? 2.0 * FM_CHAINS_MAX : (1 + BUFFERS_ERROR) * lines + 0.5);
}

static void find_in_flight(struct finding *finding, enum fm_prefetch_set level, enum fm_prefetch_parameter parameter)
{
	double lines;

	if (isnan(finding->costs->parallel[level][0])) {
		finding->figures[parameter] = fm_figure_unavailable("this cache does not exist, or is not private");
		return;
	}
	lines = most_in_flight(finding->costs->parallel[level]);
	set(finding, parameter, lines, (1 - IN_FLIGHT_ERROR) * lines, (1 + IN_FLIGHT_ERROR) * lines);
}

void fm_prefetch_find(const struct fm_prefetch_costs *costs, const struct fm_figure *model,
                      struct fm_figure *ret_figures)
{
	struct finding finding = {costs, model, ret_figures};
	const double *crossing = costs->walks[FM_WALK_crossing];
	double along = find_neighbours(&finding);

	set_share(&finding, FM_PREFETCH_prefetch_crosses, share_of(crossing[0], crossing[1], crossing[2]));
	find_distance(&finding);
	find_streams(&finding, along);
	find_strides(&finding, FM_WALK_strides, FM_PREFETCH_prefetch_strides, along);
	find_strides(&finding, FM_WALK_instruction_strides, FM_PREFETCH_prefetch_instruction_strides, along);
	find_gaps(&finding);
	find_jumps(&finding, along);
	find_buffers(&finding, along);
	find_in_flight(&finding, FM_PREFETCH_L2, FM_PREFETCH_in_flight_l2);
	find_in_flight(&finding, FM_PREFETCH_L3, FM_PREFETCH_in_flight_l3);
}

/* Whatever one trial needs: of a walk, of chases side by side, or of a stream. */
struct work {
	struct fm_machine_session *session;
	char *memory;
	enum fm_walk_kind kind;
	unsigned value;
	unsigned chains;
	bool pairs;
	void **starts; /* FM_CHAINS_MAX of a set that stays where it is, evenly spread over its `lines`; else NULL */
	size_t lines;
};

static int walk_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	struct fm_kernel_arguments arguments = {0};
	uint64_t begin;

	(void)error;
	arguments.count = fm_walk_lay(work->kind, work->value, work->memory, fm_random_next(&work->session->random),
	                              &arguments.chain[0]);
	begin = fm_clock_now();
	fm_walk_function(work->kind)(&arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / (double)arguments.count;
	return 0;
}

/* A set is walked once in all. */
static uint64_t start_set(const struct work *work, struct fm_kernel_arguments *arguments)
{
	for (unsigned i = 0; i < work->chains; i++)
		arguments->chain[i] = work->starts[i * (FM_CHAINS_MAX / work->chains)];
	return work->chains ? work->lines / work->chains : 0;
}

static int parallel_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	struct fm_kernel_arguments arguments = {0};
	fm_kernel_function chase = fm_kernel_chase_parallel[work->chains - 1];
	uint64_t begin, steps;

	(void)error;
	if (work->starts) {
		/* whatever was measured in between took lines of the set */
		arguments.count = start_set(work, &arguments);
		chase(&arguments);
		steps = start_set(work, &arguments);
	} else {
		steps = fm_walk_lay_parallel(work->chains, !work->pairs, work->memory,
		                             fm_random_next(&work->session->random), arguments.chain);
	}
	arguments.count = steps;
	begin = fm_clock_now();
	chase(&arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / (double)(steps * work->chains);
	return 0;
}

static int stream_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	struct fm_kernel_arguments arguments = {0};
	uint64_t begin;

	(void)error;
	arguments.count = fm_walk_lay_streams(work->memory, fm_random_next(&work->session->random), arguments.chain);
	begin = fm_clock_now();
	fm_kernel_chase_parallel[FM_WALK_STREAMS - 1](&arguments);
	*ret_cost = (double)(fm_clock_now() - begin) / (FM_WALK_STREAMS * FM_WALK_STREAM_LINES);
	return 0;
}

enum {
	WALKS_MAX = FM_WALK_KINDS * FM_WALK_VALUES_MAX,
	MEASUREMENTS_MAX = WALKS_MAX + FM_PREFETCH_SETS * FM_WALK_CHAIN_COUNTS + 2
};

/* All that is measured, where its cost goes, and the memory it is measured on. */
struct plan {
	unsigned count;
	struct fm_measurement measurements[MEASUREMENTS_MAX];
	struct work work[MEASUREMENTS_MAX];
	double *costs[MEASUREMENTS_MAX];
	struct fm_buffer walks, sets[FM_PREFETCH_SETS];
	void *starts[FM_PREFETCH_SETS][FM_CHAINS_MAX];
};

static void add(struct plan *plan, fm_trial_function trial, struct work work, double *cost)
{
	plan->work[plan->count] = work;
	plan->costs[plan->count] = cost;
	plan->measurements[plan->count] = (struct fm_measurement){
	    .trial = trial, .context = &plan->work[plan->count], .wanted_width = PREFETCH_WIDTH};
	plan->count++;
}

static int make_plan(struct fm_machine_session *session, const size_t *set_bytes, struct plan *plan,
                     struct fm_prefetch_costs *costs, struct fm_error *error)
{
	enum fm_pages pages = session->huge_pages ? FM_PAGES_HUGE : FM_PAGES_SMALL;
	enum { ALIGNED = 64 << 10 };
	struct work work = {.session = session};
	int status = fm_buffer_allocate(FM_WALK_BYTES + ALIGNED, pages, -1, &plan->walks, error);

	if (status)
		return status;
	work.memory = (char *)(((uintptr_t)plan->walks.memory + ALIGNED - 1) / ALIGNED * ALIGNED);
	for (unsigned kind = 0; kind < FM_WALK_KINDS; kind++)
		for (unsigned i = 0; i < fm_walk_values((enum fm_walk_kind)kind); i++) {
			work.kind = (enum fm_walk_kind)kind;
			work.value = fm_walk_value((enum fm_walk_kind)kind, i);
			add(plan, walk_trial, work, &costs->walks[kind][i]);
		}
	add(plan, stream_trial, work, &costs->stream);
	work.pairs = true;
	work.chains = FM_CHAINS_MAX;
	add(plan, parallel_trial, work, &costs->pairs);
	work.pairs = false;
	for (unsigned level = 0; level < FM_PREFETCH_SETS; level++) {
		if (level != FM_PREFETCH_MEMORY && !set_bytes[level])
			continue;
		if (level != FM_PREFETCH_MEMORY) {
			status = fm_buffer_allocate(set_bytes[level], pages, -1, &plan->sets[level], error);
			if (!status)
				status = fm_chain_build(&plan->sets[level], &session->random, plan->starts[level],
				                        FM_CHAINS_MAX, error);
			if (status)
				return status;
			work.starts = plan->starts[level];
			work.lines = set_bytes[level] / FM_LINE_BYTES;
		}
		for (unsigned i = 0; i < FM_WALK_CHAIN_COUNTS; i++) {
			work.chains = fm_walk_chain_counts[i];
			if (!work.starts || FM_CHAINS_MAX % work.chains == 0)
				add(plan, parallel_trial, work, &costs->parallel[level][i]);
		}
	}
	return 0;
}

static void forget_costs(struct fm_prefetch_costs *costs)
{
	double *all = (double *)costs;

	for (size_t i = 0; i < sizeof(*costs) / sizeof(*all); i++)
		all[i] = NAN;
}

int fm_prefetch_measure(struct fm_machine_session *session, const size_t set_bytes[FM_PREFETCH_SETS], double seconds,
                        struct fm_figure *ret_figures, struct fm_error *error)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 0);
	struct fm_prefetch_costs costs;
	bool whole = true;
	int status;

	if (!plan)
		return fm_error_set(error, ENOMEM, "out of memory");
	forget_costs(&costs);
	status = make_plan(session, set_bytes, plan, &costs, error);
	if (!status)
		status = fm_machine_session_measure(session, plan->measurements, plan->count, PREFETCH_LEAST,
		                                    PREFETCH_MOST, seconds, error);
	for (unsigned i = 0; i < plan->count; i++) {
		struct fm_figure figure = fm_measurement_figure(&plan->measurements[i], "ns");

		whole &= figure.available;
		*plan->costs[i] = figure.value;
		model.trials += figure.trials;
		fm_measurement_free(&plan->measurements[i]);
	}
	for (unsigned i = 0; i < FM_PREFETCH_PARAMETERS && !status && !whole; i++)
		ret_figures[i] = fm_figure_unavailable("the times were too unsteady");
	if (!status && whole)
		fm_prefetch_find(&costs, &model, ret_figures);
	fm_buffer_free(&plan->walks);
	for (unsigned i = 0; i < FM_PREFETCH_SETS; i++)
		fm_buffer_free(&plan->sets[i]);
	free(plan);
	return status;
}
