#include "report/picture_text.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "json/figure.h"
#include "report/table.h"

static const char *bytes(char *text, size_t size, double value)
{
	return value > 0 ? fm_text_bytes(text, size, value) : "-";
}

static void print_time(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output)
{
	const struct fm_native *native = &picture->native;

	if (native->runs) {
		fprintf(output, "%s took %.3g s by itself (%u run%s, %.3g … %.3g).\n", stat->program,
		        native->seconds.value, native->runs, native->runs == 1 ? "" : "s", native->seconds.low,
		        native->seconds.high);
		/* processor time is counted in ticks */
		if (native->cpu_seconds > 0.05)
			fprintf(output, "%.0f %% of its processor time was the kernel's, which is not predicted.\n",
			        100 * native->kernel_seconds / native->cpu_seconds);
		fprintf(output, "Counts are simulated on %s; GB/s are these counts over that time.\n",
		        picture->machine->name);
	} else {
		fprintf(output, "%s on the simulated %s%s\n", stat->program, picture->machine->name,
		        picture->predicted_seconds.available ? "" : ", without time");
	}
	if (native->differs)
		fprintf(output, "The two did not do the same: %s.\nSo there are no rates.\n", native->difference);
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
		fm_table_cell(table, "%s", bytes(text, sizeof(text), level->read_bytes));
		fm_table_cell(table, "%s", bytes(text, sizeof(text), level->allocate_bytes));
		fm_table_cell(table, "%s", bytes(text, sizeof(text), level->write_bytes));
		fm_table_cell(table, level->gbs.available ? "%.3g" : "n/a", level->gbs.value);
		fm_table_cell(table, level->peak_gbs.available ? "%.3g" : "n/a", level->peak_gbs.value);
		fm_table_cell(table, level->utilisation.available ? "%.0f %%" : "n/a", 100 * level->utilisation.value);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_cycles(const struct fm_picture *picture, FILE *output)
{
	double active = picture->active;

	if (!(active > 0))
		return;
	fprintf(
	    output,
	    "\nCycles, simulated: %.0f %% productive, %.0f %% bandwidth-bound, %.0f %% latency-bound, %.0f %% other "
	    "stalls\n",
	    100 * picture->productive / active, 100 * picture->bandwidth_bound / active,
	    100 * picture->latency_bound / active, 100 * picture->other_stall / active);
	if (picture->native.runs && !picture->native.differs && picture->predicted_seconds.available)
		fprintf(output, "Predicted from them: %.3g s; measured: %.3g s (%+.0f %%).\n",
		        picture->predicted_seconds.value, picture->native.seconds.value,
		        100 * (picture->predicted_seconds.value / picture->native.seconds.value - 1));
}

static void print_patterns(const struct fm_picture *picture, FILE *output, unsigned width, int verbose)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings), absent = 0;
	struct fm_table *table = fm_table_create("llw");

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
			fm_table_cell(table, "%s", "");
			fm_table_cell(table, "try");
			fm_table_cell(table, "%s", findings[i].advice);
		}
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	if (absent)
		fprintf(output, "%u other patterns are absent (-v lists them).\n", absent);
}

static void print_where(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output)
{
	unsigned last = picture->machine->cache_count - 1, shown = 0;

	for (size_t i = 0; i < stat->line_count && shown < 3; i++) {
		const struct fm_stat_place *line = &stat->lines[i];
		const char *slash = strrchr(line->file, '/');

		if (!line->misses[last] && !line->misses[0])
			break;
		if (!shown++)
			fprintf(output, "\nMost of it comes from\n");
		fprintf(output, "  %s%s%s:%d (%s): %llu accesses, %llu miss the last cache\n",
		        *line->file ? "" : line->module, *line->file ? (slash ? slash + 1 : line->file) : " ", "",
		        line->line, line->function, (unsigned long long)(line->loads + line->stores),
		        (unsigned long long)line->misses[last]);
	}
	for (size_t i = 0; i < stat->sharing_count && i < 2; i++)
		if (!strcmp(fm_sharing_kind(&stat->sharing[i]), "false") && stat->sharing[i].false_transfers >= 20) {
			const struct fm_stat_sharing *sharing = &stat->sharing[i];

			fprintf(output, "\nFalse sharing of the line at 0x%llx%s%s, %llu transfers for nothing:\n",
			        (unsigned long long)sharing->line, *sharing->object ? ", in " : "", sharing->object,
			        (unsigned long long)sharing->false_transfers);
			for (unsigned k = 0; k < sharing->user_count; k++) {
				const char *slash = strrchr(sharing->users[k].file, '/');

				fprintf(output, "  thread %d: %s, %s:%d\n", sharing->users[k].thread,
				        *sharing->users[k].field ? sharing->users[k].field : "data without a name",
				        slash ? slash + 1 : sharing->users[k].file, sharing->users[k].source_line);
			}
		}
}

void fm_picture_print(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output, unsigned width,
                      int verbose)
{
	print_time(picture, stat, output);
	print_levels(picture, output, width);
	print_cycles(picture, output);
	print_patterns(picture, output, width, verbose);
	print_where(picture, stat, output);
}

static void set_bytes(json_t *object, const char *name, double value)
{
	struct fm_figure figure = fm_figure_make(value, value, value, "B", FM_ORIGIN_simulated, "exact", 1);

	fm_json_set_figure(object, name, &figure);
}

static void set_cycles(json_t *object, const char *name, double value)
{
	struct fm_figure figure = fm_figure_make(value, value, value, "cycles", FM_ORIGIN_simulated, "exact", 1);

	fm_json_set_figure(object, name, &figure);
}

void fm_picture_to_json(const struct fm_picture *picture, json_t *root)
{
	json_t *levels = json_object_get(root, "levels"), *cycles = json_object_get(root, "cycles"),
	       *array = json_array(), *native;
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);

	for (unsigned i = 0; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];
		json_t *entry = json_array_get(levels, i);

		if (!entry) {
			entry = json_pack("{s:s}", "name", level->name);
			json_array_append_new(levels, entry);
		}
		set_bytes(entry, "read_bytes", level->read_bytes);
		set_bytes(entry, "allocate_bytes", level->allocate_bytes);
		set_bytes(entry, "write_bytes", level->write_bytes);
		fm_json_set_figure(entry, "gbs", &level->gbs);
		fm_json_set_figure(entry, "peak_gbs", &level->peak_gbs);
		fm_json_set_figure(entry, "utilisation", &level->utilisation);
	}
	if (json_is_object(cycles)) {
		set_cycles(cycles, "memory_bound", picture->memory_bound);
		set_cycles(cycles, "bandwidth_bound", picture->bandwidth_bound);
		set_cycles(cycles, "latency_bound", picture->latency_bound);
		set_cycles(cycles, "other_stall", picture->other_stall);
	}
	fm_json_set_figure(root, "elapsed", &picture->seconds);
	fm_json_set_figure(root, "predicted", &picture->predicted_seconds);
	native = picture->native.runs ? json_pack("{s:i, s:f, s:i, s:b}", "runs", (int)picture->native.runs,
	                                          "cpu_seconds", picture->native.cpu_seconds, "exit_status",
	                                          picture->native.exit_status, "differs", picture->native.differs)
	                              : json_null();
	if (picture->native.differs)
		json_object_set_new(native, "difference", json_string(picture->native.difference));
	json_object_set_new(root, "native", native);
	for (unsigned i = 0; i < count; i++) {
		json_t *entry =
		    json_pack("{s:s, s:s, s:s, s:f, s:s, s:s}", "name", findings[i].name, "group", findings[i].group,
		              "verdict", fm_verdict_name(findings[i].verdict), "confidence", findings[i].confidence,
		              "evidence", findings[i].evidence, "advice", findings[i].advice);

		fm_json_set_figure(entry, "metric", &findings[i].metric);
		json_array_append_new(array, entry);
	}
	json_object_set_new(root, "patterns", array);
}
