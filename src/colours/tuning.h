#ifndef FATHOM_COLOURS_TUNING_H
#define FATHOM_COLOURS_TUNING_H

#include "base/tuned.h"

#include "colours/tuning.def"

#endif
