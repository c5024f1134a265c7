/* Cost of address translation: a chase through one line in each of many pages, minus a chase through equally many
   adjacent lines with the same use of the caches. */
#ifndef FATHOM_MEASURE_TRANSLATION_H
#define FATHOM_MEASURE_TRANSLATION_H

#include "base/figure.h"
#include "measure/session.h"
#include "profile/parameters.h"

/* Measured numbers of pages. */
enum { FM_TRANSLATION_POINTS = 30, FM_TRANSLATION_LARGEST = 8192 };
extern const unsigned fm_translation_points[FM_TRANSLATION_POINTS];

/* `given`: additional cycles of a load, for each of FM_TRANSLATION_POINTS numbers of pages. ret_figures has
   FM_TRANSLATION_PARAMETERS. Pure arithmetic; figures have the origin of `model`. */
void fm_translation_find(const double *given, const struct fm_figure *model, struct fm_figure *ret_figures);

/* fm_translation_find() for pages of 2 MiB, with the first `count` numbers of pages, at least
   FM_TRANSLATION_HUGE_LEAST. */
enum { FM_TRANSLATION_HUGE_LEAST = 8 };
void fm_translation_find_huge(const double *given, unsigned count, const struct fm_figure *model,
                              struct fm_figure *ret_figures);

/* Count of the numbers of pages of 2 MiB that fit into `bytes`. */
unsigned fm_translation_huge_points(uint64_t bytes);

/* Measures on pages of 4 KiB. */
int fm_translation_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                           struct fm_error *error);

/* Measures on pages of 2 MiB, in up to an eighth of the available memory and 1 GiB (8 GiB with full effort).
   Unavailable without such pages. */
int fm_translation_measure_huge(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                                struct fm_error *error);

#endif
