#include "report/coverage.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "recording/curve_rows.h"
#include "windows/estimate.h"
#include "windows/totals.h"
#include "report/curve.h"

/* Counted during the whole run, not only in windows. */
static bool is_counted(const char *name)
{
	static const char *const counted[] = {"instructions", "loads", "stores", "load_bytes", "store_bytes"};

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (!strcmp(name, counted[i]))
			return true;
	return false;
}

struct fm_figure fm_coverage_figure(const struct fm_recording *recording, const struct fm_estimates *estimates,
                                    const struct fm_named_number *named)
{
	double value = (double)named->value, part;
	struct fm_estimate all;

	if (!fm_windows_used(recording))
		return fm_figure_make(value, value, value, named->unit, FM_ORIGIN_simulated, "exact", 1);
	if (recording->windows_count < FM_WINDOWS_LEAST && is_counted(named->name))
		return fm_figure_make(value, value, value, named->unit, FM_ORIGIN_counted, "windows", 1);
	if (!estimates)
		return fm_figure_unavailable("out of memory");
	all = estimates->numbers[named->number];
	if (estimates->windows < FM_WINDOWS_LEAST || !isfinite(all.high))
		return fm_figure_unavailable("only %u windows: it ran too briefly for them", estimates->windows);
	/* a part of the run has fewer windows */
	part = all.value > 0 ? value / all.value * (value > 0 && value < all.value ? sqrt(all.value / value) : 1) : 1;
	return fm_figure_make(value, fmax(0, value - (all.value - all.low) * part),
	                      value + (all.high - all.value) * part, named->unit, FM_ORIGIN_sampled, "windows",
	                      estimates->windows);
}

/* Sums over all processes. */
struct seen {
	double instructions, in_windows;
	uint64_t inside, outside, threads;
	double share; /* of the processor time, the first process's */
};

static struct seen look(const struct fm_recording *recording)
{
	struct seen seen = {0};

	for (size_t i = 0; i < recording->processes_count; i++) {
		const struct fm_recorded_process *process = &recording->processes[i];

		seen.instructions += (double)process->instructions;
		seen.inside += process->found_inside;
		seen.outside += process->found_outside;
		seen.threads += process->native_threads;
	}
	for (size_t i = 0; i < recording->windows_count; i++)
		seen.in_windows +=
		    (double)recording->windows[i].work.instructions + (double)recording->windows[i].outside;
	seen.share = recording->processes_count ? recording->processes[0].window_share : 0;
	return seen;
}

static bool is_native(const struct fm_recording *recording)
{
	return recording->processes_count && recording->processes[0].native;
}

/* Below this coverage, the report begins with the coverage. */
#define MOST_SEEN 0.95

bool fm_coverage_is_partial(const struct fm_recording *recording)
{
	const struct fm_recorded_run *run = &recording->run;

	return run->seen_share > 0 && run->seen_share < MOST_SEEN;
}

void fm_coverage_print_share(const struct fm_recording *recording, FILE *output)
{
	if (fm_coverage_is_partial(recording))
		fprintf(output, "Only %.0f %% of the processor time was seen. Not seen: %s.\n",
		        100 * recording->run.seen_share, recording->run.unseen_why);
}

void fm_coverage_print(const struct fm_recording *recording, FILE *output)
{
	struct seen seen = look(recording);
	char text[40];

	if (!is_native(recording))
		return;
	if (recording->windows_count)
		fprintf(output,
		        "Coverage: %zu windows with %.2g %% of %s instructions. Instructions are counted, other\n"
		        "figures are estimates with 95 %% confidence intervals.\n",
		        recording->windows_count, seen.instructions > 0 ? 100 * seen.in_windows / seen.instructions : 0,
		        fm_text_grouped(text, sizeof(text), (uint64_t)seen.instructions));
	if (recording->processes[0].native > 1 && recording->windows_count < FM_WINDOWS_LEAST)
		fprintf(output,
		        "Too short for windows (%zu): few figures. --counters exact sees every load and store.\n",
		        recording->windows_count);
	if (!recording->windows_count && recording->processes[0].native < 2)
		fprintf(output, "Instrumented run in a code cache: every load and store %sseen.\n",
		        fm_coverage_is_partial(recording) ? "there " : "");
	if (seen.outside + seen.inside && (seen.outside > (seen.inside + seen.outside) / 100))
		fprintf(output, "Not seen: %.0f %% of the time outside the code cache (%s).\n",
		        100 * (double)seen.outside / (double)(seen.inside + seen.outside),
		        *recording->processes[0].left ? recording->processes[0].left : "for reasons not counted");
	if (seen.threads)
		fprintf(output, "Not seen: %llu threads beyond the limit of the engine.\n",
		        (unsigned long long)seen.threads);
}

json_t *fm_coverage_json(const struct fm_recording *recording)
{
	struct seen seen = look(recording);

	if (!is_native(recording))
		return NULL;
	return json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:s, s:o, s:s}", "engine",
	                 recording->processes[0].native > 1 ? "windows" : "native", "windows",
	                 (json_int_t)recording->windows_count, "instructions", seen.instructions, "instructions_seen",
	                 recording->windows_count ? seen.in_windows : seen.instructions, "time_in_cache",
	                 seen.inside + seen.outside ? (double)seen.inside / (double)(seen.inside + seen.outside) : 1.0,
	                 "threads_not_seen", (json_int_t)seen.threads, "left", recording->processes[0].left,
	                 "seen_share",
	                 recording->run.seen_share > 0 ? json_real(recording->run.seen_share) : json_null(),
	                 "unseen_why", recording->run.unseen_why);
}

void fm_coverage_draw(const struct fm_recording *recording, unsigned width, FILE *output)
{
	const struct fm_machine_description *machine = &recording->machine;
	struct fm_curve_level levels[FM_SIMULATED_CACHES_MAX];
	struct fm_miss_curve curve;

	if (recording->curves_count) {
		fputc('\n', output);
		fm_curve_print_recorded(recording, 0, width, output);
		return;
	}
	if (!fm_curve_from_distances(recording, &curve))
		return;
	for (unsigned i = 0; i < machine->cache_count; i++)
		levels[i] =
		    (struct fm_curve_level){machine->caches[i].name, (double)fm_cache_available(&machine->caches[i])};
	fputc('\n', output);
	fm_curve_print(&curve, "Loads and stores that miss a cache of this size (fully associative, LRU)", levels,
	               machine->cache_count, width, output);
}

json_t *fm_coverage_curve_json(const struct fm_recording *recording)
{
	struct fm_miss_curve curve;

	if (recording->curves_count)
		return fm_curve_recorded_json(recording, 0);
	return fm_curve_from_distances(recording, &curve) ? fm_curve_json(&curve) : NULL;
}
