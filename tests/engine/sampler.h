/* A program by fm_engine_sample(). */
#ifndef FATHOM_TESTS_ENGINE_SAMPLER_H
#define FATHOM_TESTS_ENGINE_SAMPLER_H

#include <stdint.h>

/* How many references it made; fails the test when it cannot run. */
uint64_t sample_by_observer(char *const *program, const char *machine, const char *folder, uint64_t every);

#endif
