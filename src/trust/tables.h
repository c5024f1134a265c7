/* Summaries of the judgements: errors by kernel and level, an unbalanced product, lines that cores share. */
#ifndef FATHOM_TRUST_TABLES_H
#define FATHOM_TRUST_TABLES_H

#include "trust/validation.h"

enum { FM_CELLS_MAX = 128, FM_IMBALANCE_MAX = 12, FM_SHARING_EVENTS_MAX = 6, FM_SHARING_MAX = 64 };

/* Lines in and out of a level by the best indicators: relative error over all runs of a kernel. */
struct fm_error_cell {
	char level[12];
	char kernel[24];
	bool socket; /* indicators of the socket: one core has none */
	double mean, least, most;
	unsigned runs;
};

unsigned fm_table_errors(const struct fm_validation *validation, struct fm_error_cell *ret_cells);

/* A metric of the two threads of the triangular product. */
struct fm_imbalance_row {
	char metric[48];
	char formula[160];
	double values[2];
	double ratio;
	double error;      /* of the ratio, relative to the elements */
	char refused[240]; /* why the formula is no metric, then without numbers; "": a metric */
};

unsigned fm_table_imbalance(const struct fm_validation *validation, struct fm_imbalance_row *ret_rows);

/* Cache line transfers by their events. */
struct fm_sharing_table {
	unsigned events[FM_SHARING_EVENTS_MAX];
	unsigned event_count;
	struct fm_sharing_row {
		unsigned lines; /* lines per step */
		bool remote, smt;
		double model;
		double counts[FM_SHARING_EVENTS_MAX];
	} rows[FM_SHARING_MAX];
	unsigned row_count;
};

void fm_table_sharing(const struct fm_validation *validation, struct fm_sharing_table *ret_table);

#endif
