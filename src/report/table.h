/* Aligned tables for text output: cells are collected, then printed in columns as wide as necessary. */
#ifndef FATHOM_REPORT_TABLE_H
#define FATHOM_REPORT_TABLE_H

#include <stdio.h>

enum { FM_TABLE_COLUMNS_MAX = 16 };

struct fm_table;

/* One letter per column: 'l' left, 'r' right, 'w' left and wrapped to the width of the output (the last column only).
 */
struct fm_table *fm_table_create(const char *columns);
void fm_table_free(struct fm_table *table);

/* Adds a cell; cells come in order, row by row. NULL or "" is an empty cell. */
void fm_table_cell(struct fm_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds several cells without a format, such as headings. */
#define fm_table_cells(table, ...)                                \
	fm_table_texts(table, (const char *const[]){__VA_ARGS__}, \
	               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void fm_table_texts(struct fm_table *table, const char *const *texts, size_t count);

/* Allows less space between columns if the table is wider than the output. */
void fm_table_may_close(struct fm_table *table);

/* Prints the table with `indent` blanks before each line, within `width` columns if it has a wrapped column. */
void fm_table_print(const struct fm_table *table, FILE *output, unsigned indent, unsigned width);

/* Prints and frees the table. */
void fm_table_end(struct fm_table *table, FILE *output, unsigned indent, unsigned width);

#endif
