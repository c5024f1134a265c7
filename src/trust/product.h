/* An upper triangular matrix times a vector in two threads, half of the rows each: three quarters of the work are the
   first thread's. */
#ifndef FATHOM_TRUST_PRODUCT_H
#define FATHOM_TRUST_PRODUCT_H

#include <stddef.h>

struct fm_product {
	unsigned rows;
	double *matrix, *vector, *result; /* NULL: there is none */
	size_t bytes;
};

/* 0 or -ENOMEM. */
int fm_product_create(unsigned rows, struct fm_product *ret_product);
void fm_product_free(struct fm_product *product);

/* The rows of thread 0 or 1. With 256-bit arithmetic where the processor has it. */
void fm_product_run(struct fm_product *product, unsigned thread);

#endif
