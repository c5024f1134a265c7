#ifndef FATHOM_REUSE_TUNING_H
#define FATHOM_REUSE_TUNING_H

#include "base/tuned.h"

#include "reuse/tuning.def"

#endif
