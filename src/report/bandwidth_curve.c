#include "report/bandwidth_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/peak.h"
#include "report/plot.h"
#include "report/table.h"
#include "streams/streams.h"

enum { HEIGHT = 14, SIGN_OF_PROGRAM = '@' };

static double share_of(unsigned mix)
{
	return fm_kernel_write_share(fm_mixes[mix].kernel, false);
}

static bool drawable(const struct fm_bandwidth_curve_point *point)
{
	return point->traffic_gbs.available && point->latency_ns.available && point->traffic_gbs.value > 0 &&
	       point->latency_ns.value > 0;
}

static unsigned most_threads(const struct fm_bandwidth_curve *curve)
{
	unsigned most = 0;

	for (unsigned i = 0; i < curve->count; i++)
		if (curve->points[i].threads > most)
			most = curve->points[i].threads;
	return most;
}

/* Position of `at` on the axes; NULL: outside. */
static void draw(const struct fm_machine *machine, const struct fm_picture_level *at, FILE *output, unsigned width)
{
	const struct fm_bandwidth_curve *curve = &machine->bandwidth_curve;
	struct fm_plot_series series[FM_MIXES + 1];
	double x[FM_BANDWIDTH_CURVE_MAX], y[FM_BANDWIDTH_CURVE_MAX], own_x, own_y;
	unsigned used = 0, all = most_threads(curve);
	char title[200], legend[160] = "";
	struct fm_plot plot = {.title = title, .linear = true, .width = width, .height = HEIGHT, .series = series};

	for (unsigned mix = 0; mix < FM_MIXES; mix++) {
		struct fm_plot_series *own = &series[plot.series_count];
		size_t length = strlen(legend);

		*own = (struct fm_plot_series){.name = fm_streams[fm_mixes[mix].kernel].name,
		                               .x = x + used,
		                               .y = y + used,
		                               .sign = fm_mixes[mix].sign};
		for (unsigned i = 0; i < curve->count && used < FM_BANDWIDTH_CURVE_MAX; i++) {
			const struct fm_bandwidth_curve_point *point = &curve->points[i];

			if (point->kernel != fm_mixes[mix].kernel || !drawable(point) ||
			    (point->rate > 0 && point->threads != all))
				continue;
			x[used] = point->traffic_gbs.value;
			y[used++] = point->latency_ns.value;
			own->count++;
		}
		if (!own->count)
			continue;
		plot.series_count++;
		snprintf(legend + length, sizeof(legend) - length, "%s%c %.0f %%", length ? ", " : "", own->sign,
		         100 * share_of(mix));
	}
	if (!plot.series_count)
		return;
	if (at && at->gbs.available && (at->loaded_latency.available || at->loaded_at_least > 0)) {
		own_x = at->gbs.value;
		own_y = at->loaded_latency.available ? at->loaded_latency.value : at->loaded_at_least;
		series[plot.series_count++] = (struct fm_plot_series){
		    .name = "program", .x = &own_x, .y = &own_y, .count = 1, .sign = SIGN_OF_PROGRAM};
	}
	snprintf(title, sizeof(title),
	         "Memory latency in ns over memory traffic in GB/s, %u threads\nShare of writes: %s%s", all, legend,
	         at ? "; @ the program" : "");
	fm_plot_print(&plot, output);
}

/* Latency at the highest rate of this number of threads; not available if not measured. */
static const struct fm_figure *latency_at_most(const struct fm_bandwidth_curve *curve, unsigned mix, unsigned threads)
{
	const struct fm_bandwidth_curve_point *best = NULL;

	for (unsigned i = 0; i < curve->count; i++) {
		const struct fm_bandwidth_curve_point *point = &curve->points[i];

		if (threads == 1
		        ? !(point->rate > 0)
		        : point->kernel == fm_mixes[mix].kernel && point->threads == threads && point->rate > 0)
			if (!best || point->rate > best->rate)
				best = point;
	}
	return best ? &best->latency_ns : NULL;
}

static bool measured_on(const struct fm_machine *machine, unsigned level, unsigned threads)
{
	for (unsigned i = 0; i < machine->bandwidth_count; i++)
		if (machine->bandwidths[i].level == level && machine->bandwidths[i].threads == threads &&
		    machine->bandwidths[i].gbs.available)
			return true;
	return false;
}

static void peak_cells(struct fm_table *table, const struct fm_machine *machine, unsigned threads)
{
	fm_table_cell(table, "%u", threads);
	for (unsigned mix = 0; mix < FM_MIXES; mix++) {
		struct fm_figure share =
		    fm_figure_make(share_of(mix), share_of(mix), share_of(mix), "", FM_ORIGIN_measured, "kernels", 1);
		struct fm_peak peak = fm_peak_find(machine, "memory", threads, &share);
		const struct fm_figure *latency = latency_at_most(&machine->bandwidth_curve, mix, threads);
		char gbs[32], ns[32];

		/* only measured cells */
		if (!peak.gbs.available || peak.gbs.origin != FM_ORIGIN_measured ||
		    peak.write_share.value != share.value) {
			fm_table_cell(table, "n/a");
			continue;
		}
		fm_text_number(gbs, sizeof(gbs), peak.gbs.value);
		if (latency && latency->available)
			fm_table_cell(table, "%s, %s ns", gbs, fm_text_number(ns, sizeof(ns), latency->value));
		else
			fm_table_cell(table, "%s", gbs);
	}
}

static void print_peaks(const struct fm_machine *machine, FILE *output, unsigned width)
{
	const struct fm_level *memory = fm_machine_level(machine, "memory");
	struct fm_table *table = memory ? fm_table_create("rrrrr") : NULL;
	unsigned rows = 0;

	_Static_assert(FM_MIXES == 4, "one column per share of writes");
	if (!table)
		return;
	fm_table_cell(table, "Threads");
	for (unsigned mix = 0; mix < FM_MIXES; mix++)
		fm_table_cell(table, "%.0f %% writes", 100 * share_of(mix));
	/* powers of two, as measured, and all threads */
	for (unsigned threads = 1; threads <= FM_CPUS_MAX; threads++) {
		bool power = !(threads & (threads - 1));

		if ((power || threads == machine->cpus.count) &&
		    measured_on(machine, (unsigned)(memory - machine->levels), threads)) {
			peak_cells(table, machine, threads);
			rows++;
		}
	}
	if (rows) {
		fprintf(output,
		        "Memory peak in GB/s by threads and share of writes (write-allocate counts as a read), and "
		        "load\n"
		        "latency while all other threads run at full bandwidth\n");
		fm_table_print(table, output, 2, width);
	}
	fm_table_free(table);
}

void fm_bandwidth_curve_print(const struct fm_machine *machine, FILE *output, unsigned width)
{
	print_peaks(machine, output, width);
	draw(machine, NULL, output, width);
}

void fm_bandwidth_curve_print_peak(const struct fm_picture_level *level, FILE *output)
{
	if (!level->peak_gbs.available || !level->peak_threads)
		return;
	fprintf(output, "Peak of %s: %.3g GB/s for %u thread%s", level->name, level->peak_gbs.value,
	        level->peak_threads, level->peak_threads == 1 ? "" : "s");
	if (level->peak_share.available)
		fprintf(output, " and %.0f %% writes.\n", 100 * level->peak_share.value);
	else
		fprintf(output, ", at the best share of writes: the written amount is unknown.\n");
}

void fm_bandwidth_curve_place(const struct fm_machine *machine, const struct fm_picture_level *memory, FILE *output,
                              unsigned width)
{
	const struct fm_figure *latency = &memory->loaded_latency;

	if (!machine) {
		fprintf(output, "No bandwidth–latency curve: this machine has no profile. Run 'fathom machine'.\n");
		return;
	}
	if (!machine->bandwidth_curve.count) {
		fprintf(output, "No bandwidth–latency curve: %s.\n", latency->why);
		return;
	}
	draw(machine, memory, output, width);
	if (!memory->gbs.available)
		fprintf(output, "The program's position is unknown: %s.\n", memory->gbs.why);
	else if (latency->available)
		fprintf(output,
		        "The program: %.3g GB/s of memory traffic; load latency at this traffic %.0f ns (%.0f … "
		        "%.0f).\n",
		        memory->gbs.value, latency->value, latency->low, latency->high);
	else
		fprintf(output, "The program: %.3g GB/s of memory traffic, %s.\n", memory->gbs.value, latency->why);
}
