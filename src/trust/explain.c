#include "trust/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trust/solve.h"

/* Folds of cross-validation. Neighbours in the matrix are alike, so that every fifth run is left out in turn. */
enum { FOLDS = 5 };

/* An atom is counted when its coefficient is more than this share of the largest, and seen when more than that. */
#define COUNTED 0.05
#define SEEN 0.5

struct problem {
	const struct fm_matrix *matrix;
	const struct fm_evidence *evidence;
	uint64_t atoms; /* that occur */
	struct fm_normal whole, without[FOLDS];
};

static const double *atoms_of(const struct problem *problem, unsigned run)
{
	return problem->evidence->socket ? problem->matrix->runs[run].socket : problem->matrix->runs[run].own;
}

/* Only runs in which everything is known. */
static bool is_usable(const struct problem *problem, unsigned run)
{
	const struct fm_run *row = &problem->matrix->runs[run];
	uint64_t known = problem->evidence->socket ? row->known_socket : row->known;

	return isfinite(problem->evidence->mean[run]) && known == (1ull << problem->matrix->quantities.atom_count) - 1;
}

static double predict(const struct problem *problem, unsigned run, const double *coefficients)
{
	const double *atoms = atoms_of(problem, run);
	double sum = 0;

	for (unsigned i = 0; i < problem->matrix->quantities.atom_count; i++)
		sum += coefficients[i] * atoms[i];
	return sum;
}

/* Mean square of weighted errors in the runs that were left out, fold by fold. */
static double left_out(struct problem *problem, uint64_t chosen, double *ret_error)
{
	double coefficients[FM_SOLVE_MAX], folds[FOLDS] = {0}, mean = 0, variance = 0;

	for (unsigned fold = 0; fold < FOLDS; fold++) {
		unsigned used = 0;

		fm_normal_solve(&problem->without[fold], chosen, coefficients);
		for (unsigned r = fold; r < problem->matrix->run_count; r += FOLDS)
			if (is_usable(problem, r)) {
				double off = problem->evidence->mean[r] - predict(problem, r, coefficients);

				folds[fold] += problem->evidence->weight[r] * off * off;
				used++;
			}
		folds[fold] /= used ? used : 1;
		mean += folds[fold] / FOLDS;
	}
	for (unsigned fold = 0; fold < FOLDS; fold++)
		variance += (folds[fold] - mean) * (folds[fold] - mean) / (FOLDS - 1);
	*ret_error = sqrt(variance / FOLDS);
	return mean;
}

/* One atom more at a time, always the one that explains most. */
static uint64_t select_atoms(struct problem *problem, double *ret_left_out)
{
	uint64_t chosen = 0, best = 0, sequence[FM_TERMS_MAX + 1] = {0};
	double coefficients[FM_SOLVE_MAX], error, errors[FM_TERMS_MAX + 1], values[FM_TERMS_MAX + 1], lowest;
	unsigned steps = 0, at = 0;

	values[0] = left_out(problem, 0, &errors[0]);
	while (steps < FM_TERMS_MAX) {
		double least = INFINITY;
		int adds = -1;

		for (unsigned i = 0; i < problem->whole.columns; i++) {
			double squares;

			if (!(problem->atoms >> i & 1) || chosen >> i & 1)
				continue;
			squares = fm_normal_solve(&problem->whole, chosen | 1ull << i, coefficients);
			if (squares < least && coefficients[i] > 0) {
				least = squares;
				adds = (int)i;
			}
		}
		if (adds < 0)
			break;
		chosen |= 1ull << adds;
		steps++;
		sequence[steps] = chosen;
		values[steps] = left_out(problem, chosen, &error);
		errors[steps] = error;
	}
	/* the shortest that is as good as the best but for chance */
	lowest = values[0];
	for (unsigned i = 0; i <= steps; i++)
		if (values[i] < lowest) {
			lowest = values[i];
			at = i;
		}
	for (unsigned i = 0; i <= steps; i++)
		if (values[i] <= values[at] + errors[at]) {
			best = sequence[i];
			*ret_left_out = values[i];
			break;
		}
	return best;
}

/* How much of the volume of all runs an atom is. */
static double volume(const struct problem *problem, unsigned atom)
{
	double sum = 0;

	for (unsigned r = 0; r < problem->matrix->run_count; r++)
		if (is_usable(problem, r))
			sum += atoms_of(problem, r)[atom];
	return sum;
}

/* The quantity that is nearest: what it lacks and what it has too much, as shares of both. */
static int nearest_quantity(const struct problem *problem, const double *coefficients, double *ret_factor)
{
	const struct fm_quantities *all = &problem->matrix->quantities;
	double best = INFINITY;
	int nearest = -1;

	for (unsigned q = 0; q < all->quantity_count; q++) {
		uint64_t atoms = all->quantities[q].atoms & problem->atoms;
		double factor = 0, wrong = 0, total = 0;

		if (!atoms || (all->quantities[q].shared && !problem->evidence->socket))
			continue;
		/* most of the quantity's parts count as often: the largest coefficient among them */
		for (uint64_t set = atoms; set; set &= set - 1)
			factor = fmax(factor, coefficients[__builtin_ctzll(set)]);
		if (!(factor > 0))
			continue;
		/* places and causes weigh the same, however many runs there are of each */
		for (uint64_t set = problem->atoms; set; set &= set - 1) {
			unsigned i = (unsigned)__builtin_ctzll(set);
			double counted = coefficients[i] / factor, should = atoms >> i & 1;

			wrong += fabs(fmin(counted, 2) - should);
			total += should;
		}
		if (wrong / total < best) {
			best = wrong / total;
			nearest = (int)q;
			*ret_factor = factor;
		}
	}
	return nearest;
}

static size_t append(char *text, size_t size, size_t used, const char *piece)
{
	return used + (size_t)snprintf(text + used, used < size ? size - used : 0, "%s", piece);
}

void fm_explain(const struct fm_matrix *matrix, unsigned event, const struct fm_evidence *evidence,
                struct fm_judgement *judgement)
{
	const struct fm_quantities *all = &matrix->quantities;
	struct problem problem = {.matrix = matrix, .evidence = evidence};
	double coefficients[FM_SOLVE_MAX], largest = 0, remains, left = 0, squares = 0;
	uint64_t chosen, counted = 0;
	unsigned used = 0;
	size_t length = 0;

	(void)event;
	fm_normal_clear(&problem.whole, all->atom_count);
	for (unsigned fold = 0; fold < FOLDS; fold++)
		fm_normal_clear(&problem.without[fold], all->atom_count);
	for (unsigned r = 0; r < matrix->run_count; r++) {
		if (!is_usable(&problem, r))
			continue;
		fm_normal_add(&problem.whole, atoms_of(&problem, r), evidence->mean[r], evidence->weight[r]);
		for (unsigned fold = 0; fold < FOLDS; fold++)
			if (r % FOLDS != fold)
				fm_normal_add(&problem.without[fold], atoms_of(&problem, r), evidence->mean[r],
				              evidence->weight[r]);
		squares += evidence->weight[r] * evidence->mean[r] * evidence->mean[r];
		used++;
	}
	for (unsigned i = 0; i < all->atom_count; i++)
		if (i != all->cycles && volume(&problem, i) > 0)
			problem.atoms |= 1ull << i;
	chosen = select_atoms(&problem, &left);
	remains = fm_normal_solve(&problem.whole, chosen, coefficients);
	judgement->misfit = used ? sqrt(remains / used) * evidence->tolerance : NAN;
	judgement->misfit_left_out = sqrt(left) * evidence->tolerance;
	/* less than half of it explained is nothing */
	if (!chosen || remains > 0.5 * squares) {
		judgement->class = FM_CLASS_unexplained;
		snprintf(judgement->reason, sizeof(judgement->reason), "follows nothing that the kernels move");
		return;
	}
	for (unsigned i = 0; i < all->atom_count; i++)
		largest = fmax(largest, coefficients[i]);
	judgement->quantity = nearest_quantity(&problem, coefficients, &judgement->factor);
	for (unsigned i = 0; i < all->atom_count; i++)
		if (coefficients[i] > 0 && judgement->term_count < FM_TERMS_MAX)
			judgement->terms[judgement->term_count++] = (struct fm_term){true, i, coefficients[i]};
	for (unsigned i = 0; i < all->atom_count; i++)
		if (coefficients[i] > COUNTED * (judgement->quantity >= 0 ? judgement->factor : largest))
			counted |= 1ull << i;
	if (judgement->quantity >= 0) {
		uint64_t wanted = all->quantities[judgement->quantity].atoms & problem.atoms,
		         too_much = counted & ~wanted;

		for (uint64_t set = wanted; set; set &= set - 1) {
			unsigned i = (unsigned)__builtin_ctzll(set);

			if (coefficients[i] < SEEN * judgement->factor)
				judgement->unseen |= 1ull << i;
		}
		judgement->class = judgement->unseen ? FM_CLASS_blind
		                   : too_much        ? FM_CLASS_overlapping
		                                     : FM_CLASS_indicator;
		length = append(judgement->reason, sizeof(judgement->reason), length, "nearest to the ");
		length = append(judgement->reason, sizeof(judgement->reason), length,
		                all->quantities[judgement->quantity].words);
		length = append(judgement->reason, sizeof(judgement->reason), length, "; of each it counts: ");
	} else {
		judgement->class = FM_CLASS_overlapping;
	}
	for (unsigned i = 0; i < judgement->term_count; i++) {
		char piece[120];

		snprintf(piece, sizeof(piece), "%s%.2g of %s", i ? ", " : "", judgement->terms[i].coefficient,
		         all->atoms[judgement->terms[i].index].words);
		length = append(judgement->reason, sizeof(judgement->reason), length, piece);
	}
	if (judgement->unseen) {
		char words[120];

		fm_judge_unseen_words(all, judgement->unseen, words, sizeof(words));
		length = append(judgement->reason, sizeof(judgement->reason), length, "; blind to ");
		append(judgement->reason, sizeof(judgement->reason), length, words);
	}
}
