/* What an event really counts: its class, the quantities that explain it, and the words for it.

   First simple stories are tried, each of which is one flaw of one quantity (a scale, a constant, a cap, something else
   counted too, …); the shortest that fits all runs within their noise is believed. If none fits, the best combination
   of atoms is looked for: non-negative least squares, one atom more at a time, for as long as that predicts runs better
   that were left out. docs/decisions/validation.md has the reasons and the limits. */
#ifndef FATHOM_TRUST_JUDGE_H
#define FATHOM_TRUST_JUDGE_H

#include "trust/matrix.h"

enum fm_class {
#define CLASS(identifier, words) FM_CLASS_##identifier,
#include "trust/classes.def"
#undef CLASS
	FM_CLASS_COUNT
};

enum { FM_TERMS_MAX = 12 };

/* So many events for one unit of a quantity, or of an atom. */
struct fm_term {
	bool is_atom;
	unsigned index;
	double coefficient;
};

struct fm_judgement {
	enum fm_class class;
	int quantity;  /* what it is about, or -1 */
	bool socket;   /* as a count of the socket */
	double factor; /* events per unit of the quantity */
	struct fm_term terms[FM_TERMS_MAX];
	unsigned term_count;
	int other;       /* the quantity that is counted as well, or -1 */
	uint64_t unseen; /* atoms it is blind to */
	double size;     /* of the flaw: the share lost or added, the constant, events per second, the power */
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

void fm_judge(const struct fm_matrix *matrix, unsigned event, struct fm_judgement *ret_judgement);

#endif
