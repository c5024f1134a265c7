/* The simulated Haswell-EP, its caches smaller so that it is quick, with all its events judged. */
#ifndef FATHOM_TESTS_TRUST_VALIDATED_H
#define FATHOM_TESTS_TRUST_VALIDATED_H

#include "trust/validation.h"

/* 0, or -1 with the reason printed. Everything is the caller's to free. */
int validate_haswell(struct fm_machine_description *ret_machine, struct fm_matrix **ret_matrix,
                     struct fm_validation **ret_validation);

#endif
