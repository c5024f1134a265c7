/* Ranges of addresses that do not overlap, each with a value: the memory of a process. A new range replaces the ranges
   below it; partly covered ranges are cut or split. */
#ifndef FATHOM_REPLAY_RANGES_H
#define FATHOM_REPLAY_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_ranges;

#define FM_RANGES_NONE 0xffffffffu /* no value */

struct fm_range {
	uint64_t begin, end;
	uint32_t value;
};

/* Creates an empty set; NULL without memory. `changed`, which may be NULL, receives the number of ranges that gained
   (1) or lost (-1) a value. */
struct fm_ranges *fm_ranges_create(void (*changed)(void *context, uint32_t value, int ranges), void *context);
void fm_ranges_free(struct fm_ranges *ranges); /* without `changed` */

/* Copies the set; `changed` receives every range of the copy, with this context. */
struct fm_ranges *fm_ranges_copy(const struct fm_ranges *ranges, void *context);

/* Adds a range. 0 or -ENOMEM. Empty ranges and ranges that wrap around are ignored. */
int fm_ranges_put(struct fm_ranges *ranges, uint64_t begin, uint64_t end, uint32_t value);
int fm_ranges_remove(struct fm_ranges *ranges, uint64_t begin, uint64_t end);

bool fm_ranges_find(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range);

/* The first range that begins at the address or later. False: none. */
bool fm_ranges_next(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range);

/* Removes all ranges. */
void fm_ranges_clear(struct fm_ranges *ranges);

size_t fm_ranges_count(const struct fm_ranges *ranges);

#endif
