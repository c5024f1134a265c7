/* Growing tables of the simulator: pages (home node, cores with accesses) and lines that moved between cores. */
#ifndef FATHOM_SIMULATOR_TABLES_H
#define FATHOM_SIMULATOR_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "simulator/hierarchy.h"

enum { FM_LEAF_PAGES = 1024, FM_PAGE_CORES = 56 };

/* Neighbouring pages share a leaf, so that leaves in use fill few cache lines. */
struct fm_page_leaf {
	uint64_t number; /* of its first page, divided by FM_LEAF_PAGES */
	/* per page: low FM_PAGE_CORES bits: cores that touched it, by number modulo FM_PAGE_CORES (a filter for copies,
	   not a list); above them its home socket plus one. 0: not touched */
	uint64_t pages[FM_LEAF_PAGES];
};

static inline unsigned fm_page_home(uint64_t page)
{
	return (unsigned)(page >> FM_PAGE_CORES);
}

static inline uint64_t fm_page_cores(uint64_t page)
{
	return page & ((1ull << FM_PAGE_CORES) - 1);
}

/* Notes the access; the first touch decides the home of a page. */
static inline void fm_page_touch(struct fm_page_leaf *leaf, uint64_t page, const struct fm_simulated_core *core)
{
	uint64_t *word = &leaf->pages[page % FM_LEAF_PAGES];

	if (!*word)
		*word = (uint64_t)(core->socket + 1) << FM_PAGE_CORES;
	*word |= 1ull << core->core % FM_PAGE_CORES;
}

struct fm_page_table *fm_pages_create(void);
void fm_pages_destroy(struct fm_page_table *table);

enum { FM_PAGES_RECENT = 512 };

/* An open-addressing table: slots whose first member is a key, not 0. */
struct fm_slots {
	char *slots;
	size_t capacity, used; /* slots; the capacity is a power of two */
};

struct fm_page_table {
	struct fm_slots slots;
	struct {
		uint64_t number;
		struct fm_page_leaf *leaf;
	} recent[FM_PAGES_RECENT]; /* their number is found without access to the leaves */
};

/* A leaf that is not among the recent ones, made if necessary. NULL: out of memory. */
struct fm_page_leaf *fm_pages_find(struct fm_page_table *table, uint64_t number);

/* The leaf of a page, made if necessary. NULL: out of memory. */
static inline struct fm_page_leaf *fm_pages_leaf(struct fm_page_table *table, uint64_t page)
{
	uint64_t number = page / FM_LEAF_PAGES;

	if (table->recent[number % FM_PAGES_RECENT].leaf && table->recent[number % FM_PAGES_RECENT].number == number)
		return table->recent[number % FM_PAGES_RECENT].leaf;
	return fm_pages_find(table, number);
}

struct fm_line_table *fm_lines_create(void);
void fm_lines_destroy(struct fm_line_table *table);
/* The record of a line, made if necessary. NULL: out of memory. */
struct fm_shared_line *fm_lines_touch(struct fm_line_table *table, uint64_t line);
/* The record of a line. NULL: the line never moved. */
struct fm_shared_line *fm_lines_find(const struct fm_line_table *table, uint64_t line);

/* The users of a line. NULL: too many lines have users. */
struct fm_line_users *fm_lines_users(struct fm_line_table *table, struct fm_shared_line *line);

/* The entry of a core among the users. NULL: all entries are in use. */
struct fm_line_user *fm_line_user(struct fm_line_users *users, unsigned core);

/* Lists the lines with the most transfers first. Returns their number, at most `room`. */
size_t fm_lines_list(const struct fm_line_table *table, struct fm_shared_line *ret_lines,
                     struct fm_line_users *ret_users, size_t room);

#endif
