/* How long events take to be judged, and how that grows with their number: truthful ones, and some with one flaw, two
   or three, with noise, a floor and ten repetitions, over the matrix of a simulated machine. Usage: bench_validate
   [EVENTS] (the most; 400 by default). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "trust/simulate.h"
#include "trust/validation.h"

enum { REPEATS = 10, TRIALS = 3 };

static struct fm_matrix *make_matrix(void)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2, .unit = 1024, .triangle = 512};
	const struct fm_simulate_options simulate = {.repeats = REPEATS};
	struct fm_machine_description machine;
	struct fm_simulated_events *events = NULL;
	struct fm_matrix *matrix = NULL;
	struct fm_plan *plan = NULL;
	struct fm_error error;
	uint64_t begin = fm_clock_now();

	if (fm_description_find("haswell-ep", &machine, &error) || fm_plan_scale_machine(&machine, 8, &error) ||
	    fm_plan_build(&machine, &options, &plan, &error) ||
	    fm_simulated_parse("X = noisy(loads, 0)", "x", &machine, &events, &error) ||
	    fm_simulate_matrix(&machine, plan, events, &simulate, &matrix, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return NULL;
	}
	printf("%u runs simulated in %.1f s (caches eight times smaller)\n", matrix->run_count,
	       (double)(fm_clock_now() - begin) * 1e-9);
	fm_plan_free(plan);
	fm_simulated_free(events);
	return matrix;
}

/* An event that counts one quantity; half of them with another factor, a third with some of another quantity, a quarter
   with a loss when several threads run, a sixth with a constant. All with a percent of noise and a floor. */
static void add_event(struct fm_matrix *matrix, struct fm_random *random)
{
	const struct fm_quantities *all = &matrix->quantities;
	unsigned first = (unsigned)fm_random_below(random, all->quantity_count),
	         second = (unsigned)fm_random_below(random, all->quantity_count), index = matrix->event_count;
	double factor = fm_random_below(random, 2) ? 1 : 0.5, share = fm_random_below(random, 3) ? 0 : 0.4,
	       kept = fm_random_below(random, 4) ? 1 : 0.7, constant = fm_random_below(random, 6) ? 0 : 1000;
	bool socket = fm_random_below(random, 4) == 0;
	char name[32];

	snprintf(name, sizeof(name), "EVENT_%u", index);
	fm_matrix_add_event(matrix, name, socket);
	for (unsigned r = 0; r < matrix->run_count; r++)
		for (unsigned k = 0; k < REPEATS; k++) {
			double content = factor * fm_run_quantity(matrix, r, first, socket) +
			                 share * fm_run_quantity(matrix, r, second, socket);

			fm_matrix_counts(matrix, index, r)[k] =
			    content * (matrix->runs[r].cores > 1 ? kept : 1) * (1 + 0.01 * fm_random_normal(random)) +
			    constant - 20 * log(1 - fm_random_uniform(random));
		}
}

int main(int argc, char **argv)
{
	const struct fm_validation_options options = {0};
	unsigned most = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 400;
	struct fm_matrix *matrix = make_matrix();
	struct fm_random random;

	if (!matrix)
		return 1;
	fm_random_seed(&random, 1);
	for (unsigned events = 25; events <= most; events *= 2) {
		double best = INFINITY;

		while (matrix->event_count < events)
			add_event(matrix, &random);
		for (unsigned trial = 0; trial < TRIALS; trial++) {
			struct fm_validation *validation;
			struct fm_error error;
			uint64_t begin = fm_clock_now();

			if (fm_validation_create(matrix, &options, &validation, &error))
				return 1;
			best = fmin(best, (double)(fm_clock_now() - begin) * 1e-9);
			fm_validation_free(validation);
		}
		printf("%4u events judged in %6.2f s, %5.1f ms each\n", events, best, 1000 * best / events);
	}
	fm_matrix_free(matrix);
	return 0;
}
