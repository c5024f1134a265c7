/* What an event really counts: its class, the quantities that explain it, and the words for it.

   First simple stories are tried, each of which is one flaw or two of one quantity (a scale, a constant, a cap,
   something else counted too, …); the shortest that fits all runs within their noise is believed. If none fits, the
   best combination of atoms is looked for: non-negative least squares, one atom more at a time, for as long as that
   predicts runs better that were left out. docs/decisions/validation.md has the reasons and the limits. */
#ifndef FATHOM_TRUST_JUDGE_H
#define FATHOM_TRUST_JUDGE_H

#include "trust/columns.h"

enum fm_class {
#define CLASS(identifier, words) FM_CLASS_##identifier,
#include "trust/classes.def"
#undef CLASS
	FM_CLASS_COUNT
};

enum { FM_TERMS_MAX = 12, FM_FLAWS_MAX = 2 };

/* So many events for one unit of a quantity, or of an atom. */
struct fm_term {
	bool is_atom;
	unsigned index;
	double coefficient;
};

struct fm_flaw {
	enum fm_class class;
	/* overlapping: events for each of the other quantity (under a power: so much of it for each). Uneven: events
	   for each of these atoms, where others count one (of the other quantity, if there is one: events for each).
	   Saturating: events a second. Conditional: share lost. Leaking: share of another core's. Offset: events.
	   Indicator: power. */
	double size;
	int other;      /* quantity, or -1 */
	uint64_t atoms; /* blind to these; uneven: these are counted differently */
	enum fm_condition condition;
};

struct fm_judgement {
	enum fm_class class;
	int quantity;  /* what it is about, or -1 */
	bool socket;   /* as a count of the socket */
	double factor; /* events per unit of the quantity */
	struct fm_term terms[FM_TERMS_MAX];
	unsigned term_count;
	int other;       /* the quantity that is counted as well, or -1 */
	int alternative; /* a quantity that the runs do not tell from it, or -1 */
	double alternative_factor;
	uint64_t unseen;                    /* atoms it is blind to */
	double size;                        /* of the first flaw */
	struct fm_flaw flaws[FM_FLAWS_MAX]; /* what is wrong with it, if a short story tells that */
	unsigned flaw_count;
	double floor, floor_most; /* median and maximum of what is counted in runs in which the story says nothing */
	unsigned floor_runs;      /* how many these are; 0: the floor is not known */
	/* relative errors, as a count of the quantity with the factor: over runs that have any of it */
	double error_mean, error_min, error_max;
	unsigned error_runs;
	/* how well the explanation does, and for runs that were left out while it was found: root mean square, relative
	 */
	double misfit, misfit_left_out;
	double reproducibility; /* relative standard deviation between repetitions */
	char formula[240];      /* how to get the quantity from it, "" when it cannot be had */
	char reason[600];
};

const char *fm_class_name(enum fm_class class);
const char *fm_class_words(enum fm_class class);

/* The words for what is missing: "RFO", "prefetched lines and RFO". */
void fm_judge_unseen_words(const struct fm_quantities *quantities, uint64_t atoms, char *buffer, size_t size);

/* Truth of a matrix, prepared for judging many events; NULL without memory. */
struct fm_bench;
struct fm_bench *fm_bench_create(const struct fm_matrix *matrix);
void fm_bench_free(struct fm_bench *bench);

void fm_judge_at(struct fm_bench *bench, unsigned event, struct fm_judgement *ret_judgement);

/* The same for a single event. */
void fm_judge(const struct fm_matrix *matrix, unsigned event, struct fm_judgement *ret_judgement);

#endif
