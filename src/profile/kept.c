#include "profile/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static const char *const words_of[FM_KEPT_PARTS] = {
#define KEPT(name, words, condition) words,
#define PIECE(name, member)
#include "profile/kept.def"
};

const char *fm_kept_words(enum fm_kept_part part)
{
	return words_of[part];
}

static bool has(const struct fm_machine *earlier, enum fm_kept_part part)
{
	const bool there[FM_KEPT_PARTS] = {
#define KEPT(name, words, condition) condition,
#define PIECE(name, member)
#include "profile/kept.def"
	};

	return there[part];
}

bool fm_machine_keep(struct fm_machine *machine, enum fm_kept_part part, const struct fm_machine *earlier)
{
	const char *taken = earlier->kept[part].taken[0] ? earlier->kept[part].taken : earlier->taken;
	const size_t bytes = earlier->bandwidth_curve.count * sizeof(*earlier->bandwidth_curve.points);
	struct fm_bandwidth_curve_point *points = part == FM_KEPT_loaded && bytes ? malloc(bytes) : NULL;

	if (!has(earlier, part) || (part == FM_KEPT_loaded && !points))
		return false;
#define KEPT(name, words, condition)
#define PIECE(name, member)         \
	if (part == FM_KEPT_##name) \
		memcpy(&machine->member, &earlier->member, sizeof(machine->member));
#include "profile/kept.def"
	if (points)
		machine->bandwidth_curve.points = memcpy(points, earlier->bandwidth_curve.points, bytes);
	snprintf(machine->kept[part].taken, sizeof(machine->kept[part].taken), "%s", taken);
	return true;
}
