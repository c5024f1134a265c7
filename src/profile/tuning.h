#ifndef FATHOM_PROFILE_TUNING_H
#define FATHOM_PROFILE_TUNING_H

#include "base/tuned.h"

#include "profile/tuning.def"

#endif
