/* Did the program do the same by itself and in the engine? Rates are counts of one run over the time of another. */
#ifndef FATHOM_MODEL_AGREEMENT_H
#define FATHOM_MODEL_AGREEMENT_H

#include "recording/recording.h"

/* Compares exit status, amount of output and passes through regions. The difference in words, or "". */
void fm_agreement(const struct fm_recording *recording, char *difference, size_t size);

#endif
