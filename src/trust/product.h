/* An upper triangular matrix times a vector in two threads, half of the rows each. The first thread has three quarters
   of the work. */
#ifndef FATHOM_TRUST_PRODUCT_H
#define FATHOM_TRUST_PRODUCT_H

#include <stddef.h>

struct fm_product {
	unsigned rows;
	double *matrix, *vector, *result; /* NULL: not created */
	size_t bytes;
};

/* Creates matrix and vectors. 0 or -ENOMEM. */
int fm_product_create(unsigned rows, struct fm_product *ret_product);
void fm_product_free(struct fm_product *product);

/* Computes the rows of thread 0 or 1, with 256-bit arithmetic where available. */
void fm_product_run(struct fm_product *product, unsigned thread);

#endif
