#include "machine/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

static bool keep_string_stores(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->string_stores.point_count)
		return false;
	machine->string_stores = earlier->string_stores;
	return true;
}

static bool keep_small_pages(struct fm_machine *machine, const struct fm_machine *earlier)
{
	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++)
		if (!earlier->small_pages[i].available)
			return false;
	memcpy(machine->small_pages, earlier->small_pages, sizeof(machine->small_pages));
	return true;
}

static bool keep_core(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->core_measured)
		return false;
	memcpy(machine->core, earlier->core, sizeof(machine->core));
	memcpy(machine->translation, earlier->translation, sizeof(machine->translation));
	memcpy(machine->ways, earlier->ways, sizeof(machine->ways));
	machine->core_measured = true;
	return true;
}

static bool keep_prefetch(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->prefetch_measured)
		return false;
	memcpy(machine->prefetch, earlier->prefetch, sizeof(machine->prefetch));
	machine->prefetch_measured = true;
	return true;
}

static bool keep_parallel(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->parallel_count)
		return false;
	memcpy(machine->parallel, earlier->parallel, sizeof(machine->parallel));
	machine->parallel_count = earlier->parallel_count;
	machine->outstanding_misses = earlier->outstanding_misses;
	return true;
}

static bool keep_loaded(struct fm_machine *machine, const struct fm_machine *earlier)
{
	size_t bytes = earlier->bandwidth_curve.count * sizeof(*earlier->bandwidth_curve.points);
	struct fm_bandwidth_curve_point *points = bytes ? malloc(bytes) : NULL;

	if (!points)
		return false;
	memcpy(points, earlier->bandwidth_curve.points, bytes);
	machine->bandwidth_curve = earlier->bandwidth_curve;
	machine->bandwidth_curve.points = points;
	memcpy(machine->loaded, earlier->loaded, sizeof(machine->loaded));
	machine->loaded_count = earlier->loaded_count;
	machine->loaded_why = earlier->loaded_why;
	return true;
}

static bool keep_huge_pages(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->translation_huge_measured)
		return false;
	memcpy(machine->translation_huge, earlier->translation_huge, sizeof(machine->translation_huge));
	machine->translation_huge_measured = true;
	return true;
}

static bool keep_touch(struct fm_machine *machine, const struct fm_machine *earlier)
{
	if (!earlier->touch_measured)
		return false;
	memcpy(machine->touch, earlier->touch, sizeof(machine->touch));
	machine->touch_measured = true;
	return true;
}

static const struct {
	const char *words;
	bool (*keep)(struct fm_machine *machine, const struct fm_machine *earlier);
} parts[FM_KEPT_PARTS] = {
#define KEPT(name, words) {words, keep_##name},
#include "machine/kept.def"
#undef KEPT
};

const char *fm_kept_words(enum fm_kept_part part)
{
	return parts[part].words;
}

bool fm_machine_keep(struct fm_machine *machine, enum fm_kept_part part, const struct fm_machine *earlier)
{
	const char *taken = earlier->kept[part].taken[0] ? earlier->kept[part].taken : earlier->taken;

	if (!parts[part].keep(machine, earlier))
		return false;
	snprintf(machine->kept[part].taken, sizeof(machine->kept[part].taken), "%s", taken);
	return true;
}
