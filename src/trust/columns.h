/* Columns of truth and their products, to which stories and combinations are fitted.

   A column is a number for every run: a quantity, a part of one, the work of another core, or a constant. Some columns
   are unknown in some runs: products use only the runs in which all columns of a fit are known (a pattern of runs).
   Columns depend on the matrix alone and are made once. Products depend on the event and are computed on demand. */
#ifndef FATHOM_TRUST_COLUMNS_H
#define FATHOM_TRUST_COLUMNS_H

#include "trust/matrix.h"

enum { FM_FIT_MAX = 4, FM_COLUMNS_MAX = 1024, FM_PATTERNS_MAX = 32, FM_GROUPS_MAX = 16, FM_MIXTURE_MAX = 3 };

/* The condition under which a conditional event is wrong. */
enum fm_condition {
#define CONDITION(identifier, test, words) FM_CONDITION_##identifier,
#include "trust/conditions.def"
#undef CONDITION
	FM_CONDITION_COUNT
};

const char *fm_condition_words(enum fm_condition condition);
bool fm_condition_holds(enum fm_condition condition, const struct fm_run *run);

/* Parts of a quantity that an event may count differently: atoms of one kind, wide accesses. */
struct fm_groups {
	uint64_t atoms[FM_GROUPS_MAX];
	unsigned count;
};

struct fm_columns {
	const struct fm_matrix *matrix;
	bool socket;
	unsigned runs;
	uint64_t occur; /* atoms that occur in any run */
	/* [column]: values, 0 where unknown; the pattern of runs in which the column is known */
	double *values[FM_COLUMNS_MAX];
	unsigned pattern[FM_COLUMNS_MAX];
	unsigned count;
	unsigned char *known[FM_PATTERNS_MAX]; /* [pattern][run] */
	unsigned pattern_count;
	unsigned both[FM_PATTERNS_MAX][FM_PATTERNS_MAX]; /* the pattern of runs in both patterns */
	int one;                                         /* column of the constant */
	/* by quantity; -1: no column */
	int quantity[FM_QUANTITIES_MAX];
	int others[FM_QUANTITIES_MAX]; /* of one other core, average */
	int under[FM_QUANTITIES_MAX][FM_CONDITION_COUNT];
	struct fm_groups groups[FM_QUANTITIES_MAX];
	int part[FM_QUANTITIES_MAX][FM_GROUPS_MAX];
	unsigned *by_rate[FM_QUANTITIES_MAX]; /* runs with a count of the quantity, fastest first */
	unsigned rated[FM_QUANTITIES_MAX];
	double *logarithm[FM_QUANTITIES_MAX];
	double most[FM_QUANTITIES_MAX]; /* maximum over the runs */
};

/* Makes the columns of a matrix. NULL without memory. */
struct fm_columns *fm_columns_create(const struct fm_matrix *matrix, bool socket);
void fm_columns_free(struct fm_columns *columns);

/* Is the truth of the quantity known for one core, if the event is of one core? */
bool fm_columns_applies(const struct fm_columns *columns, unsigned quantity);

/* Products of the columns with weights and counts of one event. */
struct fm_products {
	struct fm_columns *columns;
	const double *weight, *mean; /* weight 0: the run is excluded */
	double *weighted;            /* [column * runs], computed on demand */
	bool *has;
	double *cross;              /* [column * columns + column], NaN: not computed */
	double *square, *with_mean; /* [column * patterns + pattern] */
	double total[FM_PATTERNS_MAX];
	unsigned used[FM_PATTERNS_MAX];
};

int fm_products_create(struct fm_columns *columns, struct fm_products *ret_products);
void fm_products_free(struct fm_products *products);
/* Replaces weights and counts. */
void fm_products_set(struct fm_products *products, const double *weight, const double *mean);

/* A sum or difference of columns, fitted with one coefficient. */
struct fm_summand {
	int columns[FM_MIXTURE_MAX];
	double signs[FM_MIXTURE_MAX];
	unsigned count;
};

/* Least squares with these mixtures. With `one` the first has the coefficient 1. Returns the weighted squares that
   remain, over `*ret_used` runs; INFINITY when the mixtures depend on each other. */
double fm_products_fit(struct fm_products *products, const struct fm_summand *mixtures, unsigned count, bool one,
                       double *ret_coefficients, unsigned *ret_used);

#endif
