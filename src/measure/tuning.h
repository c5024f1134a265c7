#ifndef FATHOM_MEASURE_TUNING_H
#define FATHOM_MEASURE_TUNING_H

#include "base/tuned.h"

/* NAME_WIDTH, relative half-width of the interval at which a measurement ends; NAME_LEAST and NAME_MOST rounds. */
#define TRIALS(name, width, least, most, check)                   \
	TUNED(name##_WIDTH, width, "", judged, check)             \
	TUNED_COUNT(name##_LEAST, least, "rounds", judged, check) \
	TUNED_COUNT(name##_MOST, most, "rounds", judged, check)
#include "measure/tuning.def"
#undef TRIALS

#endif
