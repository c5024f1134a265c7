/* Parts of an earlier profile that a quick characterisation keeps (kept.def). */
#ifndef FATHOM_PROFILE_KEPT_H
#define FATHOM_PROFILE_KEPT_H

#include <stdbool.h>

struct fm_machine;

enum fm_kept_part {
#define KEPT(name, words, condition) FM_KEPT_##name,
#define PIECE(name, member)
#include "profile/kept.def"
	FM_KEPT_PARTS
};

struct fm_kept {
	char taken[32]; /* time of its measurement, UTC; empty: this profile, or not measured */
};

const char *fm_kept_words(enum fm_kept_part part);

/* Copies the part and the time of its measurement. False if the earlier profile lacks the part, or without memory. */
bool fm_machine_keep(struct fm_machine *machine, enum fm_kept_part part, const struct fm_machine *earlier);

#endif
