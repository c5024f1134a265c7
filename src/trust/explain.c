#include "trust/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trust/judging.h"
#include "trust/solve.h"

/* Possible parts of an event: quantities, which make short explanations, and single atoms for the rest. */
struct column {
	bool is_atom;
	unsigned index;
	uint64_t atoms;
};

struct problem {
	const struct fm_matrix *matrix;
	const struct fm_columns *truth;
	const struct fm_evidence *evidence;
	uint64_t atoms; /* that occur */
	struct column columns[FM_SOLVE_MAX];
	unsigned column_count;
	struct fm_normal whole, without[FM_COMBINATION_FOLDS];
};

static const double *atoms_of(const struct problem *problem, unsigned run)
{
	return problem->evidence->socket ? problem->matrix->runs[run].socket : problem->matrix->runs[run].own;
}

/* Only runs in which everything is known. */
static bool is_usable(const struct problem *problem, unsigned run)
{
	const struct fm_run *row = &problem->matrix->runs[run];
	uint64_t known = problem->evidence->socket ? row->known_socket | problem->matrix->missing_socket
	                                           : row->known | problem->matrix->missing;

	return isfinite(problem->evidence->mean[run]) && known == (1ull << problem->matrix->quantities.atom_count) - 1;
}

static void fill_row(const struct problem *problem, unsigned run, double *row)
{
	const double *atoms = atoms_of(problem, run);

	for (unsigned i = 0; i < problem->column_count; i++) {
		row[i] = 0;
		for (uint64_t set = problem->columns[i].atoms; set; set &= set - 1)
			row[i] += atoms[__builtin_ctzll(set)];
	}
}

static double predict(const struct problem *problem, unsigned run, const double *coefficients)
{
	double row[FM_SOLVE_MAX], sum = 0;

	fill_row(problem, run, row);
	for (unsigned i = 0; i < problem->column_count; i++)
		sum += coefficients[i] * row[i];
	return sum;
}

/* Mean square of weighted errors in the runs that were left out, fold by fold. */
static double left_out(struct problem *problem, uint64_t chosen, double *ret_error)
{
	double coefficients[FM_SOLVE_MAX], folds[FM_COMBINATION_FOLDS] = {0}, mean = 0, variance = 0;

	for (unsigned fold = 0; fold < FM_COMBINATION_FOLDS; fold++) {
		unsigned used = 0;

		fm_normal_solve(&problem->without[fold], chosen, coefficients);
		for (unsigned r = fold; r < problem->matrix->run_count; r += FM_COMBINATION_FOLDS)
			if (is_usable(problem, r)) {
				double off = problem->evidence->mean[r] - predict(problem, r, coefficients);

				folds[fold] += problem->evidence->weight[r] * off * off;
				used++;
			}
		folds[fold] /= used ? used : 1;
		mean += folds[fold] / FM_COMBINATION_FOLDS;
	}
	for (unsigned fold = 0; fold < FM_COMBINATION_FOLDS; fold++)
		variance += (folds[fold] - mean) * (folds[fold] - mean) / (FM_COMBINATION_FOLDS - 1);
	*ret_error = sqrt(variance / FM_COMBINATION_FOLDS);
	return mean;
}

/* One column more at a time, always the one that explains most. */
static uint64_t select_columns(struct problem *problem, double *ret_left_out)
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

			if (chosen >> i & 1)
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

/* The share of an atom in the volume of all runs. */
static double volume(const struct problem *problem, unsigned atom)
{
	double sum = 0;

	for (unsigned r = 0; r < problem->matrix->run_count; r++)
		if (is_usable(problem, r))
			sum += atoms_of(problem, r)[atom];
	return sum;
}

static void add_column(struct problem *problem, bool is_atom, unsigned index, uint64_t atoms)
{
	if (!atoms || problem->column_count == FM_SOLVE_MAX)
		return;
	/* one name for atoms that are equal if nothing else occurs */
	for (unsigned i = 0; i < problem->column_count; i++)
		if (problem->columns[i].atoms == atoms)
			return;
	problem->columns[problem->column_count++] = (struct column){is_atom, index, atoms};
}

static void make_columns(struct problem *problem)
{
	const struct fm_quantities *all = &problem->matrix->quantities;

	for (unsigned i = 0; i < all->atom_count; i++)
		if (i != all->cycles && volume(problem, i) > 0)
			problem->atoms |= 1ull << i;
	/* of two that are the same in all runs the first is taken: lines before accesses */
	for (int lines = 1; lines >= 0; lines--)
		for (unsigned i = 0; i < all->quantity_count; i++)
			if (fm_columns_applies(problem->truth, i) && lines == (all->quantities[i].bytes > 0))
				add_column(problem, false, i, all->quantities[i].atoms & problem->atoms);
	for (unsigned i = 0; i < all->atom_count; i++)
		add_column(problem, true, i, 1ull << i & problem->atoms);
}

/* The common factor of the parts of a quantity: that of the part with the best agreement of the others. */
static double factor_of(const double *coefficients, uint64_t atoms)
{
	double best = INFINITY, factor = 0;

	for (uint64_t parts = atoms; parts; parts &= parts - 1) {
		double tried = coefficients[__builtin_ctzll(parts)], wrong = 0;

		if (!(tried > 0))
			continue;
		for (uint64_t set = atoms; set; set &= set - 1)
			wrong += fabs(fmin(coefficients[__builtin_ctzll(set)] / tried, 2) - 1);
		if (wrong < best - 1e-9 || (wrong < best + 1e-9 && tried > factor)) {
			best = wrong;
			factor = tried;
		}
	}
	return factor;
}

/* The nearest quantity: its missing and its surplus atoms, as shares of both. */
static int nearest_quantity(const struct problem *problem, const double *coefficients, double *ret_factor)
{
	const struct fm_quantities *all = &problem->matrix->quantities;
	double best = INFINITY;
	int nearest = -1;

	for (unsigned q = 0; q < all->quantity_count; q++) {
		uint64_t atoms = all->quantities[q].atoms & problem->atoms;
		double factor, wrong = 0, total = 0;

		if (!atoms || !fm_columns_applies(problem->truth, q))
			continue;
		factor = factor_of(coefficients, atoms);
		if (!(factor > 0))
			continue;
		/* places and causes weigh the same, however many runs there are of each */
		for (uint64_t set = problem->atoms; set; set &= set - 1) {
			unsigned i = (unsigned)__builtin_ctzll(set);
			double should = atoms >> i & 1;

			wrong += fabs(fmin(coefficients[i] / factor, 2) - should);
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

/* The chosen columns, largest share first, and their coefficients for each atom. */
static void note_terms(const struct problem *problem, const double *coefficients, struct fm_judgement *judgement,
                       double *atoms)
{
	double largest = 0;

	for (unsigned i = 0; i < problem->column_count; i++)
		largest = fmax(largest, coefficients[i]);
	for (unsigned i = 0; i < problem->column_count; i++) {
		const struct column *column = &problem->columns[i];

		/* the remainder of a column that others have replaced is no part of the explanation */
		if (!(coefficients[i] > FM_COEFFICIENT_LEAST * largest))
			continue;
		for (uint64_t set = column->atoms; set; set &= set - 1)
			atoms[__builtin_ctzll(set)] += coefficients[i];
		if (judgement->term_count < FM_TERMS_MAX)
			judgement->terms[judgement->term_count++] =
			    (struct fm_term){column->is_atom, column->index, coefficients[i]};
	}
}

/* The cause and place of an atom of lines; false for all others. */
static bool find_lines(const struct fm_quantities *all, unsigned atom, unsigned *ret_cause, unsigned *ret_place)
{
	for (unsigned place = 0; place < all->place_count; place++)
		for (unsigned cause = 0; cause < FM_CAUSE_COUNT; cause++)
			if (all->lines[place][cause] == atom) {
				*ret_cause = cause;
				*ret_place = place;
				return true;
			}
	return false;
}

/* "0.94 for each of the lines read in order from L3, memory and remote memory": places that are counted alike together.
   Returns the terms that it took care of. */
static unsigned describe_term(const struct fm_quantities *all, const struct fm_judgement *judgement, unsigned index,
                              char *text, size_t size)
{
	const struct fm_term *term = &judgement->terms[index];
	unsigned taken = 1u << index, cause, place, other_cause, other_place;
	size_t used =
	    (size_t)snprintf(text, size, "%.2g for each of the %s", term->coefficient,
	                     term->is_atom ? all->atoms[term->index].words : all->quantities[term->index].words);

	if (!term->is_atom || !find_lines(all, term->index, &cause, &place))
		return taken;
	for (unsigned i = index + 1; i < judgement->term_count; i++) {
		const struct fm_term *other = &judgement->terms[i];

		if (!other->is_atom || fabs(other->coefficient / term->coefficient - 1) > FM_SAME_COEFFICIENT ||
		    !find_lines(all, other->index, &other_cause, &other_place) || other_cause != cause)
			continue;
		taken |= 1u << i;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, ", %s",
			                         other_place < fm_place_memory(all)    ? all->caches[other_place + 1]
			                         : other_place == fm_place_memory(all) ? "memory"
			                                                               : "remote memory");
	}
	return taken;
}

static void describe(const struct fm_quantities *all, struct fm_judgement *judgement)
{
	size_t length = 0;
	unsigned taken = 0;
	char piece[240];

	if (judgement->quantity >= 0) {
		snprintf(piece, sizeof(piece), "nearest to the %s; it counts ",
		         all->quantities[judgement->quantity].words);
		length = append(judgement->reason, sizeof(judgement->reason), length, piece);
	}
	for (unsigned i = 0; i < judgement->term_count; i++) {
		if (taken >> i & 1)
			continue;
		if (taken)
			length = append(judgement->reason, sizeof(judgement->reason), length, "; ");
		taken |= describe_term(all, judgement, i, piece, sizeof(piece));
		length = append(judgement->reason, sizeof(judgement->reason), length, piece);
	}
	if (judgement->unseen) {
		fm_judge_unseen_words(all, judgement->unseen, piece, sizeof(piece));
		length = append(judgement->reason, sizeof(judgement->reason), length, ". Blind to ");
		append(judgement->reason, sizeof(judgement->reason), length, piece);
	}
}

/* A short explanation may leave out an atom that is counted. Runs in which the quantity is nearly all that atom decide:
   how many events there are for each. */
static bool is_seen(const struct problem *problem, unsigned quantity, unsigned atom, double factor)
{
	double counted = 0, truth = 0;

	for (unsigned r = 0; r < problem->matrix->run_count; r++) {
		double all = is_usable(problem, r)
		                 ? fm_run_quantity(problem->matrix, r, quantity, problem->evidence->socket)
		                 : 0;

		if (all > 0 && atoms_of(problem, r)[atom] > FM_ATOM_ALONE * all) {
			counted += problem->evidence->mean[r];
			truth += all;
		}
	}
	return truth > 0 && counted >= FM_ATOM_SEEN * factor * truth;
}

void fm_explain(const struct fm_columns *columns, const struct fm_evidence *evidence, struct fm_judgement *judgement)
{
	const struct fm_matrix *matrix = columns->matrix;
	const struct fm_quantities *all = &matrix->quantities;
	struct problem problem = {.matrix = matrix, .truth = columns, .evidence = evidence};
	double coefficients[FM_SOLVE_MAX], atoms[FM_ATOMS_MAX] = {0}, row[FM_SOLVE_MAX], remains, left = 0, squares = 0;
	uint64_t chosen, too_much = 0, wanted;
	unsigned used = 0, terms;

	make_columns(&problem);
	fm_normal_clear(&problem.whole, problem.column_count);
	for (unsigned fold = 0; fold < FM_COMBINATION_FOLDS; fold++)
		fm_normal_clear(&problem.without[fold], problem.column_count);
	for (unsigned r = 0; r < matrix->run_count; r++) {
		if (!is_usable(&problem, r))
			continue;
		fill_row(&problem, r, row);
		fm_normal_add(&problem.whole, row, evidence->mean[r], evidence->weight[r]);
		for (unsigned fold = 0; fold < FM_COMBINATION_FOLDS; fold++)
			if (r % FM_COMBINATION_FOLDS != fold)
				fm_normal_add(&problem.without[fold], row, evidence->mean[r], evidence->weight[r]);
		squares += evidence->weight[r] * evidence->mean[r] * evidence->mean[r];
		used++;
	}
	chosen = select_columns(&problem, &left);
	remains = fm_normal_solve(&problem.whole, chosen, coefficients);
	judgement->misfit = used ? sqrt(remains / used) * evidence->tolerance : NAN;
	judgement->misfit_left_out = sqrt(left) * evidence->tolerance;
	/* A combination is rejected if it explains less than half, or if few runs support many terms, unless it is
	   right. */
	terms = (unsigned)__builtin_popcountll(chosen);
	if (!chosen || remains > FM_COMBINATION_LEAVES * squares ||
	    (judgement->misfit_left_out > fmax(FM_COMBINATION_RIGHT, FM_COMBINATION_NOISE * evidence->tolerance) &&
	     (judgement->misfit > fmax(FM_COMBINATION_ALL, evidence->tolerance) ||
	      used < FM_COMBINATION_RUNS * terms) &&
	     used < FM_RUNS_PER_TERM * terms)) {
		judgement->class = FM_CLASS_unexplained;
		snprintf(judgement->reason, sizeof(judgement->reason), "follows no quantity that the kernels move");
		return;
	}
	note_terms(&problem, coefficients, judgement, atoms);
	judgement->quantity = nearest_quantity(&problem, atoms, &judgement->factor);
	judgement->class = FM_CLASS_overlapping;
	if (judgement->quantity >= 0) {
		wanted = all->quantities[judgement->quantity].atoms & problem.atoms;
		for (unsigned i = 0; i < all->atom_count; i++) {
			if (wanted >> i & 1 && atoms[i] < FM_ATOM_SEEN * judgement->factor &&
			    !is_seen(&problem, (unsigned)judgement->quantity, i, judgement->factor))
				judgement->unseen |= 1ull << i;
			if (!(wanted >> i & 1) && atoms[i] > FM_ATOM_COUNTED * judgement->factor)
				too_much |= 1ull << i;
		}
		judgement->class = judgement->unseen ? FM_CLASS_blind
		                   : too_much        ? FM_CLASS_overlapping
		                                     : FM_CLASS_indicator;
	}
	describe(all, judgement);
}
