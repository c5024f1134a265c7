/* What a quick characterisation keeps of an earlier one (kept.def). */
#ifndef FATHOM_MACHINE_KEPT_H
#define FATHOM_MACHINE_KEPT_H

#include <stdbool.h>

struct fm_machine;

enum fm_kept_part {
#define KEPT(name, words) FM_KEPT_##name,
#include "machine/kept.def"
#undef KEPT
	FM_KEPT_PARTS
};

struct fm_kept {
	char taken[32]; /* when it was measured, UTC; empty: now, or not at all */
};

const char *fm_kept_words(enum fm_kept_part part);

/* Copies the part and notes when it was measured. False if the earlier profile has nothing to keep, or there is no
   memory left. */
bool fm_machine_keep(struct fm_machine *machine, enum fm_kept_part part, const struct fm_machine *earlier);

#endif
