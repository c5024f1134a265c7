/* Programs of tests/engine/programs in the emulator, on the simulated Haswell-EP. */
#ifndef FATHOM_TESTS_ENGINE_RUN_H
#define FATHOM_TESTS_ENGINE_RUN_H

#include "engine/engine.h"

extern struct fm_machine_description machine;

/* Reads the machine. 0, or the exit status of the test: it fails, or there is no QEMU. */
int prepare(void);

struct fm_engine_run run_with(const struct fm_engine_options *options, const char *program, const char *argument);

/* The same with all cores of the machine and nothing else. */
struct fm_engine_run run(const char *program, const char *argument);

/* NULL: there is none of that name. */
const struct fm_result_region *region(const struct fm_engine_run *run, const char *name);

#endif
