#ifndef FATHOM_SQUEEZE_TUNING_H
#define FATHOM_SQUEEZE_TUNING_H

#include "base/tuned.h"

#include "squeeze/tuning.def"

#endif
