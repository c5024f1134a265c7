/* Programs whose waiting for cache lines is known by shrinking: the same instructions on data that fit the first cache.
   laboratory KIND BYTES ITERATIONS. Prints a sum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static char *bytes;
static size_t size; /* a power of two */

static double sums(long n)
{
	const double *a = (const double *)bytes;
	double s = 0, t = 0;

	for (size_t i = 0, m = size / 8 - 1; n--; i += 2) {
		s += a[i & m];
		t += a[(i + 1) & m];
	}
	return s + t;
}

static double strides(long n)
{
	const double *a = (const double *)bytes;
	double s = 0;

	for (size_t i = 0, m = size / 8 - 1; n--; i += 16)
		s += a[i & m];
	return s;
}

static double chase(long n)
{
	const uint64_t *a = (const uint64_t *)bytes;
	uint64_t at = 0;

	while (n--)
		at = a[at];
	return (double)at;
}

static double gather(long n)
{
	const double *a = (const double *)bytes;
	double s = 0;
	uint64_t at = 1;

	for (size_t m = size / 8 - 1; n--;) {
		at = at * 6364136223846793005u + 1442695040888963407u;
		s += a[at >> 20 & m];
	}
	return s;
}

static double scale(long n)
{
	double *a = (double *)bytes;

	for (size_t i = 0, m = size / 8 - 1; n--; i++)
		a[i & m] = a[i & m] * 0.999 + 1;
	return a[5];
}

static double polynomials(long n)
{
	const double *a = (const double *)bytes;
	double s = 0;

	for (size_t i = 0, m = size / 8 - 1; n--; i += 8) {
		double x = a[i & m] * 1e-9, p = 1;

		for (int k = 0; k < 10; k++)
			p = p * x + 0.5;
		s += p;
	}
	return s;
}

static double searches(long n)
{
	const uint64_t *a = (const uint64_t *)bytes;
	size_t count = size / 8;
	double s = 0;

	while (n--) {
		uint64_t wanted = next() & (size - 1);
		size_t low = 0;

		for (size_t step = count / 2; step; step /= 2)
			low += a[low + step - 1] < wanted ? step : 0;
		s += (double)(low & 7);
	}
	return s;
}

static double buckets(long n)
{
	uint32_t *a = (uint32_t *)bytes;

	for (size_t m = size / 4 - 1; n--;)
		a[next() & m]++;
	return a[7];
}

static double branches(long n)
{
	const uint64_t *a = (const uint64_t *)bytes;
	double s = 0;

	for (size_t m = size / 8 - 1; n--;) {
		uint64_t r = next();

		if (r & 1)
			s += (double)(a[r >> 8 & m] & 3);
		else
			s -= 1;
	}
	return s;
}

static double copies(long n)
{
	size_t half = size / 2;

	for (size_t i = 0, m = half - 1; n--; i += 256)
		memcpy(bytes + half + (i & m), bytes + (i & m), 256);
	return bytes[9];
}

static const struct {
	const char *name;
	double (*run)(long n);
} kinds[] = {{"sums", sums},         {"strides", strides}, {"chase", chase},
             {"gather", gather},     {"scale", scale},     {"polynomials", polynomials},
             {"searches", searches}, {"buckets", buckets}, {"branches", branches},
             {"copies", copies}};

int main(int count, char **arguments)
{
	size_t words;
	uint64_t *a;

	if (count < 4)
		return 2;
	size = strtoul(arguments[2], NULL, 0);
	words = size / 8;
	if (size < 1024 || size & (size - 1) || !(bytes = aligned_alloc(4096, size)))
		return 2;
	a = (uint64_t *)bytes;
	for (size_t i = 0; i < words; i++)
		a[i] = i;
	if (!strcmp(arguments[1], "chase")) /* one cycle through all words */
		for (size_t i = words - 1; i; i--) {
			size_t other = next() % i;
			uint64_t kept = a[i];

			a[i] = a[other];
			a[other] = kept;
		}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(arguments[1], kinds[i].name)) {
			printf("%g\n", kinds[i].run(strtol(arguments[3], NULL, 0)));
			return 0;
		}
	return 2;
}
