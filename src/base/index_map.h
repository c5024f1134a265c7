/* A map from three numbers to the index of a row. It grows and never shrinks. Zero-initialise. */
#ifndef FATHOM_BASE_INDEX_MAP_H
#define FATHOM_BASE_INDEX_MAP_H

#include <stddef.h>
#include <stdint.h>

struct fm_index_key {
	uint64_t a, b, c;
};

struct fm_index_map {
	struct fm_index_slot {
		struct fm_index_key key;
		uint32_t value; /* 0: free, else the index + 1 */
	} * slots;
	size_t room, count; /* room is a power of two */
};

/* Finds or adds a key. Returns its slot, which contains the index + 1; 0 for a new key, to be set at once. NULL without
   memory. */
uint32_t *fm_index_map_place(struct fm_index_map *map, struct fm_index_key key);

/* Finds the index of a key; -1: none. */
int64_t fm_index_map_find(const struct fm_index_map *map, struct fm_index_key key);

void fm_index_map_free(struct fm_index_map *map);

#endif
