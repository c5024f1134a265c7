#ifndef FATHOM_OBSERVE_ASSUMED_H
#define FATHOM_OBSERVE_ASSUMED_H

#include "base/tuned.h"

#include "observe/assumed.def"

#endif
