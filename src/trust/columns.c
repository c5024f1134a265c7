#include "trust/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const condition_words[] = {
#define CONDITION(identifier, test, words) words,
#include "trust/conditions.def"
#undef CONDITION
};

const char *fm_condition_words(enum fm_condition condition)
{
	return condition_words[condition];
}

bool fm_condition_holds(enum fm_condition condition, const struct fm_run *run)
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

/* The pattern of these runs, a new one when it is not there yet; UINT32_MAX when there are too many. */
static unsigned pattern_of(struct fm_columns *columns, const unsigned char *known)
{
	unsigned char *copy;

	for (unsigned i = 0; i < columns->pattern_count; i++)
		if (!memcmp(columns->known[i], known, columns->runs))
			return i;
	copy = columns->pattern_count < FM_PATTERNS_MAX ? malloc(columns->runs + 1) : NULL;
	if (!copy)
		return UINT32_MAX;
	memcpy(copy, known, columns->runs);
	columns->known[columns->pattern_count] = copy;
	return columns->pattern_count++;
}

/* Values with NaN where they are not known. -1 when nothing of it is known, or it is nothing. */
static int add_column(struct fm_columns *columns, const double *values)
{
	double *copy;
	unsigned char *known;
	unsigned pattern;
	bool any = false;

	if (columns->count == FM_COLUMNS_MAX)
		return -1;
	copy = calloc(columns->runs + 1, sizeof(*copy));
	known = calloc(columns->runs + 1, 1);
	if (!copy || !known)
		goto none;
	for (unsigned r = 0; r < columns->runs; r++) {
		known[r] = isfinite(values[r]);
		copy[r] = known[r] ? values[r] : 0;
		any |= copy[r] != 0;
	}
	pattern = any ? pattern_of(columns, known) : UINT32_MAX;
	if (pattern == UINT32_MAX)
		goto none;
	free(known);
	columns->values[columns->count] = copy;
	columns->pattern[columns->count] = pattern;
	return (int)columns->count++;
none:
	free(copy);
	free(known);
	return -1;
}

static double sum_of(const struct fm_matrix *matrix, unsigned run, uint64_t atoms, bool socket)
{
	const double *row = socket ? matrix->runs[run].socket : matrix->runs[run].own;
	double sum = 0;

	for (; atoms; atoms &= atoms - 1)
		sum += row[__builtin_ctzll(atoms)];
	return sum;
}

bool fm_columns_applies(const struct fm_columns *columns, unsigned quantity)
{
	if (columns->socket || !columns->matrix->quantities.quantities[quantity].shared)
		return true;
	/* a core that always runs alone shares nothing */
	for (unsigned r = 0; r < columns->runs; r++)
		if (columns->matrix->runs[r].cores > 1)
			return false;
	return true;
}

/* Atoms of a kind, and wide accesses together. */
static void find_groups(const struct fm_columns *columns, uint64_t atoms, struct fm_groups *groups)
{
	const struct fm_quantities *all = &columns->matrix->quantities;
	uint64_t wide =
	    atoms & (1ull << all->loads[2] | 1ull << all->loads[3] | 1ull << all->stores[2] | 1ull << all->stores[3]);

	groups->count = 0;
	for (unsigned i = 0; i < all->atom_count && groups->count + 1 < FM_GROUPS_MAX; i++) {
		uint64_t group = 0;
		bool before = false;

		if (!(atoms & 1ull << i))
			continue;
		for (unsigned k = 0; k < all->atom_count; k++)
			if (atoms & 1ull << k && !strcmp(all->atoms[i].kind, all->atoms[k].kind)) {
				before |= k < i;
				group |= 1ull << k;
			}
		if (!before)
			groups->atoms[groups->count++] = group;
	}
	if (groups->count > 1 && wide && wide & (wide - 1))
		groups->atoms[groups->count++] = wide;
	if (groups->count == 1)
		groups->count = 0;
}

struct rated {
	double rate;
	unsigned run;
};

static int by_rate(const void *left, const void *right)
{
	double a = ((const struct rated *)left)->rate, b = ((const struct rated *)right)->rate;

	return a > b ? -1 : a < b;
}

static void order_by_rate(struct fm_columns *columns, unsigned quantity)
{
	const double *truth = columns->values[columns->quantity[quantity]];
	struct rated *rated = malloc((columns->runs + 1) * sizeof(*rated));
	unsigned count = 0;

	columns->by_rate[quantity] = malloc((columns->runs + 1) * sizeof(unsigned));
	columns->logarithm[quantity] = malloc((columns->runs + 1) * sizeof(double));
	for (unsigned r = 0; rated && columns->by_rate[quantity] && columns->logarithm[quantity] && r < columns->runs;
	     r++) {
		columns->logarithm[quantity][r] = truth[r] > 0 ? log(truth[r]) : NAN;
		columns->most[quantity] = fmax(columns->most[quantity], truth[r]);
		if (truth[r] > 0 && columns->matrix->runs[r].seconds > 0)
			rated[count++] = (struct rated){truth[r] / columns->matrix->runs[r].seconds, r};
	}
	if (count)
		qsort(rated, count, sizeof(*rated), by_rate);
	for (unsigned i = 0; i < count; i++)
		columns->by_rate[quantity][i] = rated[i].run;
	columns->rated[quantity] = count;
	free(rated);
}

/* The columns of one quantity: itself, of other cores, under each condition, its parts. */
static void add_quantity(struct fm_columns *columns, unsigned q, double *truth, double *scratch)
{
	const struct fm_matrix *matrix = columns->matrix;
	const struct fm_quantity *quantity = &matrix->quantities.quantities[q];
	uint64_t missing = columns->socket ? matrix->missing_socket : matrix->missing;

	for (unsigned r = 0; r < columns->runs; r++)
		truth[r] = fm_run_quantity(matrix, r, q, columns->socket);
	columns->quantity[q] = add_column(columns, truth);
	if (columns->quantity[q] < 0)
		return;
	order_by_rate(columns, q);
	if (!columns->socket) {
		for (unsigned r = 0; r < columns->runs; r++) {
			unsigned cores = matrix->runs[r].cores;

			scratch[r] =
			    cores > 1 ? (fm_run_quantity(matrix, r, q, true) - truth[r]) / (cores - 1) : 0 * truth[r];
		}
		columns->others[q] = add_column(columns, scratch);
	}
	for (unsigned c = 0; c < FM_CONDITION_COUNT; c++) {
		bool outside = false;

		for (unsigned r = 0; r < columns->runs; r++) {
			bool holds = fm_condition_holds((enum fm_condition)c, &matrix->runs[r]);

			scratch[r] = holds ? truth[r] : 0 * truth[r];
			outside |= !holds && truth[r] > 0;
		}
		columns->under[q][c] = outside ? add_column(columns, scratch) : -1;
	}
	find_groups(columns, quantity->atoms & ~missing & columns->occur, &columns->groups[q]);
	for (unsigned g = 0; g < columns->groups[q].count; g++) {
		for (unsigned r = 0; r < columns->runs; r++)
			scratch[r] =
			    isfinite(truth[r]) ? sum_of(matrix, r, columns->groups[q].atoms[g], columns->socket) : NAN;
		columns->part[q][g] = add_column(columns, scratch);
	}
}

struct fm_columns *fm_columns_create(const struct fm_matrix *matrix, bool socket)
{
	struct fm_columns *columns = calloc(1, sizeof(*columns));
	double *truth = malloc((matrix->run_count + 1) * sizeof(*truth)),
	       *scratch = malloc((matrix->run_count + 1) * sizeof(*scratch));
	if (!columns || !truth || !scratch) {
		free(columns);
		free(truth);
		free(scratch);
		return NULL;
	}
	columns->matrix = matrix;
	columns->socket = socket;
	columns->runs = matrix->run_count;
	for (unsigned i = 0; i < FM_PATTERNS_MAX; i++)
		for (unsigned k = 0; k < FM_PATTERNS_MAX; k++)
			columns->both[i][k] = i == k ? i : UINT32_MAX;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		const double *row = socket ? matrix->runs[r].socket : matrix->runs[r].own;

		truth[r] = 1;
		for (unsigned i = 0; i < matrix->quantities.atom_count; i++)
			columns->occur |= (uint64_t)(row[i] > 0) << i;
	}
	columns->one = add_column(columns, truth);
	for (unsigned q = 0; q < FM_QUANTITIES_MAX; q++) {
		columns->quantity[q] = columns->others[q] = -1;
		for (unsigned c = 0; c < FM_CONDITION_COUNT; c++)
			columns->under[q][c] = -1;
		if (q < matrix->quantities.quantity_count && fm_columns_applies(columns, q))
			add_quantity(columns, q, truth, scratch);
	}
	free(truth);
	free(scratch);
	return columns;
}

void fm_columns_free(struct fm_columns *columns)
{
	if (!columns)
		return;
	for (unsigned i = 0; i < columns->count; i++)
		free(columns->values[i]);
	for (unsigned i = 0; i < columns->pattern_count; i++)
		free(columns->known[i]);
	for (unsigned i = 0; i < FM_QUANTITIES_MAX; i++) {
		free(columns->by_rate[i]);
		free(columns->logarithm[i]);
	}
	free(columns);
}

/* Products */

int fm_products_create(struct fm_columns *columns, struct fm_products *ret_products)
{
	struct fm_products products = {.columns = columns};
	size_t count = columns->count ? columns->count : 1;

	products.weighted = malloc(count * (columns->runs + 1) * sizeof(double));
	products.has = malloc(count * sizeof(bool));
	products.cross = malloc(count * count * sizeof(double));
	products.square = malloc(count * FM_PATTERNS_MAX * sizeof(double));
	products.with_mean = malloc(count * FM_PATTERNS_MAX * sizeof(double));
	if (!products.weighted || !products.has || !products.cross || !products.square || !products.with_mean) {
		fm_products_free(&products);
		return -ENOMEM;
	}
	*ret_products = products;
	return 0;
}

void fm_products_free(struct fm_products *products)
{
	free(products->weighted);
	free(products->has);
	free(products->cross);
	free(products->square);
	free(products->with_mean);
}

void fm_products_set(struct fm_products *products, const double *weight, const double *mean)
{
	const struct fm_columns *columns = products->columns;
	size_t count = columns->count;

	products->weight = weight;
	products->mean = mean;
	memset(products->has, 0, count * sizeof(bool));
	/* all bits set is NaN */
	memset(products->cross, 0xff, count * count * sizeof(double));
	memset(products->square, 0xff, count * FM_PATTERNS_MAX * sizeof(double));
	memset(products->with_mean, 0xff, count * FM_PATTERNS_MAX * sizeof(double));
	memset(products->total, 0xff, sizeof(products->total));
}

static const double *weighted(struct fm_products *products, int column)
{
	const struct fm_columns *columns = products->columns;
	double *values = &products->weighted[(size_t)column * columns->runs];

	if (!products->has[column]) {
		for (unsigned r = 0; r < columns->runs; r++)
			values[r] = products->weight[r] * columns->values[column][r];
		products->has[column] = true;
	}
	return values;
}

static double dot(const double *x, const double *y, unsigned count)
{
	double sum[4] = {0};
	unsigned i = 0;

	for (; i + 4 <= count; i += 4)
		for (unsigned k = 0; k < 4; k++)
			sum[k] += x[i + k] * y[i + k];
	for (; i < count; i++)
		sum[0] += x[i] * y[i];
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static double dot_within(const double *x, const double *y, const unsigned char *known, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += known[i] ? x[i] * y[i] : 0;
	return sum;
}

/* Runs that are in both patterns. They are the same for all events, so that the columns remember them. */
static unsigned common(struct fm_columns *columns, unsigned a, unsigned b)
{
	if (columns->both[a][b] == UINT32_MAX) {
		unsigned char *known = malloc(columns->runs + 1);
		unsigned found = UINT32_MAX;

		for (unsigned r = 0; known && r < columns->runs; r++)
			known[r] = columns->known[a][r] & columns->known[b][r];
		if (known)
			found = pattern_of(columns, known);
		free(known);
		columns->both[a][b] = columns->both[b][a] = found;
	}
	return columns->both[a][b];
}

static double cross(struct fm_products *products, int a, int b, unsigned pattern)
{
	struct fm_columns *columns = products->columns;
	double *cached;

	if (a == b) {
		cached = &products->square[(size_t)a * FM_PATTERNS_MAX + pattern];
		if (isnan(*cached))
			*cached = columns->pattern[a] == pattern
			              ? dot(weighted(products, a), columns->values[a], columns->runs)
			              : dot_within(weighted(products, a), columns->values[a], columns->known[pattern],
			                           columns->runs);
		return *cached;
	}
	if (common(columns, columns->pattern[a], columns->pattern[b]) != pattern)
		return dot_within(weighted(products, a), columns->values[b], columns->known[pattern], columns->runs);
	if (a > b) {
		int swap = a;

		a = b;
		b = swap;
	}
	cached = &products->cross[(size_t)a * columns->count + (unsigned)b];
	if (isnan(*cached))
		*cached = dot(weighted(products, a), columns->values[b], columns->runs);
	return *cached;
}

static double with_mean(struct fm_products *products, int column, unsigned pattern)
{
	const struct fm_columns *columns = products->columns;
	double *cached = &products->with_mean[(size_t)column * FM_PATTERNS_MAX + pattern];

	if (isnan(*cached))
		*cached = columns->pattern[column] == pattern
		              ? dot(weighted(products, column), products->mean, columns->runs)
		              : dot_within(weighted(products, column), products->mean, columns->known[pattern],
		                           columns->runs);
	return *cached;
}

static double total(struct fm_products *products, unsigned pattern, unsigned *ret_used)
{
	const struct fm_columns *columns = products->columns;

	if (isnan(products->total[pattern])) {
		double sum = 0;
		unsigned used = 0;

		for (unsigned r = 0; r < columns->runs; r++)
			if (columns->known[pattern][r] && products->weight[r] > 0) {
				sum += products->weight[r] * products->mean[r] * products->mean[r];
				used++;
			}
		products->total[pattern] = sum;
		products->used[pattern] = used;
	}
	*ret_used = products->used[pattern];
	return products->total[pattern];
}

static unsigned pattern_of_mixtures(struct fm_columns *all, const struct fm_summand *mixtures, unsigned count)
{
	unsigned pattern = all->pattern[mixtures[0].columns[0]];

	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < mixtures[i].count; k++) {
			pattern = common(all, pattern, all->pattern[mixtures[i].columns[k]]);
			if (pattern == UINT32_MAX)
				return pattern;
		}
	return pattern;
}

static double cross_mixtures(struct fm_products *products, const struct fm_summand *a, const struct fm_summand *b,
                             unsigned pattern)
{
	double sum = 0;

	for (unsigned i = 0; i < a->count; i++)
		for (unsigned k = 0; k < b->count; k++)
			sum += a->signs[i] * b->signs[k] * cross(products, a->columns[i], b->columns[k], pattern);
	return sum;
}

double fm_products_fit(struct fm_products *products, const struct fm_summand *mixtures, unsigned count, bool one,
                       double *ret_coefficients, unsigned *ret_used)
{
	double matrix[FM_FIT_MAX][FM_FIT_MAX] = {{0}}, right[FM_FIT_MAX] = {0}, factor[FM_FIT_MAX][FM_FIT_MAX] = {{0}},
	       squares;
	unsigned pattern = pattern_of_mixtures(products->columns, mixtures, count);

	*ret_used = 0;
	if (pattern == UINT32_MAX)
		return INFINITY;
	squares = total(products, pattern, ret_used);
	for (unsigned i = 0; i < count; i++) {
		right[i] = 0;
		for (unsigned k = 0; k < mixtures[i].count; k++)
			right[i] += mixtures[i].signs[k] * with_mean(products, mixtures[i].columns[k], pattern);
		for (unsigned k = 0; k <= i; k++)
			matrix[i][k] = matrix[k][i] = cross_mixtures(products, &mixtures[i], &mixtures[k], pattern);
	}
	if (one && !(matrix[0][0] > 0))
		return INFINITY;
	if (one) {
		/* subtract the part that the first column explains */
		squares += matrix[0][0] - 2 * right[0];
		for (unsigned i = 1; i < count; i++)
			right[i] -= matrix[i][0];
		ret_coefficients[0] = 1;
	}
	/* Cholesky's method */
	for (unsigned i = one; i < count; i++) {
		double rest = matrix[i][i];

		for (unsigned k = one; k < i; k++) {
			double value = matrix[i][k];

			for (unsigned j = one; j < k; j++)
				value -= factor[i][j] * factor[k][j];
			factor[i][k] = value / factor[k][k];
			rest -= factor[i][k] * factor[i][k];
		}
		if (!(rest > 1e-6 * matrix[i][i]))
			return INFINITY;
		factor[i][i] = sqrt(rest);
		for (unsigned k = one; k < i; k++)
			right[i] -= factor[i][k] * right[k];
		right[i] /= factor[i][i];
		squares -= right[i] * right[i];
	}
	for (unsigned i = count; i-- > one;) {
		double value = right[i];

		for (unsigned k = i + 1; k < count; k++)
			value -= factor[k][i] * ret_coefficients[k];
		ret_coefficients[i] = value / factor[i][i];
	}
	return squares > 0 ? squares : 0;
}
