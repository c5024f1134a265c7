#include "simulator/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Open addressing with linear probing; doubled at two thirds. Both tables are keyed by a number stored plus one. */

static uint64_t scatter(uint64_t number)
{
	number *= 0x9e3779b97f4a7c15u;
	return number ^ number >> 29;
}

struct fm_page_table *fm_pages_create(void)
{
	struct fm_page_table *table = fm_memory_apart(1, sizeof(*table));

	if (!table)
		return NULL;
	table->capacity = 256;
	table->slots = fm_memory_apart(table->capacity, sizeof(*table->slots));
	if (!table->slots) {
		free(table);
		return NULL;
	}
	return table;
}

void fm_pages_destroy(struct fm_page_table *table)
{
	for (size_t i = 0; table && i < table->capacity; i++)
		free(table->slots[i]);
	if (table)
		free(table->slots);
	free(table);
}

static struct fm_page_leaf **leaf_slot(struct fm_page_leaf **slots, size_t capacity, uint64_t number)
{
	size_t index = scatter(number) & (capacity - 1);

	while (slots[index] && slots[index]->number != number)
		index = (index + 1) & (capacity - 1);
	return &slots[index];
}

static int grow(struct fm_page_table *table)
{
	size_t capacity = 2 * table->capacity;
	struct fm_page_leaf **slots = fm_memory_apart(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->slots[i])
			*leaf_slot(slots, capacity, table->slots[i]->number) = table->slots[i];
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

struct fm_page_leaf *fm_pages_find(struct fm_page_table *table, uint64_t number)
{
	struct fm_page_leaf **slot = leaf_slot(table->slots, table->capacity, number);

	if (!*slot) {
		if (3 * table->used >= 2 * table->capacity) {
			if (grow(table))
				return NULL;
			slot = leaf_slot(table->slots, table->capacity, number);
		}
		*slot = fm_memory_apart(1, sizeof(**slot));
		if (!*slot)
			return NULL;
		(*slot)->number = number;
		table->used++;
	}
	table->recent[number % FM_PAGES_RECENT].number = number;
	table->recent[number % FM_PAGES_RECENT].leaf = *slot;
	return *slot;
}

/* Lines whose users are noted. The first ones that move: lines that are fought for move early and often. */
enum { NOTED_MAX = 16384 };

struct fm_line_table {
	struct fm_shared_line *slots; /* line holds the number plus one */
	size_t capacity, used;
	struct fm_line_users *users;
	size_t user_count, user_capacity;
};

struct fm_line_table *fm_lines_create(void)
{
	struct fm_line_table *table = fm_memory_apart(1, sizeof(*table));

	if (!table)
		return NULL;
	table->capacity = 256;
	table->slots = fm_memory_apart(table->capacity, sizeof(*table->slots));
	if (!table->slots) {
		free(table);
		return NULL;
	}
	return table;
}

void fm_lines_destroy(struct fm_line_table *table)
{
	if (table) {
		free(table->slots);
		free(table->users);
	}
	free(table);
}

static struct fm_shared_line *line_slot(const struct fm_line_table *table, uint64_t key)
{
	size_t index = scatter(key) & (table->capacity - 1);

	while (table->slots[index].line && table->slots[index].line != key)
		index = (index + 1) & (table->capacity - 1);
	return &table->slots[index];
}

struct fm_shared_line *fm_lines_touch(struct fm_line_table *table, uint64_t line)
{
	struct fm_shared_line *slot = line_slot(table, line + 1);

	if (slot->line)
		return slot;
	if (3 * table->used >= 2 * table->capacity) {
		struct fm_line_table larger = *table;

		larger.capacity = 2 * table->capacity;
		larger.slots = fm_memory_apart(larger.capacity, sizeof(*larger.slots));
		if (!larger.slots)
			return NULL;
		for (size_t i = 0; i < table->capacity; i++)
			if (table->slots[i].line)
				*line_slot(&larger, table->slots[i].line) = table->slots[i];
		free(table->slots);
		*table = larger;
		slot = line_slot(table, line + 1);
	}
	*slot = (struct fm_shared_line){.line = line + 1};
	table->used++;
	return slot;
}

struct fm_shared_line *fm_lines_find(const struct fm_line_table *table, uint64_t line)
{
	struct fm_shared_line *slot = line_slot(table, line + 1);

	return slot->line ? slot : NULL;
}

struct fm_line_users *fm_lines_users(struct fm_line_table *table, struct fm_shared_line *line)
{
	if (line->users)
		return &table->users[line->users - 1];
	if (table->user_count == NOTED_MAX)
		return NULL;
	if (table->user_count == table->user_capacity) {
		size_t capacity = table->user_capacity ? 2 * table->user_capacity : 64;
		struct fm_line_users *users = realloc(table->users, capacity * sizeof(*users));

		if (!users)
			return NULL;
		table->users = users;
		table->user_capacity = capacity;
	}
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
			/* what it finds there is new to it */
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
	size_t used = table->used, count = 0;
	struct fm_shared_line *all = malloc((used + 1) * sizeof(*all));

	if (!all)
		return 0;
	for (size_t i = 0; i < table->capacity && count < used; i++)
		if (table->slots[i].line)
			all[count++] = table->slots[i];
	qsort(all, count, sizeof(*all), by_transfers);
	if (count > room)
		count = room;
	for (size_t i = 0; i < count; i++) {
		ret_lines[i] = all[i];
		ret_lines[i].line--;
		if (!ret_users)
			continue;
		ret_users[i] = all[i].users ? table->users[all[i].users - 1] : (struct fm_line_users){0};
		/* who has the line at the end and has touched nothing new will not any more */
		for (unsigned k = 0; k < FM_LINE_USERS; k++)
			ret_users[i].false_transfers += ret_users[i].users[k].pending == FM_PENDING_ASKED;
	}
	free(all);
	return count;
}
