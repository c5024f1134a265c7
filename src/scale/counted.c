#include "scale/counted.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "profile/peak.h"
#include "profile/profile.h"
#include "scale/judging.h"

enum { TRIALS_MAX = 256 };

/* Files may hold any number. */
static bool is_usable(const struct fm_recorded_scale_run *run)
{
	const double values[] = {run->seconds,       run->cpu_seconds, run->delayed, run->alone,
	                         run->alone_longest, run->busiest,     run->worked};

	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (!(values[i] >= 0 && values[i] < 1e12))
			return false;
	return run->seconds > 1e-9;
}

/* Undisturbed runs of a number of threads; with round 0 only where there is no other. */
static unsigned runs_of(const struct fm_recording *recording, unsigned count,
                        const struct fm_recorded_scale_run *ret_runs[TRIALS_MAX])
{
	unsigned found = 0;

	for (int with = 0; with < 3 && !found; with++)
		for (size_t i = 0; i < recording->scale_runs_count && found < TRIALS_MAX; i++) {
			const struct fm_recorded_scale_run *run = &recording->scale_runs[i];

			if (run->count == count && is_usable(run) && (run->round || with == 2) &&
			    (!run->disturbed || with))
				ret_runs[found++] = run;
		}
	return found;
}

static struct fm_figure median_of(double *values, unsigned count, const char *unit, const struct fm_scale *scale)
{
	enum fm_origin origin = scale->how->simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured;
	const char *backend = scale->how->simulated ? "exact" : "native";
	struct fm_location location;

	if (!count)
		return fm_figure_unavailable("no undisturbed run");
	if (scale->how->simulated)
		return fm_figure_make(values[0], values[0], values[0], unit, origin, backend, 1);
	if (fm_statistics_median(values, count, &location))
		return fm_figure_unavailable("no finite value");
	/* two values have hardly a spread, one has none */
	if (count < 3)
		return fm_figure_make(location.value, location.low / FEW_RUNS, location.high * FEW_RUNS, unit, origin,
		                      backend, count);
	return fm_figure_make(location.value, location.low, location.high, unit, origin, backend, count);
}

static double middle(const struct fm_recorded_scale_run *const *runs, unsigned count,
                     double (*value)(const struct fm_recorded_scale_run *run))
{
	double values[TRIALS_MAX];

	for (unsigned i = 0; i < count; i++)
		values[i] = value(runs[i]);
	fm_statistics_sort(values, count);
	return count ? fm_statistics_quantile_sorted(values, count, 0.5) : 0;
}

#define VALUE(member)                                                      \
	static double member##_of(const struct fm_recorded_scale_run *run) \
	{                                                                  \
		return (double)run->member;                                \
	}
VALUE(seconds)
VALUE(cpu_seconds)
VALUE(kernel_seconds)
VALUE(delayed)
VALUE(alone)
VALUE(alone_longest)
VALUE(busiest)
VALUE(worked)
VALUE(workers)
VALUE(threads)
VALUE(switches)
#undef VALUE

/* Of runs of the same round, or of all with the smallest number where there are no rounds in common. */
static struct fm_figure speedup_of(const struct fm_scale *scale, unsigned base, unsigned count, unsigned per_base)
{
	const struct fm_recording *recording = scale->recording;
	const struct fm_recorded_scale_run *first[TRIALS_MAX], *others[TRIALS_MAX];
	unsigned firsts = runs_of(recording, base, first), found = runs_of(recording, count, others), pairs = 0;
	double ratios[TRIALS_MAX];

	for (unsigned i = 0; i < firsts; i++)
		for (unsigned k = 0; k < found && pairs < TRIALS_MAX; k++)
			if (first[i]->round == others[k]->round)
				ratios[pairs++] = per_base * first[i]->seconds / others[k]->seconds;
	if (!pairs && firsts && found)
		ratios[pairs++] = per_base * middle(first, firsts, seconds_of) / middle(others, found, seconds_of);
	return median_of(ratios, pairs, "times", scale);
}

static const struct fm_recorded_scale_look *find_look(const struct fm_recording *recording, unsigned count)
{
	for (size_t i = 0; i < recording->scale_looks_count; i++)
		if (recording->scale_looks[i].count == count)
			return &recording->scale_looks[i];
	return NULL;
}

/* The level of the observed run with this number of threads, else of the nearest smaller or larger one. */
static const struct fm_recorded_scale_level *find_level(const struct fm_recording *recording, unsigned count,
                                                        const char *name)
{
	const struct fm_recorded_scale_level *best = NULL;

	for (size_t i = 0; i < recording->scale_levels_count; i++) {
		const struct fm_recorded_scale_level *level = &recording->scale_levels[i];

		if (!strcmp(level->name, name) &&
		    (!best || fabs(log((double)level->count / count)) < fabs(log((double)best->count / count))))
			best = level;
	}
	return best;
}

static void fill_level(const struct fm_scale *scale, const struct fm_scale_count *count,
                       const struct fm_recorded_scale_level *from, struct fm_scale_level *level)
{
	struct fm_figure share = from->write_share;

	snprintf(level->name, sizeof(level->name), "%s", from->name);
	if (!from->bytes.available || !count->elapsed.available) {
		level->gbs =
		    fm_figure_unavailable("%.100s", from->bytes.available ? count->elapsed.why : from->bytes.why);
	} else {
		/* both ends: a rate may be 0, and then has no relative width */
		level->gbs = fm_figure_make(from->bytes.value * 1e-9 / count->elapsed.value,
		                            fmax(from->bytes.low, 0) * 1e-9 / count->elapsed.high,
		                            from->bytes.high * 1e-9 / count->elapsed.low, "GB/s",
		                            scale->how->simulated ? FM_ORIGIN_simulated : FM_ORIGIN_combined,
		                            count->elapsed.backend, count->elapsed.trials);
	}
	level->sustainable_gbs = scale->how->simulated && from->count == count->count ? from->peak_gbs
	                         : scale->recording->profile
	                             ? fm_peak_find(scale->recording->profile, from->name, count->count, &share).gbs
	                             : fm_figure_unavailable("there is no machine profile: run 'fathom machine'");
	if (level->gbs.available && level->sustainable_gbs.available && level->sustainable_gbs.value > 0) {
		const struct fm_figure *most = &level->sustainable_gbs;

		/* no program moves more than the level can: beyond it, one of the two figures is off */
		level->utilisation = fm_figure_make(
		    fmin(level->gbs.value / most->value, 1), fmin(level->gbs.low / fmax(most->high, most->value), 1),
		    fmin(fmax(level->gbs.high / fmax(most->low, 1e-3 * most->value), level->gbs.value / most->value),
		         1),
		    "", level->gbs.origin, level->gbs.backend, level->gbs.trials);
	} else {
		level->utilisation =
		    fm_figure_unavailable("%.100s", level->gbs.available ? level->sustainable_gbs.why : level->gbs.why);
	}
}

static void fill_levels(const struct fm_scale *scale, struct fm_scale_count *count)
{
	const struct fm_recording *recording = scale->recording;

	for (size_t i = 0; i < recording->scale_levels_count; i++) {
		const struct fm_recorded_scale_level *any = &recording->scale_levels[i];

		if (any->count != recording->scale_levels[0].count || count->level_count == FM_SCALE_LEVELS)
			continue;
		fill_level(scale, count, find_level(recording, count->count, any->name),
		           &count->levels[count->level_count++]);
	}
}

static double value_of(const struct fm_figure *figure)
{
	return figure->available ? fmax(figure->value, 0) : 0;
}

/* Takes up to `wanted` of what is left. */
static double take(double *left, double wanted)
{
	double taken = fmin(fmax(wanted, 0), *left);

	*left -= taken;
	return taken;
}

/* Processor time with the smallest count, and its part in the kernel. */
struct base {
	double cpu, kernel;
};

/* count × elapsed time, divided into its parts. The scheduler shows idle and delayed time, and time in the kernel. An
   observed run of this count divides the busy time that exceeds that of the smallest count: spinning and transfers,
   else slower code. */
static void divide(const struct fm_scale *scale, const struct base *base, double serial,
                   const struct fm_recorded_scale_run *const *runs, unsigned found, struct fm_scale_count *count)
{
	const struct fm_recorded_scale_look *look = count->look;
	double seconds = middle(runs, found, seconds_of), all = seconds * count->count;
	double cpu = middle(runs, found, cpu_seconds_of), workers = middle(runs, found, workers_of);
	double busy, idle, unbalanced = 0;

	if (!(all > 0))
		return;
	busy = fmin(cpu / all, 1);
	idle = 1 - busy;
	/* threads that queue for busy processors make none idle */
	if (workers <= count->count)
		count->share[FM_SCALE_delayed] = take(&idle, middle(runs, found, delayed_of) / all);
	count->share[FM_SCALE_serial] = take(&idle, (count->count - 1) * fmin(serial, seconds) / all);
	count->share[FM_SCALE_useful] = take(&busy, base->cpu / all);
	/* idle until the busiest worker ends; of threads that spin, their useful work shows it */
	if (workers > 1)
		unbalanced =
		    (fmin(workers, count->count) * middle(runs, found, busiest_of) - middle(runs, found, worked_of)) /
		    all;
	unbalanced -= count->share[FM_SCALE_serial];
	count->share[FM_SCALE_imbalance] = take(&idle, unbalanced);
	/* more threads with the same work call the kernel more often to wait for each other */
	count->share[FM_SCALE_waiting] =
	    idle + take(&busy, (middle(runs, found, kernel_seconds_of) - base->kernel) / all);
	if (look && count->count > 1) {
		double spinning = value_of(&look->spinning);

		if (look->imbalance.available && look->imbalance.low > BALANCE_NOISE)
			count->spun = take(&busy, fmin(spinning, 1 - 1 / look->imbalance.value));
		count->share[FM_SCALE_imbalance] += count->spun;
		spinning -= count->spun;
		count->share[FM_SCALE_waiting] += take(&busy, spinning);
		count->share[FM_SCALE_transfers] = take(&busy, value_of(&look->transferring));
	}
	count->share[FM_SCALE_slower] = busy;
	if (look && look->imbalance.available)
		count->imbalance = look->imbalance;
	else if (workers > 1 && middle(runs, found, worked_of) > 0)
		count->imbalance =
		    fm_figure_make(workers * middle(runs, found, busiest_of) / middle(runs, found, worked_of), 1,
		                   2 * workers * middle(runs, found, busiest_of) / middle(runs, found, worked_of) - 1,
		                   "times", scale->how->simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured,
		                   scale->how->simulated ? "exact" : "native", found);
	else
		count->imbalance = fm_figure_unavailable("one worker");
	count->waiting = fm_figure_make(count->share[FM_SCALE_serial] + count->share[FM_SCALE_imbalance] +
	                                    count->share[FM_SCALE_waiting],
	                                0, 1, "", scale->how->simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured,
	                                scale->how->simulated ? "exact" : "native", found);
	count->waiting.low = fmax(0, count->waiting.value - (count->elapsed.high - count->elapsed.low) / seconds);
	count->waiting.high = fmin(1, count->waiting.value + (count->elapsed.high - count->elapsed.low) / seconds);
}

static void fill(const struct fm_scale *scale, const struct fm_scale_count *first, const struct base *base,
                 double serial, struct fm_scale_count *count)
{
	const struct fm_recorded_scale_run *runs[TRIALS_MAX];
	unsigned found = runs_of(scale->recording, count->count, runs);
	double values[TRIALS_MAX], cpu;

	for (size_t i = 0; i < scale->recording->scale_runs_count; i++) {
		const struct fm_recorded_scale_run *run = &scale->recording->scale_runs[i];

		count->runs += run->count == count->count;
		count->disturbed += run->count == count->count && run->disturbed;
	}
	count->look = find_look(scale->recording, count->count);
	for (unsigned i = 0; i < found; i++)
		values[i] = runs[i]->seconds;
	count->elapsed = median_of(values, found, "s", scale);
	for (unsigned i = 0; i < found; i++)
		values[i] = runs[i]->cpu_seconds;
	count->cpu = median_of(values, found, "s", scale);
	count->speedup = speedup_of(scale, first->count, count->count, first->count);
	count->efficiency = fm_figure_scaled(&count->speedup, 1.0 / count->count, "");
	count->threads = (unsigned)lround(middle(runs, found, workers_of));
	count->seen = (unsigned)lround(middle(runs, found, threads_of));
	cpu = middle(runs, found, cpu_seconds_of);
	count->switches = cpu > 0 ? middle(runs, found, switches_of) / cpu : 0;
	count->waiting = fm_figure_unavailable("no run");
	count->imbalance = count->waiting;
	if (found)
		divide(scale, base, serial, runs, found, count);
	fill_levels(scale, count);
}

/* Seconds in which one thread, always the same, runs alone. They are a serial part if they are as long with many
   threads as with few. What is left until the busiest thread ends becomes shorter. */
static double serial_seconds(const struct fm_scale *scale)
{
	const struct fm_recorded_scale_run *runs[TRIALS_MAX];
	double first = 0, last = 0, least = INFINITY;
	unsigned several = 0;

	for (unsigned i = 0; i < scale->count; i++) {
		unsigned count = scale->counts[i].count, found = runs_of(scale->recording, count, runs);
		double alone, own;

		if (count < 2 || !found)
			continue;
		alone = middle(runs, found, alone_of);
		own = middle(runs, found, alone_longest_of);
		/* where threads take turns, each of them runs alone at times */
		last = fmax(0, own - (alone - own) / (count - 1));
		first = several++ ? first : last;
		least = fmin(least, last);
	}
	return several > 1 && last >= SERIAL_CONSTANT * first ? least : 0;
}

static int by_count(const void *left, const void *right)
{
	const struct fm_scale_count *a = left, *b = right;

	return (a->count > b->count) - (a->count < b->count);
}

int fm_scale_count_all(struct fm_scale *scale)
{
	const struct fm_recording *recording = scale->recording;
	const struct fm_recorded_scale_run *runs[TRIALS_MAX];
	struct base base;
	double serial;
	unsigned found;

	scale->counts = calloc(FM_SCALE_COUNTS_MAX, sizeof(*scale->counts));
	if (!scale->counts)
		return -ENOMEM;
	for (size_t i = 0; i < recording->scale_runs_count; i++) {
		unsigned count = recording->scale_runs[i].count, at = 0;

		while (at < scale->count && scale->counts[at].count != count)
			at++;
		if (at == scale->count && count && at < FM_SCALE_COUNTS_MAX)
			scale->counts[scale->count++].count = count;
	}
	if (!scale->count)
		return -ENODATA;
	qsort(scale->counts, scale->count, sizeof(*scale->counts), by_count);
	found = runs_of(recording, scale->counts[0].count, runs);
	base = (struct base){middle(runs, found, cpu_seconds_of), middle(runs, found, kernel_seconds_of)};
	serial = serial_seconds(scale);
	for (unsigned i = 0; i < scale->count; i++)
		fill(scale, &scale->counts[0], &base, serial, &scale->counts[i]);
	return 0;
}
