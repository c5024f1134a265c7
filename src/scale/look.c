#include "scale/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "patterns/analysis.h"
#include "scale/judging.h"

static const char *const runtimes[] = {
#define RUNTIME(name) name,
#include "scale/runtimes.def"
#undef RUNTIME
};

static bool is_runtime(const char *module)
{
	for (unsigned i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (!strncmp(module, runtimes[i], strlen(runtimes[i])))
			return true;
	return false;
}

/* Libraries that manage threads, by their share of the accesses. */
static void note_runtime(const struct fm_analysis *analysis, struct fm_recorded_scale_look *look)
{
	double all = 0, runtime = 0, most = 0;

	for (size_t i = 0; i < analysis->function_count; i++) {
		const struct fm_recorded_place *function = &analysis->functions[i];
		double accesses = (double)(function->loads + function->stores);

		all += accesses;
		if (!is_runtime(function->module))
			continue;
		runtime += accesses;
		if (accesses > most) {
			most = accesses;
			snprintf(look->runtime, sizeof(look->runtime), "%s", function->module);
		}
	}
	look->runtime_share = all > 0 ? runtime / all : 0;
}

/* The loader and the C library, too. */
static bool is_system(const char *module)
{
	return is_runtime(module) || !strncmp(module, "ld-linux", 8) || !strncmp(module, "libc.so", 7) ||
	       !strncmp(module, "libc-", 5);
}

/* The line of the program with most accesses; a function where there are no lines. */
static void note_line(const struct fm_analysis *analysis, struct fm_recorded_scale_look *look)
{
	for (size_t i = 0; i < analysis->line_count; i++) {
		const struct fm_recorded_place *line = &analysis->lines[i];
		const char *file = strrchr(line->file, '/');

		if (is_system(line->module))
			continue;
		file = file ? file + 1 : line->file;
		if (*file && line->line > 0)
			snprintf(look->line, sizeof(look->line), "%.150s:%lld (%.120s)", file, (long long)line->line,
			         line->function);
		else
			snprintf(look->line, sizeof(look->line), "%.120s [%.60s]", line->function, line->module);
		fm_text_complete(look->line);
		return;
	}
}

static void note_transfers(const struct fm_analysis *analysis, struct fm_recorded_scale_look *look)
{
	for (unsigned i = 0; i < analysis->whole.finding_count; i++) {
		const struct fm_where *where = &analysis->where[i];
		const char *name = analysis->whole.findings[i].name;

		if ((strcmp(name, "synchronisation") != 0 && strcmp(name, "false-sharing") != 0) || !where->line_count)
			continue;
		if (where->lines[0].line > 0)
			snprintf(look->transfers_line, sizeof(look->transfers_line), "%.150s:%lld (%.120s)",
			         where->lines[0].file, (long long)where->lines[0].line, where->lines[0].function);
		else
			snprintf(look->transfers_line, sizeof(look->transfers_line), "%.120s",
			         where->lines[0].function);
		fm_text_complete(look->transfers_line);
		return;
	}
}

static int add_levels(const struct fm_picture *picture, unsigned count, struct fm_recording *recording)
{
	for (unsigned i = 0; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];
		struct fm_recorded_scale_level *row = fm_recording_add(recording, scale_levels);

		if (!row)
			return -ENOMEM;
		row->count = count;
		snprintf(row->name, sizeof(row->name), "%s", level->name);
		row->bytes = level->moved_bytes;
		row->write_share = level->write_share;
		row->gbs = level->gbs;
		row->peak_gbs = level->peak_gbs;
		row->wait = level->bandwidth_share;
	}
	return 0;
}

static int add_findings(const struct fm_judged *judged, unsigned count, struct fm_recording *recording)
{
	for (unsigned i = 0; i < judged->finding_count; i++) {
		const struct fm_finding *finding = &judged->findings[i];
		struct fm_recorded_scale_finding *row = fm_recording_add(recording, scale_findings);

		if (!row)
			return -ENOMEM;
		row->count = count;
		row->verdict = (uint32_t)finding->verdict;
		row->confidence = finding->confidence;
		snprintf(row->name, sizeof(row->name), "%s", finding->name);
		snprintf(row->evidence, sizeof(row->evidence), "%s", finding->evidence);
	}
	return 0;
}

/* Simulated time in which at most one thread ran, between moments. */
static double simulated_alone(const struct fm_recording *seen)
{
	double alone = 0;
	uint64_t before = 0;

	for (size_t i = 0; i < seen->moments_count; i++) {
		const struct fm_recorded_moment *moment = &seen->moments[i];

		if (moment->running <= 1 && moment->cycle > before)
			alone += (double)(moment->cycle - before);
		before = moment->cycle;
	}
	return alone;
}

static int add_simulated_run(const struct fm_recording *seen, const struct fm_picture *picture, unsigned count,
                             struct fm_recording *recording)
{
	struct fm_recorded_scale_run *row = fm_recording_add(recording, scale_runs);
	double hertz = seen->machine.frequency_ghz * 1e9;

	if (!row)
		return -ENOMEM;
	row->count = count;
	row->round = 1;
	row->seconds = picture->seconds.value;
	row->cpu_seconds = picture->active.available ? picture->active.value / hertz : row->seconds;
	row->alone = simulated_alone(seen) / hertz;
	row->threads = picture->threads;
	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].cycles / hertz > row->busiest)
			row->busiest = picture->per_thread[i].cycles / hertz;
	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].cycles / hertz > WORKER_SHARE / count * row->busiest) {
			row->worked += picture->per_thread[i].cycles / hertz;
			row->workers++;
		}
	/* moments do not name the thread that ran: threads with equal work took turns */
	if (row->workers && row->busiest * row->workers > EQUAL_WORK * row->worked)
		row->alone_longest = row->alone;
	return 0;
}

int fm_scale_look_add(const struct fm_recording *seen, unsigned count, bool simulated, struct fm_recording *recording,
                      struct fm_error *error)
{
	struct fm_analysis *analysis;
	const struct fm_picture *picture;
	struct fm_recorded_scale_look *look;
	int r = fm_analyse(seen, &analysis, error);

	if (r)
		return r;
	picture = &analysis->whole.picture;
	look = fm_recording_add(recording, scale_looks);
	if (!look)
		goto no_memory;
	look->count = count;
	look->threads = picture->threads;
	look->seconds = picture->seconds;
	look->blocked = picture->signs.blocked;
	look->spinning = picture->signs.spinning;
	look->transferring = picture->signs.handing_over;
	look->imbalance = fm_metric_compute(picture, FM_METRIC_imbalance, 0);
	note_runtime(analysis, look);
	note_line(analysis, look);
	note_transfers(analysis, look);
	/* the machine is the same in all simulated runs: reports show its levels */
	if (simulated && !fm_recording_get(recording, "machine") && fm_recording_get(seen, "machine") &&
	    fm_recording_set(recording, "machine", fm_recording_get(seen, "machine")))
		goto no_memory;
	if (add_levels(picture, count, recording) || add_findings(&analysis->whole, count, recording) ||
	    (simulated && add_simulated_run(seen, picture, count, recording)))
		goto no_memory;
	fm_analysis_free(analysis);
	return 0;
no_memory:
	fm_analysis_free(analysis);
	return fm_error_set(error, ENOMEM, "out of memory");
}
