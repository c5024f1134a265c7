/* Two factors with which observed parts add up to known sums. */
#ifndef FATHOM_BASE_BALANCE_H
#define FATHOM_BASE_BALANCE_H

/* Solves matrix × factors = sums. With too few observations (almost proportional rows, or a factor outside of 1/50 …
   50), both factors are 1. */
void fm_balance(const double matrix[2][2], const double sums[2], double ret_factors[2]);

#endif
