#ifndef FATHOM_SAMPLES_ORDERING_H
#define FATHOM_SAMPLES_ORDERING_H

#include "base/tuned.h"

#include "samples/ordering.def"

#endif
