#include <math.h>
#include <stdio.h>

#include "model/doubt.h"
#include "patterns/deciding.h"
#include "patterns/patterns.h"
#include "windows/totals.h"

/* Does the thread take part? It does with useful work, or if it was busy. A main thread that only creates workers and
   waits is no worker. A spinning thread is busy, and its missing share counts. */
static bool takes_part(const struct fm_picture_thread *thread, double most, double busiest)
{
	double least = thread->thread ? FM_WORK_LEAST : FM_WORK_STARTING;

	return (double)thread->useful > least * most || (double)thread->instructions > FM_BUSY_LEAST * busiest;
}

/* A part of a whole. Its interval may come from figures that do not know of each other. */
static struct fm_figure part(struct fm_figure figure)
{
	figure.value = fmin(1, figure.value);
	figure.low = fmin(1, figure.low);
	figure.high = fmin(1, figure.high);
	return figure;
}

/* Shares of cycles as shares of the team's time: threads that do not work have no cycles that count. */
static struct fm_figure of_team(const struct fm_picture *picture, struct fm_figure figure)
{
	const struct fm_picture_team *team = &picture->team;
	double transfers = team->true_sharing.value + team->false_sharing.value;

	if (!team->known || !figure.available)
		return figure;
	/* the simulated core does not wait for lines of other threads as long as the real one */
	figure.value *= fmax(0, team->worked.value - transfers);
	figure.low *= fmax(0, team->worked.low - transfers);
	figure.high *= fmax(0, team->worked.high - transfers);
	return figure;
}

/* Use of the level's bandwidth over the whole time. Since programs change, alternatively the share of cycles that
   waited for that bandwidth. */
static struct fm_figure saturation(const struct fm_picture *picture, unsigned level)
{
	struct fm_figure used = picture->levels[level].utilisation,
	                 waited = of_team(picture, part(picture->levels[level].bandwidth_share));

	/* of counts that windows cannot bound there may be any number, but no more than all of the bandwidth is used */
	if (used.available) {
		used.value = fmin(used.value, 1);
		used.low = fmin(used.low, 1);
		used.high = fmin(used.high, 1);
	}
	if (!waited.available)
		return used;
	if (!used.available)
		return waited;
	/* the larger of two: also of their bounds */
	return fm_figure_make(fmax(used.value, waited.value), fmax(used.low, waited.low), fmax(used.high, waited.high),
	                      "", used.origin, used.backend, used.trials);
}

static struct fm_figure latency_share(const struct fm_picture *picture, unsigned level)
{
	return of_team(picture, part(picture->levels[level].latency_share));
}

/* A figure like another, with its origin. */
static struct fm_figure like(const struct fm_figure *model, double value)
{
	return fm_figure_make(value, value, value, "", model->origin, model->backend, model->trials);
}

/* The busiest thread over the mean, by the useful work of each thread of the team. */
static double unevenness(const struct fm_picture *picture, bool by_instructions, unsigned *ret_team)
{
	double most = 0, busiest = 0, sum = 0, largest = 0;

	*ret_team = 0;
	for (unsigned i = 0; i < picture->thread_count; i++) {
		most = fmax(most, (double)picture->per_thread[i].useful);
		busiest = fmax(busiest, (double)picture->per_thread[i].instructions);
	}
	for (unsigned i = 0; i < picture->thread_count; i++) {
		const struct fm_picture_thread *thread = &picture->per_thread[i];
		double did = by_instructions ? (double)thread->instructions : (double)thread->useful;

		if (!takes_part(thread, most, busiest))
			continue;
		++*ret_team;
		sum += did;
		largest = fmax(largest, did);
	}
	return sum > 0 ? largest / sum * *ret_team : 0;
}

static uint64_t entries_of(const struct fm_recording *recording, unsigned thread)
{
	for (size_t i = 0; i < recording->threads_count; i++)
		if (!recording->threads[i].process && recording->threads[i].thread == thread)
			return recording->threads[i].entries;
	return 0;
}

/* Windows of the thread of the team that was in fewest of them; 0: the recording has none. */
static double fewest_windows(const struct fm_picture *picture)
{
	const struct fm_recording *recording = picture->recording;
	double least = INFINITY, entries_most = 0, most = 0, busiest = 0;

	if (!recording || !recording->windows_count)
		return 0;
	for (unsigned i = 0; i < picture->thread_count; i++) {
		most = fmax(most, (double)picture->per_thread[i].useful);
		busiest = fmax(busiest, (double)picture->per_thread[i].instructions);
	}
	for (unsigned i = 0; i < picture->thread_count; i++) {
		double entries = (double)entries_of(recording, picture->per_thread[i].thread);

		if (!takes_part(&picture->per_thread[i], most, busiest))
			continue;
		least = fmin(least, entries);
		entries_most = fmax(entries_most, entries);
	}
	return entries_most > 0 ? fmax(1, (double)recording->windows_count * least / entries_most) : 0;
}

/* Instructions of each thread are counted for the whole run, its arithmetic in windows only. A difference that so few
   windows explain is no evidence of imbalance; nor of balance, since threads that spin have many instructions. */
static bool windows_explain(const struct fm_picture *picture, double useful, double instructions)
{
	double windows = fewest_windows(picture);
	const struct fm_figure *spinning = &picture->signs.spinning;

	return windows > 0 && instructions > 0 && !(spinning->available && spinning->low > FM_SPINNING_SEEN) &&
	       fabs(useful / instructions - 1) < 2 / sqrt(windows);
}

/* Threads without a record of their own. */
static bool has_short_threads(const struct fm_recording *recording)
{
	for (size_t i = 0; recording && i < recording->threads_count; i++)
		if (recording->threads[i].others && fm_windows_used(recording))
			return true;
	return false;
}

/* The ratio of the busiest thread's time to the mean that loses this share of the time. */
static struct fm_figure ratio_of(const struct fm_figure *lost)
{
	return fm_figure_make(1 / (1 - fmin(lost->value, 0.999)), 1 / (1 - fmin(lost->low, 0.999)),
	                      1 / (1 - fmin(lost->high, 0.999)), "", lost->origin, lost->backend, lost->trials);
}

/* Useful work is arithmetic; without any it is stores, which are weaker evidence: the giver of work stores more than
   the taker. Then the instructions must agree. */
static struct fm_figure imbalance(const struct fm_picture *picture, unsigned level)
{
	/* threads and the rest have the same counting */
	const struct fm_figure *origin = picture->active.available ? &picture->active : &picture->levels[1].read_bytes;
	double useful, instructions;
	unsigned team;

	(void)level;
	if (picture->team.known)
		return ratio_of(&picture->team.uneven);
	if (picture->team.workers == 1)
		return like(origin, 1);
	if (!picture->thread_count)
		return fm_figure_unavailable("the work of each thread is unknown");
	if (has_short_threads(picture->recording))
		return fm_figure_unavailable("threads live too briefly: their work is not counted one by one");
	if (picture->threads < 2)
		return like(origin, 1);
	useful = unevenness(picture, false, &team);
	if (!(useful > 0))
		return fm_figure_unavailable("no useful work was counted: neither arithmetic nor stores");
	instructions = unevenness(picture, true, &team);
	if (windows_explain(picture, useful, instructions))
		return fm_figure_make(instructions, fmin(useful, instructions), fmax(useful, instructions), "",
		                      origin->origin, origin->backend, origin->trials);
	if (picture->per_thread[0].arithmetic || !(instructions > 0))
		return like(origin, useful);
	return fm_figure_make(useful, fmin(useful, instructions), useful, "", origin->origin, origin->backend,
	                      origin->trials);
}

static struct fm_figure false_sharing(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->team.known ? picture->team.false_sharing : picture->signs.false_sharing;
}

static bool may_be(const struct fm_figure *figure)
{
	return !figure->available || figure->high >= FM_TRAFFIC_MATTERS;
}

/* Whether it matters how lines are used: a program that hardly fetches any loses nothing by it. */
static bool traffic_matters(const struct fm_picture *picture)
{
	for (unsigned i = 1; i < picture->level_count; i++)
		if (may_be(&picture->levels[i].utilisation) || may_be(&picture->levels[i].bandwidth_share) ||
		    may_be(&picture->levels[i].latency_share))
			return true;
	return picture->level_count < 2;
}

/* Unused share of the lines brought, times the regularity of their accesses. */
static struct fm_figure unused_times(const struct fm_picture *picture, bool regular)
{
	const struct fm_figure *unused = &picture->signs.unused, *even = &picture->signs.regular;

	if (!unused->available || !even->available)
		return unused->available ? *even : *unused;
	if (!traffic_matters(picture))
		return like(unused, 0);
	return fm_figure_make(unused->value * (regular ? even->value : 1 - even->value),
	                      unused->low * (regular ? even->low : 1 - even->high),
	                      unused->high * (regular ? even->high : 1 - even->low), "", unused->origin,
	                      unused->backend, unused->trials);
}

static struct fm_figure strided(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return unused_times(picture, true);
}

static struct fm_figure erratic(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return unused_times(picture, false);
}

static struct fm_figure remote_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->signs.remote;
}

static struct fm_figure translation_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return of_team(picture, part(picture->signs.translation));
}

/* Stalled cycles that are not memory's. Their interval is that of a share already. */
static struct fm_figure core_share(const struct fm_picture *picture, unsigned level)
{
	const struct fm_figure *stall = &picture->other_stall, *active = &picture->active;

	(void)level;
	if (!stall->available || !active->available)
		return stall->available ? *active : *stall;
	if (!(active->value > 0))
		return fm_figure_unavailable("nothing was executed");
	return of_team(picture, part(fm_figure_make(stall->value / active->value, stall->low / active->value,
	                                            stall->high / active->value, "", stall->origin, stall->backend,
	                                            stall->trials)));
}

/* Blocked, spinning, or handing lines over: a thread does one of them at a time. */
static struct fm_figure waiting_share(const struct fm_picture *picture, unsigned level)
{
	const struct fm_figure *blocked = &picture->signs.blocked, *handing = &picture->signs.handing_over;
	struct fm_figure both;

	(void)level;
	if (picture->team.known)
		return picture->team.waiting;
	if (picture->team.workers == 1)
		return fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "native", 1);
	if (handing->available && picture->signs.spinning.available) {
		both = fm_figure_make(fmin(1, handing->value + picture->signs.spinning.value),
		                      fmin(1, handing->low + picture->signs.spinning.low),
		                      fmin(1, handing->high + picture->signs.spinning.high), "", handing->origin,
		                      handing->backend, handing->trials);
		handing = &both;
	}
	if (!blocked->available && !handing->available)
		return *blocked;
	/* one of the two is not known: it may be anything */
	if (!blocked->available || !handing->available) {
		const struct fm_figure *known = blocked->available ? blocked : handing;

		return picture->threads < 2 ? *known
		                            : fm_figure_make(known->value, known->low, 1, "", known->origin,
		                                             known->backend, known->trials);
	}
	return fm_figure_make(fmin(1, blocked->value + handing->value), fmin(1, blocked->low + handing->low),
	                      fmin(1, blocked->high + handing->high), "",
	                      handing->value > blocked->value ? handing->origin : blocked->origin, blocked->backend,
	                      blocked->trials);
}

/* Of the instructions that the threads' cores could execute in the threads' time. A waiting thread executes nothing,
   and a spinning one executes useless instructions. Unknown waiting may be all of the time. */
static struct fm_figure throughput(const struct fm_picture *picture, unsigned level)
{
	struct fm_figure executed = picture->signs.throughput, waiting;

	if (!executed.available || picture->threads < 2)
		return executed;
	/* fused instructions make it more than all */
	executed = part(executed);
	if (picture->team.known)
		return of_team(picture, executed);
	waiting = waiting_share(picture, level);
	if (!waiting.available)
		waiting = fm_figure_make(0, 0, 1, "", executed.origin, executed.backend, executed.trials);
	executed.value *= 1 - waiting.value;
	executed.low *= 1 - waiting.high;
	executed.high *= 1 - waiting.low;
	return executed;
}

static struct fm_figure narrow_arithmetic(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->signs.narrow;
}

/* Text after the words */

/* Saturation is the larger of two shares. */
static size_t saturation_detail(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure,
                                char *text, size_t size)
{
	const struct fm_picture_level *own = &picture->levels[level];
	bool of_peak = own->utilisation.available && own->utilisation.value >= figure->value;
	size_t used =
	    (size_t)snprintf(text, size, "%s", of_peak ? "of peak bandwidth" : "of cycles wait for its bandwidth");

	if (!own->peak_gbs.available || !own->gbs.available)
		return used;
	if (own->utilisation.available && !of_peak && used < size)
		used += (size_t)snprintf(text + used, size - used, "; it runs at %.0f %% of its peak",
		                         100 * own->utilisation.value);
	if (used < size)
		used += (size_t)snprintf(text + used, size - used, ": %.1f of %.1f GB/s (%u thread%s)", own->gbs.value,
		                         own->peak_gbs.value, picture->threads, picture->threads == 1 ? "" : "s");
	return used;
}

static size_t waiting_detail(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure,
                             char *text, size_t size)
{
	const struct fm_picture_signs *signs = &picture->signs;
	const struct fm_picture_team *team = &picture->team;
	size_t used;

	(void)level, (void)figure;
	if (team->known)
		return (size_t)snprintf(
		    text, size,
		    ": %.0f %% blocked, %.0f %% spinning, %.0f %% in locks and barriers, %.0f %% transferring "
		    "lines; %.0f %% of it is imbalance",
		    100 * team->idle.value, 100 * team->spinning.value, 100 * team->synchronising.value,
		    100 * team->true_sharing.value, 100 * team->uneven.value);
	if (!signs->blocked.available || !signs->handing_over.available)
		return 0;
	used = (size_t)snprintf(text, size, ": %.0f %% blocked, %.0f %% transferring lines written by several threads",
	                        100 * signs->blocked.value, 100 * signs->handing_over.value);
	if (signs->spinning.available && signs->spinning.value >= FM_SPINNING_REPORTED && used < size)
		used += (size_t)snprintf(text + used, size - used, ", %.0f %% spinning", 100 * signs->spinning.value);
	return used;
}

static size_t imbalance_detail(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure,
                               char *text, size_t size)
{
	const struct fm_picture_team *team = &picture->team;
	size_t used;

	(void)level, (void)figure;
	if (!team->known)
		return (size_t)snprintf(text, size, "%s", "× the mean is the useful work of the busiest thread");
	used = (size_t)snprintf(text, size,
	                        "times longer than with even work; the busiest of %u workers works %.2f times the mean",
	                        team->workers, team->ratio);
	if (team->alone.low >= FM_ALONE_REPORTED && used < size)
		used += (size_t)snprintf(text + used, size - used, "; for %.0f %% of the time one thread works alone",
		                         100 * team->alone.value);
	return used;
}

static size_t false_sharing_detail(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure,
                                   char *text, size_t size)
{
	(void)level, (void)figure;
	return (size_t)snprintf(text, size, "%s",
	                        picture->team.known
	                            ? "of the threads' time: at lines of which other threads write other parts"
	                            : "of the line transfers between threads were false sharing");
}

static size_t throughput_detail(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure,
                                char *text, size_t size)
{
	(void)figure;
	if (picture->threads < 2)
		return 0;
	return (size_t)snprintf(text, size, "%s",
	                        waiting_share(picture, level).available
	                            ? ", without waiting and spinning threads"
	                            : ", as an upper bound: the waiting time of threads is unknown");
}

enum unit { SHARE, RATIO };
enum origin { CYCLES, COUNTS };

static const struct {
	struct fm_figure (*compute)(const struct fm_picture *picture, unsigned level);
	bool per_level;
	enum unit unit;
	enum origin origin;
	double leading;
	size_t (*detail)(const struct fm_picture *picture, unsigned level, const struct fm_figure *figure, char *text,
	                 size_t size);
	const char *words;
} metrics[] = {
#define METRIC(identifier, ...) {identifier, __VA_ARGS__},
#include "patterns/metrics.def"
#undef METRIC
};

struct fm_figure fm_metric_compute(const struct fm_picture *picture, enum fm_metric metric, unsigned level)
{
	return metrics[metric].compute(picture, level);
}

bool fm_metric_has_level(enum fm_metric metric)
{
	return metrics[metric].per_level;
}

bool fm_metric_rests_on_cycles(enum fm_metric metric)
{
	return metrics[metric].origin == CYCLES;
}

double fm_metric_cost(const struct fm_picture *picture, enum fm_metric metric, const struct fm_figure *figure)
{
	double share = metrics[metric].unit == RATIO ? 1 - 1 / fmax(1, figure->value) : figure->value;

	if (!picture->team.known || !figure->available)
		return 0;
	if (metric == FM_METRIC_saturation) /* of the whole time, in which threads also wait for each other */
		share = fmin(1, share) * picture->team.worked.value;
	return metrics[metric].leading * share;
}

const char *fm_metric_text(const struct fm_picture *picture, enum fm_metric metric, unsigned level,
                           const struct fm_figure *figure, char *text, size_t size)
{
	bool share = metrics[metric].unit == SHARE;
	double scale = share ? 100 : 1;
	char range[48] = "";
	size_t used;

	if (!figure->available) {
		snprintf(text, size, "%s", figure->why);
		return text;
	}
	if (figure->high > figure->low)
		snprintf(range, sizeof(range), share ? " (%.0f … %.0f)" : " (%.2f … %.2f)", scale * figure->low,
		         scale * figure->high);
	used = (size_t)snprintf(text, size, share ? "%.0f %%%s %s" : "%.2f%s %s", scale * figure->value, range,
	                        metrics[metric].words);
	if (metrics[metric].detail && used < size)
		metrics[metric].detail(picture, level, figure, text + used, size - used);
	return text;
}
