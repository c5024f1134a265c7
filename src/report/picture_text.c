#include "report/picture_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/table.h"
#include "report/where.h"

static const char *bytes(char *text, size_t size, const struct fm_figure *figure)
{
	if (!figure->available)
		return "n/a";
	return figure->value > 0 ? fm_text_bytes(text, size, figure->value) : "-";
}

static void print_time(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output)
{
	const struct fm_native *native = &picture->native;
	const struct fm_combination *combination = &picture->combination;

	if (native->runs) {
		fprintf(output, "%s took %.3g s by itself (%u run%s, %.3g … %.3g).\n", stat->program,
		        native->seconds.value, native->runs, native->runs == 1 ? "" : "s", native->seconds.low,
		        native->seconds.high);
		/* processor time is counted in ticks */
		if (native->cpu_seconds > 0.05)
			fprintf(output, "%.0f %% of its processor time was the kernel's, which is not predicted.\n",
			        100 * native->kernel_seconds / native->cpu_seconds);
		fprintf(output, "Counts are simulated on %s; GB/s are these counts over that time.\n",
		        picture->machine);
		if (combination->cases)
			fprintf(output,
			        "Checked with kernels (%u cases): counts are off what these declare by %.1f %% (nine "
			        "tenths\n"
			        "within %.1f %%), predicted times off measured ones by %.0f %% (nine tenths within "
			        "%.0f %%).\n",
			        combination->cases, 100 * combination->count_median, 100 * combination->count_most,
			        100 * combination->time_median, 100 * combination->time_most);
		else
			fprintf(output, "How far off they are was not checked: 'fathom machine --check' does that.\n");
	} else {
		fprintf(output, "%s on the simulated %s%s\n", stat->program, picture->machine,
		        picture->predicted_seconds.available ? "" : ", without time");
	}
	if (picture->part.region && picture->instances && picture->seconds.available)
		fprintf(output, "Only region %s was counted%s; it took %.3g s.\n", picture->part.region,
		        stat->options->last_instance ? ", its chosen instances" : "", picture->seconds.value);
	if (native->differs)
		fprintf(output, "The two did not do the same, so there are no rates:\n%s.\n", native->difference);
}

static void print_levels(const struct fm_picture *picture, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("lrrrrrr");
	char text[40];

	fm_table_cell(table, "Level");
	fm_table_cell(table, "read");
	fm_table_cell(table, "write-allocate");
	fm_table_cell(table, "written");
	fm_table_cell(table, "GB/s");
	fm_table_cell(table, "can do");
	fm_table_cell(table, "used");
	for (unsigned i = 0; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];

		fm_table_cell(table, "%s", level->name);
		fm_table_cell(table, "%s", bytes(text, sizeof(text), &level->read_bytes));
		fm_table_cell(table, "%s", bytes(text, sizeof(text), &level->allocate_bytes));
		fm_table_cell(table, "%s", bytes(text, sizeof(text), &level->write_bytes));
		fm_table_cell(table, level->gbs.available ? "%.3g" : "n/a", level->gbs.value);
		fm_table_cell(table, level->peak_gbs.available ? "%.3g" : "n/a", level->peak_gbs.value);
		fm_table_cell(table, level->utilisation.available ? "%.0f %%" : "n/a", 100 * level->utilisation.value);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	for (unsigned i = 0; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available && picture->levels[i].utilisation.low > 1.05)
			fprintf(
			    output,
			    "%s: more than was ever measured here. Counts and time are not of the same thing, or the\n"
			    "program moves data in a way that no kernel of 'fathom machine' does.\n",
			    picture->levels[i].name);
}

static double percent(const struct fm_picture *picture, const struct fm_figure *cycles)
{
	return 100 * cycles->value / picture->active.value;
}

static void print_cycles(const struct fm_picture *picture, FILE *output)
{
	if (!picture->productive.available || !(picture->active.value > 0))
		return;
	fprintf(output,
	        "\nCycles, %s: %.0f %% productive, %.0f %% bandwidth-bound, %.0f %% latency-bound, %.0f %% other "
	        "stalls\n",
	        fm_origin_name(picture->productive.origin), percent(picture, &picture->productive),
	        percent(picture, &picture->bandwidth_bound), percent(picture, &picture->latency_bound),
	        percent(picture, &picture->other_stall));
	if (picture->native.runs && picture->seconds.available && picture->predicted_seconds.available)
		fprintf(output, "Predicted from them: %.3g s; measured: %.3g s (%+.0f %%).\n",
		        picture->predicted_seconds.value, picture->seconds.value,
		        100 * (picture->predicted_seconds.value / picture->seconds.value - 1));
}

static void print_patterns(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                           const struct fm_stat *stat, FILE *output, unsigned width, int verbose)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings), absent = 0;
	struct fm_where *where = calloc(FM_FINDINGS_MAX, sizeof(*where));
	struct fm_table *table = fm_table_create("llw");

	if (where)
		fm_where_find(picture, findings, count, parts, stat, where);

	fm_table_cell(table, "Pattern");
	fm_table_cell(table, "verdict");
	fm_table_cell(table, "evidence");
	for (unsigned i = 0; i < count; i++) {
		if (findings[i].verdict == FM_VERDICT_ABSENT && verbose < 1) {
			absent++;
			continue;
		}
		fm_table_cell(table, "%s", findings[i].name);
		fm_table_cell(table, "%s", fm_verdict_name(findings[i].verdict));
		fm_table_cell(table, "%s", findings[i].evidence);
		if (findings[i].verdict == FM_VERDICT_PRESENT) {
			char text[600];

			if (where && *fm_where_text(&where[i], text, sizeof(text))) {
				fm_table_cell(table, "%s", "");
				fm_table_cell(table, "where");
				fm_table_cell(table, "%s", text);
			}
			fm_table_cell(table, "%s", "");
			fm_table_cell(table, "try");
			fm_table_cell(table, "%s", findings[i].advice);
		}
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	free(where);
	if (absent)
		fprintf(output, "%u other patterns are absent (-v lists them).\n", absent);
}

/* Parts: one line each. */

static struct fm_table *part_table(const struct fm_picture *picture, const char *first, bool region)
{
	struct fm_table *table = fm_table_create(region ? "lrrrrrrrrrw" : "lrrrrrrrw");

	fm_table_cell(table, "%s", first);
	if (region) {
		fm_table_cell(table, "threads");
		fm_table_cell(table, "times");
		fm_table_cell(table, "s");
	} else {
		fm_table_cell(table, "useful work");
	}
	for (unsigned i = picture->level_count > 3 ? picture->level_count - 3 : 1; i < picture->level_count; i++)
		fm_table_cell(table, "%s", picture->levels[i].name);
	fm_table_cell(table, "prod.");
	fm_table_cell(table, "bandw.");
	fm_table_cell(table, "latency");
	fm_table_cell(table, "patterns");
	return table;
}

static void part_cells(struct fm_table *table, const struct fm_picture *picture)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);
	char names[200] = "";
	size_t used = 0;

	for (unsigned i = picture->level_count > 3 ? picture->level_count - 3 : 1; i < picture->level_count; i++)
		fm_table_cell(table, picture->levels[i].utilisation.available ? "%.0f %%" : "n/a",
		              100 * picture->levels[i].utilisation.value);
	for (unsigned i = 0; i < 3; i++) {
		const struct fm_figure *cycles = i == 0   ? &picture->productive
		                                 : i == 1 ? &picture->bandwidth_bound
		                                          : &picture->latency_bound;

		fm_table_cell(table, cycles->available && picture->active.value > 0 ? "%.0f %%" : "n/a",
		              percent(picture, cycles));
	}
	for (unsigned i = 0; i < count && used < sizeof(names); i++)
		if (findings[i].verdict == FM_VERDICT_PRESENT)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			                         findings[i].name);
	fm_table_cell(table, "%s", *names ? names : "-");
}

enum { ROWS_MAX = 16 };

static void print_threads(const struct fm_picture *picture, const struct fm_picture_parts *parts, FILE *output,
                          unsigned width)
{
	struct fm_picture *part = picture->threads > 1 ? malloc(sizeof(*part)) : NULL;
	struct fm_table *table;
	double useful = 0;
	unsigned rows = 0;

	if (!part)
		return;
	table = part_table(picture, "Thread", false);
	for (unsigned i = 0; i < picture->thread_count; i++)
		useful += (double)picture->per_thread[i].useful;
	for (; parts->thread(parts->context, rows, part); rows++) {
		double own = 0;

		if (rows >= ROWS_MAX)
			continue;
		for (unsigned k = 0; k < picture->thread_count; k++)
			if ((int)picture->per_thread[k].thread == part->part.thread)
				own = (double)picture->per_thread[k].useful;
		fm_table_cell(table, "%d", part->part.thread);
		fm_table_cell(table, useful > 0 ? "%.0f %%" : "n/a", 100 * own / useful);
		part_cells(table, part);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
	if (rows > ROWS_MAX)
		fprintf(output, "%u more threads (--json has them).\n", rows - ROWS_MAX);
	free(part);
}

static void print_regions(const struct fm_picture *picture, const struct fm_picture_parts *parts, FILE *output,
                          unsigned width)
{
	struct fm_picture *part = malloc(sizeof(*part));
	struct fm_table *table;
	unsigned rows = 0;

	if (!part)
		return;
	table = part_table(picture, "Region", true);
	for (; parts->region(parts->context, rows, part); rows++) {
		if (rows >= ROWS_MAX)
			continue;
		fm_table_cell(table, "%.24s", part->part.region);
		fm_table_cell(table, "%u", part->threads);
		fm_table_cell(table, "%llu", (unsigned long long)part->instances);
		fm_table_cell(table, part->seconds.available ? "%.3g" : "n/a", part->seconds.value);
		part_cells(table, part);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
	if (rows > ROWS_MAX)
		fprintf(output, "%u more regions (--json has them).\n", rows - ROWS_MAX);
	free(part);
}

static void print_where(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output)
{
	unsigned last = stat->machine->cache_count - 1, shown = 0;

	for (size_t i = 0; i < stat->line_count && shown < 3; i++) {
		const struct fm_stat_place *line = &stat->lines[i];
		const char *slash = strrchr(line->file, '/');

		if (!line->misses[last] && !line->misses[0])
			break;
		if (!shown++)
			fprintf(output, "\nMost of it comes from\n");
		fprintf(output, "  %s%s%s:%d (%.24s): %llu accesses, %llu miss the last cache\n",
		        *line->file ? "" : line->module, *line->file ? (slash ? slash + 1 : line->file) : " ", "",
		        line->line, line->function, (unsigned long long)(line->loads + line->stores),
		        (unsigned long long)line->misses[last]);
	}
	for (size_t i = 0; i < stat->sharing_count && i < 2; i++)
		if (!strcmp(fm_sharing_kind(&stat->sharing[i]), "false") && stat->sharing[i].false_transfers >= 20) {
			const struct fm_stat_sharing *sharing = &stat->sharing[i];

			char often[48] = "";

			if (picture->seconds.available && picture->seconds.value > 0)
				snprintf(often, sizeof(often), ", %.2g a second at least",
				         (double)sharing->false_transfers / picture->seconds.value);
			fprintf(output, "\nFalse sharing of the line at 0x%llx%s%s:\n  %llu transfers for nothing%s\n",
			        (unsigned long long)sharing->line, *sharing->object ? ", in " : "", sharing->object,
			        (unsigned long long)sharing->false_transfers, often);
			for (unsigned k = 0; k < sharing->user_count; k++) {
				const char *slash = strrchr(sharing->users[k].file, '/');

				fprintf(output, "  thread %d: %s, %s:%d\n", sharing->users[k].thread,
				        *sharing->users[k].field ? sharing->users[k].field : "data without a name",
				        slash ? slash + 1 : sharing->users[k].file, sharing->users[k].source_line);
			}
		}
}

static void print_tables(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                         const struct fm_stat *stat, FILE *output, unsigned width, int verbose)
{
	print_levels(picture, output, width);
	print_cycles(picture, output);
	print_patterns(picture, parts, stat, output, width, verbose);
	print_regions(picture, parts, output, width);
	print_threads(picture, parts, output, width);
}

void fm_picture_print(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                      const struct fm_stat *stat, FILE *output, unsigned width, int verbose)
{
	print_time(picture, stat, output);
	if (picture->part.region && !picture->instances) {
		fprintf(output, "Nothing was counted: no such instance of the region happened.\n");
		return;
	}
	print_tables(picture, parts, stat, output, width, verbose);
	print_where(picture, stat, output);
}

void fm_picture_print_counted(const struct fm_picture *picture, const struct fm_picture_parts *parts, const char *what,
                              FILE *output, unsigned width, int verbose)
{
	struct fm_table *table = fm_table_create("lw");
	unsigned sources = 0;

	fprintf(output, "\n%s: %.4g s", what, picture->seconds.value);
	if (picture->seconds.trials > 1)
		fprintf(output, " (%u runs, %.4g … %.4g)", picture->seconds.trials, picture->seconds.low,
		        picture->seconds.high);
	fprintf(output, ", counted by the counters of %s.\n", picture->machine);
	print_tables(picture, parts, NULL, output, width, verbose);
	fm_table_cell(table, "Level");
	fm_table_cell(table, "is told by");
	for (unsigned i = 0; i < picture->level_count; i++)
		if (*picture->levels[i].source) {
			fm_table_cell(table, "%s", picture->levels[i].name);
			fm_table_cell(table, "%s", picture->levels[i].source);
			sources++;
		}
	if (sources) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

void fm_picture_print_moment(const struct fm_picture *picture, double at, FILE *output)
{
	fprintf(output, "%10.3f s", at);
	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];

		if (!level->gbs.available)
			fprintf(output, "  %s n/a", level->name);
		else if (level->utilisation.available)
			fprintf(output, "  %s %.3g GB/s %.0f %%", level->name, level->gbs.value,
			        100 * level->utilisation.value);
		else
			fprintf(output, "  %s %.3g GB/s", level->name, level->gbs.value);
	}
	if (picture->productive.available && picture->active.value > 0)
		fprintf(output, "  %.0f %% productive, %.0f %% bandwidth, %.0f %% latency",
		        percent(picture, &picture->productive), percent(picture, &picture->bandwidth_bound),
		        percent(picture, &picture->latency_bound));
	fputc('\n', output);
}
