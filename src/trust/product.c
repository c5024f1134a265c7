#include "trust/product.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

int fm_product_create(unsigned rows, struct fm_product *ret_product)
{
	size_t count = (size_t)rows * rows + 2 * (size_t)rows, bytes = count * sizeof(double);
	double *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(ret_product, 0, sizeof(*ret_product));
	if (memory == MAP_FAILED)
		return -ENOMEM;
	*ret_product =
	    (struct fm_product){.rows = rows, .matrix = memory, .vector = memory + (size_t)rows * rows, .bytes = bytes};
	ret_product->result = ret_product->vector + rows;
	for (size_t i = 0; i < count; i++)
		memory[i] = 1;
	return 0;
}

void fm_product_free(struct fm_product *product)
{
	if (product->matrix)
		munmap(product->matrix, product->bytes);
	memset(product, 0, sizeof(*product));
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double row_wide(const double *row, const double *vector, size_t from,
                                                           size_t to)
{
	__m256d sums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()}, sum;
	double tail = 0, parts[4];
	size_t i = from;

	for (; i < to && i % 4; i++)
		tail += row[i] * vector[i];
	for (unsigned k = 0; i + 4 <= to; i += 4, k++)
		sums[k % 4] = _mm256_fmadd_pd(_mm256_load_pd(row + i), _mm256_load_pd(vector + i), sums[k % 4]);
	for (; i < to; i++)
		tail += row[i] * vector[i];
	sum = _mm256_add_pd(_mm256_add_pd(sums[0], sums[1]), _mm256_add_pd(sums[2], sums[3]));
	_mm256_storeu_pd(parts, sum);
	return tail + parts[0] + parts[1] + parts[2] + parts[3];
}
#endif

static double row_narrow(const double *row, const double *vector, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += row[i] * vector[i];
	return sum;
}

void fm_product_run(struct fm_product *product, unsigned thread)
{
	size_t rows = product->rows, begin = thread ? rows / 2 : 0, end = thread ? rows : rows / 2;
	double (*row)(const double *, const double *, size_t, size_t) = row_narrow;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && rows % 4 == 0)
		row = row_wide;
#endif
	for (size_t i = begin; i < end; i++)
		product->result[i] = row(product->matrix + i * rows, product->vector, i, rows);
}
