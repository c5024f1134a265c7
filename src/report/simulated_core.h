/* Measurements of a simulated core by kernels, beside the values of its file. */
#ifndef FATHOM_REPORT_SIMULATED_CORE_H
#define FATHOM_REPORT_SIMULATED_CORE_H

#include <jansson.h>
#include <stdio.h>

#include "trust/simulated_core.h"

void fm_simulated_core_print(const struct fm_machine_description *machine, const struct fm_found_core *found,
                             FILE *output);

/* The measurements as JSON, a new reference. */
json_t *fm_simulated_core_to_json(const struct fm_machine_description *machine, const struct fm_found_core *found);

#endif
