/* The benchmark matrix: runs of kernels, the truth of each, and what every event counted.

   As a file it is CSV, one line per run and repetition (docs/validate.md): what was run, how long it took, the atoms of
   the counted core ("true." columns) and of its socket ("socket." columns), then one column per event. */
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
	char level[12];  /* where the data is */
	unsigned cores;  /* that run */
	bool remote;     /* the memory is the other socket's */
	bool smt;        /* threads share a core */
	unsigned step;   /* lines per step of a handover, multiplications of a chase; else 0 */
	unsigned thread; /* whose counts these are, of runs that are listed for several */
	double seconds;
	uint64_t known, known_socket; /* atoms whose truth is known, one bit each */
	double own[FM_ATOMS_MAX];     /* of the core whose counters are read */
	double socket[FM_ATOMS_MAX];  /* of all cores of its socket */
};

struct fm_event_column {
	char name[96];
	bool socket;    /* counted for the socket as a whole; else for one core */
	double *counts; /* [run * repeats + repetition]; NaN: not counted */
	double *means;  /* by run, once fm_matrix_settle() was called; else NULL */
};

struct fm_matrix {
	char machine[96];
	char origin[16]; /* simulated, measured, or what the file says */
	struct fm_quantities quantities;
	/* atoms that a file has no column of: nothing is said of them, and quantities are judged without them */
	uint64_t untold, untold_socket;
	unsigned repeats;
	struct fm_run *runs;
	unsigned run_count, run_capacity;
	struct fm_event_column *events;
	unsigned event_count, event_capacity;
};

int fm_matrix_create(const struct fm_quantities *quantities, unsigned repeats, struct fm_matrix **ret_matrix);
void fm_matrix_free(struct fm_matrix *matrix);

/* A new run, zeroed; NULL without memory. Not after the first event. */
struct fm_run *fm_matrix_add_run(struct fm_matrix *matrix);

/* A new event, nothing counted; NULL without memory. */
struct fm_event_column *fm_matrix_add_event(struct fm_matrix *matrix, const char *name, bool socket);

/* Index, or -1. */
int fm_matrix_find_event(const struct fm_matrix *matrix, const char *name);

static inline double *fm_matrix_counts(const struct fm_matrix *matrix, unsigned event, unsigned run)
{
	return &matrix->events[event].counts[(size_t)run * matrix->repeats];
}

/* A quantity of a run: of the core, or of the socket. NaN when not all of it is known. */
double fm_run_quantity(const struct fm_matrix *matrix, unsigned run, unsigned quantity, bool socket);

/* No more counts will come: means are computed once. Without memory they are computed each time. */
void fm_matrix_settle(struct fm_matrix *matrix);

/* Mean over the repetitions; NaN when it was never counted. */
double fm_matrix_mean(const struct fm_matrix *matrix, unsigned event, unsigned run);

/* Does a file have no column of the truth at all, of cores or of the socket? */
static inline bool fm_matrix_tells_nothing(const struct fm_matrix *matrix, bool socket)
{
	return (socket ? matrix->untold_socket : matrix->untold) == (1ull << matrix->quantities.atom_count) - 1;
}

/* What the file has no column of did not happen in any run. Where it has no column at all, nothing is known. */
void fm_matrix_take_as_zero(struct fm_matrix *matrix);

const char *fm_run_kind_name(enum fm_run_kind kind);

int fm_matrix_write(const struct fm_matrix *matrix, FILE *output);

/* Nothing in the file is trusted: -EBADMSG with file, line and reason. */
int fm_matrix_read(const char *path, struct fm_matrix **ret_matrix, struct fm_error *error);

#endif
