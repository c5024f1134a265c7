#ifndef FATHOM_FOLD_THRESHOLDS_H
#define FATHOM_FOLD_THRESHOLDS_H

#include "base/tuned.h"

#include "fold/thresholds.def"

#endif
