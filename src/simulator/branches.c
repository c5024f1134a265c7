#include "simulator/branches.h"

#include <stdlib.h>

enum {
	BASE_BITS = 13,
	TABLE_BITS = 11,
	TAG_BITS = 12,
	TABLES = 6,
	TARGET_BITS = 11,
	USEFUL_MAX = 3,
	STRENGTH_MAX = 3, /* of a counter from -4 to 3: not negative is taken */
	STRENGTH_MIN = -4,
	AGING = 1 << 15, /* branches until entries are less useful than they were */
};

/* Branches before this one that are looked at. */
static const unsigned lengths[TABLES] = {4, 9, 20, 44, 80, 128};

struct entry {
	uint16_t tag;
	int8_t strength;
	uint8_t useful;
};

struct target {
	uint32_t tag;
	uint8_t sure;
	uint64_t target;
};

struct fm_branches {
	uint64_t history[2]; /* the latest branch in the lowest bit of the first */
	uint64_t random;
	unsigned seen;
	int8_t base[1 << BASE_BITS];
	struct entry tables[TABLES][1 << TABLE_BITS];
	struct target by_history[1 << TARGET_BITS], by_address[1 << TARGET_BITS];
};

struct fm_branches *fm_branches_create(void)
{
	struct fm_branches *branches = calloc(1, sizeof(*branches));

	if (branches)
		branches->random = 0x9e3779b97f4a7c15u;
	return branches;
}

void fm_branches_destroy(struct fm_branches *branches)
{
	free(branches);
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93u;
	return value ^ value >> 32;
}

static uint64_t hash_of(const struct fm_branches *branches, uint64_t address, unsigned length)
{
	uint64_t first = length < 64 ? branches->history[0] & ((1ull << length) - 1) : branches->history[0],
	         second = length <= 64   ? 0
	                  : length < 128 ? branches->history[1] & ((1ull << (length - 64)) - 1)
	                                 : branches->history[1];

	return mix(mix(first + 0x9e3779b97f4a7c15u * length) ^ second * 0xa0761d6478bd642fu ^ mix(address));
}

static void remember(struct fm_branches *branches, unsigned bit)
{
	branches->history[1] = branches->history[1] << 1 | branches->history[0] >> 63;
	branches->history[0] = branches->history[0] << 1 | (bit & 1);
}

static uint64_t next_random(struct fm_branches *branches)
{
	uint64_t x = branches->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return branches->random = x;
}

static void learn(int8_t *strength, bool taken, int most, int least)
{
	if (taken && *strength < most)
		++*strength;
	else if (!taken && *strength > least)
		--*strength;
}

/* The longest history that knows the branch, and the one that would have decided without it. */
struct found {
	struct entry *entries[TABLES];
	uint16_t tags[TABLES];
	int provider; /* -1: the base */
	bool predicted, otherwise;
	int8_t *base;
};

static void look_up(struct fm_branches *branches, uint64_t address, struct found *ret)
{
	ret->base = &branches->base[mix(address) & ((1 << BASE_BITS) - 1)];
	ret->provider = -1;
	ret->predicted = ret->otherwise = *ret->base >= 0;
	for (int i = 0; i < TABLES; i++) {
		uint64_t hash = hash_of(branches, address, lengths[i]);

		ret->tags[i] = (uint16_t)(1 + (hash >> 40) % ((1 << TAG_BITS) - 1));
		ret->entries[i] = &branches->tables[i][hash & ((1 << TABLE_BITS) - 1)];
		if (ret->entries[i]->tag != ret->tags[i])
			continue;
		ret->provider = i;
		ret->otherwise = ret->predicted;
		ret->predicted = ret->entries[i]->strength >= 0;
	}
}

/* A branch that was not foreseen gets an entry with a longer history, if there is one that nobody needs. */
static void give_entry(struct fm_branches *branches, struct found *found, bool taken)
{
	int from = found->provider + 1;

	/* now and then a longer one than the next, so that not all go for the same */
	if (from < TABLES - 1 && next_random(branches) % 3 == 0)
		from++;
	for (int i = from; i < TABLES; i++)
		if (!found->entries[i]->useful) {
			*found->entries[i] =
			    (struct entry){.tag = found->tags[i], .strength = (int8_t)(taken ? 0 : -1)};
			return;
		}
	for (int i = found->provider + 1; i < TABLES; i++)
		found->entries[i]->useful--;
}

static void age(struct fm_branches *branches)
{
	if (++branches->seen % AGING)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		for (unsigned k = 0; k < 1 << TABLE_BITS; k++)
			branches->tables[i][k].useful >>= 1;
}

static bool foresee_direction(struct fm_branches *branches, uint64_t address, bool taken)
{
	struct found found;
	bool foreseen;

	look_up(branches, address, &found);
	foreseen = found.predicted == taken;
	if (found.provider >= 0) {
		struct entry *entry = found.entries[found.provider];

		learn(&entry->strength, taken, STRENGTH_MAX, STRENGTH_MIN);
		if (found.predicted != found.otherwise) {
			if (foreseen && entry->useful < USEFUL_MAX)
				entry->useful++;
			else if (!foreseen && entry->useful)
				entry->useful--;
		}
	}
	if (found.provider < 0 || !found.entries[found.provider]->useful)
		learn(found.base, taken, 1, -2);
	if (!foreseen && found.provider < TABLES - 1)
		give_entry(branches, &found, taken);
	age(branches);
	remember(branches, taken);
	return foreseen;
}

static bool same_target(struct target *entry, uint32_t tag, uint64_t target)
{
	bool same = entry->tag == tag && entry->target == target;

	if (same)
		entry->sure = 1;
	else if (entry->sure && entry->tag == tag)
		entry->sure = 0;
	else
		*entry = (struct target){.tag = tag, .target = target};
	return same;
}

static bool foresee_target(struct fm_branches *branches, uint64_t address, uint64_t target)
{
	uint64_t hash = hash_of(branches, address, 24), plain = mix(address);
	struct target *by_history = &branches->by_history[hash & ((1 << TARGET_BITS) - 1)],
	              *by_address = &branches->by_address[plain & ((1 << TARGET_BITS) - 1)];
	bool known = by_history->tag == (uint32_t)(hash >> 32),
	     right = same_target(by_history, (uint32_t)(hash >> 32), target),
	     usual = same_target(by_address, (uint32_t)(plain >> 32), target);

	remember(branches, (unsigned)(mix(target) >> 7));
	remember(branches, (unsigned)(mix(target) >> 8));
	return known ? right : usual;
}

bool fm_branches_foresee(struct fm_branches *branches, enum fm_branch_kind kind, uint64_t address, bool taken,
                         uint64_t target)
{
	switch (kind) {
	case FM_BRANCH_CONDITIONAL:
		return foresee_direction(branches, address, taken);
	case FM_BRANCH_INDIRECT:
		return foresee_target(branches, address, target);
	default:
		return true;
	}
}
