#include "model/irregular.h"

#include <math.h>

#include "model/doubt.h"

static void add(struct fm_figure *figure, double value, double low, double high, double most)
{
	*figure = fm_figure_make(fmin(most, fmax(0, figure->value + value)), fmin(most, fmax(0, figure->low + low)),
	                         fmin(most, fmax(0, figure->high + high)), figure->unit, figure->origin,
	                         figure->backend, figure->trials);
}

void fm_irregular_waiting(struct fm_picture *picture)
{
	const struct fm_figure *regular = &picture->signs.regular;
	double active = picture->active.value, irregular = 1 - regular->value, least = 1 - fmin(1, regular->high),
	       most = 1 - fmax(0, regular->low);

	if (!regular->available || !picture->active.available || !(active > 0))
		return;
	for (unsigned i = 1; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		const struct fm_figure waits = level->bandwidth_share;

		if (!level->utilisation.available || level->utilisation.high >= FM_FAR_BELOW_PEAK || !waits.available ||
		    !level->latency_share.available)
			continue;
		add(&level->latency_share, waits.value * irregular, waits.low * least, waits.high * most, 1);
		add(&level->bandwidth_share, -waits.value * irregular, -waits.low * most, -waits.high * least, 1);
		if (!picture->latency_bound.available || !picture->bandwidth_bound.available)
			continue;
		add(&picture->latency_bound, active * waits.value * irregular, active * waits.low * least,
		    active * waits.high * most, active);
		add(&picture->bandwidth_bound, -active * waits.value * irregular, -active * waits.low * most,
		    -active * waits.high * least, active);
	}
}
