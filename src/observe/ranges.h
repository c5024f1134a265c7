/* Ranges of addresses that do not overlap, each with a value: what lies where in a process. A new range takes the place
   of what it covers; ranges that are covered in part are cut or split. */
#ifndef FATHOM_OBSERVE_RANGES_H
#define FATHOM_OBSERVE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_ranges;

#define FM_RANGES_NONE 0xffffffffu /* no value */

struct fm_range {
	uint64_t begin, end;
	uint32_t value;
};

/* `changed` is told how many ranges more (1) or fewer (-1) have a value; NULL: nobody wants to know. NULL when there is
   no memory. */
struct fm_ranges *fm_ranges_create(void (*changed)(void *context, uint32_t value, int ranges), void *context);
void fm_ranges_free(struct fm_ranges *ranges); /* tells nobody */

/* A copy of its own; `changed` is told of every range in it, with this context. */
struct fm_ranges *fm_ranges_copy(const struct fm_ranges *ranges, void *context);

/* 0, or -ENOMEM. Empty ranges and those that wrap around are not kept. */
int fm_ranges_put(struct fm_ranges *ranges, uint64_t begin, uint64_t end, uint32_t value);
int fm_ranges_remove(struct fm_ranges *ranges, uint64_t begin, uint64_t end);

bool fm_ranges_find(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range);

/* The first one that begins there or later. */
bool fm_ranges_next(const struct fm_ranges *ranges, uint64_t address, struct fm_range *ret_range);

/* Takes all of them out. */
void fm_ranges_clear(struct fm_ranges *ranges);

size_t fm_ranges_count(const struct fm_ranges *ranges);

#endif
