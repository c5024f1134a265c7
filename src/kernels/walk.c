#include "kernels/walk.h"

enum {
	PAGE = 4096,
	PAGE_LINES = PAGE / FM_LINE_BYTES,
	PAGES = FM_WALK_BYTES / PAGE,
	BLOCK_PAGES = 16, /* that a run of the largest stride takes */
	BLOCKS = PAGES / BLOCK_PAGES,
	VISITS_MAX = 4096,

	PAIR_GROUPS = 8,
	PAIRS = 16,
	CROSSINGS = 16,
	CROSSING_BEFORE = 28,
	CROSSING_AFTER = 4,
	AHEAD_GROUPS = 4,
	AHEAD_PLACES = FM_WALK_AHEAD_PLACES / AHEAD_GROUPS,
	AHEAD_TRAINED = FM_WALK_AHEAD_STEPS - 2,
	RUNS = 16,
	RUN = 32,
	UNEVEN_RUN = 64,
	STREAM_LINES = 32,
	STREAM_VISITS = 512,
	DENSE_VISITS = 1024,
	DENSE_PAGES = 4, /* at a time: as many as any prefetcher follows */
	DENSE_FEW = 4,   /* lines of a page, too few to be of use to each other */
};

const unsigned fm_walk_chain_counts[FM_WALK_CHAIN_COUNTS] = {1, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32};

static const struct {
	const char *name;
	bool single;
	unsigned count;
	unsigned char values[FM_WALK_VALUES_MAX];
} kinds[FM_WALK_KINDS] = {
#define WALK_chase false
#define WALK_single true
#define WALK(identifier, family, words, ...) \
	{#identifier, WALK_##family, sizeof((unsigned char[]){__VA_ARGS__}), {__VA_ARGS__}},
#include "kernels/walks.def"
#undef WALK
};

const char *fm_walk_name(enum fm_walk_kind kind)
{
	return kinds[kind].name;
}

unsigned fm_walk_values(enum fm_walk_kind kind)
{
	return kinds[kind].count;
}

unsigned fm_walk_value(enum fm_walk_kind kind, unsigned index)
{
	return kinds[kind].values[index];
}

fm_kernel_function fm_walk_function(enum fm_walk_kind kind)
{
	return kinds[kind].single ? fm_kernel_chase_dependent[0] : fm_kernel_chase;
}

/* The lines of a walk in their order, as numbers from the beginning of the memory. One that is visited for the second
   time has another pointer for that. */
#define AGAIN 0x80000000u
struct route {
	uint64_t random;
	unsigned count;
	uint32_t lines[VISITS_MAX];
	uint16_t deck[PAGES]; /* pages or blocks of them, in random order */
};

static unsigned draw(struct route *route, unsigned limit)
{
	route->random = route->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((route->random >> 33) % limit);
}

static void visit(struct route *route, unsigned page, unsigned line)
{
	route->lines[route->count++] = (page * PAGE_LINES) + line;
}

/* The lines from `first` on, in random order. */
static void shuffle(struct route *route, unsigned first)
{
	for (unsigned i = route->count; i-- > first + 1;) {
		unsigned other = first + draw(route, i - first + 1);
		uint32_t line = route->lines[i];

		route->lines[i] = route->lines[other];
		route->lines[other] = line;
	}
}

static void deal(struct route *route, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		route->deck[i] = (uint16_t)i;
	for (unsigned i = count; i-- > 1;) {
		unsigned other = draw(route, i + 1);
		uint16_t one = route->deck[i];

		route->deck[i] = route->deck[other];
		route->deck[other] = one;
	}
}

static uint32_t second_of(struct route *route, uint32_t line, unsigned value)
{
	enum { FAR = PAGE_LINES / 4 };

	if (value == 2)
		return line / PAGE_LINES * PAGE_LINES + (line + FAR + draw(route, 2 * FAR)) % PAGE_LINES;
	return value == 0 ? line | AGAIN : value == 4 ? line + 1 : line ^ 1;
}

/* First lines of some pairs, then, in the same order, the second ones: they have had time to arrive. */
static void lay_pairs(struct route *route, unsigned value)
{
	unsigned next = 0;

	deal(route, PAGES);
	for (unsigned group = 0; group < PAIR_GROUPS; group++) {
		unsigned first = route->count;

		for (unsigned i = 0; i < PAIRS; i++)
			visit(route, route->deck[next++], 2 * draw(route, PAGE_LINES / 2 - 1) + (value > 2));
		for (unsigned i = 0; i < PAIRS; i++)
			visit(route, 0, second_of(route, route->lines[first + i], value));
	}
}

static void lay_crossing(struct route *route, unsigned value)
{
	/* two pages each, of which the second one of another place is where a stream may go on, too */
	deal(route, PAGES / 2);
	for (unsigned i = 0; i < CROSSINGS; i++) {
		unsigned page = 2u * route->deck[i], other = 2u * route->deck[CROSSINGS + i] + 1;

		for (unsigned k = PAGE_LINES - CROSSING_BEFORE; k < PAGE_LINES; k++)
			visit(route, page, k);
		for (unsigned k = 0; k < CROSSING_AFTER; k++)
			visit(route,
			      value == 0   ? page
			      : value == 1 ? page + 1
			                   : other,
			      value ? k : (PAGE_LINES - CROSSING_BEFORE + k) | AGAIN);
	}
}

/* Streams, some misses elsewhere until all that was asked for has arrived, then a line ahead of each stream. */
static void lay_ahead(struct route *route, unsigned value)
{
	unsigned next = AHEAD_GROUPS * AHEAD_PLACES;

	deal(route, PAGES);
	for (unsigned group = 0; group < AHEAD_GROUPS; group++) {
		const uint16_t *pages = route->deck + group * AHEAD_PLACES;

		for (unsigned i = 0; i < AHEAD_PLACES; i++)
			for (unsigned k = 0; k < AHEAD_TRAINED; k++)
				visit(route, pages[i], k);
		for (unsigned i = 0; i < AHEAD_PLACES; i++)
			visit(route, route->deck[next++], draw(route, PAGE_LINES));
		for (unsigned i = 0; i < AHEAD_PLACES; i++)
			if (value > FM_WALK_AHEAD_MOST)
				visit(route, route->deck[next++], draw(route, PAGE_LINES));
			else
				visit(route, pages[i], AHEAD_TRAINED - 1 + value);
	}
}

static void lay_runs(struct route *route, unsigned stride, bool shuffled)
{
	deal(route, BLOCKS);
	for (unsigned run = 0; run < RUNS; run++) {
		unsigned first = route->count;

		for (unsigned i = 0; i < RUN; i++)
			visit(route, BLOCK_PAGES * route->deck[run], i * stride);
		if (shuffled)
			shuffle(route, first);
	}
}

/* Lines one after the other, of which each may be put off by up to three: steps of two back to four on. */
static void lay_back(struct route *route, unsigned page)
{
	enum { PUT_OFF = 3 };
	unsigned seen = 0; /* of the last lines, a bit for each */

	for (unsigned i = 0, visited = 0; visited < UNEVEN_RUN; i++, seen >>= 1) {
		unsigned off = draw(route, PUT_OFF + 1);

		if (seen & 1u << off)
			continue;
		seen |= 1u << off;
		visit(route, page, i + off);
		visited++;
	}
}

/* Over several pages, which the same stream goes through. */
static void lay_uneven(struct route *route, unsigned most)
{
	deal(route, BLOCKS);
	for (unsigned run = 0; run < RUNS; run++) {
		unsigned page = BLOCK_PAGES * route->deck[run], line = 0;

		if (most == FM_WALK_BACK) {
			lay_back(route, page);
			continue;
		}
		for (unsigned i = 0; i < UNEVEN_RUN; i++) {
			visit(route, page, line);
			line += 1 + draw(route, most);
		}
	}
}

/* Pages that follow each other, for prefetchers that find their places by the page; lines that do not all fall into the
   same sets. */
static void lay_streams(struct route *route, unsigned streams)
{
	enum { AREAS = PAGES / FM_WALK_STREAMS_MOST };

	deal(route, AREAS);
	for (unsigned area = 0; area < AREAS && route->count < STREAM_VISITS; area++)
		for (unsigned line = 0; line < STREAM_LINES; line++)
			for (unsigned i = 0; i < streams; i++)
				visit(route, FM_WALK_STREAMS_MOST * route->deck[area] + i, i * 5 % 16 + line);
}

/* Lines of few pages at random, then of others. The few lines of a page are even ones, too: none brings along another
   one of its 128 bytes. */
static void lay_dense(struct route *route, unsigned value)
{
	unsigned step = value == 2 ? 1 : 2, pages = value > 2 ? value : DENSE_PAGES, next = 0;

	deal(route, PAGES);
	while (route->count < DENSE_VISITS) {
		unsigned first = route->count;

		for (unsigned i = 0; i < pages; i++, next++) {
			unsigned begin = route->count;

			for (unsigned line = 0; line < PAGE_LINES; line += step)
				visit(route, route->deck[next], line);
			if (!value) {
				shuffle(route, begin);
				route->count = begin + DENSE_FEW;
			}
		}
		shuffle(route, first);
	}
}

static void lay_strides(struct route *route, unsigned stride)
{
	lay_runs(route, stride, false);
}

static void lay_shuffled(struct route *route, unsigned stride)
{
	lay_runs(route, stride, true);
}

#define lay_instruction_strides lay_strides
static void (*const lay_route[FM_WALK_KINDS])(struct route *route, unsigned value) = {
#define WALK(identifier, ...) lay_##identifier,
#include "kernels/walks.def"
#undef WALK
};

uint64_t fm_walk_steps(enum fm_walk_kind kind, unsigned value)
{
	static const unsigned steps[FM_WALK_KINDS] = {
	    [FM_WALK_pairs] = 2 * PAIRS * PAIR_GROUPS,
	    [FM_WALK_crossing] = CROSSINGS * (CROSSING_BEFORE + CROSSING_AFTER),
	    [FM_WALK_ahead] = AHEAD_GROUPS * AHEAD_PLACES * FM_WALK_AHEAD_STEPS,
	    [FM_WALK_strides] = RUNS * RUN,
	    [FM_WALK_instruction_strides] = RUNS * RUN,
	    [FM_WALK_shuffled] = RUNS * RUN,
	    [FM_WALK_dense] = DENSE_VISITS,
	    [FM_WALK_uneven] = RUNS * UNEVEN_RUN,
	};
	unsigned turn = STREAM_LINES * value, dense = PAGE_LINES / 2 * value;

	if (kind == FM_WALK_dense && dense > DENSE_VISITS)
		return dense;
	return kind == FM_WALK_streams ? (STREAM_VISITS + turn - 1) / turn * turn : steps[kind];
}

static void store_past(void *place, void *value)
{
#ifdef __x86_64__
	__builtin_ia32_movnti64((long long *)place, (long long)value);
#else
	*(void **)place = value;
#endif
}

static void wait_for_stores(void)
{
#ifdef __x86_64__
	__builtin_ia32_mfence();
#endif
}

/* Earlier prefetches would leave room for more. */
static void clear_ahead(const struct route *route, char *memory)
{
	for (unsigned i = 0; i < AHEAD_GROUPS * AHEAD_PLACES; i++)
		for (unsigned k = 0; k < PAGE_LINES; k++)
			store_past(memory + (size_t)route->deck[i] * PAGE + (size_t)k * FM_LINE_BYTES, NULL);
}

static char *place_of(const struct route *route, char *memory, unsigned index)
{
	uint32_t line = route->lines[index];

	return memory + (size_t)(line & ~AGAIN) * FM_LINE_BYTES + (line & AGAIN ? sizeof(void *) : 0);
}

static void *link_route(const struct route *route, char *memory)
{
	char *first = place_of(route, memory, 0), *place = first;

	for (unsigned i = 0; i < route->count; i++) {
		char *next = i + 1 < route->count ? place_of(route, memory, i + 1) : first;

		store_past(place, next);
		place = next;
	}
	wait_for_stores();
	return first;
}

/* Measurements are made by one thread. */
static struct route route;

uint64_t fm_walk_lay(enum fm_walk_kind kind, unsigned value, void *memory, uint64_t seed, void **ret_start)
{
	route.random = seed;
	route.count = 0;
	lay_route[kind](&route, value);
	if (kind == FM_WALK_ahead)
		clear_ahead(&route, memory);
	*ret_start = link_route(&route, memory);
	return route.count;
}

uint64_t fm_walk_lay_parallel(unsigned chains, bool neighbours, void *memory, uint64_t seed, void **ret_starts)
{
	enum { PAIR_LINES = 2048, EACH = FM_WALK_IN_PARALLEL };
	unsigned steps = EACH / chains;

	route.random = seed;
	route.count = 0;
	for (unsigned i = 0; i < PAIR_LINES; i++)
		visit(&route, 0, 2 * i);
	shuffle(&route, 0);
	for (unsigned i = 0; i < EACH; i++) {
		char *neighbour = place_of(&route, memory, i) + FM_LINE_BYTES;

		if (neighbours)
			(void)*(volatile char *)neighbour;
		else
			store_past(neighbour, NULL);
	}
	for (unsigned chain = 0; chain < chains; chain++) {
		unsigned first = chain * steps;

		for (unsigned i = 0; i < steps; i++)
			store_past(place_of(&route, memory, first + i),
			           place_of(&route, memory, first + (i + 1) % steps));
		ret_starts[chain] = place_of(&route, memory, first);
	}
	wait_for_stores();
	return steps;
}

uint64_t fm_walk_lay_streams(void *memory, uint64_t seed, void **ret_starts)
{
	enum { EACH = FM_WALK_STREAM_LINES, AREAS = PAGES / FM_WALK_STREAMS_MOST };

	route.random = seed;
	deal(&route, AREAS);
	for (unsigned chain = 0; chain < FM_WALK_STREAMS; chain++) {
		/* they come to the ends of their pages at different times */
		char *first = (char *)memory + (size_t)(route.deck[chain] * FM_WALK_STREAMS_MOST + 3 * chain) * PAGE +
		              (size_t)(5 * chain) * FM_LINE_BYTES;

		for (unsigned i = 0; i < EACH; i++)
			store_past(first + (size_t)i * FM_LINE_BYTES, first + (size_t)(i + 1) % EACH * FM_LINE_BYTES);
		ret_starts[chain] = first;
	}
	wait_for_stores();
	return EACH;
}
