#ifndef FATHOM_MODEL_DOUBT_H
#define FATHOM_MODEL_DOUBT_H

#include "base/tuned.h"

#include "model/doubt.def"

#endif
