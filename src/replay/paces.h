#ifndef FATHOM_REPLAY_PACES_H
#define FATHOM_REPLAY_PACES_H

#include "base/tuned.h"

#include "replay/paces.def"

#endif
