#include <math.h>
#include <string.h>

#include "report/plot.h"
#include "report/scale.h"
#include "report/table.h"

enum { PLOT_WIDTH = 70, PLOT_HEIGHT = 10, NOTE_WIDTH = 92 };

/* "1.91 (1.88 … 1.94)"; without the range where it has no width. */
static void add_figure(struct fm_table *table, const struct fm_figure *figure, double factor)
{
	if (!figure->available)
		fm_table_cell(table, "n/a");
	else if (figure->high - figure->low <= 1e-3 * fabs(figure->value))
		fm_table_cell(table, "%.3g", factor * figure->value);
	else
		fm_table_cell(table, "%.3g (%.3g … %.3g)", factor * figure->value, factor * figure->low,
		              factor * figure->high);
}

static void print_sentence(const struct fm_scale *scale, FILE *output)
{
	const struct fm_scale_verdict *verdict = &scale->verdict;
	const struct fm_scale_count *count = &scale->counts[verdict->decisive];
	const char *name = fm_scale_cause_name(verdict->cause);
	const char *what = strcmp(scale->how->by, "cpus") != 0 ? "threads" : "CPUs";

	fprintf(output, "%s: ", scale->recording->run.program);
	if (verdict->cause == FM_SCALE_CAUSE_inconclusive)
		fprintf(output, "inconclusive at %u %s", count->count, what);
	else if (*verdict->level)
		fprintf(output, "%s at %u %s: bandwidth of %s", name, count->count, what, verdict->level);
	else
		fprintf(output, "%s at %u %s", name, count->count, what);
	if (verdict->confidence > 0)
		fprintf(output, " (confidence %.2f)", verdict->confidence);
	fputs(".\n", output);
	for (unsigned i = 0; i < verdict->evidence_count; i++)
		fprintf(output, "  %s\n", verdict->evidence[i]);
	if (*verdict->line)
		fprintf(output, "  where: %s\n", verdict->line);
	fprintf(output, "  try: %s\n", fm_scale_cause_advice(verdict->cause));
}

static const struct fm_scale_level *outermost(const struct fm_scale_count *count)
{
	return count->level_count ? &count->levels[count->level_count - 1] : NULL;
}

static void print_counts(const struct fm_scale *scale, unsigned width, FILE *output)
{
	struct fm_table *table = fm_table_create("rrrrrrrr");
	const struct fm_scale_level *memory = outermost(&scale->counts[0]);

	if (!table)
		return;
	fm_table_cell(table, "%s", scale->how->by);
	fm_table_cell(table, "time, s");
	fm_table_cell(table, "speed-up");
	fm_table_cell(table, "%s%s", memory ? memory->name : "memory", ", GB/s");
	fm_table_cell(table, "peak GB/s");
	fm_table_cell(table, "used %%");
	fm_table_cell(table, "waiting %%");
	fm_table_cell(table, "imbalance");
	for (unsigned i = 0; i < scale->count; i++) {
		const struct fm_scale_count *count = &scale->counts[i];
		const struct fm_figure none = fm_figure_unavailable("not observed");

		memory = outermost(count);
		fm_table_cell(table, "%u", count->count);
		add_figure(table, &count->elapsed, 1);
		add_figure(table, &count->speedup, 1);
		add_figure(table, memory ? &memory->gbs : &none, 1);
		if (memory && memory->sustainable_gbs.available)
			fm_table_cell(table, "%.3g", memory->sustainable_gbs.value);
		else
			fm_table_cell(table, "n/a");
		if (memory && memory->utilisation.available)
			fm_table_cell(table, "%.0f", 100 * memory->utilisation.value);
		else
			fm_table_cell(table, "n/a");
		fm_table_cell(table, "%.0f", 100 * count->waiting.value);
		if (count->imbalance.available)
			fm_table_cell(table, "%.2f", count->imbalance.value);
		else
			fm_table_cell(table, "-");
	}
	fputc('\n', output);
	fm_table_may_close(table);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_plot(const struct fm_scale *scale, FILE *output)
{
	double x[2][FM_SCALE_COUNTS_MAX], y[2][FM_SCALE_COUNTS_MAX];
	struct fm_plot_series series[] = {{.name = "measured", .x = x[0], .y = y[0]},
	                                  {.name = "ideal", .x = x[1], .y = y[1]}};
	const struct fm_plot plot = {.title = "speed-up by number of threads",
	                             .linear = true,
	                             .width = PLOT_WIDTH,
	                             .height = PLOT_HEIGHT,
	                             .series = series,
	                             .series_count = 2};

	for (unsigned i = 0; i < scale->count && i < FM_SCALE_COUNTS_MAX; i++) {
		const struct fm_scale_count *count = &scale->counts[i];

		x[1][series[1].count] = y[1][series[1].count] = count->count;
		series[1].count++;
		if (!count->speedup.available)
			continue;
		x[0][series[0].count] = count->count;
		y[0][series[0].count++] = count->speedup.value;
	}
	fputc('\n', output);
	fm_plot_print(&plot, output);
}

/* Columns only for parts that some number of threads has. */
static void print_parts(const struct fm_scale *scale, unsigned width, FILE *output)
{
	char columns[FM_SCALE_PARTS + 2] = "r";
	unsigned count = 1;
	bool shown[FM_SCALE_PARTS];
	struct fm_table *table;

	for (unsigned part = 0; part < FM_SCALE_PARTS; part++) {
		shown[part] = part == FM_SCALE_useful;
		for (unsigned i = 0; i < scale->count; i++)
			shown[part] = shown[part] || scale->counts[i].share[part] >= 0.005;
		if (shown[part])
			columns[count++] = 'r';
	}
	table = fm_table_create(columns);
	if (!table)
		return;
	fprintf(output, "\nTime of the processors, %% of %s × time\n", scale->how->by);
	fm_table_cell(table, "%s", scale->how->by);
	for (unsigned part = 0; part < FM_SCALE_PARTS; part++)
		if (shown[part])
			fm_table_cell(table, "%s", fm_scale_part_name((enum fm_scale_part)part));
	for (unsigned i = 0; i < scale->count; i++) {
		fm_table_cell(table, "%u", scale->counts[i].count);
		for (unsigned part = 0; part < FM_SCALE_PARTS; part++)
			if (shown[part])
				fm_table_cell(table, "%.0f", 100 * scale->counts[i].share[part]);
	}
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	for (unsigned part = 0; part < FM_SCALE_PARTS; part++)
		if (shown[part])
			fprintf(output, "  %s: %s\n", fm_scale_part_name((enum fm_scale_part)part),
			        fm_scale_part_words((enum fm_scale_part)part));
}

static void print_fit(const struct fm_scale *scale, FILE *output)
{
	const struct fm_figure *serial = &scale->fit.serial_share, *contention = &scale->fit.contention,
	                       *coherence = &scale->fit.coherence;

	fputc('\n', output);
	if (serial->available)
		fprintf(output, "Amdahl's law: serial share %.1f %% (%.1f … %.1f)\n", 100 * serial->value,
		        100 * serial->low, 100 * serial->high);
	if (contention->available)
		fprintf(output,
		        "Universal scalability law: contention %.2g (%.2g … %.2g), coherence %.2g (%.2g … %.2g)\n",
		        contention->value, contention->low, contention->high, coherence->value, coherence->low,
		        coherence->high);
}

static void print_levels(const struct fm_scale *scale, unsigned width, FILE *output)
{
	struct fm_table *table = fm_table_create("rlrrr");

	if (!table)
		return;
	fm_table_cell(table, "%s", scale->how->by);
	fm_table_cell(table, "level");
	fm_table_cell(table, "GB/s");
	fm_table_cell(table, "peak GB/s");
	fm_table_cell(table, "used %%");
	for (unsigned i = 0; i < scale->count; i++)
		for (unsigned k = 0; k < scale->counts[i].level_count; k++) {
			const struct fm_scale_level *level = &scale->counts[i].levels[k];

			fm_table_cell(table, "%u", scale->counts[i].count);
			fm_table_cell(table, "%s", level->name);
			add_figure(table, &level->gbs, 1);
			add_figure(table, &level->sustainable_gbs, 1);
			add_figure(table, &level->utilisation, 100);
		}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_origin(const struct fm_scale *scale, FILE *output)
{
	const struct fm_recorded_scale *how = scale->how;
	unsigned runs = 0, disturbed = 0;

	for (unsigned i = 0; i < scale->count; i++) {
		runs += scale->counts[i].runs;
		disturbed += scale->counts[i].disturbed;
	}
	if (how->simulated)
		fprintf(output, "\n%u simulated runs on %s; numbers of threads by %s.\n", runs,
		        scale->recording->asked.machine, how->set_by);
	else
		fprintf(output,
		        "\n%u interleaved native runs, %u disturbed; numbers of threads by %s; %u processors.\n"
		        "GB/s: bytes of an observed run, divided by the native run time. Ranges: 95 %% intervals.\n",
		        runs, disturbed, how->set_by, how->cpus);
	if (*how->stopped)
		fprintf(output, "Incomplete: %s; %llu runs are missing.\n", how->stopped,
		        (unsigned long long)how->planned);
}

void fm_scale_print(const struct fm_scale *scale, unsigned width, int verbosity, FILE *output)
{
	print_sentence(scale, output);
	print_counts(scale, width, output);
	if (scale->count > 1)
		print_plot(scale, output);
	print_parts(scale, width, output);
	print_fit(scale, output);
	if (verbosity > 0)
		print_levels(scale, width, output);
	print_origin(scale, output);
}
