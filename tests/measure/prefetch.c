/* Prefetchers and buffers of invented machines, found in the times their walks would take; and the walks themselves. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/prefetch.h"

/* Shares of lines that come along, and what else a machine file says; times in cycles. */
struct invented {
	const char *name;
	double upper, lower, next, crosses;
	unsigned streams, distance, beyond, strides, instruction_strides, jumps;
	double fill_buffers, bandwidth; /* lines at a time */
};

enum { MEMORY = 300, MIDDLE = 60, HIT = 14 };

static const struct invented machines[] = {
    {"none at all", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 15},
    {"pairs only", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 10, 25},
    {"streams and pairs", 1, 1, 0, 0, 32, 20, 0, 1, 1, 2, 12, 20},
    {"into two caches", 1, 1, 0, 0, 16, 8, 12, 2, 2, 1, 10, 18},
    {"the next line, strides of instructions", 1, 0, 1, 1, 16, 31, 0, 2, 32, 0, 22, 40},
    {"more streams than are tried", 0, 0, 0, 1, 64, 5, 0, 7, 12, 1, 12, 18},
    {"more buffers than bandwidth", 0, 0, 0, 0, 12, 11, 0, 5, 5, 2, 14, 14},
};
enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

static double mixed(double share)
{
	return share * HIT + (1 - share) * MEMORY;
}

/* Of a run, what is followed after three lines of each page. */
static double run(unsigned stride, unsigned followed, double unfollowed)
{
	double share = stride <= 16 ? 1 - 3 * stride / 64.0 : 0.5;

	return stride <= followed ? share * HIT + (1 - share) * unfollowed : unfollowed;
}

static double off(double cost, unsigned *random)
{
	*random = *random * 1103515245 + 12345;
	return cost * (1 + 0.005 * ((*random >> 16) % 1000 / 500.0 - 1));
}

static double ahead(const struct invented *machine, unsigned lines)
{
	double one = lines <= machine->distance ? HIT : lines <= machine->distance + machine->beyond ? MIDDLE : MEMORY;

	return (32 * 30.0 + MEMORY + one) / FM_WALK_AHEAD_STEPS;
}

static void invent(const struct invented *machine, struct fm_prefetch_costs *costs, unsigned random)
{
	double sequential = MEMORY * (1 - machine->upper / 2);
	const double shares[] = {1, machine->upper, 0, machine->lower, machine->next},
	             crossing[] = {1, machine->crosses, 0};
	/* of pages visited at random, as counted; those that bring a line along and those that do not */
	const double even[] = {0, 0, 0.39}, all[2][3] = {{0, 0.41, 0.59}, {0.5, 0.57, 0.68}},
	             dense[] = {0, even[machine->jumps], all[machine->upper > 0.5][machine->jumps],
	                        0.9 * even[machine->jumps]};

	memset(costs, 0, sizeof(*costs));
	for (unsigned i = 0; i < FM_WALK_KINDS; i++)
		for (unsigned k = 0; k < fm_walk_values((enum fm_walk_kind)i); k++) {
			unsigned value = fm_walk_value((enum fm_walk_kind)i, k);
			double unfollowed = value == 1 ? sequential : MEMORY, *cost = &costs->walks[i][k];

			switch (i) {
			case FM_WALK_pairs:
				*cost = (MEMORY + mixed(shares[value])) / 2;
				break;
			case FM_WALK_crossing:
				*cost = (28 * 30 + 4 * mixed(crossing[value])) / 32;
				break;
			case FM_WALK_ahead:
				*cost = ahead(machine, value);
				break;
			case FM_WALK_strides:
				*cost = run(value, machine->strides, unfollowed);
				break;
			case FM_WALK_instruction_strides:
				*cost = run(value, machine->instruction_strides, unfollowed);
				break;
			case FM_WALK_shuffled:
				*cost = MEMORY;
				break;
			case FM_WALK_dense:
				*cost = mixed(value <= 2 ? dense[value] : value <= machine->streams ? dense[3] : 0);
				break;
			default:
				*cost = value <= machine->streams ? 3 * HIT : sequential;
			}
			*cost = off(*cost, &random);
		}
	for (unsigned i = 0; i < FM_PREFETCH_SETS; i++)
		for (unsigned k = 0; k < FM_WALK_CHAIN_COUNTS; k++) {
			double most = fmin(machine->fill_buffers, machine->bandwidth);

			costs->parallel[i][k] =
			    i == FM_PREFETCH_L3
			        ? NAN
			        : off((i ? HIT : MEMORY) / fmin(fm_walk_chain_counts[k], most), &random);
		}
	costs->stream = MEMORY / (machine->streams ? machine->bandwidth : fmin(machine->fill_buffers, 8));
	costs->pairs = MEMORY / fmin(machine->fill_buffers, machine->bandwidth / (1 + machine->upper));
}

static void check(const struct invented *machine, const struct fm_figure *figures, enum fm_prefetch_parameter parameter,
                  double truth)
{
	const struct fm_figure *figure = &figures[parameter];

	if (!figure->available)
		fail_msg("%s: %s was not found: %s", machine->name, fm_prefetch_parameters[parameter].name,
		         figure->why);
	if (truth < figure->low - 1e-9 || truth > figure->high + 1e-9 || figure->value < figure->low ||
	    figure->value > figure->high)
		fail_msg("%s: %s is %g, found %g (%g to %g)", machine->name, fm_prefetch_parameters[parameter].name,
		         truth, figure->value, figure->low, figure->high);
}

static void finds_what_there_is(void **state)
{
	const struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 7);

	(void)state;
	for (unsigned i = 0; i < 40 * MACHINES; i++) {
		const struct invented *machine = &machines[i % MACHINES];
		struct fm_figure figures[FM_PREFETCH_PARAMETERS];
		struct fm_prefetch_costs costs;

		invent(machine, &costs, i);
		fm_prefetch_find(&costs, &model, figures);
		check(machine, figures, FM_PREFETCH_prefetch_adjacent, machine->lower);
		check(machine, figures, FM_PREFETCH_prefetch_next, machine->next);
		check(machine, figures, FM_PREFETCH_prefetch_crosses, machine->crosses);
		check(machine, figures, FM_PREFETCH_prefetch_streams, machine->streams);
		check(machine, figures, FM_PREFETCH_prefetch_distance, machine->distance);
		check(machine, figures, FM_PREFETCH_prefetch_beyond, machine->beyond);
		check(machine, figures, FM_PREFETCH_prefetch_strides, machine->strides);
		check(machine, figures, FM_PREFETCH_prefetch_instruction_strides, machine->instruction_strides);
		check(machine, figures, FM_PREFETCH_prefetch_jumps, machine->jumps);
		if (machine->jumps == 2)
			check(machine, figures, FM_PREFETCH_prefetch_pages, machine->streams);
		else
			assert_false(figures[FM_PREFETCH_prefetch_pages].available);
		check(machine, figures, FM_PREFETCH_fill_buffers, fmin(machine->fill_buffers, machine->bandwidth));
		check(machine, figures, FM_PREFETCH_in_flight_l2, fmin(machine->fill_buffers, machine->bandwidth));
		assert_false(figures[FM_PREFETCH_in_flight_l3].available);
		assert_int_equal(figures[FM_PREFETCH_queue].trials, 7);
		if (machine->streams)
			check(machine, figures, FM_PREFETCH_queue, machine->bandwidth);
		/* whether it is the buffers or the bandwidth nobody knows then */
		assert_int_equal(figures[FM_PREFETCH_fill_buffers].high == 2 * FM_CHAINS_MAX,
		                 i % MACHINES == 0 || i % MACHINES == MACHINES - 1);
	}
}

/* Where memory takes no longer than anything else, nothing is said of what would be quicker. */
static void says_that_it_does_not_know(void **state)
{
	const struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 7);
	struct fm_figure figures[FM_PREFETCH_PARAMETERS];
	struct fm_prefetch_costs costs;

	(void)state;
	invent(&machines[2], &costs, 1);
	for (unsigned i = 0; i < FM_WALK_VALUES_MAX; i++)
		costs.walks[FM_WALK_pairs][i] = costs.walks[FM_WALK_crossing][i] = 40;
	fm_prefetch_find(&costs, &model, figures);
	assert_false(figures[FM_PREFETCH_prefetch_adjacent].available);
	assert_false(figures[FM_PREFETCH_prefetch_next].available);
	assert_false(figures[FM_PREFETCH_prefetch_crosses].available);
	assert_false(figures[FM_PREFETCH_prefetch_distance].available);
	assert_false(figures[FM_PREFETCH_prefetch_jumps].available);
	assert_non_null(strstr(figures[FM_PREFETCH_prefetch_distance].why, "inconclusive"));
}

/* Each comes back to its beginning after its steps, and not before; lines that it visits are in its memory. */
static void walks_are_whole(void **state)
{
	char *memory = aligned_alloc(1 << 16, FM_WALK_BYTES);
	void *starts[FM_CHAINS_MAX];

	(void)state;
	assert_non_null(memory);
	for (unsigned i = 0; i < FM_WALK_KINDS; i++)
		for (unsigned k = 0; k < fm_walk_values((enum fm_walk_kind)i); k++) {
			unsigned value = fm_walk_value((enum fm_walk_kind)i, k);
			uint64_t steps = fm_walk_lay((enum fm_walk_kind)i, value, memory, k + 1, &starts[0]), taken = 0;
			char *place = starts[0];

			assert_int_equal(steps, fm_walk_steps((enum fm_walk_kind)i, value));
			assert_int_equal(steps % 16, 0);
			do {
				assert_true(place >= memory && place < memory + FM_WALK_BYTES);
				place = *(char **)place;
				taken++;
			} while (place != starts[0] && taken <= steps);
			assert_int_equal(taken, steps);
		}
	for (unsigned i = 0; i < FM_WALK_CHAIN_COUNTS; i++) {
		unsigned chains = fm_walk_chain_counts[i];
		uint64_t steps = fm_walk_lay_parallel(chains, i % 2, memory, i, starts);

		assert_true(steps == FM_WALK_IN_PARALLEL / chains);
		for (unsigned k = 0; k < chains; k++) {
			char *place = starts[k];

			for (uint64_t step = 0; step < steps; step++)
				place = *(char **)place;
			assert_ptr_equal(place, starts[k]);
		}
	}
	assert_int_equal(fm_walk_lay_streams(memory, 1, starts), FM_WALK_STREAM_LINES);
	for (unsigned k = 0; k < FM_WALK_STREAMS; k++)
		assert_ptr_equal(*(char **)starts[k], (char *)starts[k] + FM_LINE_BYTES);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_what_there_is),
	    cmocka_unit_test(says_that_it_does_not_know),
	    cmocka_unit_test(walks_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
