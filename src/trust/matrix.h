/* The benchmark matrix: runs of kernels, the truth of each, and the counts of every event.

   As a file it is CSV, one line per run and repetition (docs/validate.md). Its columns are the run, its duration, the
   atoms of the counted core ("true." columns) and of its socket ("socket." columns), then one per event. */
#ifndef FATHOM_TRUST_MATRIX_H
#define FATHOM_TRUST_MATRIX_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "trust/quantity.h"

enum fm_run_kind {
#define RUN_KIND(identifier, words) FM_RUN_##identifier,
#include "trust/run_kinds.def"
#undef RUN_KIND
	FM_RUN_KIND_COUNT
};

struct fm_run {
	char name[64]; /* unique: load/avx2/L2/12/remote */
	enum fm_run_kind kind;
	char kernel[24];
	char isa[12];
	char level[12];  /* location of the data */
	unsigned cores;  /* number of active cores */
	bool remote;     /* the memory is of the other socket */
	bool smt;        /* threads share a core */
	unsigned step;   /* lines per step of a transfer, multiplications of a chase; else 0 */
	unsigned thread; /* thread of these counts, in runs listed for several */
	double seconds;
	uint64_t known, known_socket; /* atoms whose truth is known, one bit each */
	double own[FM_ATOMS_MAX];     /* of the core whose counters are read */
	double socket[FM_ATOMS_MAX];  /* of all cores of its socket */
};

struct fm_event_column {
	char name[96];
	bool socket;    /* counted for the whole socket; else for one core */
	double *counts; /* [run * repeats + repetition]; NaN: not counted */
	double *means;  /* by run, after fm_matrix_settle(); before NULL */
};

struct fm_matrix {
	char machine[96];
	char origin[16]; /* simulated, measured, or as in the file */
	struct fm_quantities quantities;
	/* atoms without a column in the file: quantities are judged without them */
	uint64_t missing, missing_socket;
	unsigned repeats;
	struct fm_run *runs;
	unsigned run_count, run_capacity;
	struct fm_event_column *events;
	unsigned event_count, event_capacity;
};

int fm_matrix_create(const struct fm_quantities *quantities, unsigned repeats, struct fm_matrix **ret_matrix);
void fm_matrix_free(struct fm_matrix *matrix);

/* Adds a zeroed run. NULL without memory. Not after the first event. */
struct fm_run *fm_matrix_add_run(struct fm_matrix *matrix);

/* Adds an event without counts. NULL without memory. */
struct fm_event_column *fm_matrix_add_event(struct fm_matrix *matrix, const char *name, bool socket);

/* Index of an event, or -1. */
int fm_matrix_find_event(const struct fm_matrix *matrix, const char *name);

static inline double *fm_matrix_counts(const struct fm_matrix *matrix, unsigned event, unsigned run)
{
	return &matrix->events[event].counts[(size_t)run * matrix->repeats];
}

/* A quantity of a run: of the core, or of the socket. NaN if partly unknown. */
double fm_run_quantity(const struct fm_matrix *matrix, unsigned run, unsigned quantity, bool socket);

/* Ends the input of counts: computes all means once. Without memory they are computed on each use. */
void fm_matrix_settle(struct fm_matrix *matrix);

/* Mean over the repetitions; NaN if never counted. */
double fm_matrix_mean(const struct fm_matrix *matrix, unsigned event, unsigned run);

/* Does the file lack all columns of the truth, of cores or of the socket? */
static inline bool fm_matrix_has_no_truth(const struct fm_matrix *matrix, bool socket)
{
	return (socket ? matrix->missing_socket : matrix->missing) == (1ull << matrix->quantities.atom_count) - 1;
}

/* Sets atoms without a column to zero in all runs. Without any column the truth stays unknown. */
void fm_matrix_take_as_zero(struct fm_matrix *matrix);

const char *fm_run_kind_name(enum fm_run_kind kind);

int fm_matrix_write(const struct fm_matrix *matrix, FILE *output);

/* Reads a file without trusting it: -EBADMSG with file, line and reason. */
int fm_matrix_read(const char *path, struct fm_matrix **ret_matrix, struct fm_error *error);

#endif
