#include "trust/stories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a story costs: for each number that is fitted, and for each choice among many. */
#define COST_NUMBER 16.0
#define COST_CHOICE 7.0

static const char *const condition_words[] = {
#define CONDITION(identifier, test, words) words,
#include "trust/conditions.def"
#undef CONDITION
};

const char *fm_condition_words(enum fm_condition condition)
{
	return condition_words[condition];
}

static bool holds(enum fm_condition condition, const struct fm_run *run)
{
	switch (condition) {
#define CONDITION(identifier, test, words) \
	case FM_CONDITION_##identifier:    \
		return test;
#include "trust/conditions.def"
#undef CONDITION
	default:
		return false;
	}
}

/* All that is needed to try stories on an event. */
struct court {
	const struct fm_matrix *matrix;
	const struct fm_evidence *evidence;
	unsigned runs;
	double *truth;  /* [quantity * runs + run], NaN where not known */
	double *others; /* of one other core, on average */
	double *column, *second;
	unsigned *order;
	struct fm_story best;
	bool found;
};

static double sum_of(const struct fm_matrix *matrix, unsigned run, uint64_t atoms, bool socket)
{
	const struct fm_run *row = &matrix->runs[run];
	double sum = 0;

	if (atoms & ~(socket ? row->known_socket : row->known))
		return NAN;
	for (; atoms; atoms &= atoms - 1)
		sum += (socket ? row->socket : row->own)[__builtin_ctzll(atoms)];
	return sum;
}

/* Unknown runs tell nothing, neither for nor against: the others stand for them. */
static void propose(struct court *court, struct fm_story story, double squares, unsigned used, double cost)
{
	if (!used || !isfinite(squares) || used < court->evidence->counted / 4)
		return;
	story.misfit = sqrt(fmax(squares, 0) / used);
	story.score = fmax(squares, 0) / used * court->evidence->counted + cost;
	if (!court->found || story.score < court->best.score) {
		court->best = story;
		court->found = true;
	}
}

static bool usable(const struct court *court, unsigned run, const double *column)
{
	return isfinite(court->evidence->mean[run]) && isfinite(column[run]);
}

/* Squares that remain with factor * column + size * second; second may be NULL. */
static double squares_of(const struct court *court, const double *column, double factor, const double *second,
                         double size, unsigned *ret_used)
{
	double squares = 0;

	*ret_used = 0;
	for (unsigned r = 0; r < court->runs; r++) {
		double off;

		if (!usable(court, r, column) || (second && !isfinite(second[r])))
			continue;
		off = court->evidence->mean[r] - factor * column[r] - (second ? size * second[r] : 0);
		squares += court->evidence->weight[r] * off * off;
		++*ret_used;
	}
	return squares;
}

/* Sums over the runs where both columns are known. */
struct products {
	double xx, xy, yy, xm, ym;
	unsigned used;
};

static struct products multiply(const struct court *court, const double *x, const double *y)
{
	struct products p = {0};

	for (unsigned r = 0; r < court->runs; r++) {
		double w = court->evidence->weight[r], m = court->evidence->mean[r];

		if (!usable(court, r, x) || (y && !isfinite(y[r])))
			continue;
		p.used++;
		p.xx += w * x[r] * x[r];
		p.xm += w * x[r] * m;
		if (y) {
			p.xy += w * x[r] * y[r];
			p.yy += w * y[r] * y[r];
			p.ym += w * y[r] * m;
		}
	}
	return p;
}

/* A story of one column: one each, or a factor. */
static void try_column(struct court *court, const double *column, struct fm_story story, enum fm_class scaled_class,
                       double cost)
{
	struct products p = multiply(court, column, NULL);
	unsigned used;
	double squares;

	if (!(p.xx > 0))
		return;
	story.factor = 1;
	squares = squares_of(court, column, 1, NULL, 0, &used);
	propose(court, story, squares, used, cost);
	story.factor = p.xm / p.xx;
	story.class = scaled_class;
	if (story.factor > 0) {
		squares = squares_of(court, column, story.factor, NULL, 0, &used);
		propose(court, story, squares, used, cost + COST_NUMBER);
	}
}

/* A story of a column and something added to it or taken from it; `least` is the smallest size worth a name, relative
   to the factor. */
static void try_pair(struct court *court, const double *column, const double *second, struct fm_story story,
                     double least, double most, double cost)
{
	struct products p = multiply(court, column, second);
	double determinant = p.xx * p.yy - p.xy * p.xy, size, factor;
	unsigned used;

	if (!(p.xx > 0) || !(p.yy > 0))
		return;
	size = (p.ym - p.xy) / p.yy;
	if (size >= least && size <= most) {
		double squares = squares_of(court, column, 1, second, size, &used);

		story.factor = 1;
		story.size = size;
		propose(court, story, squares, used, cost + COST_NUMBER);
	}
	if (!(determinant > 1e-6 * p.xx * p.yy))
		return;
	factor = (p.xm * p.yy - p.ym * p.xy) / determinant;
	size = (p.ym * p.xx - p.xm * p.xy) / determinant;
	if (factor > 0 && size >= least * factor && size <= most * factor) {
		double squares = squares_of(court, column, factor, second, size, &used);

		story.factor = factor;
		story.size = size;
		propose(court, story, squares, used, cost + 2 * COST_NUMBER + COST_CHOICE);
	}
}

static void try_blind(struct court *court, unsigned quantity)
{
	const struct fm_quantities *all = &court->matrix->quantities;
	uint64_t atoms = all->quantities[quantity].atoms, groups[16] = {0};
	unsigned count = 0;

	/* atoms of a kind, and wide accesses together */
	for (unsigned i = 0; i < all->atom_count && count < 15; i++) {
		uint64_t group = 0;
		bool before = false;

		if (!(atoms >> i & 1))
			continue;
		for (unsigned k = 0; k < all->atom_count; k++)
			if (atoms >> k & 1 && !strcmp(all->atoms[i].kind, all->atoms[k].kind)) {
				before |= k < i;
				group |= 1ull << k;
			}
		if (!before)
			groups[count++] = group;
	}
	if (count > 1 && (atoms >> all->loads[2] & 1 || atoms >> all->stores[2] & 1))
		groups[count++] = atoms & (1ull << all->loads[2] | 1ull << all->loads[3] | 1ull << all->stores[2] |
		                           1ull << all->stores[3]);
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = i; k < count; k++) {
			uint64_t unseen = groups[i] | groups[k];
			struct fm_story story = {
			    .class = FM_CLASS_blind, .quantity = quantity, .other = -1, .unseen = unseen};
			double missing = 0;

			if (unseen == atoms || (k > i && groups[i] & groups[k]))
				continue;
			for (unsigned r = 0; r < court->runs; r++) {
				double all_of_it = court->truth[quantity * court->runs + r];

				court->column[r] = isfinite(all_of_it) ? sum_of(court->matrix, r, atoms & ~unseen,
				                                                court->evidence->socket)
				                                       : NAN;
				if (isfinite(court->column[r]))
					missing += all_of_it - court->column[r];
			}
			if (missing > 0)
				try_column(court, court->column, story, FM_CLASS_blind, (k > i ? 2 : 1) * COST_CHOICE);
		}
}

static int by_rate(const void *left, const void *right, void *context)
{
	const double *rates = context;
	double a = rates[*(const unsigned *)left], b = rates[*(const unsigned *)right];

	return a > b ? -1 : a < b;
}

/* The fastest runs are counted too low: no more than so many a second. */
static void try_saturating(struct court *court, unsigned quantity)
{
	const double *truth = &court->truth[quantity * court->runs];
	unsigned count = 0;
	double capped_mt = 0, capped_tt = 0, capped_mm = 0, free_squares = 0, free_xx = 0, free_xm = 0, free_mm = 0;

	for (unsigned r = 0; r < court->runs; r++) {
		court->column[r] = NAN;
		if (!usable(court, r, truth) || !(court->matrix->runs[r].seconds > 0))
			continue;
		court->column[r] = truth[r] / court->matrix->runs[r].seconds;
		court->order[count++] = r;
	}
	qsort_r(court->order, count, sizeof(*court->order), by_rate, court->column);
	for (unsigned i = 0; i < count; i++) {
		unsigned r = court->order[i];
		double w = court->evidence->weight[r], m = court->evidence->mean[r];

		free_squares += w * (m - truth[r]) * (m - truth[r]);
		free_xx += w * truth[r] * truth[r];
		free_xm += w * truth[r] * m;
		free_mm += w * m * m;
	}
	for (unsigned i = 0; i + 1 < count && court->column[court->order[i]] > 0; i++) {
		unsigned r = court->order[i];
		double w = court->evidence->weight[r], m = court->evidence->mean[r], t = court->matrix->runs[r].seconds,
		       cap, capped, factor;
		struct fm_story story = {.class = FM_CLASS_saturating, .quantity = quantity, .other = -1, .factor = 1};

		free_squares -= w * (m - truth[r]) * (m - truth[r]);
		free_xx -= w * truth[r] * truth[r];
		free_xm -= w * truth[r] * m;
		free_mm -= w * m * m;
		capped_mt += w * m * t;
		capped_tt += w * t * t;
		capped_mm += w * m * m;
		cap = capped_mt / capped_tt;
		capped = capped_mm - cap * capped_mt;
		/* the cap lies below the slowest run it acts on, and above the fastest it does not */
		if (cap > court->column[r] * 1.02 || cap < court->column[court->order[i + 1]] * 0.98)
			continue;
		/* at least the fastest run misses something worth a name */
		if (cap > 0.95 * court->column[court->order[0]])
			continue;
		story.size = cap;
		propose(court, story, free_squares + capped, count, COST_NUMBER + COST_CHOICE);
		factor = free_xx > 0 ? free_xm / free_xx : 0;
		if (factor > 0 && cap < factor * court->column[r] * 1.02) {
			story.factor = factor;
			propose(court, story, free_mm - factor * free_xm + capped, count,
			        2 * COST_NUMBER + 2 * COST_CHOICE);
		}
	}
}

static void try_conditional(struct court *court, unsigned quantity)
{
	const double *truth = &court->truth[quantity * court->runs];

	for (unsigned c = 0; c < FM_CONDITION_COUNT; c++) {
		struct fm_story story = {.class = FM_CLASS_conditional,
		                         .quantity = quantity,
		                         .other = -1,
		                         .condition = (enum fm_condition)c};
		struct products with, without;
		double kept;

		for (unsigned r = 0; r < court->runs; r++) {
			bool condition = holds((enum fm_condition)c, &court->matrix->runs[r]);

			court->column[r] = condition ? truth[r] : isfinite(truth[r]) ? 0 : NAN;
			court->second[r] = condition && isfinite(truth[r]) ? 0 : truth[r];
		}
		with = multiply(court, court->column, NULL);
		without = multiply(court, court->second, NULL);
		if (!(with.xx > 0) || !(without.xx > 0))
			continue;
		kept = with.xm / with.xx;
		if (fabs(1 - kept) > 0.02) {
			unsigned used;
			double squares = squares_of(court, court->second, 1, court->column, kept, &used);

			story.factor = 1;
			story.size = 1 - kept;
			propose(court, story, squares, used, COST_NUMBER + COST_CHOICE);
			story.factor = without.xm / without.xx;
			if (story.factor > 0 && fabs(1 - kept / story.factor) > 0.02) {
				squares = squares_of(court, court->second, story.factor, court->column, kept, &used);
				story.size = 1 - kept / story.factor;
				propose(court, story, squares, used, 2 * COST_NUMBER + 2 * COST_CHOICE);
			}
		}
	}
}

static void try_indicator(struct court *court, unsigned quantity)
{
	const double *truth = &court->truth[quantity * court->runs];
	struct fm_story story = {.class = FM_CLASS_indicator, .quantity = quantity, .other = -1};
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY, most = 0, power, scale, squares = 0;
	unsigned used = 0;

	for (unsigned r = 0; r < court->runs; r++) {
		if (!usable(court, r, truth) || !(truth[r] > 0) || !(court->evidence->mean[r] > 0))
			continue;
		n++;
		x += log(truth[r]);
		y += log(court->evidence->mean[r]);
		xx += log(truth[r]) * log(truth[r]);
		xy += log(truth[r]) * log(court->evidence->mean[r]);
		least = fmin(least, truth[r]);
		most = fmax(most, truth[r]);
	}
	/* runs of one length cannot tell */
	if (n < 4 || most < 3 * least)
		return;
	power = (n * xy - x * y) / (n * xx - x * x);
	if (!(power > 0.2 && power < 3) || fabs(power - 1) < 0.03)
		return;
	scale = exp((y - power * x) / n);
	for (unsigned r = 0; r < court->runs; r++) {
		double off;

		if (!usable(court, r, truth))
			continue;
		off = court->evidence->mean[r] - (truth[r] > 0 ? scale * pow(truth[r], power) : 0);
		squares += court->evidence->weight[r] * off * off;
		used++;
	}
	story.size = power;
	story.factor = scale;
	propose(court, story, squares, used, 2 * COST_NUMBER + COST_CHOICE);
}

/* Is the quantity known in enough of the runs in which the event counted anything? A story about the others alone would
   be beside the point. */
static bool is_known(const struct court *court, unsigned quantity)
{
	unsigned known = 0, counted = 0;

	for (unsigned r = 0; r < court->runs; r++)
		if (court->evidence->mean[r] > 0) {
			counted++;
			known += isfinite(court->truth[quantity * court->runs + r]);
		}
	return known >= 4 && 5 * known >= counted;
}

static void try_quantity(struct court *court, unsigned quantity)
{
	const struct fm_quantities *all = &court->matrix->quantities;
	const double *truth = &court->truth[quantity * court->runs];
	struct fm_story story = {.class = FM_CLASS_exact, .quantity = quantity, .other = -1};

	try_column(court, truth, story, FM_CLASS_proportional, 0);
	try_blind(court, quantity);
	try_saturating(court, quantity);
	try_conditional(court, quantity);
	try_indicator(court, quantity);
	story.class = FM_CLASS_offset;
	for (unsigned r = 0; r < court->runs; r++)
		court->second[r] = 1;
	try_pair(court, truth, court->second, story, 1e-9, INFINITY, COST_CHOICE);
	story.class = FM_CLASS_leaking;
	if (!court->evidence->socket)
		try_pair(court, truth, &court->others[quantity * court->runs], story, 0.02, 100, COST_CHOICE);
	story.class = FM_CLASS_overlapping;
	for (unsigned other = 0; other < all->quantity_count; other++) {
		story.other = (int)other;
		if (other != quantity && !(all->quantities[other].shared && !court->evidence->socket) &&
		    is_known(court, other))
			try_pair(court, truth, &court->truth[other * court->runs], story, 0.02, 50, 2 * COST_CHOICE);
	}
}

bool fm_stories_best(const struct fm_matrix *matrix, const struct fm_evidence *evidence, struct fm_story *ret_story)
{
	const struct fm_quantities *all = &matrix->quantities;
	struct court court = {.matrix = matrix, .evidence = evidence, .runs = matrix->run_count};
	size_t cells = (size_t)all->quantity_count * (matrix->run_count ? matrix->run_count : 1);

	court.truth = calloc(cells, sizeof(double));
	court.others = malloc(cells * sizeof(double));
	court.column = malloc((matrix->run_count + 1) * sizeof(double));
	court.second = malloc((matrix->run_count + 1) * sizeof(double));
	court.order = malloc((matrix->run_count + 1) * sizeof(unsigned));
	if (court.truth && court.others && court.column && court.second && court.order) {
		for (unsigned q = 0; q < all->quantity_count; q++)
			for (unsigned r = 0; r < matrix->run_count; r++) {
				double own = fm_run_quantity(matrix, r, q, evidence->socket),
				       of_all = fm_run_quantity(matrix, r, q, true);
				unsigned cores = matrix->runs[r].cores;

				court.truth[q * court.runs + r] = own;
				court.others[q * court.runs + r] = cores > 1 ? (of_all - own) / (cores - 1) : 0;
			}
		for (unsigned q = 0; q < all->quantity_count; q++)
			if ((evidence->socket || !all->quantities[q].shared) && is_known(&court, q))
				try_quantity(&court, q);
	}
	free(court.truth);
	free(court.others);
	free(court.column);
	free(court.second);
	free(court.order);
	*ret_story = court.best;
	return court.found;
}
