#ifndef FATHOM_TRUST_JUDGING_H
#define FATHOM_TRUST_JUDGING_H

#include "base/tuned.h"

#include "trust/judging.def"

#endif
