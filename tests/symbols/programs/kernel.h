static inline __attribute__((always_inline)) double add(const double *values, long i)
{
	return values[i] + 1; /* line of add */
}
