/* Small least-squares problems with weights. */
#ifndef FATHOM_TRUST_SOLVE_H
#define FATHOM_TRUST_SOLVE_H

#include <stdbool.h>

enum { FM_SOLVE_MAX = 64 };

/* Normal equations of a problem: column products, solvable for any choice of columns. */
struct fm_normal {
	unsigned columns;
	double matrix[FM_SOLVE_MAX][FM_SOLVE_MAX];
	double right[FM_SOLVE_MAX];
	double square; /* of the right-hand side */
};

void fm_normal_clear(struct fm_normal *normal, unsigned columns);

/* Adds a row: columns, target and weight. */
void fm_normal_add(struct fm_normal *normal, const double *row, double target, double weight);

/* The best non-negative coefficients of the `chosen` columns (bits), all others zero, by Lawson and Hanson's active
   sets. Returns the remaining weighted sum of squares. */
double fm_normal_solve(const struct fm_normal *normal, unsigned long long chosen, double *ret_coefficients);

#endif
