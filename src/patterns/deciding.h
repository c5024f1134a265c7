#ifndef FATHOM_PATTERNS_DECIDING_H
#define FATHOM_PATTERNS_DECIDING_H

#include "base/tuned.h"

#include "patterns/deciding.def"

#endif
