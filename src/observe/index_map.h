/* Numbers by three numbers: which row something has. Grows; nothing is ever taken out. Zero-initialise. */
#ifndef FATHOM_OBSERVE_INDEX_MAP_H
#define FATHOM_OBSERVE_INDEX_MAP_H

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

/* Where the index + 1 of this key stands; 0 when it is new, then to be set at once. NULL without memory. */
uint32_t *fm_index_map_place(struct fm_index_map *map, struct fm_index_key key);

/* The index, or -1. */
int64_t fm_index_map_find(const struct fm_index_map *map, struct fm_index_key key);

void fm_index_map_free(struct fm_index_map *map);

#endif
