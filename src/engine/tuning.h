#ifndef FATHOM_ENGINE_TUNING_H
#define FATHOM_ENGINE_TUNING_H

#include "base/tuned.h"

#include "engine/tuning.def"

#endif
