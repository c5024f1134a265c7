/* Translation of addresses: a chase through one line of each of many pages, less one through as many lines that lie
   closer together, which takes the same of the caches. What is left is what finding the pages costs. */
#ifndef FATHOM_MACHINE_TRANSLATION_H
#define FATHOM_MACHINE_TRANSLATION_H

#include "base/figure.h"
#include "machine/session.h"

enum fm_translation_parameter {
#define TRANSLATION_PARAMETER(identifier, ...) FM_TRANSLATION_##identifier,
#include "machine/translation.def"
#undef TRANSLATION_PARAMETER
	FM_TRANSLATION_PARAMETERS
};

/* Numbers of pages that are tried. */
enum { FM_TRANSLATION_POINTS = 30, FM_TRANSLATION_LARGEST = 8192 };
extern const unsigned fm_translation_points[FM_TRANSLATION_POINTS];

const char *fm_translation_parameter_name(enum fm_translation_parameter parameter);
const char *fm_translation_parameter_words(enum fm_translation_parameter parameter);
const char *fm_translation_parameter_unit(enum fm_translation_parameter parameter);

/* `given` has FM_TRANSLATION_POINTS: what a load takes more on so many pages. ret_figures has
   FM_TRANSLATION_PARAMETERS. Pure arithmetic; figures are like `model`. */
void fm_translation_find(const double *given, const struct fm_figure *model, struct fm_figure *ret_figures);

/* The same of pages of 2 MiB, for the first `count` of the numbers of pages, FM_TRANSLATION_HUGE_LEAST or more. */
enum { FM_TRANSLATION_HUGE_LEAST = 8 };
void fm_translation_find_huge(const double *given, unsigned count, const struct fm_figure *model,
                              struct fm_figure *ret_figures);

/* How many of the numbers of pages fit into `bytes` with pages of 2 MiB. */
unsigned fm_translation_huge_points(uint64_t bytes);

/* On pages of 4 KiB. */
int fm_translation_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                           struct fm_error *error);

/* On pages of 2 MiB: on as many as fit into an eighth of the available memory, and into 1 GiB (8 GiB with full effort).
   Unavailable where there are no such pages. */
int fm_translation_measure_huge(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                                struct fm_error *error);

#endif
