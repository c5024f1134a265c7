/* A line's last touch is a mark on a time axis, one bit per reference. The distance of a reuse is the number of marks
   after the line's own; the mark then moves to the end. Marks are counted in a tree of 16 children per node above words
   of 64 marks. Only the nodes between the old place and the lowest node that also covers the new one are read or
   changed, so a short reuse costs little however many lines there are. When the axis is full, the marks are moved
   together. */
#include "reuse/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/tuning.h"

enum { WORD_BITS = 6, NODE_BITS = 4, NODE = 1 << NODE_BITS, LEVELS_MAX = 7 };
enum { TABLE_FIRST = 1 << 12, AXIS_FIRST = 1 << 14 };

struct entry {
	uint64_t line; /* NO_LINE: free */
	uint32_t time;
};

#define NO_LINE UINT64_MAX

struct fm_stack_parts {
	struct entry *table;
	size_t mask;
	size_t lines;
	uint32_t lines_most;
	uint64_t threshold; /* hashes up to here belong to the sample */
	double share;

	uint64_t *words;
	uint32_t *counts[LEVELS_MAX]; /* counts[0]: marks per word; counts[l]: per 16 of the level below */
	unsigned levels;
	uint32_t now, end;

	uint64_t bins[FM_DISTANCE_BINS]; /* since the share last changed */
	uint64_t cold;
	uint64_t others; /* references to another line than the last, in the sample or not */
	struct fm_distances before;
};

static inline uint64_t mix(uint64_t line)
{
	line *= 0x9e3779b97f4a7c15u;
	line ^= line >> 32;
	line *= 0xd6e8feb86659fd93u;
	return line ^ line >> 32;
}

static void free_axis(struct fm_stack_parts *parts)
{
	free(parts->words);
	parts->words = NULL;
	for (unsigned level = 0; level < LEVELS_MAX; level++) {
		free(parts->counts[level]);
		parts->counts[level] = NULL;
	}
}

/* An empty axis for `size` references, a power of two. */
static int make_axis(struct fm_stack_parts *parts, uint32_t end)
{
	struct fm_stack_parts made = {.end = end};
	size_t nodes = end >> WORD_BITS;
	bool failed;

	made.words = calloc(nodes, sizeof(uint64_t));
	failed = !made.words;
	do {
		/* whole nodes: a sum reads all 16 */
		size_t room = (nodes + NODE - 1) / NODE * NODE;

		made.counts[made.levels] = aligned_alloc(64, room * sizeof(uint32_t));
		failed |= !made.counts[made.levels];
		if (made.counts[made.levels])
			memset(made.counts[made.levels], 0, room * sizeof(uint32_t));
		made.levels++;
		nodes = room / NODE;
	} while (nodes > 1);
	if (failed) {
		free_axis(&made);
		return -ENOMEM;
	}
	free_axis(parts);
	parts->words = made.words;
	memcpy(parts->counts, made.counts, sizeof(parts->counts));
	parts->levels = made.levels;
	parts->end = end;
	parts->now = 0;
	return 0;
}

/* The children of a node after one of them. */
static inline uint32_t sum_after(const uint32_t *node, unsigned child)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < NODE; i++)
		sum += i > child ? node[i] : 0;
	return sum;
}

/* Move a mark to the end; how many marks were behind it. */
static inline uint32_t move_mark(struct fm_stack_parts *parts, uint32_t from)
{
	uint32_t to = parts->now;
	size_t old = from >> WORD_BITS, new = to >> WORD_BITS;
	uint64_t bit = 1ull << (from & 63);
	uint32_t behind;

	parts->words[old] &= ~bit;
	behind = (uint32_t)__builtin_popcountll(parts->words[old] & -bit);
	parts->words[new] |= 1ull << (to & 63);
	for (unsigned level = 0; old != new; level++) {
		uint32_t *counts = parts->counts[level];

		/* in this order: a load of the whole node would wait for the store */
		behind += sum_after(counts + old / NODE * NODE, (unsigned)(old % NODE));
		counts[old]--;
		counts[new]++;
		old /= NODE;
		new /= NODE;
	}
	return behind;
}

static inline void add_mark(struct fm_stack_parts *parts)
{
	size_t node = parts->now >> WORD_BITS;

	parts->words[node] |= 1ull << (parts->now & 63);
	for (unsigned level = 0; level < parts->levels; level++) {
		parts->counts[level][node]++;
		node /= NODE;
	}
}

/* Marks 0 … count-1, as they are after they were moved together. */
static void fill_axis(struct fm_stack_parts *parts, uint32_t count)
{
	size_t nodes = parts->end >> WORD_BITS;

	for (size_t i = 0; i < nodes; i++) {
		uint32_t first = (uint32_t)i << WORD_BITS;
		uint32_t here = count <= first ? 0 : count - first < 64 ? count - first : 64;

		parts->words[i] = here == 64 ? UINT64_MAX : (1ull << here) - 1;
		parts->counts[0][i] = here;
	}
	for (unsigned level = 1; level < parts->levels; level++) {
		size_t below = (nodes + NODE - 1) / NODE * NODE;

		nodes = below / NODE;
		for (size_t i = 0; i < nodes; i++) {
			parts->counts[level][i] = 0;
			for (unsigned k = 0; k < NODE; k++)
				parts->counts[level][i] += parts->counts[level - 1][i * NODE + k];
		}
	}
	parts->now = count;
}

/* Weight spread evenly over distances from low to high. */
static void spread(double *bins, double low, double high, double weight)
{
	unsigned bin = fm_bin_of((uint64_t)low, FM_DISTANCE_BITS);

	while (bin < FM_DISTANCE_BINS - 1) {
		double end = fm_bin_low(bin + 1, FM_DISTANCE_BITS);

		if (end >= high)
			break;
		bins[bin++] += weight * (end - low) / (high - low);
		weight *= (high - end) / (high - low);
		low = end;
	}
	bins[bin] += weight;
}

/* The counts since the last change of the share, as references of the program. */
static void weigh(const struct fm_stack_parts *parts, struct fm_distances *sum)
{
	double scale = 1 / parts->share;

	for (unsigned bin = 0; bin < FM_DISTANCE_BINS; bin++) {
		/* a line in the sample at distance d has between d - 1/2 and d + 1/2 times 1/share others before it */
		double low = (fm_bin_low(bin, FM_DISTANCE_BITS) - 0.5) * scale;
		double high = (fm_bin_low(bin + 1, FM_DISTANCE_BITS) - 0.5) * scale;

		if (!parts->bins[bin])
			continue;
		if (parts->share == 1)
			sum->bins[bin] += (double)parts->bins[bin];
		else
			spread(sum->bins, low > 0 ? low : 0, high < 0x1p62 ? high : 0x1p62,
			       (double)parts->bins[bin] * scale);
	}
	sum->cold += (double)parts->cold * scale;
}

/* Take lines out of the sample until there is room. */
static void lower_share(struct fm_stack_parts *parts)
{
	weigh(parts, &parts->before);
	memset(parts->bins, 0, sizeof(parts->bins));
	parts->cold = 0;
	while (parts->lines > parts->lines_most) {
		parts->share *= SAMPLE_KEPT;
		parts->threshold = (uint64_t)(parts->share * 0x1p64);
		for (size_t i = 0; i <= parts->mask; i++) {
			struct entry *entry = &parts->table[i];

			if (entry->line == NO_LINE || mix(entry->line) <= parts->threshold)
				continue;
			parts->words[entry->time >> WORD_BITS] &= ~(1ull << (entry->time & 63));
			entry->line = NO_LINE;
			parts->lines--;
		}
	}
}

static inline struct entry *find(const struct fm_stack_parts *parts, uint64_t hash, uint64_t line)
{
	size_t i = hash & parts->mask;

	while (parts->table[i].line != line && parts->table[i].line != NO_LINE)
		i = (i + 1) & parts->mask;
	return &parts->table[i];
}

static struct entry *make_table(size_t size)
{
	struct entry *table = malloc(size * sizeof(*table));

	if (table)
		for (size_t i = 0; i < size; i++)
			table[i] = (struct entry){.line = NO_LINE};
	return table;
}

/* Room on the axis and in the table, both by what is followed now. */
static int make_room(struct fm_stack_parts *parts)
{
	size_t size = TABLE_FIRST, old_size = parts->mask + 1;
	uint32_t end = AXIS_FIRST, before = 0;
	uint32_t *marks_before;
	struct entry *table, *old = parts->table;

	if (parts->lines_most && parts->lines > parts->lines_most)
		lower_share(parts);
	/* at most half full, and three times as many references as lines until the next time */
	while (size < 2 * parts->lines)
		size *= 2;
	while (end < 4 * parts->lines && end < 1u << 31)
		end *= 2;
	if (parts->lines > end / 2)
		return -ENOMEM;
	marks_before = malloc((parts->end >> WORD_BITS) * sizeof(*marks_before));
	table = make_table(size);
	if (!marks_before || !table)
		goto none;
	for (uint32_t i = 0; i < parts->end >> WORD_BITS; i++) {
		marks_before[i] = before;
		before += (uint32_t)__builtin_popcountll(parts->words[i]);
	}
	parts->table = table;
	parts->mask = size - 1;
	for (size_t i = 0; i < old_size; i++) {
		uint32_t word = old[i].time >> WORD_BITS;
		struct entry *entry;

		if (old[i].line == NO_LINE)
			continue;
		entry = find(parts, mix(old[i].line), old[i].line);
		entry->line = old[i].line;
		entry->time = marks_before[word] +
		              (uint32_t)__builtin_popcountll(parts->words[word] & ((1ull << (old[i].time & 63)) - 1));
	}
	if (end != parts->end && make_axis(parts, end)) {
		parts->table = old;
		parts->mask = old_size - 1;
		goto none;
	}
	fill_axis(parts, (uint32_t)parts->lines);
	free(marks_before);
	free(old);
	return 0;
none:
	free(marks_before);
	free(table);
	return -ENOMEM;
}

int fm_stack_create(struct fm_stack *ret_stack, const struct fm_stack_options *options)
{
	struct fm_stack_parts *parts;

	if (!(options->share >= 0 && options->share <= 1))
		return -EINVAL;
	parts = calloc(1, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	parts->share = options->share > 0 ? options->share : 1;
	parts->threshold = parts->share < 1 ? (uint64_t)(parts->share * 0x1p64) : UINT64_MAX;
	parts->lines_most = options->lines_most;
	parts->table = make_table(TABLE_FIRST);
	parts->mask = TABLE_FIRST - 1;
	if (!parts->table || make_axis(parts, AXIS_FIRST)) {
		free(parts->table);
		free(parts);
		return -ENOMEM;
	}
	*ret_stack = (struct fm_stack){.last = NO_LINE, .parts = parts};
	return 0;
}

void fm_stack_free(struct fm_stack *stack)
{
	if (!stack->parts)
		return;
	free_axis(stack->parts);
	free(stack->parts->table);
	free(stack->parts);
	stack->parts = NULL;
}

static inline int touch(struct fm_stack *stack, uint64_t line, uint64_t hash)
{
	struct fm_stack_parts *parts = stack->parts;
	struct entry *entry;

	if (hash > parts->threshold) {
		parts->others++;
		stack->last = line;
		stack->distance = FM_DISTANCE_UNKNOWN;
		return 0;
	}
	if (__builtin_expect(parts->now == parts->end || 8 * parts->lines > 5 * parts->mask, 0)) {
		int status = make_room(parts);

		if (status)
			return status;
	}
	entry = find(parts, hash, line);
	if (entry->line == line) {
		uint32_t distance = move_mark(parts, entry->time);

		parts->bins[fm_bin_of(distance, FM_DISTANCE_BITS)]++;
		stack->distance = parts->share == 1 ? distance : (uint64_t)(distance / parts->share);
	} else {
		stack->distance = FM_DISTANCE_COLD;
		entry->line = line;
		add_mark(parts);
		parts->lines++;
		parts->cold++;
	}
	entry->time = parts->now++;
	parts->others++;
	stack->last = line;
	if (__builtin_expect(parts->lines_most && parts->lines > parts->lines_most, 0))
		return make_room(parts);
	return 0;
}

int fm_stack_touch_other(struct fm_stack *stack, uint64_t line)
{
	return touch(stack, line, mix(line));
}

int fm_stack_touch_all(struct fm_stack *stack, const uint64_t *lines, size_t count)
{
	/* far enough ahead for an entry to come from the last cache */
	enum { AHEAD = 8 };
	uint64_t hashes[AHEAD] = {0};

	for (size_t i = 0; i < count + AHEAD; i++) {
		uint64_t hash = hashes[i % AHEAD];

		if (i < count) {
			hashes[i % AHEAD] = mix(lines[i]);
			__builtin_prefetch(&stack->parts->table[hashes[i % AHEAD] & stack->parts->mask]);
		}
		if (i >= AHEAD) {
			uint64_t line = lines[i - AHEAD];

			if (line == stack->last) {
				stack->repeats++;
			} else {
				int status = touch(stack, line, hash);

				if (status)
					return status;
			}
		}
	}
	return 0;
}

void fm_stack_result(const struct fm_stack *stack, struct fm_distances *ret_distances)
{
	const struct fm_stack_parts *parts = stack->parts;
	struct fm_distances result = parts->before;
	double weighed;

	weigh(parts, &result);
	weighed = result.cold;
	for (unsigned bin = 0; bin < FM_DISTANCE_BINS; bin++)
		weighed += result.bins[bin];
	/* A sample that happens to hold the most used lines, or not to, weighs too much or too little. These lines have
	   the shortest distances: the difference belongs there. */
	result.bins[0] += (double)parts->others - weighed;
	result.bins[0] += (double)stack->repeats;
	result.references = (double)(parts->others + stack->repeats);
	*ret_distances = result;
}

double fm_stack_share(const struct fm_stack *stack)
{
	return stack->parts->share;
}

size_t fm_stack_lines(const struct fm_stack *stack)
{
	return stack->parts->lines;
}
