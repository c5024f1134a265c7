/* Growing tables of the simulator: pages (home node, which cores touched them) and lines that moved between cores. */
#ifndef FATHOM_EXACT_TABLES_H
#define FATHOM_EXACT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "exact/hierarchy.h"

enum { FM_LEAF_PAGES = 1024 };

/* Neighbouring pages share a leaf, so that what is touched often stays small. */
struct fm_page_leaf {
	uint64_t number;               /* of its first page, divided by FM_LEAF_PAGES */
	uint8_t home[FM_LEAF_PAGES];   /* socket plus one; 0: not touched */
	uint64_t cores[FM_LEAF_PAGES]; /* which touched it, by number modulo 64: a filter for copies, not a list */
};

struct fm_page_table *fm_pages_create(void);
void fm_pages_destroy(struct fm_page_table *table);

/* The leaf of a page, made when it is new; NULL when there is no memory left. */
struct fm_page_leaf *fm_pages_leaf(struct fm_page_table *table, uint64_t page);

struct fm_line_table *fm_lines_create(void);
void fm_lines_destroy(struct fm_line_table *table);
struct fm_shared_line *fm_lines_touch(struct fm_line_table *table, uint64_t line);
size_t fm_lines_list(const struct fm_line_table *table, struct fm_shared_line *ret_lines, size_t room);

#endif
