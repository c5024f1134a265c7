#include "base/index_map.h"

#include <stdbool.h>
#include <stdlib.h>

static size_t first_slot(const struct fm_index_map *map, struct fm_index_key key)
{
	uint64_t mixed = key.a * 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ (mixed >> 29) ^ key.b) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ (mixed >> 32) ^ key.c) * 0x94d049bb133111ebu;
	return (mixed ^ (mixed >> 31)) & (map->room - 1);
}

static struct fm_index_slot *slot_of(const struct fm_index_map *map, struct fm_index_key key)
{
	for (size_t i = first_slot(map, key);; i = (i + 1) & (map->room - 1)) {
		struct fm_index_slot *slot = &map->slots[i];

		if (!slot->value || (slot->key.a == key.a && slot->key.b == key.b && slot->key.c == key.c))
			return slot;
	}
}

static bool grow(struct fm_index_map *map)
{
	struct fm_index_map larger = {.room = map->room ? 2 * map->room : 256, .count = map->count};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < map->room; i++)
		if (map->slots[i].value)
			*slot_of(&larger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = larger;
	return true;
}

uint32_t *fm_index_map_place(struct fm_index_map *map, struct fm_index_key key)
{
	struct fm_index_slot *slot;

	if (2 * map->count >= map->room && !grow(map))
		return NULL;
	slot = slot_of(map, key);
	if (!slot->value) {
		slot->key = key;
		map->count++;
	}
	return &slot->value;
}

int64_t fm_index_map_find(const struct fm_index_map *map, struct fm_index_key key)
{
	return map->room ? (int64_t)slot_of(map, key)->value - 1 : -1;
}

void fm_index_map_free(struct fm_index_map *map)
{
	free(map->slots);
	*map = (struct fm_index_map){0};
}
