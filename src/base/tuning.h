#ifndef FATHOM_BASE_TUNING_H
#define FATHOM_BASE_TUNING_H

#include "base/tuned.h"

#include "base/tuning.def"

#endif
