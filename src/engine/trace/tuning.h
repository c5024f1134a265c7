#ifndef FATHOM_ENGINE_TRACE_TUNING_H
#define FATHOM_ENGINE_TRACE_TUNING_H

#include "base/tuned.h"

#include "engine/trace/tuning.def"

#endif
