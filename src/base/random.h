/* A small seeded generator (xorshift128+): the same seed gives the same choices on every machine. Not for secrets. */
#ifndef FATHOM_BASE_RANDOM_H
#define FATHOM_BASE_RANDOM_H

#include <math.h>
#include <stdint.h>

struct fm_random {
	uint64_t state[2];
};

static inline uint64_t fm_random_next(struct fm_random *random)
{
	uint64_t x = random->state[0];
	const uint64_t y = random->state[1];

	random->state[0] = y;
	x ^= x << 23;
	random->state[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
	return random->state[1] + y;
}

static inline void fm_random_seed(struct fm_random *random, uint64_t seed)
{
	/* splitmix64 spreads small seeds over the state, which must not be zero */
	for (int i = 0; i < 2; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		random->state[i] = (z ^ (z >> 31)) | 1;
	}
}

/* Uniform in 0 … bound-1. The multiply-shift bias is below bound/2^64. */
static inline uint64_t fm_random_below(struct fm_random *random, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)fm_random_next(random) * bound) >> 64);
}

/* Uniform in (0, 1). */
static inline double fm_random_uniform(struct fm_random *random)
{
	return ((double)(fm_random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Normal with mean 0 and standard deviation 1. */
static inline double fm_random_normal(struct fm_random *random)
{
	double radius = sqrt(-2 * log(fm_random_uniform(random)));

	return radius * cos(6.283185307179586 * fm_random_uniform(random));
}

#endif
