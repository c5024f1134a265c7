#include "simulator/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "simulator/tuning.h"

/* Open addressing with linear probing, doubled at two thirds. A slot begins with its key; 0: it is free. */

enum { CAPACITY_LEAST = 256 };

static inline __attribute__((always_inline)) void *find_slot(const struct fm_slots *table, size_t bytes, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u, other;
	size_t index = (hash ^ hash >> 29) & (table->capacity - 1);

	while ((other = *(const uint64_t *)(table->slots + index * bytes)) && other != key)
		index = (index + 1) & (table->capacity - 1);
	return table->slots + index * bytes;
}

static bool grow(struct fm_slots *table, size_t bytes)
{
	struct fm_slots larger = {.capacity = table->capacity ? 2 * table->capacity : CAPACITY_LEAST,
	                          .used = table->used};

	larger.slots = fm_memory_apart(larger.capacity, bytes);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < table->capacity; i++) {
		const char *slot = table->slots + i * bytes;

		if (*(const uint64_t *)slot)
			memcpy(find_slot(&larger, bytes, *(const uint64_t *)slot), slot, bytes);
	}
	free(table->slots);
	*table = larger;
	return true;
}

/* The slot of a key, which is set if it was free. NULL: no memory. */
static inline __attribute__((always_inline)) void *take_slot(struct fm_slots *table, size_t bytes, uint64_t key)
{
	uint64_t *slot = find_slot(table, bytes, key);

	if (*slot)
		return slot;
	if (3 * table->used >= 2 * table->capacity) {
		if (!grow(table, bytes))
			return NULL;
		slot = find_slot(table, bytes, key);
	}
	*slot = key;
	table->used++;
	return slot;
}

struct page_slot {
	uint64_t key; /* the leaf's number plus one */
	struct fm_page_leaf *leaf;
};

struct fm_page_table *fm_pages_create(void)
{
	struct fm_page_table *table = fm_memory_apart(1, sizeof(*table));

	if (table && grow(&table->slots, sizeof(struct page_slot)))
		return table;
	free(table);
	return NULL;
}

void fm_pages_destroy(struct fm_page_table *table)
{
	struct page_slot *slots = table ? (struct page_slot *)table->slots.slots : NULL;

	for (size_t i = 0; table && i < table->slots.capacity; i++)
		free(slots[i].leaf);
	free(slots);
	free(table);
}

struct fm_page_leaf *fm_pages_find(struct fm_page_table *table, uint64_t number)
{
	struct page_slot *slot = take_slot(&table->slots, sizeof(*slot), number + 1);

	if (!slot)
		return NULL;
	if (!slot->leaf) {
		slot->leaf = fm_memory_apart(1, sizeof(*slot->leaf));
		if (!slot->leaf)
			return NULL;
		slot->leaf->number = number;
	}
	table->recent[number % FM_PAGES_RECENT].number = number;
	table->recent[number % FM_PAGES_RECENT].leaf = slot->leaf;
	return slot->leaf;
}

struct fm_line_table {
	struct fm_slots slots; /* struct fm_shared_line: line holds the number plus one */
	struct fm_line_users *users;
	size_t user_count, user_room;
};

struct fm_line_table *fm_lines_create(void)
{
	struct fm_line_table *table = fm_memory_apart(1, sizeof(*table));

	if (table && grow(&table->slots, sizeof(struct fm_shared_line)))
		return table;
	free(table);
	return NULL;
}

void fm_lines_destroy(struct fm_line_table *table)
{
	if (table) {
		free(table->slots.slots);
		free(table->users);
	}
	free(table);
}

struct fm_shared_line *fm_lines_touch(struct fm_line_table *table, uint64_t line)
{
	return take_slot(&table->slots, sizeof(struct fm_shared_line), line + 1);
}

struct fm_shared_line *fm_lines_find(const struct fm_line_table *table, uint64_t line)
{
	struct fm_shared_line *slot = find_slot(&table->slots, sizeof(*slot), line + 1);

	return slot->line ? slot : NULL;
}

struct fm_line_users *fm_lines_users(struct fm_line_table *table, struct fm_shared_line *line)
{
	if (line->users)
		return &table->users[line->users - 1];
	if (table->user_count == LINES_NOTED)
		return NULL;
	if (!fm_array_grow(table->users, table->user_count, table->user_room))
		return NULL;
	table->users[table->user_count] = (struct fm_line_users){0};
	line->users = ++table->user_count;
	return &table->users[line->users - 1];
}

struct fm_line_user *fm_line_user(struct fm_line_users *users, unsigned core)
{
	for (unsigned i = 0; i < FM_LINE_USERS; i++) {
		if (users->users[i].core == core + 1)
			return &users->users[i];
		if (!users->users[i].core) {
			/* all data is new to this core */
			users->users[i] = (struct fm_line_user){.core = core + 1, .stale = ~0ull};
			return &users->users[i];
		}
	}
	return NULL;
}

static int by_transfers(const void *left, const void *right)
{
	const struct fm_shared_line *a = left, *b = right;
	uint64_t first = a->modified + a->clean + a->invalidations, second = b->modified + b->clean + b->invalidations;

	if (first != second)
		return first < second ? 1 : -1;
	return (a->line > b->line) - (a->line < b->line);
}

size_t fm_lines_list(const struct fm_line_table *table, struct fm_shared_line *ret_lines,
                     struct fm_line_users *ret_users, size_t room)
{
	const struct fm_shared_line *slots = (const struct fm_shared_line *)table->slots.slots;
	size_t used = table->slots.used, count = 0;
	struct fm_shared_line *all = malloc((used + 1) * sizeof(*all));

	if (!all)
		return 0;
	for (size_t i = 0; i < table->slots.capacity && count < used; i++)
		if (slots[i].line)
			all[count++] = slots[i];
	qsort(all, count, sizeof(*all), by_transfers);
	if (count > room)
		count = room;
	for (size_t i = 0; i < count; i++) {
		ret_lines[i] = all[i];
		ret_lines[i].line--;
		if (!ret_users)
			continue;
		ret_users[i] = all[i].users ? table->users[all[i].users - 1] : (struct fm_line_users){0};
		/* cores that never touched the new data of the line */
		for (unsigned k = 0; k < FM_LINE_USERS; k++)
			ret_users[i].false_transfers += ret_users[i].users[k].pending == FM_PENDING_ASKED;
	}
	free(all);
	return count;
}
