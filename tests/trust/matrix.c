/* The matrix as a file, the solver, and everything together on a machine so small that sanitizers can watch. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "trust/metrics.h"
#include "trust/simulate.h"
#include "trust/solve.h"
#include "trust/tables.h"

static const char small_machine[] =
    "machine sockets=2 cores=2 frequency=2GHz line=64 page=4KiB\n"
    "cache L1 size=2KiB ways=4 latency=4\n"
    "cache L2 size=16KiB ways=8 latency=12 streams=4 distance=4\n"
    "cache L3 size=256KiB ways=16 latency=40 shared=2 inclusion=inclusive\n"
    "memory latency=200 remote=300 gbs=20 core_gbs=10\n"
    "core width=4 window=64 load_buffers=24 store_buffers=16 fill_buffers=8 super_queue=8 "
    "load_ports=2 store_ports=1 multiply_ports=1 ports=6\n";
static const char small_events[] = "LINES = L1.lines_demand + L1.lines_ownership + L1.lines_prefetch\n"
                                   "TWICE = 2 * (L1.lines_demand + L1.lines_ownership + L1.lines_prefetch)\n"
                                   "UNSTEADY = noisy(loads, 0.3)\n"
                                   "NEVER = 0\n"
                                   "CYCLES = cycles\n"
                                   "UNC_READS = memory.reads\n";

static struct fm_matrix *small_matrix(void)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_avx2, .unit = 256, .triangle = 64};
	const struct fm_simulate_options simulate = {.repeats = 5, .seed = 3};
	struct fm_machine_description machine;
	struct fm_simulated_events *events = NULL;
	struct fm_matrix *matrix = NULL;
	struct fm_plan *plan = NULL;
	struct fm_error error;

	if (fm_description_parse(small_machine, "small", &machine, &error) ||
	    fm_simulated_parse(small_events, "small", &machine, &events, &error) ||
	    fm_plan_build(&machine, &options, &plan, &error) ||
	    fm_simulate_matrix(&machine, plan, events, &simulate, &matrix, &error))
		fail_msg("%s", error.message);
	fm_simulated_free(events);
	fm_plan_free(plan);
	return matrix;
}

static void a_small_machine_is_judged(void **state)
{
	const struct fm_validation_options options = {0};
	static const struct {
		const char *event;
		enum fm_class class;
	} expected[] = {
	    {"LINES", FM_CLASS_exact}, {"TWICE", FM_CLASS_proportional}, {"UNSTEADY", FM_CLASS_noisy},
	    {"NEVER", FM_CLASS_dead},  {"CYCLES", FM_CLASS_exact},       {"UNC_READS", FM_CLASS_exact},
	};
	struct fm_matrix *matrix = small_matrix();
	struct fm_validation *validation;
	struct fm_error_cell cells[FM_CELLS_MAX];
	struct fm_error error;
	json_t *metrics;

	(void)state;
	assert_int_equal(fm_validation_create(matrix, &options, &validation, &error), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		int event = fm_matrix_find_event(matrix, expected[i].event);

		assert_true(event >= 0);
		if (validation->judgements[event].class != expected[i].class)
			fail_msg("%s is %s: %s", expected[i].event, fm_class_name(validation->judgements[event].class),
			         validation->judgements[event].reason);
	}
	assert_true(validation->resource_count > 4);
	assert_int_equal(fm_table_errors(validation, cells), 0); /* nothing here tells what is written */
	metrics = fm_metrics_to_json(validation);
	assert_true(json_array_size(metrics) > 0);
	json_decref(metrics);
	fm_validation_free(validation);
	fm_matrix_free(matrix);
}

static char *written(const struct fm_matrix *matrix, size_t *ret_length)
{
	char *text = NULL;
	FILE *memory = open_memstream(&text, ret_length);

	assert_int_equal(fm_matrix_write(matrix, memory), 0);
	fclose(memory);
	return text;
}

static int read_text(const char *text, size_t length, struct fm_matrix **ret_matrix, struct fm_error *error)
{
	char path[] = "/tmp/fathom-matrix-XXXXXX";
	int file = mkstemp(path), r;

	assert_true(file >= 0 && write(file, text, length) == (ssize_t)length);
	close(file);
	r = fm_matrix_read(path, ret_matrix, error);
	unlink(path);
	return r;
}

static void files_read_back_the_same(void **state)
{
	struct fm_matrix *matrix = small_matrix(), *again;
	struct fm_error error;
	size_t length, length_again;
	char *text, *text_again;

	(void)state;
	text = written(matrix, &length);
	if (read_text(text, length, &again, &error))
		fail_msg("%s", error.message);
	assert_int_equal(again->run_count, matrix->run_count);
	assert_int_equal(again->event_count, matrix->event_count);
	assert_true(again->events[5].socket && !again->events[0].socket);
	text_again = written(again, &length_again);
	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
	fm_matrix_free(matrix);
	fm_matrix_free(again);
}

static void mistakes_are_refused(void **state)
{
#define HEAD "# caches L1 L2\n# line 64\n"
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"", "# caches"},
	    {"run,cores,seconds,E\n", "# caches"},
	    {"# caches A B C D E\n", "at most four"},
	    {"# caches L1\n# line 3\nrun\n", "cache line"},
	    {HEAD "run,cores,E\n", "\"seconds\" is missing"},
	    {HEAD "run,cores,seconds\n", "no event"},
	    {HEAD "run,cores,seconds,E\n", "there is no run"},
	    {HEAD "run,cores,seconds,true.L9.written,E\n", "is not a quantity"},
	    {HEAD "run,cores,seconds,E\na,1,1\n", ":4: fewer fields"},
	    {HEAD "run,cores,seconds,E\na,1,1,2,3\n", "more fields"},
	    {HEAD "run,cores,seconds,E\na,1,1,x\n", "\"x\" is not a count"},
	    {HEAD "run,cores,seconds,E\na,1,1,-5\n", "is not a count"},
	    {HEAD "run,cores,seconds,E\na,1,1,nan\n", "is not a count"},
	    {HEAD "run,cores,seconds,E\na,0,1,1\n", "no core"},
	    {HEAD "run,cores,seconds,E\na,1,0,1\n", "took no time"},
	    {HEAD "run,kind,cores,seconds,E\na,nonsense,1,1,1\n", "not a kind of run"},
	    {HEAD "run,cores,seconds,repeat,E\na,1,1,5000,1\n", "from 1 to 1000"},
	    {HEAD "run,cores,seconds,E\na,1,1,1\na,1,1,2\n", "is listed twice"},
	    {HEAD "run,cores,seconds,E,E\na,1,1,1,1\n", "two columns"},
	    {HEAD "run,cores,seconds,E\xff\na,1,1,1\n", "invalid characters"},
	};
	struct fm_matrix *matrix;
	struct fm_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (read_text(cases[i].text, strlen(cases[i].text), &matrix, &error) != -EBADMSG)
			fail_msg("accepted: %s", cases[i].text);
		if (!strstr(error.message, cases[i].words))
			fail_msg("%s: %s", cases[i].text, error.message);
	}
	assert_int_equal(fm_matrix_read("/nonexistent/matrix", &matrix, &error), -ENOENT);
	/* the least there can be */
	assert_int_equal(read_text(HEAD "run,cores,seconds,E\na,1,1,7\n", strlen(HEAD) + 28, &matrix, &error), 0);
	fm_matrix_free(matrix);
}

/* Damaged files are refused, or judged for what they say; nothing worse. */
static void damage_is_survived(void **state)
{
	enum { TRIALS = 300 };
	const struct fm_validation_options options = {0};
	struct fm_matrix *matrix = small_matrix(), *damaged;
	struct fm_random random;
	unsigned refused = 0, judged = 0;
	size_t length;
	char *text;

	(void)state;
	/* few runs, so that it is quick */
	matrix->run_count = 24;
	text = written(matrix, &length);
	fm_random_seed(&random, 5);
	for (unsigned i = 0; i < TRIALS; i++) {
		char *copy = malloc(length + 1);
		size_t kept = length;
		struct fm_validation *validation;
		struct fm_error error;

		memcpy(copy, text, length + 1);
		for (unsigned k = fm_random_below(&random, 12); k-- > 0;)
			copy[fm_random_below(&random, length)] = "0123456789,.\n-e#\""[fm_random_below(&random, 17)];
		if (fm_random_below(&random, 4) == 0)
			kept = fm_random_below(&random, length);
		if (read_text(copy, kept, &damaged, &error)) {
			refused++;
		} else {
			judged++;
			assert_int_equal(fm_validation_create(damaged, &options, &validation, &error), 0);
			fm_validation_free(validation);
			fm_matrix_free(damaged);
		}
		free(copy);
	}
	print_message("%u refused, %u judged\n", refused, judged);
	assert_true(refused > 10 && judged > 10);
	free(text);
	fm_matrix_free(matrix);
}

static void solutions_are_right(void **state)
{
	struct fm_normal normal;
	struct fm_random random;
	double coefficients[FM_SOLVE_MAX];
	const double truth[5] = {2, 0, 0.5, 0, 3};

	(void)state;
	fm_random_seed(&random, 9);
	fm_normal_clear(&normal, 5);
	for (unsigned i = 0; i < 200; i++) {
		double row[5], target = 0;

		for (unsigned k = 0; k < 5; k++) {
			row[k] = fm_random_uniform(&random);
			target += truth[k] * row[k];
		}
		fm_normal_add(&normal, row, target, 1 + fm_random_uniform(&random));
	}
	assert_true(fm_normal_solve(&normal, 0x1f, coefficients) < 1e-6);
	for (unsigned k = 0; k < 5; k++)
		assert_near(coefficients[k], truth[k], 1e-6);
	/* what would have to be negative is zero, and what is not chosen too */
	fm_normal_clear(&normal, 2);
	for (unsigned i = 1; i < 50; i++)
		fm_normal_add(&normal, (double[]){i, i * i}, 5.0 * i - 0.01 * i * i, 1);
	fm_normal_solve(&normal, 3, coefficients);
	assert_true(coefficients[0] > 0 && coefficients[1] == 0);
	fm_normal_solve(&normal, 2, coefficients);
	assert_true(coefficients[0] == 0 && coefficients[1] > 0);
	/* two columns that are the same do no harm */
	fm_normal_clear(&normal, 2);
	for (unsigned i = 1; i < 50; i++)
		fm_normal_add(&normal, (double[]){i, i}, 3.0 * i, 1);
	fm_normal_solve(&normal, 3, coefficients);
	assert_near(coefficients[0] + coefficients[1], 3, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(solutions_are_right),      cmocka_unit_test(a_small_machine_is_judged),
	    cmocka_unit_test(files_read_back_the_same), cmocka_unit_test(mistakes_are_refused),
	    cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
