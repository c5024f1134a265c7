#include "profile/faults.h"

#include <math.h>

struct fm_figure fm_faults_predict(const struct fm_figure *figures, uint64_t faults, uint64_t huge, bool always)
{
	static const enum fm_touch_parameter small[] = {FM_TOUCH_touch_write_4k, FM_TOUCH_touch_read_4k,
	                                                FM_TOUCH_touch_rewrite_4k, FM_TOUCH_touch_file,
	                                                FM_TOUCH_touch_copy_4k};
	const struct fm_figure *usual = &figures[FM_TOUCH_touch_write_4k], *back = &figures[FM_TOUCH_release_4k],
	                       *large = &figures[FM_TOUCH_touch_write_2m], *large_back = &figures[FM_TOUCH_release_2m];
	double low, high, value, more = 0, more_high = 0, count = (double)faults;

	if (!usual->available)
		return *usual;
	if (!back->available)
		return *back;
	if (huge > faults)
		huge = faults;
	if (huge && (!large->available || !large_back->available))
		return fm_figure_unavailable("some faults may have mapped pages of 2 MiB with unknown cost");
	low = usual->low;
	high = usual->high;
	for (unsigned i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (figures[small[i]].available) {
			low = fmin(low, figures[small[i]].low);
			high = fmax(high, figures[small[i]].high);
		}
	/* a page of zeros or of a file is not given back */
	high += back->high;
	value = usual->value + back->value;
	if (huge) {
		more = !always ? 0 : fmax(0, large->value + large_back->value - value);
		more_high = fmax(0, large->high + large_back->high - high);
	}
	return fm_figure_make(1e-9 * (count * value + (double)huge * more), 1e-9 * count * low,
	                      1e-9 * (count * high + (double)huge * more_high), "s", FM_ORIGIN_modelled, "touch",
	                      usual->trials);
}
