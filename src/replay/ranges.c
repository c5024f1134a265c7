#include "replay/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A treap: a tree by address that is a heap by random priorities, so that it stays shallow whatever comes. Nodes are
   numbers in one array, 0 is none: a copy for a forked process is one memcpy. */
struct node {
	uint64_t begin, end;
	uint32_t value, priority, left, right;
};

struct fm_ranges {
	struct node *nodes;
	uint32_t used, room, root, unused; /* unused: list of freed ones, by `left` */
	size_t count;
	uint32_t random;
	void (*changed)(void *context, uint32_t value, int ranges);
	void *context;
};

struct fm_ranges *fm_ranges_create(void (*changed)(void *context, uint32_t value, int ranges), void *context)
{
	struct fm_ranges *ranges = calloc(1, sizeof(*ranges));

	if (ranges)
		*ranges = (struct fm_ranges){.used = 1, .random = 2463534242u, .changed = changed, .context = context};
	return ranges;
}

void fm_ranges_free(struct fm_ranges *ranges)
{
	if (ranges)
		free(ranges->nodes);
	free(ranges);
}

static void report(const struct fm_ranges *ranges, uint32_t value, int difference)
{
	if (ranges->changed)
		ranges->changed(ranges->context, value, difference);
}

struct fm_ranges *fm_ranges_copy(const struct fm_ranges *ranges, void *context)
{
	struct fm_ranges *copy = malloc(sizeof(*copy));
	struct fm_range range;

	if (!copy)
		return NULL;
	*copy = *ranges;
	copy->context = context;
	copy->room = ranges->used;
	copy->nodes = calloc(copy->room, sizeof(*copy->nodes));
	if (!copy->nodes) {
		free(copy);
		return NULL;
	}
	if (ranges->nodes)
		memcpy(copy->nodes, ranges->nodes, ranges->used * sizeof(*copy->nodes));
	for (bool more = fm_ranges_next(copy, 0, &range); more; more = fm_ranges_next(copy, range.end, &range))
		report(copy, range.value, 1);
	return copy;
}

size_t fm_ranges_count(const struct fm_ranges *ranges)
{
	return ranges->count;
}

/* Later steps cannot fail half-way then. */
static int make_room(struct fm_ranges *ranges, uint32_t wanted)
{
	uint32_t room = ranges->room ? 2 * ranges->room : 64;
	struct node *larger;

	if (ranges->room >= wanted && ranges->used <= ranges->room - wanted)
		return 0;
	larger = room < 1u << 31 ? reallocarray(ranges->nodes, room, sizeof(*larger)) : NULL;
	if (!larger)
		return -ENOMEM;
	ranges->nodes = larger;
	ranges->room = room;
	return 0;
}

static uint32_t make_node(struct fm_ranges *ranges, uint64_t begin, uint64_t end, uint32_t value)
{
	uint32_t node = ranges->unused;

	if (node)
		ranges->unused = ranges->nodes[node].left;
	else
		node = ranges->used++;
	ranges->random ^= ranges->random << 13;
	ranges->random ^= ranges->random >> 17;
	ranges->random ^= ranges->random << 5;
	ranges->nodes[node] = (struct node){.begin = begin, .end = end, .value = value, .priority = ranges->random};
	ranges->count++;
	report(ranges, value, 1);
	return node;
}

/* Those that begin before the address, and the others. */
static void split(struct fm_ranges *ranges, uint32_t tree, uint64_t address, uint32_t *before, uint32_t *others)
{
	while (tree) {
		struct node *node = &ranges->nodes[tree];

		if (node->begin < address) {
			*before = tree;
			before = &node->right;
			tree = node->right;
		} else {
			*others = tree;
			others = &node->left;
			tree = node->left;
		}
	}
	*before = *others = 0;
}

static uint32_t join(struct fm_ranges *ranges, uint32_t left, uint32_t right)
{
	uint32_t root, *place = &root;

	while (left && right) {
		struct node *first = &ranges->nodes[left], *second = &ranges->nodes[right];

		if (first->priority > second->priority) {
			*place = left;
			place = &first->right;
			left = first->right;
		} else {
			*place = right;
			place = &second->left;
			right = second->left;
		}
	}
	*place = left ? left : right;
	return root;
}

/* All nodes of a tree, freed: rotated to the right until there is a left-most one. */
static void free_tree(struct fm_ranges *ranges, uint32_t tree)
{
	while (tree) {
		struct node *node = &ranges->nodes[tree];
		uint32_t left = node->left;

		if (left) {
			node->left = ranges->nodes[left].right;
			ranges->nodes[left].right = tree;
			tree = left;
			continue;
		}
		left = node->right;
		report(ranges, node->value, -1);
		ranges->count--;
		node->left = ranges->unused;
		ranges->unused = tree;
		tree = left;
	}
}

static uint32_t last_of(const struct fm_ranges *ranges, uint32_t tree)
{
	while (tree && ranges->nodes[tree].right)
		tree = ranges->nodes[tree].right;
	return tree;
}

/* Takes [begin, end) out, and puts `value` there unless it is FM_RANGES_NONE. */
static int replace(struct fm_ranges *ranges, uint64_t begin, uint64_t end, uint32_t value)
{
	uint32_t before, covered, after, last, rest = 0, made = 0;

	if (begin >= end)
		return 0;
	if (make_room(ranges, 2))
		return -ENOMEM;
	split(ranges, ranges->root, begin, &before, &covered);
	split(ranges, covered, end, &covered, &after);
	/* the last one covered may go on behind the end; without one, the one before may */
	last = last_of(ranges, covered ? covered : before);
	if (last && ranges->nodes[last].end > end)
		rest = make_node(ranges, end, ranges->nodes[last].end, ranges->nodes[last].value);
	last = last_of(ranges, before);
	if (last && ranges->nodes[last].end > begin)
		ranges->nodes[last].end = begin;
	if (value != FM_RANGES_NONE)
		made = make_node(ranges, begin, end, value);
	free_tree(ranges, covered);
	ranges->root = join(ranges, join(ranges, before, made), join(ranges, rest, after));
	return 0;
}

int fm_ranges_put(struct fm_ranges *ranges, uint64_t begin, uint64_t end, uint32_t value)
{
	return replace(ranges, begin, end, value);
}

int fm_ranges_remove(struct fm_ranges *ranges, uint64_t begin, uint64_t end)
{
	return replace(ranges, begin, end, FM_RANGES_NONE);
}

void fm_ranges_clear(struct fm_ranges *ranges)
{
	free_tree(ranges, ranges->root);
	ranges->root = 0;
}

static bool give(const struct fm_ranges *ranges, uint32_t found, struct fm_range *ret_range)
{
	const struct node *node = found ? &ranges->nodes[found] : NULL;

	if (node)
		*ret_range = (struct fm_range){node->begin, node->end, node->value};
	return node != NULL;
}

bool fm_ranges_find(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range)
{
	uint32_t tree = ranges->root, found = 0;

	while (tree) {
		if (ranges->nodes[tree].begin <= address) {
			found = tree;
			tree = ranges->nodes[tree].right;
		} else {
			tree = ranges->nodes[tree].left;
		}
	}
	return found && address < ranges->nodes[found].end && give(ranges, found, ret_range);
}

bool fm_ranges_next(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range)
{
	uint32_t tree = ranges->root, found = 0;

	while (tree) {
		if (ranges->nodes[tree].begin >= address) {
			found = tree;
			tree = ranges->nodes[tree].left;
		} else {
			tree = ranges->nodes[tree].right;
		}
	}
	return give(ranges, found, ret_range);
}
