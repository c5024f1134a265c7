#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/kernel_time.h"
#include "patterns/deciding.h"
#include "report/laboratory.h"
#include "report/bandwidth_curve.h"
#include "report/coverage.h"
#include "report/parts.h"
#include "report/table.h"
#include "report/verdict.h"

static const char *bytes(char *text, size_t size, const struct fm_figure *figure)
{
	size_t used;

	if (!figure->available)
		return "n/a";
	if (!(figure->value > 0))
		return "-";
	fm_text_bytes(text, size, figure->value);
	used = strlen(text);
	if (figure->origin == FM_ORIGIN_sampled) {
		double width = fm_figure_relative_width(figure);

		if (width > FM_FIGURE_INCONCLUSIVE)
			return "inconclusive";
		snprintf(text + used, size - used, " ±%.0f %%", 100 * width);
	}
	return text;
}

/* The first lines */

/* Below this share of a processor, other programs disturb the threads. */
#define PROCESSOR_ENOUGH 0.8

/* Parts of the predicted time of several threads. */
static void print_times(const struct fm_picture *picture, FILE *output)
{
	const struct fm_picture_times *times = &picture->times;

	fprintf(output, "Parts: %.3g s own work, %.3g s cache line transfers between threads, %.3g s spinning.\n",
	        times->work.value, times->sharing.value, times->spinning.value);
	if (times->wall.available)
		fprintf(
		    output,
		    "Predicted wall-clock time: %.3g s, including %.3g s measured waiting time; measured: %.3g s.\n",
		    times->wall.value, fmin(times->wall.value, times->waiting_longest), picture->seconds.value);
	if (times->available.available && times->available.value < PROCESSOR_ENOUGH)
		fprintf(output,
		        "Other programs ran: ready threads had a processor %.0f %% of the time. Line transfers, "
		        "spinning\n"
		        "and waiting differ from a run on an idle machine.\n",
		        100 * times->available.value);
}

/* Smaller losses are noise. */
static void print_share(const struct fm_machine_description *machine, FILE *output)
{
	enum { NEARLY_ALL = 93 };

	if (machine->core.share && machine->core.share < NEARLY_ALL)
		fprintf(output,
		        "%u %% of the core's instructions per cycle were available: others use this core. The "
		        "prediction\n"
		        "includes this.\n",
		        machine->core.share);
}

/* Comparison of predicted and measured time; doubt comes first. */
static void print_prediction(const struct fm_picture *picture, FILE *output)
{
	if (picture->unseen > 0) {
		fprintf(
		    output,
		    "DOUBTFUL: %.0f %% of the time was not covered. Counts, GB/s and cycles refer to the rest, and no\n"
		    "time is predicted. Use --engine qemu for full coverage.\n",
		    100 * picture->unseen);
		return;
	}
	if (!picture->off.available) {
		if (picture->predicted_seconds.available && picture->seconds.available)
			fprintf(output,
			        "Predicted from the simulated cycles: %.3g s of user time. No measured time for "
			        "comparison:\n"
			        "%s.\n",
			        picture->predicted_seconds.value, picture->off.why);
		return;
	}
	if (picture->doubtful)
		fprintf(output, "DOUBTFUL: ");
	fprintf(output, "Predicted from the simulated cycles: %.3g s of user time%s; measured: %.3g s (%+.0f %%).\n",
	        picture->predicted_seconds.value, picture->times.user.available ? ", all threads together" : "",
	        picture->user_seconds.value, 100 * picture->off.value);
	print_share(&picture->recording->machine, output);
	if (picture->times.user.available)
		print_times(picture, output);
	if (picture->doubtful)
		fprintf(
		    output,
		    "The simulated host does not fit this program: cycles and predicted time may have the same error.\n"
		    "Confidence of bottlenecks: how often doubtful verdicts were right. Counts are not affected.\n");
}

/* Kernel time is separate from the prediction of user time. Processor time is counted in ticks. */
static void print_kernel_time(const struct fm_recorded_native *native, const struct fm_picture *picture, FILE *output)
{
	const struct fm_figure *faults = &picture->fault_seconds;

	if (native->share_seconds > 0.05)
		fprintf(output, "%.0f %% of the CPU time was spent in the kernel and is not predicted%s\n",
		        100 * native->kernel_share,
		        fm_kernel_matters(native) && faults->available ? ", except page faults." : ".");
	if (fm_kernel_matters(native) && faults->available)
		fprintf(output,
		        "Predicted for %llu page faults: %.2g s (%.2g … %.2g) in the kernel; measured: %.3g s.\n",
		        (unsigned long long)native->faults, faults->value, faults->low, faults->high,
		        native->kernel_seconds);
}

/* Comparisons of counted with uncounted code: with fewer, the time of one run has a wide interval. */
enum { FEW_TRIALS = 4 };

static void print_combined(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_recorded_native *native = &analysis->recording->native;
	const struct fm_combination *error =
	    analysis->recording->profile ? &analysis->recording->profile->combination : NULL;
	char program[160];

	fm_text_elide(program, sizeof(program), analysis->recording->run.program, 32);
	if (!native->seconds.available)
		fprintf(output, "%s: instrumented run of %.3g s; the native run time is not known:\n%s.\n", program,
		        analysis->recording->run.engine_seconds, native->seconds.why);
	else if (native->same_run)
		fprintf(output,
		        "%s: native run time %.3g s (%.3g … %.3g), estimated from an instrumented run of %.3g s.\n",
		        program, native->seconds.value, native->seconds.low, native->seconds.high,
		        analysis->recording->run.engine_seconds);
	else
		fprintf(output, "%s: native run time %.3g s (%u run%s, %.3g … %.3g).\n", program, native->seconds.value,
		        native->runs, native->runs == 1 ? "" : "s", native->seconds.low, native->seconds.high);
	if (native->same_run && native->seconds.trials < FEW_TRIALS)
		fprintf(output, "%.2g s is short: -r 5 narrows this.\n", native->seconds.value);
	if (analysis->recording->run.signal)
		fprintf(output, "It ended with %d, by signal %d.\n", (int)analysis->recording->run.exit_status,
		        (int)analysis->recording->run.signal);
	print_kernel_time(native, picture, output);
	print_prediction(picture, output);
	fprintf(output, "Counts are simulated on %s; GB/s = counts / native run time.\n", picture->machine);
	fm_coverage_print(analysis->recording, output);
	if (error && error->cases)
		fprintf(output,
		        "Count error on %u test kernels: median %.1f %%, 90th percentile %.1f %%; error of predicted\n"
		        "times: median %.0f %%, 90th percentile %.0f %%.\n",
		        error->cases, 100 * error->count_median, 100 * error->count_most, 100 * error->time_median,
		        100 * error->time_most);
	else
		fprintf(output, "The error of the counts is unknown: run 'fathom machine --check'.\n");
}

static void print_source(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_recording *recording = analysis->recording;

	switch ((enum fm_question)recording->asked.question) {
	case FM_QUESTION_COMBINED:
		print_combined(analysis, output);
		break;
	case FM_QUESTION_EXACT:
		fprintf(output, "%s on the simulated %s%s\n", recording->run.program, picture->machine,
		        picture->predicted_seconds.available ? "" : ", without time");
		break;
	default:
		fprintf(output, "\n%s%s%s: %.4g s", fm_observed_words(recording),
		        recording->has_machine ? " on the simulated " : "",
		        recording->has_machine ? recording->machine.name : "", picture->seconds.value);
		if (picture->seconds.trials > 1)
			fprintf(output, " (%u runs, %.4g … %.4g)", picture->seconds.trials, picture->seconds.low,
			        picture->seconds.high);
		fprintf(output, ", counted by the counters of %s.\n", picture->machine);
	}
	if (picture->part.region && picture->instances && picture->seconds.available)
		fprintf(output, "Counted only in region %s%s: %.3g s.\n", picture->part.region,
		        recording->asked.last_instance ? ", selected instances" : "", picture->seconds.value);
	if (*picture->differs)
		fprintf(output, "No rates, since the two runs differ:\n%s.\n", picture->differs);
}

static void print_levels(const struct fm_picture *picture, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("lrrrrrr");
	char text[40];

	fm_table_cells(table, "Level", "read", "write-allocate", "written", "GB/s", "peak GB/s", "of peak");
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
	fm_table_end(table, output, 0, width);
	for (unsigned i = 0; i < picture->level_count; i++)
		if (picture->levels[i].beyond > 1)
			fprintf(output,
			        "%s: %.1f times the measured peak. The last cache may keep a part of data that the "
			        "simulated\none replaces; the intervals reach down to the peak.\n",
			        picture->levels[i].name, picture->levels[i].beyond);
		else if (picture->levels[i].utilisation.available && picture->levels[i].utilisation.low > 1.05)
			fprintf(output,
			        "%s: above the measured peak. Counts and time may differ in scope, or the access "
			        "pattern of the\n"
			        "program is not among the kernels of 'fathom machine'.\n",
			        picture->levels[i].name);
}

/* The peaks behind the shares; the position of memory on the curve. */
static void print_peaks(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned memory = picture->level_count - 1;

	for (unsigned i = 0; i < picture->level_count; i++)
		if (options->verbosity > 0 || (options->bandwidth_curve && i == memory))
			fm_bandwidth_curve_print_peak(&picture->levels[i], output);
	if (options->bandwidth_curve) {
		fputc('\n', output);
		fm_bandwidth_curve_place(analysis->recording->profile, &picture->levels[memory], output,
		                         options->width);
	}
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
}

static void print_patterns(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_judged *whole = &analysis->whole;
	struct fm_table *table = fm_table_create("llw");
	unsigned absent = 0;

	fm_table_cells(table, "Pattern", "verdict", "evidence");
	for (unsigned i = 0; i < whole->finding_count; i++) {
		const struct fm_finding *finding = &whole->findings[i];
		char text[600];

		if (finding->verdict == FM_VERDICT_ABSENT && options->verbosity < 1) {
			absent++;
			continue;
		}
		fm_table_cell(table, "%s", finding->name);
		fm_table_cell(table, finding->verdict == FM_VERDICT_INCONCLUSIVE ? "%s" : "%s %.2f",
		              fm_verdict_name(finding->verdict), finding->confidence);
		fm_table_cell(table, "%s", finding->evidence);
		if (finding->verdict != FM_VERDICT_PRESENT)
			continue;
		if (*fm_where_text(&analysis->where[i], text, sizeof(text))) {
			fm_table_cells(table, "", "where");
			fm_table_cell(table, "%s", text);
		}
		fm_table_cells(table, "", "try");
		fm_table_cell(table, "%s", finding->advice);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, options->width);
	if (absent)
		fprintf(output, "%u other patterns are absent (-v lists them).\n", absent);
}

/* Parts: one line each. */

static struct fm_table *part_table(const struct fm_picture *picture, const char *first, bool region)
{
	struct fm_table *table = fm_table_create(region ? "lrrrrrrrrrw" : "lrrrrrrrw");

	fm_table_cell(table, "%s", first);
	if (region) {
		fm_table_cells(table, "threads", "times", "s");
	} else {
		fm_table_cell(table, "useful work");
	}
	for (unsigned i = picture->level_count > 3 ? picture->level_count - 3 : 1; i < picture->level_count; i++)
		fm_table_cell(table, "%s", picture->levels[i].name);
	fm_table_cells(table, "prod.", "bandw.", "latency", "patterns");
	return table;
}

static void part_cells(struct fm_table *table, const struct fm_judged *part)
{
	const struct fm_picture *picture = &part->picture;
	const struct fm_figure *cycles[] = {&picture->productive, &picture->bandwidth_bound, &picture->latency_bound};
	char names[200] = "";
	size_t used = 0;

	for (unsigned i = picture->level_count > 3 ? picture->level_count - 3 : 1; i < picture->level_count; i++)
		fm_table_cell(table, picture->levels[i].utilisation.available ? "%.0f %%" : "n/a",
		              100 * picture->levels[i].utilisation.value);
	for (unsigned i = 0; i < 3; i++)
		fm_table_cell(table, cycles[i]->available && picture->active.value > 0 ? "%.0f %%" : "n/a",
		              percent(picture, cycles[i]));
	for (unsigned i = 0; i < part->finding_count && used < sizeof(names); i++)
		if (part->findings[i].verdict == FM_VERDICT_PRESENT)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			                         part->findings[i].name);
	fm_table_cell(table, "%s", *names ? names : "-");
}

enum { ROWS_MAX = 16 };

static void print_threads(const struct fm_analysis *analysis, FILE *output, unsigned width)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	struct fm_table *table;
	double useful = 0;

	if (picture->threads < 2 || !analysis->threads.count)
		return;
	table = part_table(picture, "Thread", false);
	for (unsigned i = 0; i < picture->thread_count; i++)
		useful += (double)picture->per_thread[i].useful;
	for (size_t i = 0; i < analysis->threads.count && i < ROWS_MAX; i++) {
		const struct fm_judged *part = &analysis->threads.parts[i];
		double own = 0;

		for (unsigned k = 0; k < picture->thread_count; k++)
			if ((int)picture->per_thread[k].thread == part->picture.part.thread)
				own = (double)picture->per_thread[k].useful;
		fm_table_cell(table, "%d", part->picture.part.thread);
		fm_table_cell(table, useful > 0 ? "%.0f %%" : "n/a", 100 * own / useful);
		part_cells(table, part);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	if (analysis->threads.count > ROWS_MAX)
		fprintf(output, "%zu more threads (--json has them).\n", analysis->threads.count - ROWS_MAX);
}

static void print_regions(const struct fm_analysis *analysis, FILE *output, unsigned width)
{
	const struct fm_judged_list *regions = &analysis->regions;
	struct fm_table *table;

	if (!regions->count)
		return;
	table = part_table(&analysis->whole.picture, "Region", true);
	for (size_t i = 0; i < regions->count && i < ROWS_MAX; i++) {
		const struct fm_picture *picture = &regions->parts[i].picture;
		char name[80];

		fm_table_cell(table, "%s", fm_text_elide(name, sizeof(name), picture->part.region, 24));
		fm_table_cell(table, "%u", picture->threads);
		fm_table_cell(table, "%llu", (unsigned long long)picture->instances);
		fm_table_cell(table, picture->seconds.available ? "%.3g" : "n/a", picture->seconds.value);
		part_cells(table, &regions->parts[i]);
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	if (regions->count > ROWS_MAX)
		fprintf(output, "%zu more regions (--json has them).\n", regions->count - ROWS_MAX);
}

/* Source lines and variables with the most traffic. */
static void print_movers(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_machine_description *machine = &analysis->recording->machine;
	unsigned last = machine->cache_count - 1, shown = 0;
	char name[128], file[96], text[40];

	for (size_t i = 0; i < analysis->line_count && shown < 3; i++) {
		const struct fm_recorded_place *line = &analysis->lines[i];

		if (!line->moved[last] && !line->moved[0] && !line->misses[0])
			break;
		if (!shown++)
			fprintf(output, "\nMain sources\n");
		fm_text_elide(name, sizeof(name), *line->inlined ? line->inlined : line->function, 30);
		if (*line->file)
			fprintf(output,
			        "  %s:%lld (%s): ", fm_text_elide(file, sizeof(file), fm_file_name(line->file), 24),
			        (long long)line->line, name);
		else
			fprintf(output, "  %s (%s): ", name, line->module);
		fprintf(output, "%llu accesses, %s from memory\n", (unsigned long long)(line->loads + line->stores),
		        fm_text_bytes(text, sizeof(text), (double)line->moved[last] * machine->line_bytes));
	}
}

/* Variables and heap memory that most lines belong to. */
static void print_objects(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_machine_description *machine = &analysis->recording->machine;
	unsigned last = machine->cache_count - 1, shown = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < analysis->object_count; i++)
		all += analysis->objects[i].moved[last];
	for (size_t i = 0; i < analysis->object_count && shown < 3; i++) {
		const struct fm_recorded_object *object = &analysis->objects[i];
		double share = all ? (double)object->moved[last] / (double)all : 0;
		char name[96], size[40], moved[40];

		if (object->rest || share < FM_LINE_REPORTED)
			continue;
		if (!shown++)
			fprintf(output, "\nMain objects\n");
		fprintf(output, "  %s: %.0f %% of the lines from memory, %s",
		        fm_text_elide(name, sizeof(name), object->name, 48), 100 * share,
		        fm_text_bytes(moved, sizeof(moved), (double)object->moved[last] * machine->line_bytes));
		if (object->bytes)
			fprintf(output, "; up to %s in one block",
			        fm_text_bytes(size, sizeof(size), (double)object->bytes));
		fputc('\n', output);
	}
}

static void print_false_sharing(const struct fm_analysis *analysis, FILE *output)
{
	const struct fm_recording *recording = analysis->recording;
	const struct fm_figure *seconds = &analysis->whole.picture.seconds;

	for (unsigned i = 0; i < recording->shared_count && i < 2; i++) {
		const struct fm_recorded_shared *shared = &recording->shared[i];

		if (strcmp(fm_sharing_kind(shared), "false") != 0 || shared->false_transfers < 20)
			continue;
		fprintf(output, "\nFalse sharing of the line at 0x%llx%s%s:\n  %llu needless transfers",
		        (unsigned long long)shared->line, *shared->object ? ", in " : "", shared->object,
		        (unsigned long long)shared->false_transfers);
		if (seconds->available && seconds->value > 0)
			fprintf(output, ", at least %.2g a second", (double)shared->false_transfers / seconds->value);
		fputc('\n', output);
		for (size_t k = 0; k < recording->users_count; k++)
			if (recording->users[k].shared == i)
				fprintf(output, "  thread %lld: %s, %s:%lld\n", (long long)recording->users[k].thread,
				        *recording->users[k].field ? recording->users[k].field : "unnamed data",
				        fm_file_name(recording->users[k].file),
				        (long long)recording->users[k].source_line);
	}
}

/* By counters: the formula of each level and whether it was validated. */
static void print_formulas(const struct fm_picture *picture, FILE *output, unsigned width)
{
	struct fm_table *table = fm_table_create("lw");
	unsigned rows = 0;

	fm_table_cells(table, "Level", "formula");
	for (unsigned i = 0; i < picture->level_count; i++)
		if (*picture->levels[i].source) {
			fm_table_cell(table, "%s", picture->levels[i].name);
			fm_table_cell(table, "%s", picture->levels[i].source);
			rows++;
		}
	if (rows && *picture->cycles_source) {
		fm_table_cell(table, "loads");
		fm_table_cell(table, "%s", picture->cycles_source);
	}
	if (rows) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

/* Below the verdict: the levels, and where the rest is. */
static void print_diagnosis(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	print_levels(&analysis->whole.picture, output, options->width);
	print_cycles(&analysis->whole.picture, output);
	fputc('\n', output);
	fm_coverage_print(analysis->recording, output);
	if (options->recording)
		fprintf(output, "Recorded in %s: 'fathom report %s' shows all figures.\n", options->recording,
		        options->recording);
}

void fm_picture_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_picture *picture = &analysis->whole.picture;

	if (analysis->recording->asked.question == FM_QUESTION_COMBINED)
		fm_coverage_print_share(analysis->recording, output);
	fm_verdict_text(analysis, options->verbosity > 0 || options->diagnosis, options->width, output);
	if (options->diagnosis && options->verbosity < 1) {
		print_diagnosis(analysis, options, output);
		return;
	}
	if (*analysis->verdict.cause)
		fputc('\n', output);
	print_source(analysis, output);
	if (picture->part.region && !picture->instances) {
		fprintf(output, "Nothing was counted: the region has no such instance.\n");
		return;
	}
	print_levels(picture, output, options->width);
	print_peaks(analysis, options, output);
	print_cycles(picture, output);
	fm_laboratory_text(picture, options->verbosity > 0, options->width, output);
	print_patterns(analysis, options, output);
	print_regions(analysis, output, options->width);
	print_threads(analysis, output, options->width);
	if (analysis->recording->asked.question == FM_QUESTION_EXACT ||
	    analysis->recording->asked.question == FM_QUESTION_COMBINED) {
		print_movers(analysis, output);
		print_objects(analysis, output);
		print_false_sharing(analysis, output);
	} else {
		print_formulas(picture, output, options->width);
	}
	if (analysis->recording->run.regions_lost)
		fprintf(output, "%llu instances of regions are missing: the buffer was full.\n",
		        (unsigned long long)analysis->recording->run.regions_lost);
}

void fm_picture_print_moment(const struct fm_judged *moment, FILE *output)
{
	const struct fm_picture *picture = &moment->picture;

	fprintf(output, "%10.3f s", moment->at);
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
