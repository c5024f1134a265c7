#include "profile/curves.h"

#include <math.h>
#include <stdlib.h>

enum { LINE_BYTES = 64 };

static const char *const pages_names[FM_PAGES_COUNT] = {"2M", "4K"};

const char *fm_pages_name(enum fm_pages pages)
{
	return pages_names[pages];
}

const struct fm_mix fm_mixes[FM_MIXES] = {
#define MIX(kernel, sign) {FM_STREAM_##kernel, sign},
#include "profile/mixes.def"
};

bool fm_mix_is(enum fm_stream_kernel_index kernel)
{
	for (unsigned i = 0; i < FM_MIXES; i++)
		if (fm_mixes[i].kernel == kernel)
			return true;
	return false;
}

void fm_bandwidth_curve_free(struct fm_bandwidth_curve *curve)
{
	free(curve->points);
	curve->points = NULL;
	curve->count = 0;
}

void fm_latency_curve_free(struct fm_latency_curve *curve)
{
	free(curve->points);
	curve->points = NULL;
	curve->count = 0;
}

unsigned fm_loaded_points(const struct fm_bandwidth_curve *curve, unsigned cpus, struct fm_loaded_point *points)
{
	unsigned count = 0;

	for (unsigned i = 0; i < curve->count && count < FM_LOAD_POINTS_MAX; i++) {
		const struct fm_bandwidth_curve_point *point = &curve->points[i];
		struct fm_figure traffic = point->traffic_gbs;
		double own;

		if (point->rate > 0 && (point->kernel != FM_STREAM_load || point->threads != cpus))
			continue;
		/* without the traffic of the chase */
		if (traffic.available && point->latency_ns.available) {
			own = LINE_BYTES / point->latency_ns.value;
			traffic.value = point->rate > 0 ? fmax(0, traffic.value - own) : 0;
			traffic.low = point->rate > 0 ? fmax(0, fmin(traffic.value, traffic.low - own)) : 0;
			traffic.high = point->rate > 0 ? fmax(traffic.value, traffic.high - own) : 0;
		}
		points[count++] = (struct fm_loaded_point){.traffic_gbs = traffic, .latency_ns = point->latency_ns};
	}
	return count;
}
