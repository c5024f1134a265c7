/* Aligned tables for people: cells are collected, then printed with the columns as wide as they need to be. */
#ifndef FATHOM_REPORT_TABLE_H
#define FATHOM_REPORT_TABLE_H

#include <stdio.h>

enum { FM_TABLE_COLUMNS_MAX = 16 };

struct fm_table;

/* One letter per column: 'l' left, 'r' right, 'w' left and wrapped to the width of the output (the last column only).
 */
struct fm_table *fm_table_create(const char *columns);
void fm_table_free(struct fm_table *table);

/* Cells in order, row by row. NULL or "" is an empty cell. */
void fm_table_cell(struct fm_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Columns may move closer together where the table would be wider than there is room. */
void fm_table_may_close(struct fm_table *table);

/* Print with `indent` blanks before each line, within `width` columns where there is a wrapped column. */
void fm_table_print(const struct fm_table *table, FILE *output, unsigned indent, unsigned width);

#endif
