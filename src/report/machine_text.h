/* The machine profile for people and for spreadsheets. */
#ifndef FATHOM_REPORT_MACHINE_TEXT_H
#define FATHOM_REPORT_MACHINE_TEXT_H

#include <stdio.h>

#include "machine/machine.h"

/* Tables and staircases, within `width` columns. verbose adds the curves' points and every bandwidth. */
void fm_machine_print(const struct fm_machine *machine, FILE *output, unsigned width, int verbose);

/* What the core can do. */
void fm_machine_print_core(const struct fm_machine *machine, FILE *output, unsigned width);

/* One figure per line: quantity, level, detail, value, unit, low, high, origin, trials. */
void fm_machine_print_separated(const struct fm_machine *machine, FILE *output, const char *separator);

/* "undisturbed", or how many of the trials were and why. */
void fm_disturbance_print(const struct fm_disturbance *disturbance, FILE *output, unsigned width);

#endif
