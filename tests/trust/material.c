/* Counters of a real machine, from outside: what a person concludes from them, concluded without a hint. The
   conclusions are those of the README beside the file: events for each line by kind of run. Then the same with the file
   disturbed, made smaller, and shuffled. FATHOM_MATERIAL names the folder. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "material.h"
#include "trust/judge.h"

static char path[1024];

/* Kinds of runs that move lines of one kind only. */
enum pure { MEMORY_READ, MEMORY_GATHER, L2_READ, L2_GATHER, MEMORY_STORE, L2_STORE, PURE_COUNT };

static const struct {
	const char *lines, *accesses;
	double accesses_per_line;
} pure[PURE_COUNT] = {
    [MEMORY_READ] = {"memory.read_in_order", "loads_16", 2}, [MEMORY_GATHER] = {"memory.read_at_random", "loads_8", 1},
    [L2_READ] = {"L2.read_in_order", "loads_16", 2},         [L2_GATHER] = {"L2.read_at_random", "loads_8", 1},
    [MEMORY_STORE] = {"memory.nontemporal", "stores_16", 2}, [L2_STORE] = {"L2.written", "stores_16", 2},
};

struct conclusion {
	const char *event;
	const char *classes; /* any of these */
	const char *quantity;
	double counts[PURE_COUNT];
	double floor; /* at least, where nothing is to be counted; 0: none is asked for */
};

static const struct conclusion conclusions[] = {
    {"dram__sectors_read.sum", "uneven", "memory.reads", {1, 1.99}, 100},
    {"dram__bytes_read.sum", "uneven", "memory.reads", {32, 63.7}, 3000},
    {"lts__d_sectors_fill_device.sum", "uneven", "memory.reads", {1, 1.99}, 100},
    {"dram__sectors_write.sum", "exact proportional", "memory.writes", {0, 0, 0, 0, 0.99}, 1},
    {"l1tex__m_xbar2l1tex_read_sectors.sum", "exact", "L1.lines_in", {1, 1, 1, 1}, 0},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "exact", "L1.lines_in", {1, 1, 1, 1}, 0},
    {"lts__t_sectors_srcunit_tex_op_read.sum", "exact", "L1.lines_in", {1, 1, 1, 0.99}, 0},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "exact", "L1.lines_stored", {0, 0, 0, 0, 1, 1}, 0},
    {"lts__t_sectors_srcunit_tex_op_write.sum", "exact", "L1.lines_stored", {0, 0, 0, 0, 1, 1}, 0},
    {"lts__t_sectors_srcunit_tex.sum", "sum", "", {1, 1, 1, 0.99, 1, 1}, 0},
    {"lts__t_sectors_srcnode_gpc.sum", "sum", "", {1, 1, 1, 0.99, 1, 1}, 0},
    {"lts__t_sectors_op_read.sum", "overlapping", "", {1.5, 2, 1.01, 0.99}, 100},
    {"lts__t_sectors_op_write.sum", "proportional", "L1.lines_stored", {0, 0, 0, 0, 1.5, 1.5}, 100},
    {"lts__t_sectors.sum", "overlapping", "", {1.5, 2.21, 1.01, 0.99, 1.54, 1.5}, 0},
    {"lts__t_sectors_aperture_device.sum", "overlapping", "", {1.5, 2.21, 1.01, 0.99, 1.54, 1.5}, 0},
    {"lts__t_sectors_lookup_miss.sum", "uneven", "memory.reads", {1.5, 2.99}, 10},
    {"lts__t_sectors_lookup_hit.sum", "overlapping", "", {0, 0.22, 1, 0.99, 1.55, 1.5}, 0},
    {"lts__t_sectors_srcunit_tex_lookup_miss.sum", "uneven", "memory.reads", {1, 1.99}, 0},
    {"lts__t_requests_srcunit_tex_op_read.sum", "uneven", "L1.lines_in", {0.25, 1, 0.25, 0.99}, 0},
    {"smsp__inst_executed_op_global_ld.sum", "proportional", "loads", {0.0625, 0.03125, 0.0625, 0.03125}, 0},
    {"smsp__inst_executed_op_global_st.sum", "proportional", "stores", {0, 0, 0, 0, 0.0625, 0.0625}, 0},
    {"sm__inst_executed.sum", "unexplained", "", {0}, 0},
    {"sm__cycles_elapsed.sum", "unexplained", "", {0}, 0},
};
enum { CONCLUSIONS = sizeof(conclusions) / sizeof(conclusions[0]) };

static struct fm_matrix *read_file(void)
{
	struct fm_matrix *matrix = NULL;
	struct fm_error error;

	if (fm_matrix_read(path, &matrix, &error))
		fail_msg("%s", error.message);
	return matrix;
}

/* Events for each of an atom. */
static double coefficient(const struct fm_matrix *matrix, const struct fm_judgement *judgement, const char *name)
{
	int atom = fm_atom_find(&matrix->quantities, name);
	double sum = 0;

	assert_true(atom >= 0);
	for (unsigned i = 0; i < judgement->term_count; i++) {
		const struct fm_term *term = &judgement->terms[i];

		if (term->is_atom ? term->index == (unsigned)atom
		                  : matrix->quantities.quantities[term->index].atoms >> atom & 1 &&
		                        !(judgement->unseen >> atom & 1))
			sum += term->coefficient;
	}
	return sum;
}

/* What is wrong with a judgement, as text; NULL: it is what the person concluded. `within` is relative to the largest
   count for a line. */
static const char *objection(const struct fm_matrix *matrix, const struct conclusion *conclusion,
                             const struct fm_judgement *judgement, double within)
{
	static char text[400];
	const struct fm_quantities *all = &matrix->quantities;
	double largest = 0;

	if (!strstr(conclusion->classes, fm_class_name(judgement->class)))
		return "the class";
	if (judgement->class == FM_CLASS_unexplained)
		return NULL;
	/* an equivalent may be named as well */
	if (*conclusion->quantity &&
	    (judgement->quantity < 0 || strcmp(all->quantities[judgement->quantity].name, conclusion->quantity) != 0) &&
	    (judgement->alternative < 0 ||
	     strcmp(all->quantities[judgement->alternative].name, conclusion->quantity) != 0))
		return "the quantity";
	for (unsigned i = 0; i < PURE_COUNT; i++)
		largest = fmax(largest, conclusion->counts[i]);
	for (unsigned i = 0; i < PURE_COUNT; i++) {
		double count = coefficient(matrix, judgement, pure[i].lines) +
		               pure[i].accesses_per_line * coefficient(matrix, judgement, pure[i].accesses);

		if (fabs(count - conclusion->counts[i]) > within * largest) {
			snprintf(text, sizeof(text), "%.4g instead of %.4g for each of %s", count,
			         conclusion->counts[i], pure[i].lines);
			return text;
		}
	}
	if (conclusion->floor > 0 && !(judgement->floor_runs && judgement->floor_most >= conclusion->floor))
		return "no floor";
	return NULL;
}

static unsigned judge_all(const struct fm_matrix *matrix, const char *what, double within)
{
	struct fm_bench *bench = fm_bench_create(matrix);
	unsigned wrong = 0;

	assert_non_null(bench);
	for (unsigned i = 0; i < CONCLUSIONS; i++) {
		int event = fm_matrix_find_event(matrix, conclusions[i].event);
		struct fm_judgement judgement;
		const char *why;

		assert_true(event >= 0);
		fm_judge_at(bench, (unsigned)event, &judgement);
		why = objection(matrix, &conclusions[i], &judgement, within);
		if (why)
			print_message("%s: %s: %s: called %s: %s\n", what, conclusions[i].event, why,
			              fm_class_name(judgement.class), judgement.reason);
		wrong += why != NULL;
	}
	fm_bench_free(bench);
	return wrong;
}

static void is_read(void **state)
{
	struct fm_matrix *matrix = read_file();

	(void)state;
	assert_int_equal(matrix->run_count, 19);
	assert_int_equal(matrix->event_count, CONCLUSIONS);
	assert_int_equal(matrix->repeats, 2);
	for (unsigned run = 0; run < matrix->run_count; run++)
		for (unsigned event = 0; event < matrix->event_count; event++)
			for (unsigned k = 0; k < matrix->repeats; k++)
				assert_true(isfinite(fm_matrix_counts(matrix, event, run)[k]));
	fm_matrix_free(matrix);
}

static void conclusions_are_reached(void **state)
{
	struct fm_matrix *matrix = read_file();

	(void)state;
	assert_int_equal(judge_all(matrix, "as it is", 0.02), 0);
	/* what has no column is named … */
	assert_true(matrix->missing >> matrix->quantities.transfers[0] & 1);
	/* … or did not happen */
	fm_matrix_take_as_zero(matrix);
	assert_int_equal(judge_all(matrix, "missing columns as zero", 0.02), 0);
	fm_matrix_free(matrix);
}

/* Each count by a normal error, or a few of them by any factor. */
static void disturb(struct fm_matrix *matrix, struct fm_random *random, double noise, double share)
{
	for (unsigned event = 0; event < matrix->event_count; event++)
		for (unsigned cell = 0; cell < matrix->run_count * matrix->repeats; cell++) {
			double *count = &matrix->events[event].counts[cell];

			*count = round(*count * fmax(0, 1 + noise * fm_random_normal(random)));
			if (fm_random_uniform(random) < share)
				*count = round(*count * pow(10, 2 * fm_random_uniform(random) - 1));
		}
}

static void disturbances_change_nothing(void **state)
{
	enum { SEEDS = 20 };
	static const struct {
		const char *what;
		double noise, share, within, least;
	} kinds[] = {{"1 % of noise on every count", 0.01, 0, 0.05, 0.98},
	             {"5 % of noise on every count", 0.05, 0, 0.12, 0.9},
	             {"1 % of the counts wrong", 0, 0.01, 0.03, 0.98},
	             {"5 % of the counts wrong", 0, 0.05, 0.06, 0.93}};

	(void)state;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		unsigned wrong = 0;

		for (unsigned seed = 1; seed <= SEEDS; seed++) {
			struct fm_matrix *matrix = read_file();
			struct fm_random random;

			fm_random_seed(&random, 5000 + seed);
			disturb(matrix, &random, kinds[kind].noise, kinds[kind].share);
			wrong += judge_all(matrix, kinds[kind].what, kinds[kind].within);
			fm_matrix_free(matrix);
		}
		print_message("%s: %u of %u conclusions reached\n", kinds[kind].what, SEEDS * CONCLUSIONS - wrong,
		              SEEDS * CONCLUSIONS);
		assert_true(wrong <= (1 - kinds[kind].least) * SEEDS * CONCLUSIONS);
	}
}

/* Without any one run, and with one repetition. */
static void fewer_runs_are_enough(void **state)
{
	unsigned wrong = 0, tried = 0;

	(void)state;
	for (unsigned out = 0; out < 20; out++) {
		struct fm_matrix *matrix = read_file();

		for (unsigned event = 0; event < matrix->event_count; event++)
			for (unsigned run = 0; run < matrix->run_count; run++)
				for (unsigned k = 0; k < matrix->repeats; k++)
					if (out < 19 ? run == out : k == 1)
						fm_matrix_counts(matrix, event, run)[k] = NAN;
		wrong += judge_all(matrix, out < 19 ? "without a run" : "one repetition", 0.03);
		tried += CONCLUSIONS;
		fm_matrix_free(matrix);
	}
	print_message("with fewer runs: %u of %u conclusions reached\n", tried - wrong, tried);
	assert_true(wrong <= 0.03 * tried);
}

/* Counts that belong to other runs are explained by nothing. */
static void shuffled_counts_mean_nothing(void **state)
{
	unsigned explained = 0, tried = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct fm_matrix *matrix = read_file();
		struct fm_bench *bench = fm_bench_create(matrix);
		struct fm_random random;

		assert_non_null(bench);
		fm_random_seed(&random, 6000 + seed);
		for (unsigned event = 0; event < matrix->event_count; event++) {
			struct fm_judgement judgement;

			for (unsigned run = matrix->run_count - 1; run > 0; run--) {
				unsigned other = (unsigned)fm_random_below(&random, run + 1);

				for (unsigned k = 0; k < matrix->repeats; k++) {
					double *a = &fm_matrix_counts(matrix, event, run)[k],
					       *b = &fm_matrix_counts(matrix, event, other)[k], swap = *a;

					*a = *b;
					*b = swap;
				}
			}
			fm_judge_at(bench, event, &judgement);
			tried++;
			if (judgement.class != FM_CLASS_unexplained) {
				explained++;
				print_message("shuffled: %s: %s: %s\n", matrix->events[event].name,
				              fm_class_name(judgement.class), judgement.reason);
			}
		}
		fm_bench_free(bench);
		fm_matrix_free(matrix);
	}
	print_message("shuffled: %u of %u explained\n", explained, tried);
	assert_true(explained <= 0.02 * tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_read),
	    cmocka_unit_test(conclusions_are_reached),
	    cmocka_unit_test(disturbances_change_nothing),
	    cmocka_unit_test(fewer_runs_are_enough),
	    cmocka_unit_test(shuffled_counts_mean_nothing),
	};

	if (!material_find("counters/h200.csv", path, sizeof(path)))
		return MATERIAL_MISSING;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
