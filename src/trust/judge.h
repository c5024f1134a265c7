/* The judgement of an event: its class, the quantities that explain it, and its words.

   Simple stories are tried first: one quantity with one or two flaws (a scale, a constant, a cap, other counted events,
   …). The shortest story that fits all runs within their noise is accepted. If none fits, non-negative least squares
   find the best combination of atoms. Atoms are added while each improves the prediction of excluded runs.
   docs/decisions/validation.md has the reasons and the limits. */
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

/* Events per unit of a quantity, or of an atom. */
struct fm_term {
	bool is_atom;
	unsigned index;
	double coefficient;
};

struct fm_flaw {
	enum fm_class class;
	/* overlapping: events per unit of the other quantity (under a power: content per unit). Uneven: events for each
	   of these atoms, where others count one (with another quantity: events per unit). Saturating: events per
	   second. Conditional: share lost. Leaking: share of another core's. Offset: events. Indicator: power. */
	double size;
	int other;      /* quantity, or -1 */
	uint64_t atoms; /* blind to these; uneven: atoms counted differently */
	enum fm_condition condition;
};

struct fm_judgement {
	enum fm_class class;
	int quantity;  /* quantity of the judgement, or -1 */
	bool socket;   /* a count of the socket */
	double factor; /* events per unit of the quantity */
	struct fm_term terms[FM_TERMS_MAX];
	unsigned term_count;
	int other;       /* a quantity also counted, or -1 */
	int alternative; /* a quantity that the runs cannot distinguish from `quantity`, or -1 */
	double alternative_factor;
	uint64_t unseen;                    /* atoms that the event does not count */
	double size;                        /* of the first flaw */
	struct fm_flaw flaws[FM_FLAWS_MAX]; /* its flaws, if a short story has them */
	unsigned flaw_count;
	double floor, floor_most; /* median and maximum of the counts in runs where the story predicts none */
	unsigned floor_runs;      /* number of these runs; 0: the floor is not known */
	/* relative errors of the event as a count of the quantity, with the factor, over runs that contain the
	   quantity */
	double error_mean, error_min, error_max;
	unsigned error_runs;
	/* root mean square of the relative error of the explanation, and for runs excluded from its search */
	double misfit, misfit_left_out;
	double reproducibility; /* relative standard deviation between repetitions */
	char formula[240];      /* the quantity from the event; "": impossible */
	char reason[600];
};

const char *fm_class_name(enum fm_class class);
const char *fm_class_words(enum fm_class class);

/* The words for missing atoms: "RFO", "prefetched lines and RFO". */
void fm_judge_unseen_words(const struct fm_quantities *quantities, uint64_t atoms, char *buffer, size_t size);

/* Truth of a matrix, prepared for judging many events. */
struct fm_bench;
struct fm_bench *fm_bench_create(const struct fm_matrix *matrix);
void fm_bench_free(struct fm_bench *bench);

void fm_judge_at(struct fm_bench *bench, unsigned event, struct fm_judgement *ret_judgement);

/* Judges a single event. */
void fm_judge(const struct fm_matrix *matrix, unsigned event, struct fm_judgement *ret_judgement);

#endif
