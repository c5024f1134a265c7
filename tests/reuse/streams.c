#include "reuse/streams.h"

#include <stdio.h>

/* A size in lines between two sizes in KiB, every octave alike. */
static double draw_size(struct stream *stream, double low, double high)
{
	return floor(16 * low * pow(high / low, fm_random_uniform(&stream->random)));
}

static uint64_t below(struct stream *stream, double lines)
{
	return fm_random_below(&stream->random, (uint64_t)lines);
}

static double kib(double lines)
{
	return lines / 16;
}

static const uint64_t elsewhere = 1ull << 32;

static void begin_random(struct stream *s)
{
	s->a = draw_size(s, 64, 65536);
	snprintf(s->words, sizeof(s->words), "%.0f KiB", kib(s->a));
}

static uint64_t next_random(struct stream *s)
{
	return below(s, s->a);
}

/* Several references to each line, as loops over arrays have. */
static void begin_sweep(struct stream *s)
{
	s->a = draw_size(s, 64, 16384);
	s->b = (double)(1 + below(s, 8));
	snprintf(s->words, sizeof(s->words), "%.0f KiB, %.0f per line", kib(s->a), s->b);
}

static uint64_t next_sweep(struct stream *s)
{
	return (uint64_t)((double)s->place / s->b) % (uint64_t)s->a;
}

static void begin_mix(struct stream *s)
{
	s->a = draw_size(s, 16, 1024);
	s->b = draw_size(s, 1024, 65536);
	s->c = 0.02 + 0.4 * fm_random_uniform(&s->random);
	snprintf(s->words, sizeof(s->words), "%.0f KiB, %.0f %% in %.0f KiB", kib(s->a), 100 * s->c, kib(s->b));
}

static uint64_t next_mix(struct stream *s)
{
	return fm_random_uniform(&s->random) < s->c ? elsewhere + below(s, s->b) : below(s, s->a);
}

static void begin_zipf(struct stream *s)
{
	s->a = draw_size(s, 4096, 65536);
	s->b = 0.5 + 0.45 * fm_random_uniform(&s->random);
	snprintf(s->words, sizeof(s->words), "%.0f KiB, exponent %.2f", kib(s->a), s->b);
}

static uint64_t next_zipf(struct stream *s)
{
	double e = 1 - s->b, u = fm_random_uniform(&s->random);

	return (uint64_t)pow(u * (pow(s->a + 1, e) - 1) + 1, 1 / e);
}

/* Three long phases: random, a sweep, random. */
static void begin_phases(struct stream *s)
{
	s->a = draw_size(s, 64, 1024);
	s->b = draw_size(s, 512, 16384);
	s->c = draw_size(s, 256, 16384);
	snprintf(s->words, sizeof(s->words), "%.0f, sweep %.0f, %.0f KiB", kib(s->a), kib(s->b), kib(s->c));
}

static uint64_t next_phases(struct stream *s)
{
	uint64_t phase = 3 * s->place / s->total;

	return phase == 0   ? below(s, s->a)
	       : phase == 1 ? elsewhere + s->place / 2 % (uint64_t)s->b
	                    : 2 * elsewhere + below(s, s->c);
}

/* Short phases that take turns: each comes again before the caches have forgotten it. */
static void begin_turns(struct stream *s)
{
	s->a = draw_size(s, 32, 512);
	s->b = draw_size(s, 512, 16384);
	s->c = exp2(12 + 8 * fm_random_uniform(&s->random));
	snprintf(s->words, sizeof(s->words), "%.0f and %.0f KiB, %.0f long", kib(s->a), kib(s->b), s->c);
}

static uint64_t next_turns(struct stream *s)
{
	return (uint64_t)((double)s->place / s->c) % 2 ? elsewhere + below(s, s->b) : below(s, s->a);
}

/* A matrix of doubles in rows, walked down the columns, with a vector as long as a column. */
static void begin_columns(struct stream *s)
{
	s->a = floor(exp2(9 + 5 * fm_random_uniform(&s->random))); /* rows */
	s->b = floor(exp2(7 + 4 * fm_random_uniform(&s->random))); /* columns */
	snprintf(s->words, sizeof(s->words), "%.0f x %.0f", s->a, s->b);
}

static uint64_t next_columns(struct stream *s)
{
	uint64_t step = s->place / 2, rows = (uint64_t)s->a, columns = (uint64_t)s->b;
	uint64_t row = step % rows, column = step / rows % columns;

	return s->place % 2 ? elsewhere + row / 8 : (row * columns + column) / 8;
}

/* Pointer chasing in a small set beside an array that is streamed through. */
static void begin_chase(struct stream *s)
{
	s->a = draw_size(s, 128, 1024);
	s->b = draw_size(s, 16384, 262144);
	s->c = 0.1 + 0.7 * fm_random_uniform(&s->random);
	s->n = 1;
	while (s->n < s->a)
		s->n *= 2;
	snprintf(s->words, sizeof(s->words), "%.0f KiB, %.0f %% streaming", kib((double)s->n), 100 * s->c);
}

static uint64_t next_chase(struct stream *s)
{
	if (fm_random_uniform(&s->random) < s->c)
		return elsewhere + s->j++ / 8 % (uint64_t)s->b;
	s->i = (s->i * 5 + 12345) % s->n; /* a full period: one cycle through all */
	return s->i;
}

/* C = A · B, the textbook's loops. */
static void begin_multiply(struct stream *s)
{
	s->n = 100 + below(s, 900);
	snprintf(s->words, sizeof(s->words), "n = %lu", (unsigned long)s->n);
}

static uint64_t next_multiply(struct stream *s)
{
	uint64_t step = s->place / 2, n = s->n, k = step % n, j = step / n % n, i = step / n / n % n;

	return s->place % 2 ? elsewhere + (k * n + j) / 8 : (i * n + k) / 8;
}

/* Searches in a tree that lies in memory level by level. */
static void begin_tree(struct stream *s)
{
	s->n = 1ull << (12 + below(s, 9));
	s->i = 1;
	snprintf(s->words, sizeof(s->words), "%.0f KiB", kib((double)s->n / 2));
}

static uint64_t next_tree(struct stream *s)
{
	uint64_t node = s->i;

	s->i = 2 * s->i + (fm_random_next(&s->random) >> 63);
	if (s->i >= s->n)
		s->i = 1;
	return node / 2;
}

const struct stream_kind stream_kinds[] = {
    {"random", begin_random, next_random},
    {"sweep", begin_sweep, next_sweep},
    {"mix", begin_mix, next_mix},
    {"zipf", begin_zipf, next_zipf},
    {"phases", begin_phases, next_phases},
    {"turns", begin_turns, next_turns},
    {"columns", begin_columns, next_columns},
    {"chase", begin_chase, next_chase},
    {"multiply", begin_multiply, next_multiply},
    {"tree", begin_tree, next_tree},
    {NULL, NULL, NULL},
};

void stream_start(struct stream *stream, const struct stream_kind *kind, uint64_t seed, uint64_t total)
{
	*stream = (struct stream){.total = total};
	fm_random_seed(&stream->random, seed);
	for (int i = 0; i < 8; i++)
		fm_random_next(&stream->random);
	kind->begin(stream);
}
