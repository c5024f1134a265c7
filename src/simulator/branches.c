#include "simulator/branches.h"

#include <stdlib.h>

enum {
	PATHS = 6,
	BASE_BITS = 14,
	TABLE_BITS = 12,
	TARGET_BITS = 11, /* of each table of targets */
	TAG_BITS = 12,
	USEFUL_MAX = 3,
	STRENGTH_MAX = 3, /* of a counter from -4 to 3: not negative is taken */
	STRENGTH_MIN = -4,
	SURE_MAX = 3,
	TRUST_MAX = 7,
	AGING = 1 << 15, /* branches until entries are less useful than they were */
	STEPS = 256,     /* of the path that are kept: more than the longest */
};

/* Branches taken before this one that are looked at. Intel's cores since 2021 keep 194 (Yavarzadeh et al., Half&Half,
   2023), those before 93. */
static const unsigned lengths[PATHS] = {3, 8, 20, 48, 100, 194};

/* A path is a number in this base, whose digits are the branches: the next one enters below, the oldest leaves above.
 */
#define PATH_BASE 0x9e3779b97f4a7c15u

struct entry {
	uint16_t tag;
	int8_t strength;
	uint8_t useful;
};

struct target {
	uint64_t target;
	uint16_t tag;
	uint8_t sure, useful;
};

struct fm_branches {
	uint64_t paths[PATHS];   /* the latest `lengths` branches */
	uint64_t leaving[PATHS]; /* PATH_BASE to the power of `lengths` */
	uint64_t steps[STEPS];
	unsigned step;
	uint64_t random;
	unsigned seen;
	int trust; /* in entries that are new: less than 0, what knew the branch before is right more often */
	int8_t base[1 << BASE_BITS];
	struct entry tables[PATHS][1 << TABLE_BITS];
	struct target targets[PATHS][1 << TARGET_BITS], by_address[1 << TARGET_BITS];
};

struct fm_branches *fm_branches_create(void)
{
	struct fm_branches *branches = calloc(1, sizeof(*branches));

	if (!branches)
		return NULL;
	branches->random = PATH_BASE;
	for (unsigned i = 0; i < PATHS; i++) {
		branches->leaving[i] = 1;
		for (unsigned k = 0; k < lengths[i]; k++)
			branches->leaving[i] *= PATH_BASE;
	}
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

static uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(1 + (hash >> 40) % ((1 << TAG_BITS) - 1));
}

static void take(struct fm_branches *branches, uint64_t address, uint64_t target)
{
	uint64_t step = mix(address + PATH_BASE * target);
	unsigned now = branches->step++;

	branches->steps[now % STEPS] = step;
	for (unsigned i = 0; i < PATHS; i++)
		branches->paths[i] = branches->paths[i] * PATH_BASE + step -
		                     branches->steps[(now - lengths[i]) % STEPS] * branches->leaving[i];
}

static uint64_t next_random(struct fm_branches *branches)
{
	uint64_t x = branches->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return branches->random = x;
}

/* The shortest path that is given an entry: now and then a longer one than the next, so that not all go for the same.
 */
static int first_to_give(struct fm_branches *branches, int provider)
{
	return provider + 1 + (provider < PATHS - 2 && next_random(branches) % 3 == 0);
}

static void age(struct fm_branches *branches)
{
	if (++branches->seen % AGING)
		return;
	for (unsigned i = 0; i < PATHS; i++) {
		for (unsigned k = 0; k < 1 << TABLE_BITS; k++)
			branches->tables[i][k].useful >>= 1;
		for (unsigned k = 0; k < 1 << TARGET_BITS; k++)
			branches->targets[i][k].useful >>= 1;
	}
}

/* Directions */

static void learn(int8_t *strength, bool taken, int most, int least)
{
	if (taken && *strength < most)
		++*strength;
	else if (!taken && *strength > least)
		--*strength;
}

/* The longest path that knows the branch, and what would have been said without it. */
struct found {
	struct entry *entries[PATHS];
	uint16_t tags[PATHS];
	int provider; /* -1: the base */
	bool predicted, otherwise;
	int8_t *base;
};

static void look_up(struct fm_branches *branches, uint64_t address, struct found *ret)
{
	uint64_t place = mix(address);

	ret->base = &branches->base[place & ((1 << BASE_BITS) - 1)];
	ret->provider = -1;
	ret->predicted = ret->otherwise = *ret->base >= 0;
	for (int i = 0; i < PATHS; i++) {
		uint64_t hash = mix(branches->paths[i] ^ place);

		ret->tags[i] = tag_of(hash);
		ret->entries[i] = &branches->tables[i][hash & ((1 << TABLE_BITS) - 1)];
		if (ret->entries[i]->tag != ret->tags[i])
			continue;
		ret->provider = i;
		ret->otherwise = ret->predicted;
		ret->predicted = ret->entries[i]->strength >= 0;
	}
}

/* A mispredicted branch gets an entry with a longer path, if there is a useless one. */
static void give_entry(struct fm_branches *branches, struct found *found, bool taken)
{
	for (int i = first_to_give(branches, found->provider); i < PATHS; i++)
		if (!found->entries[i]->useful) {
			*found->entries[i] =
			    (struct entry){.tag = found->tags[i], .strength = (int8_t)(taken ? 0 : -1)};
			return;
		}
	for (int i = found->provider + 1; i < PATHS; i++)
		if (found->entries[i]->useful)
			found->entries[i]->useful--;
}

static bool is_new(const struct entry *entry)
{
	return !entry->useful && (entry->strength == 0 || entry->strength == -1);
}

static void note_use(struct fm_branches *branches, struct entry *entry, bool right)
{
	if (is_new(entry))
		branches->trust += right && branches->trust < TRUST_MAX     ? 1
		                   : !right && branches->trust > -TRUST_MAX ? -1
		                                                            : 0;
	if (right && entry->useful < USEFUL_MAX)
		entry->useful++;
	else if (!right && entry->useful)
		entry->useful--;
}

static bool foresee_direction(struct fm_branches *branches, uint64_t address, bool taken)
{
	struct found found;
	bool foreseen;

	look_up(branches, address, &found);
	foreseen = found.predicted == taken;
	if (found.provider >= 0) {
		struct entry *entry = found.entries[found.provider];

		if (is_new(entry) && branches->trust < 0)
			foreseen = found.otherwise == taken;
		if (found.predicted != found.otherwise)
			note_use(branches, entry, found.predicted == taken);
		learn(&entry->strength, taken, STRENGTH_MAX, STRENGTH_MIN);
	}
	if (found.provider < 0 || !found.entries[found.provider]->useful)
		learn(found.base, taken, 1, -2);
	if (found.predicted != taken && found.provider < PATHS - 1)
		give_entry(branches, &found, taken);
	age(branches);
	return foreseen;
}

/* Targets */

static bool learn_target(struct target *entry, uint16_t tag, uint64_t target)
{
	bool same = entry->tag == tag && entry->target == target;

	if (same && entry->sure < SURE_MAX)
		entry->sure++;
	else if (!same && entry->tag == tag && entry->sure)
		entry->sure--;
	else if (!same)
		*entry = (struct target){.tag = tag, .target = target};
	return same;
}

static void give_target(struct fm_branches *branches, struct target *const *entries, const uint16_t *tags, int provider,
                        uint64_t target)
{
	for (int i = first_to_give(branches, provider); i < PATHS; i++)
		if (!entries[i]->useful) {
			*entries[i] = (struct target){.tag = tags[i], .target = target};
			return;
		}
	for (int i = provider + 1; i < PATHS; i++)
		if (entries[i]->useful)
			entries[i]->useful--;
}

static bool foresee_target(struct fm_branches *branches, uint64_t address, uint64_t target)
{
	uint64_t place = mix(address);
	struct target *entries[PATHS], *base = &branches->by_address[place & ((1 << TARGET_BITS) - 1)];
	uint16_t tags[PATHS], tag = tag_of(place);
	uint64_t predicted = base->tag == tag ? base->target : 0, otherwise = predicted;
	int provider = -1;

	for (int i = 0; i < PATHS; i++) {
		uint64_t hash = mix(branches->paths[i] ^ place);

		tags[i] = tag_of(hash);
		entries[i] = &branches->targets[i][hash & ((1 << TARGET_BITS) - 1)];
		if (entries[i]->tag != tags[i])
			continue;
		provider = i;
		otherwise = predicted;
		predicted = entries[i]->target;
	}
	if (provider >= 0) {
		struct target *entry = entries[provider];

		if (predicted != otherwise && predicted == target && entry->useful < USEFUL_MAX)
			entry->useful++;
		else if (predicted != target && entry->useful)
			entry->useful--;
		learn_target(entry, tags[provider], target);
	}
	learn_target(base, tag, target);
	if (predicted != target && provider < PATHS - 1)
		give_target(branches, entries, tags, provider, target);
	return predicted == target;
}

bool fm_branches_vary(const struct fm_branches *branches, uint64_t address)
{
	uint64_t place = mix(address);
	const struct target *base = &branches->by_address[place & ((1 << TARGET_BITS) - 1)];

	return base->tag != tag_of(place) || base->sure < SURE_MAX;
}

bool fm_branches_foresee(struct fm_branches *branches, enum fm_branch_kind kind, uint64_t address, bool taken,
                         uint64_t target)
{
	bool foreseen = true;

	if (kind == FM_BRANCH_CONDITIONAL)
		foreseen = foresee_direction(branches, address, taken);
	else if (kind == FM_BRANCH_INDIRECT)
		foreseen = foresee_target(branches, address, target);
	if (kind != FM_BRANCH_NONE && taken)
		take(branches, address, target);
	return foreseen;
}
