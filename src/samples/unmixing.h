#ifndef FATHOM_SAMPLES_UNMIXING_H
#define FATHOM_SAMPLES_UNMIXING_H

#include "base/tuned.h"

#include "samples/unmixing.def"

#endif
