/* Numbers of sites, pieces and regions: one table of each in the file, for all threads. Called by translators, with all
   signals blocked and outside of the cache: the owner of the lock must not need a translation. */
#ifndef FATHOM_TRACE_NUMBERS_H
#define FATHOM_TRACE_NUMBERS_H

#include "trace/file.h"
#include "translate/translate.h"

#define FM_NO_NUMBER UINT32_MAX

int fm_numbers_open(void);
void fm_numbers_forked(void);

/* The number of a site. FM_NO_NUMBER: no room, which is counted; or code of this library. */
uint32_t fm_number_site(const struct fm_translate_site *site);
uint32_t fm_number_piece(const struct fm_translate_piece *piece);
uint32_t fm_number_name(const char *name);

/* Code was mapped or unmapped. */
void fm_numbers_remapped(void);

#endif
