#ifndef FATHOM_SCALE_JUDGING_H
#define FATHOM_SCALE_JUDGING_H

#include "base/tuned.h"

#include "scale/judging.def"

#endif
