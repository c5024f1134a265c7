#include <math.h>

#include "base/text.h"
#include "report/plot.h"
#include "report/squeeze.h"
#include "report/table.h"

enum { PLOT_HEIGHT = 8 };

static const char *amount_text(char *text, size_t size, double amount, bool is_size)
{
	if (is_size)
		return fm_text_bytes(text, size, amount);
	fm_text_number(text, size, amount);
	return text;
}

/* "between 2.87 MiB and 3.2 MiB", "less than 640 KiB" */
static void print_range(const struct fm_figure *figure, bool is_size, const char *unit, FILE *output)
{
	char low[32], high[32];

	amount_text(low, sizeof(low), figure->low, is_size);
	amount_text(high, sizeof(high), figure->high, is_size);
	if (figure->low > 0)
		fprintf(output, "between %s%s and %s%s", low, unit, high, unit);
	else
		fprintf(output, "less than %s%s", high, unit);
}

static void print_capacity(const struct fm_squeeze *squeeze, FILE *output)
{
	static const char *const reasons[] = {
	    [FM_SQUEEZE_SMALL] = "small working set: frequently used data fit the caches before this one",
	    [FM_SQUEEZE_STREAMING] = "streaming: data are evicted before reuse, in a cache of any of these sizes",
	    [FM_SQUEEZE_UNTOLD] = "streaming, or frequently used data fit the caches before this one; the total memory "
	                          "exceeds this cache"};
	const struct fm_recorded_squeeze *how = squeeze->how;

	fprintf(output, "Capacity in use, %s: ", how->level);
	if (!squeeze->capacity_in_use.available) {
		fprintf(output, "n/a (%s)\n", squeeze->capacity_in_use.why);
		return;
	}
	print_range(&squeeze->capacity_in_use, true, "", output);
	if (squeeze->kind == FM_SQUEEZE_SENSITIVE)
		fprintf(output, ": less capacity is slower\n");
	else if (squeeze->capacity_in_use.high > squeeze->capacity.points[0].amount)
		fprintf(output, "; below that, times vary too much for a decision\n");
	else
		fprintf(output, "\n  insensitive: %s\n", reasons[squeeze->kind]);
}

static void print_bandwidth(const struct fm_squeeze *squeeze, FILE *output)
{
	fprintf(output, "Bandwidth in use, memory: ");
	if (!squeeze->bandwidth_in_use.available)
		fprintf(output, "n/a (%s)", squeeze->bandwidth_in_use.why);
	else
		print_range(&squeeze->bandwidth_in_use, false, " GB/s", output);
	if (squeeze->how->live)
		fputc('\n', output);
	else
		fprintf(output, "; average traffic %.3g GB/s\n", squeeze->traffic_gbs);
}

static void print_control(const struct fm_squeeze *squeeze, FILE *output)
{
	const struct fm_figure *control = &squeeze->control;

	if (!control->available) {
		fprintf(output, "Control without a limit: n/a (%s)\n", control->why);
		return;
	}
	fprintf(output, "Control without a limit: %.3f times the run time (%.3f to %.3f)%s\n", control->value,
	        control->low, control->high,
	        squeeze->control_fails                         ? ": DOUBTFUL, the method alone slows the program down"
	        : control->high > 1 + squeeze->how->noticeable ? ": inconclusive, since times vary"
	                                                       : ": the effect is due to the cache");
}

static void print_second_opinion(const struct fm_squeeze *squeeze, FILE *output)
{
	if (!squeeze->curve_need.available) {
		fprintf(output, "Miss-ratio curve: n/a (%s)\n", squeeze->curve_need.why);
		return;
	}
	fprintf(output, "Capacity estimated from the miss-ratio curve: ");
	print_range(&squeeze->curve_need, true, "", output);
	if (squeeze->capacity_in_use.available)
		fprintf(output, squeeze->agrees ? "; both methods agree\n"
		                                : "; the methods disagree:\n"
		                                  "  the curve also counts misses hidden by prefetch and overlap\n");
	else
		fprintf(output, "\n");
}

/* Live: pairs of runs and their results. */
static void print_live_points(const struct fm_squeeze *squeeze, const struct fm_design *design, bool is_size,
                              unsigned width, FILE *output)
{
	struct fm_table *table = fm_table_create("rrrrr");

	if (!table)
		return;
	fm_table_cell(table, "%s", is_size ? squeeze->how->level : "GB/s");
	fm_table_cells(table, "time", "run time ratio", "", "pairs");
	for (unsigned i = 0; i < design->count; i++) {
		const struct fm_design_point *point = &design->points[i];
		char text[32];

		fm_table_cell(table, "%s", amount_text(text, sizeof(text), point->amount, is_size));
		fm_table_cell(table, "%.4g ms", point->time * 1e3);
		fm_table_cell(table, "%.3f", point->time / squeeze->seconds);
		if (i + 1 < design->count && !isfinite(point->high)) {
			fm_table_cell(table, "(undecided)");
			fm_table_cell(table, "%u", point->runs);
		} else if (i + 1 < design->count) {
			fm_table_cell(table, "(%.3f to %.3f)", point->low / squeeze->seconds,
			              point->high / squeeze->seconds);
			fm_table_cell(table, "%u", point->runs);
		} else {
			fm_table_cells(table, "", "");
		}
	}
	fm_table_end(table, output, 2, width);
}

static void print_curve(const struct fm_squeeze *squeeze, const struct fm_design *design, bool is_size, unsigned width,
                        FILE *output)
{
	const struct fm_recording *recording = squeeze->recording;
	struct fm_table *table;
	double x[FM_DESIGN_POINTS], y[FM_DESIGN_POINTS];
	const struct fm_plot_series series = {.name = "time", .x = x, .y = y, .count = design->count};
	const struct fm_plot plot = {.title = is_size ? "run time with less cache, relative to the full cache"
	                                              : "run time with less bandwidth (GB/s), relative to full "
	                                                "bandwidth",
	                             .x_is_bytes = is_size,
	                             .width = width < 90 ? width : 90,
	                             .height = PLOT_HEIGHT,
	                             .series = &series,
	                             .series_count = 1};

	for (unsigned i = 0; i < design->count; i++) {
		x[i] = design->points[i].amount;
		y[i] = design->points[i].time / squeeze->seconds;
	}
	fputc('\n', output);
	fm_plot_print(&plot, output);
	if (squeeze->how->live) {
		print_live_points(squeeze, design, is_size, width, output);
		return;
	}
	table = fm_table_create("rrrrr");
	if (!table)
		return;
	fm_table_cell(table, "%s", is_size ? squeeze->how->level : "GB/s");
	fm_table_cells(table, "time", "slower by", "misses", "memory, GB/s");
	for (unsigned i = 0; i < design->count; i++)
		for (size_t k = 0; k < recording->squeeze_steps_count; k++) {
			const struct fm_recorded_squeeze_step *step = &recording->squeeze_steps[k];
			double seconds = design->points[i].time;
			char text[32];

			if (fabs((is_size ? step->bytes / x[i] : step->gbs / x[i]) - 1) > 1e-9 ||
			    (is_size ? step->gbs < squeeze->how->gbs : step->bytes < squeeze->how->bytes))
				continue;
			fm_table_cell(table, "%s", amount_text(text, sizeof(text), x[i], is_size));
			fm_table_cell(table, "%.4g ms", seconds * 1e3);
			fm_table_cell(table, "%.1f %%", 100 * (y[i] - 1));
			fm_table_cell(table, "%.1f %%",
			              step->requests ? 100 * (double)step->misses / (double)step->requests : 0);
			fm_table_cell(table, "%.3g", (double)step->memory_bytes / seconds * 1e-9);
			break;
		}
	fm_table_end(table, output, 2, width);
}

/* Darker is slower. */
static const char *shade_of(double slowdown, double noticeable)
{
	return slowdown <= 1 + noticeable ? " "
	       : slowdown <= 1.25         ? "░"
	       : slowdown <= 1.5          ? "▒"
	       : slowdown <= 2            ? "▓"
	                                  : "█";
}

static void print_map_cell(const struct fm_squeeze *squeeze, unsigned capacity, unsigned bandwidth,
                           struct fm_table *table)
{
	const struct fm_figure *slowdown = &squeeze->map.slowdown[capacity][bandwidth],
	                       *predicted = &squeeze->map.predicted[capacity][bandwidth];

	if (!slowdown->available) {
		fm_table_cells(table, "n/a", "");
		return;
	}
	fm_table_cell(table, "%s %.3f", shade_of(slowdown->value, squeeze->how->noticeable), slowdown->value);
	if (squeeze->how->live && (capacity || bandwidth))
		fm_table_cell(table, "(%.3f to %.3f)", slowdown->low, slowdown->high);
	else if (capacity && bandwidth && predicted->available)
		fm_table_cell(table, "[%.3f]", predicted->value);
	else
		fm_table_cell(table, NULL);
}

static void print_map(const struct fm_squeeze *squeeze, unsigned width, FILE *output)
{
	const struct fm_squeeze_map *map = &squeeze->map;
	struct fm_table *table;
	char columns[2 + 2 * FM_SQUEEZE_MAP] = "r", text[32];

	if (!squeeze->how->map)
		return;
	if (!map->capacities) {
		fprintf(output, "\nMap of both: n/a (%s)\n",
		        *squeeze->how->stopped ? squeeze->how->stopped : "no reduced amount was tried");
		return;
	}
	for (unsigned i = 0; i < 2 * map->bandwidths; i++)
		columns[1 + i] = i % 2 ? 'l' : 'r';
	columns[1 + 2 * map->bandwidths] = 0;
	table = fm_table_create(columns);
	if (!table)
		return;
	fprintf(output, "\nLess of both: run time ratio by %s (down) and GB/s of memory (across)%s\n",
	        squeeze->how->level, squeeze->how->live ? "" : "; in brackets: prediction from the two curves");
	fm_table_cell(table, NULL);
	for (unsigned k = 0; k < map->bandwidths; k++) {
		fm_table_cell(table, "%s", amount_text(text, sizeof(text), map->gbs[k], false));
		fm_table_cell(table, NULL);
	}
	for (unsigned i = 0; i < map->capacities; i++) {
		fm_table_cell(table, "%s", amount_text(text, sizeof(text), map->bytes[i], true));
		for (unsigned k = 0; k < map->bandwidths; k++)
			print_map_cell(squeeze, i, k, table);
	}
	fm_table_end(table, output, 2, width);
	fprintf(output, "  ░ up to 1.25, ▒ up to 1.5, ▓ up to 2, █ more\n");
}

static void range_cell(struct fm_table *table, const struct fm_figure *figure, bool is_size)
{
	char low[32], high[32];

	if (!figure->available) {
		fm_table_cell(table, "n/a");
		return;
	}
	amount_text(high, sizeof(high), figure->high, is_size);
	if (figure->low > 0)
		fm_table_cell(table, "%s to %s", amount_text(low, sizeof(low), figure->low, is_size), high);
	else
		fm_table_cell(table, "less than %s", high);
}

/* Use of each rank, by the number of ranks that share the cache. */
static void print_mappings(const struct fm_squeeze *squeeze, unsigned width, FILE *output)
{
	struct fm_table *table = squeeze->mapping_count ? fm_table_create("rrrrrrr") : NULL;

	if (!table)
		return;
	fprintf(output, "\n%u ranks: use of each rank, by number of ranks per %s and its memory\n", squeeze->how->ranks,
	        squeeze->how->level);
	fm_table_cells(table, "sharing", "caches", "time", "than alone");
	fm_table_cell(table, "%s in use", squeeze->how->level);
	fm_table_cells(table, "GB/s in use", "moves, GB/s");
	for (unsigned i = 0; i < squeeze->mapping_count; i++) {
		const struct fm_squeeze_mapping *mapping = &squeeze->mappings[i];

		fm_table_cell(table, "%u", mapping->ranks);
		fm_table_cell(table, "%u", mapping->caches);
		if (mapping->seconds.available) {
			fm_table_cell(table, "%.4g ms", mapping->seconds.value * 1e3);
			fm_table_cell(table, "%.3f times", mapping->sharing.value);
		} else {
			fm_table_cells(table, "n/a", "n/a");
		}
		range_cell(table, &mapping->capacity_in_use, true);
		range_cell(table, &mapping->bandwidth_in_use, false);
		if (mapping->traffic_gbs.available)
			fm_table_cell(table, "%.3g", mapping->traffic_gbs.value);
		else
			fm_table_cell(table, "n/a");
	}
	fm_table_end(table, output, 2, width);
	for (unsigned i = 0; i < squeeze->mapping_count; i++)
		if (!squeeze->mappings[i].capacity_in_use.available)
			fprintf(output, "  %u in one %s: %s\n", squeeze->mappings[i].ranks, squeeze->how->level,
			        squeeze->mappings[i].capacity_in_use.why);
}

static void print_predictions(const struct fm_squeeze *squeeze, unsigned width, FILE *output)
{
	struct fm_table *table = squeeze->prediction_count ? fm_table_create("lrrrl") : NULL;

	if (!table)
		return;
	fprintf(output, "\nPredictions from these runs\n");
	for (unsigned i = 0; i < squeeze->prediction_count; i++) {
		const struct fm_squeeze_prediction *prediction = &squeeze->predictions[i];

		fm_table_cell(table, "%s", prediction->text);
		if (prediction->slowdown.available) {
			fm_table_cell(table, "%.4g ms", prediction->seconds.value * 1e3);
			fm_table_cell(table, "%.3f times", prediction->slowdown.value);
			fm_table_cell(table, "(%.3f to %.3f)", prediction->slowdown.low, prediction->slowdown.high);
		} else {
			fm_table_cell(table, "n/a");
			fm_table_cell(table, "%s", prediction->slowdown.why);
			fm_table_cell(table, NULL);
		}
		/* the same from fewer runs, if the number of additional misses is known */
		if (prediction->from_half.available && squeeze->has_curve)
			fm_table_cell(table, "; from a run with half and the miss-ratio curve: %.3f (%.3f to %.3f)",
			              prediction->from_half.value, prediction->from_half.low,
			              prediction->from_half.high);
		else
			fm_table_cell(table, NULL);
	}
	fm_table_end(table, output, 2, width);
}

void fm_squeeze_print(const struct fm_squeeze *squeeze, unsigned width, int verbosity, FILE *output)
{
	const struct fm_recorded_squeeze *how = squeeze->how;
	char size[32];

	if (how->live) {
		fprintf(output, "%s\non this machine; %s %s; %u %s, back end %s\n", squeeze->recording->run.program,
		        how->level, fm_text_bytes(size, sizeof(size), how->bytes), squeeze->runs,
		        *how->region ? "windows" : "runs", how->backend);
		fprintf(output, "With full capacity and bandwidth: median %.4g s", squeeze->seconds);
		if (*how->region)
			fprintf(output, " per instance of region \"%s\"", how->region);
		fprintf(output, ". Degraded: slower by more than %.3g %%", 100 * how->noticeable);
		if (squeeze->set_aside)
			fprintf(output, "; %u pairs of %s excluded: disturbed", squeeze->set_aside,
			        *how->region ? "windows" : "runs");
		fprintf(output, ".\n");
	} else {
		fprintf(output, "%s\non %s, simulated; %s %s, memory %.4g GB/s; %zu runs, back end %s\n",
		        squeeze->recording->run.program, squeeze->recording->machine.title, how->level,
		        fm_text_bytes(size, sizeof(size), how->bytes), how->gbs,
		        squeeze->recording->squeeze_steps_count, how->backend);
		fprintf(output,
		        "With full capacity and bandwidth: %.4g ms. A run counts as degraded if it is over %.3g %% "
		        "slower.\n",
		        squeeze->seconds * 1e3, 100 * how->noticeable);
	}
	if (squeeze->backend && (verbosity > 0 || how->live))
		fprintf(output, "Limited: %s. Calibration: %s.\n", squeeze->backend->takes, how->calibration);
	fputc('\n', output);
	print_capacity(squeeze, output);
	print_bandwidth(squeeze, output);
	if (how->live)
		print_control(squeeze, output);
	print_second_opinion(squeeze, output);
	if (*how->stopped)
		fprintf(output, "Not complete: %s.\n", how->stopped);
	if (squeeze->capacity.count > 1)
		print_curve(squeeze, &squeeze->capacity, true, width, output);
	if (squeeze->bandwidth.count > 1)
		print_curve(squeeze, &squeeze->bandwidth, false, width, output);
	print_map(squeeze, width, output);
	print_mappings(squeeze, width, output);
	print_predictions(squeeze, width, output);
}

void fm_squeeze_pair_print(const struct fm_squeeze *const squeezes[2], const struct fm_squeeze_pair *pair, FILE *output)
{
	const struct fm_recorded_squeeze *how = squeezes[0]->how;
	char size[32];

	fprintf(output, "Two programs that share %s (%s) of %s, predicted from each alone\n\n", how->level,
	        fm_text_bytes(size, sizeof(size), how->bytes), squeezes[0]->recording->machine.title);
	for (unsigned i = 0; i < 2; i++) {
		const struct fm_figure *slowdown = &pair->slowdown[i];

		fprintf(output,
		        "%s\n"
		        "  share of the cache %s; run time %.3f times that alone (%.3f to %.3f); miss ratio %.1f %%\n",
		        squeezes[i]->recording->run.program, fm_text_bytes(size, sizeof(size), pair->share[i]),
		        slowdown->value, slowdown->low, slowdown->high, 100 * pair->misses[i]);
	}
	fprintf(output,
	        "\nThe interval spans LRU to random replacement. Memory bandwidth is assumed sufficient for both.\n");
}
