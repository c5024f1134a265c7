#ifndef FATHOM_SIMULATOR_TUNING_H
#define FATHOM_SIMULATOR_TUNING_H

#include "base/tuned.h"

#include "simulator/tuning.def"

#endif
