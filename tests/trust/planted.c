/* Flaws planted in truthful events, found again: 40 events that count what they say and 20 that do not, with one
   percent of noise on everything. The matrix is the simulated Haswell-EP's, made smaller. Arguments or FATHOM_SEEDS:
   the first seed and how many. */
#include "unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "trust/judge.h"
#include "trust/simulate.h"

enum { TRUTHFUL = 40, FLAWED = 20, REPEATS = 10 };
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

static double between(struct fm_random *random, double low, double high)
{
	return low + (high - low) * fm_random_uniform(random);
}

static const struct fm_quantities *all(void)
{
	return &bare->quantities;
}

static double truth(unsigned run, uint64_t atoms, bool socket)
{
	const struct fm_run *row = &bare->runs[run];
	double sum = 0;

	if (atoms & ~(socket ? row->known_socket : row->known))
		return NAN;
	for (; atoms; atoms &= atoms - 1)
		sum += (socket ? row->socket : row->own)[__builtin_ctzll(atoms)];
	return sum;
}

/* Runs that have some of it, on one core and on several. */
static void occurrences(uint64_t atoms, bool socket, unsigned *ret_single, unsigned *ret_several)
{
	*ret_single = *ret_several = 0;
	for (unsigned r = 0; r < bare->run_count; r++)
		if (truth(r, atoms, socket) > 0)
			++*(bare->runs[r].cores > 1 ? ret_several : ret_single);
}

/* A quantity that occurs in enough runs on one core and on several. */
static unsigned pick(struct fm_random *random, bool socket, bool in_both)
{
	for (;;) {
		unsigned q = (unsigned)fm_random_below(random, all()->quantity_count), single, several;

		if (all()->quantities[q].shared && !socket)
			continue;
		occurrences(all()->quantities[q].atoms, socket, &single, &several);
		if (in_both ? single >= 5 && several >= 5 : single + several >= 8)
			return q;
	}
}

struct flaw {
	enum fm_class class;
	unsigned quantity;
	bool socket;
	double size;
	unsigned other;
	uint64_t unseen;
	double peak, median; /* rate, count */
	char words[120];
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void survey(struct flaw *flaw)
{
	double *counts = calloc(bare->run_count, sizeof(*counts));
	unsigned n = 0;

	for (unsigned r = 0; r < bare->run_count; r++) {
		double value = truth(r, all()->quantities[flaw->quantity].atoms, flaw->socket);

		if (!(value > 0))
			continue;
		counts[n++] = value;
		flaw->peak = fmax(flaw->peak, value / bare->runs[r].seconds);
	}
	qsort(counts, n, sizeof(*counts), ascending);
	flaw->median = counts[n / 2];
	free(counts);
}

/* The atoms of a quantity that are prefetched, for ownership, or wide; 0 when it has none, or no others. */
static uint64_t part(unsigned quantity, unsigned which, bool socket)
{
	uint64_t atoms = all()->quantities[quantity].atoms, part = 0;
	unsigned single, several, rest_single, rest_several;

	for (unsigned place = 0; place < all()->place_count; place++)
		if (which < 2)
			part |= 1ull << all()->lines[place][which ? FM_CAUSE_OWNERSHIP : FM_CAUSE_ORDER];
	if (which == 2)
		part = 1ull << all()->loads[2] | 1ull << all()->stores[2] | 1ull << all()->loads[3] |
		       1ull << all()->stores[3];
	part &= atoms;
	/* what never occurs is not missed */
	for (unsigned i = 0; i < all()->atom_count; i++) {
		occurrences(1ull << i, socket, &single, &several);
		if (!(single + several))
			part &= ~(1ull << i);
	}
	occurrences(part, socket, &single, &several);
	occurrences(atoms & ~part, socket, &rest_single, &rest_several);
	return part && part != atoms && single + several >= 3 && rest_single + rest_several >= 3 ? part : 0;
}

/* Quantities with nothing in common that are known in the same runs: of both there is some in these. */
static bool can_overlap(unsigned a, unsigned b, bool socket)
{
	uint64_t first = all()->quantities[a].atoms, second = all()->quantities[b].atoms;
	unsigned with_first = 0, with_second = 0;

	for (unsigned r = 0; r < bare->run_count; r++)
		if (isfinite(truth(r, first | second, socket))) {
			with_first += truth(r, first, socket) > 0;
			with_second += truth(r, second, socket) > 0;
		}
	return !(first & second) && with_first >= 5 && with_second >= 5;
}

static struct flaw plant(struct fm_random *random)
{
	static const enum fm_class kinds[] = {
	    FM_CLASS_proportional, FM_CLASS_overlapping, FM_CLASS_blind,     FM_CLASS_saturating, FM_CLASS_conditional,
	    FM_CLASS_leaking,      FM_CLASS_offset,      FM_CLASS_indicator, FM_CLASS_noisy,      FM_CLASS_dead};
	struct flaw flaw = {.class = kinds[fm_random_below(random, sizeof(kinds) / sizeof(kinds[0]))]};

	flaw.socket = fm_random_below(random, 4) == 0 && flaw.class != FM_CLASS_leaking;
	flaw.quantity = pick(random, flaw.socket, flaw.class == FM_CLASS_conditional || flaw.class == FM_CLASS_leaking);
	switch (flaw.class) {
	case FM_CLASS_proportional:
		flaw.size = exp(between(random, log(0.25), log(4)));
		break;
	case FM_CLASS_overlapping:
		flaw.size = between(random, 0.2, 1);
		do
			flaw.other = pick(random, flaw.socket, false);
		while (!can_overlap(flaw.quantity, flaw.other, flaw.socket));
		break;
	case FM_CLASS_blind:
		while (!(flaw.unseen = part(flaw.quantity, (unsigned)fm_random_below(random, 3), flaw.socket)))
			flaw.quantity = pick(random, flaw.socket, false);
		fm_judge_unseen_words(all(), flaw.unseen, flaw.words, sizeof(flaw.words));
		break;
	case FM_CLASS_saturating:
		flaw.size = between(random, 0.3, 0.8);
		break;
	case FM_CLASS_conditional:
		flaw.size = between(random, 0.1, 0.4);
		break;
	case FM_CLASS_leaking:
		flaw.size = between(random, 0.1, 0.5);
		break;
	case FM_CLASS_offset:
		flaw.size = between(random, 0.05, 0.5);
		break;
	case FM_CLASS_indicator:
		flaw.size = between(random, 0.5, 0.8);
		break;
	case FM_CLASS_noisy:
		flaw.size = between(random, 0.1, 0.5);
		break;
	default:
		flaw.size = exp(between(random, 0, log(1e7)));
	}
	survey(&flaw);
	return flaw;
}

/* What the flawed event counts in a run; NaN where even the truth is not known. */
static double flawed(const struct flaw *flaw, unsigned run, struct fm_random *random)
{
	const struct fm_run *row = &bare->runs[run];
	uint64_t atoms = all()->quantities[flaw->quantity].atoms;
	double value = truth(run, atoms, flaw->socket);

	if (isnan(value))
		return value;
	switch (flaw->class) {
	case FM_CLASS_proportional:
		return flaw->size * value;
	case FM_CLASS_overlapping:
		return value + flaw->size * truth(run, all()->quantities[flaw->other].atoms, flaw->socket);
	case FM_CLASS_blind:
		return truth(run, atoms & ~flaw->unseen, flaw->socket);
	case FM_CLASS_saturating:
		return fmin(value, flaw->size * flaw->peak * row->seconds);
	case FM_CLASS_conditional:
		return row->cores > 1 ? (1 - flaw->size) * value : value;
	case FM_CLASS_leaking:
		return row->cores > 1 ? value + flaw->size * (truth(run, atoms, true) - value) / (row->cores - 1)
		                      : value;
	case FM_CLASS_offset:
		return value + flaw->size * flaw->median;
	case FM_CLASS_indicator:
		return value > 0 ? pow(flaw->median, 1 - flaw->size) * pow(value, flaw->size) : value;
	case FM_CLASS_noisy:
		return fmax(0, value * (1 + flaw->size * fm_random_normal(random)));
	case FM_CLASS_dead:
		return flaw->size;
	default:
		return value;
	}
}

static void count(struct fm_matrix *matrix, unsigned index, const struct flaw *flaw, struct fm_random *random)
{
	char name[32];

	snprintf(name, sizeof(name), "EVENT_%u", index);
	assert_non_null(fm_matrix_add_event(matrix, name, flaw->socket));
	for (unsigned r = 0; r < matrix->run_count; r++)
		for (unsigned k = 0; k < REPEATS; k++)
			fm_matrix_counts(matrix, index, r)[k] =
			    flawed(flaw, r, random) * (1 + NOISE * fm_random_normal(random));
}

static unsigned first_seed = 1, seeds = 25;

static void flaws_are_found(void **state)
{
	unsigned right = 0, accused = 0, truthful = 0, planted = 0;
	unsigned by_class[FM_CLASS_COUNT] = {0}, right_by_class[FM_CLASS_COUNT] = {0};

	(void)state;
	for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
		struct fm_matrix *matrix;
		struct fm_random random;

		fm_random_seed(&random, seed);
		assert_int_equal(fm_matrix_create(all(), REPEATS, &matrix), 0);
		for (unsigned r = 0; r < bare->run_count; r++)
			*fm_matrix_add_run(matrix) = bare->runs[r];
		for (unsigned i = 0; i < TRUTHFUL + FLAWED; i++) {
			struct flaw flaw;
			struct fm_judgement judgement;
			bool correct;

			if (i < TRUTHFUL) {
				bool socket = fm_random_below(&random, 4) == 0;

				flaw = (struct flaw){.class = FM_CLASS_exact,
				                     .socket = socket,
				                     .quantity = pick(&random, socket, false)};
			} else {
				flaw = plant(&random);
			}
			count(matrix, i, &flaw, &random);
			fm_judge(matrix, i, &judgement);
			correct = judgement.class == flaw.class;
			if (flaw.class == FM_CLASS_blind && correct) {
				char words[120];

				fm_judge_unseen_words(all(), judgement.unseen, words, sizeof(words));
				correct = !strcmp(words, flaw.words);
			}
			if (!correct)
				print_message("seed %u: %s of %s%s (%.3g%s%s%s) called %s: %s\n", seed,
				              fm_class_name(flaw.class), all()->quantities[flaw.quantity].name,
				              flaw.socket ? ", socket" : "", flaw.size, *flaw.words ? ", " : "",
				              flaw.class == FM_CLASS_overlapping ? all()->quantities[flaw.other].name
				                                                 : "",
				              flaw.words, fm_class_name(judgement.class), judgement.reason);
			if (i < TRUTHFUL) {
				truthful++;
				accused += !correct;
			} else {
				planted++;
				right += correct;
				by_class[flaw.class]++;
				right_by_class[flaw.class] += correct;
			}
		}
		fm_matrix_free(matrix);
	}
	for (unsigned i = 0; i < FM_CLASS_COUNT; i++)
		if (by_class[i])
			print_message("%s %u of %u, ", fm_class_name((enum fm_class)i), right_by_class[i], by_class[i]);
	print_message("\n%u of %u flaws named (%.1f %%), %u of %u truthful events accused\n", right, planted,
	              100.0 * right / planted, accused, truthful);
	assert_true(right >= 0.98 * planted);
	assert_true(accused <= 0.01 * truthful);
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
