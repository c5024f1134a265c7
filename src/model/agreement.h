/* Agreement of the native and the instrumented run: rates divide counts of one run by the time of the other. */
#ifndef FATHOM_MODEL_AGREEMENT_H
#define FATHOM_MODEL_AGREEMENT_H

#include "recording/recording.h"

/* Compares exit status, size of the output and instances of regions. `difference` describes the first difference, or is
   "". */
void fm_agreement(const struct fm_recording *recording, char *difference, size_t size);

#endif
