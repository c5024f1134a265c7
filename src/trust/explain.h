/* The best combination of atoms for an event that no simple story fits. */
#ifndef FATHOM_TRUST_EXPLAIN_H
#define FATHOM_TRUST_EXPLAIN_H

#include "trust/evidence.h"
#include "trust/judge.h"

void fm_explain(const struct fm_columns *columns, const struct fm_evidence *evidence, struct fm_judgement *judgement);

#endif
