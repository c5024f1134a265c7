/* The machine profile as text and separated values. */
#ifndef FATHOM_REPORT_MACHINE_TEXT_H
#define FATHOM_REPORT_MACHINE_TEXT_H

#include <stdio.h>

#include "profile/profile.h"

/* Prints tables and staircases within `width` columns; with `verbose` also the curves' points and every bandwidth. */
void fm_machine_print(const struct fm_machine *machine, FILE *output, unsigned width, int verbose);

/* Prints the parameters of the core. */
void fm_machine_print_core(const struct fm_machine *machine, FILE *output, unsigned width);

/* Prints one figure per line: quantity, level, detail, value, unit, low, high, origin, trials. */
void fm_machine_print_separated(const struct fm_machine *machine, FILE *output, const char *separator);

/* Prints "undisturbed", or the number of disturbed trials with the causes. */
void fm_disturbance_print(const struct fm_disturbance *disturbance, FILE *output, unsigned width);

#endif
