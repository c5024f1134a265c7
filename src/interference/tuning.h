#ifndef FATHOM_INTERFERENCE_TUNING_H
#define FATHOM_INTERFERENCE_TUNING_H

#include "base/tuned.h"

#include "interference/tuning.def"

#endif
