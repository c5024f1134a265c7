#ifndef FATHOM_WINDOWS_TUNING_H
#define FATHOM_WINDOWS_TUNING_H

#include "base/tuned.h"

#include "windows/tuning.def"

#endif
