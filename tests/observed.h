/* For tests: a program in the engine, as a settled recording. Fails the test when that does not work. */
#ifndef FATHOM_TESTS_OBSERVED_H
#define FATHOM_TESTS_OBSERVED_H

#include "observe/observe.h"

struct fm_recording *observed(const struct fm_machine_description *machine, const struct fm_observation *wanted);

#endif
