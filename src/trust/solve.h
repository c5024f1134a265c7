/* Small least-squares problems with weights. */
#ifndef FATHOM_TRUST_SOLVE_H
#define FATHOM_TRUST_SOLVE_H

#include <stdbool.h>

enum { FM_SOLVE_MAX = 64 };

/* Normal equations of a problem: column products, which any choice of columns can be solved from. */
struct fm_normal {
	unsigned columns;
	double matrix[FM_SOLVE_MAX][FM_SOLVE_MAX];
	double right[FM_SOLVE_MAX];
	double square; /* of the right-hand side */
};

void fm_normal_clear(struct fm_normal *normal, unsigned columns);

/* Add a row: what the columns are, what shall come out, and its weight. */
void fm_normal_add(struct fm_normal *normal, const double *row, double target, double weight);

/* The best coefficients, none of them negative, with all others zero: Lawson and Hanson's active sets over the chosen
   columns (bits). Returns the sum of weighted squares that remains. */
double fm_normal_solve(const struct fm_normal *normal, unsigned long long chosen, double *ret_coefficients);

#endif
