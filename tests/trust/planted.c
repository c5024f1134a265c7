/* Flaws planted in truthful events, found again with quantity and size: 40 events that count what they say, 20 with a
   flaw and 20 with two, with one percent of noise and a floor on everything. The matrix is the simulated Haswell-EP's,
   made smaller. Arguments or FATHOM_SEEDS: the first seed and how many. Seeds 1 to 60 were used for development. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/planting.h"
#include "trust/simulate.h"

enum { TRUTHFUL = 40, FLAWED = 20, TWICE = 20, REPEATS = 10 };
#define NOISE 0.01

static struct fm_machine_description machine;
static struct fm_matrix *bare; /* runs without events */

static int set_up(void **state)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2, .unit = 1024, .triangle = 512};
	const struct fm_simulate_options simulate = {.repeats = 1};
	struct fm_simulated_events *none = NULL;
	struct fm_plan *plan = NULL;
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error) ||
	    fm_plan_scale_machine(&machine, 8, &error) || fm_plan_build(&machine, &options, &plan, &error) ||
	    fm_simulated_parse("X = loads", "x", &machine, &none, &error) ||
	    fm_simulate_matrix(&machine, plan, none, &simulate, &bare, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	fm_simulated_free(none);
	fm_plan_free(plan);
	return 0;
}

static unsigned first_seed = 1001, seeds = 25;

static void flaws_are_found(void **state)
{
	unsigned found[3] = {0}, planted[3] = {0}, accused = 0, by_class[FM_CLASS_COUNT] = {0},
	         found_by_class[FM_CLASS_COUNT] = {0};

	(void)state;
	for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
		struct fm_matrix *matrix;
		struct fm_bench *bench;
		struct fm_random random;

		fm_random_seed(&random, seed);
		assert_int_equal(fm_matrix_create(&bare->quantities, REPEATS, &matrix), 0);
		for (unsigned r = 0; r < bare->run_count; r++)
			*fm_matrix_add_run(matrix) = bare->runs[r];
		bench = fm_bench_create(matrix);
		assert_non_null(bench);
		for (unsigned i = 0; i < TRUTHFUL + FLAWED + TWICE; i++) {
			unsigned flaws = i < TRUTHFUL ? 0 : i < TRUTHFUL + FLAWED ? 1 : 2;
			struct fm_judgement judgement;
			struct plant plant;
			bool right;
			char text[400];

			if (flaws)
				plant_flaws(bare, &random, flaws, &plant);
			else
				plant_truthful(bare, &random, &plant);
			plant_count(matrix, &plant, NOISE, &random);
			fm_judge_at(bench, i, &judgement);
			right = plant_is_found(bare, &plant, &judgement);
			planted[flaws]++;
			found[flaws] += right;
			accused += !flaws && judgement.class != FM_CLASS_exact;
			if (flaws == 1) {
				by_class[plant.flaws[0].class]++;
				found_by_class[plant.flaws[0].class] += right;
			}
			if (!right) {
				plant_describe(bare, &plant, text, sizeof(text));
				print_message("seed %u: %s called %s: %s\n", seed, text, fm_class_name(judgement.class),
				              judgement.reason);
			}
		}
		fm_bench_free(bench);
		fm_matrix_free(matrix);
	}
	for (unsigned i = 0; i < FM_CLASS_COUNT; i++)
		if (by_class[i])
			print_message("%s %u of %u, ", fm_class_name((enum fm_class)i), found_by_class[i], by_class[i]);
	print_message(
	    "\none flaw: %u of %u with quantity and size (%.1f %%); two: %u of %u (%.1f %%); %u of %u truthful "
	    "events accused\n",
	    found[1], planted[1], 100.0 * found[1] / planted[1], found[2], planted[2], 100.0 * found[2] / planted[2],
	    accused, planted[0]);
	assert_true(found[1] >= 0.98 * planted[1]);
	assert_true(found[2] >= 0.90 * planted[2]);
	assert_true(accused <= 0.01 * planted[0]);
	/* and the right quantity of what is truthful */
	assert_true(found[0] >= 0.99 * planted[0]);
}

int main(int argc, char **argv)
{
	const char *wish = getenv("FATHOM_SEEDS");
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flaws_are_found),
	};

	if (wish)
		sscanf(wish, "%u %u", &first_seed, &seeds);
	if (argc > 1)
		first_seed = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seeds = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
