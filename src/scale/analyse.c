#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "scale/counted.h"
#include "scale/fit.h"
#include "scale/verdict.h"

static void fit(struct fm_scale *scale)
{
	struct fm_scale_point points[FM_SCALE_COUNTS_MAX];
	unsigned count = 0;

	/* the laws compare with one thread, and do not hold beyond the processors */
	for (unsigned i = 0; scale->counts[0].count == 1 && i < scale->count; i++) {
		const struct fm_figure *speedup = &scale->counts[i].speedup;

		if (speedup->available && scale->counts[i].count <= scale->how->cpus)
			points[count++] = (struct fm_scale_point){scale->counts[i].count, speedup->value,
			                                          (speedup->high - speedup->low) / 3.92};
	}
	fm_scale_fit(points, count, &scale->fit);
}

int fm_scale_analyse(const struct fm_recording *recording, struct fm_scale **ret_scale, struct fm_error *error)
{
	struct fm_scale *scale;
	int r;

	if (!recording->scales_count || !recording->scale_runs_count)
		return fm_error_set(error, EINVAL, "this recording has no runs of 'fathom scale'");
	scale = calloc(1, sizeof(*scale));
	if (!scale)
		return fm_error_set(error, ENOMEM, "out of memory");
	scale->recording = recording;
	scale->how = &recording->scales[0];
	r = fm_scale_count_all(scale);
	if (r) {
		fm_scale_free(scale);
		return fm_error_set(error, r == -ENOMEM ? ENOMEM : EINVAL,
		                    r == -ENOMEM ? "out of memory" : "this recording has no runs of 'fathom scale'");
	}
	fit(scale);
	fm_scale_judge(scale, &scale->verdict);
	*ret_scale = scale;
	return 0;
}

void fm_scale_free(struct fm_scale *scale)
{
	if (scale)
		free(scale->counts);
	free(scale);
}
