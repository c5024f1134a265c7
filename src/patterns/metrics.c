#include <math.h>

#include "patterns/patterns.h"

/* Below this, beginning and ending a process is much of its time. */
#define SHORT 0.02

/* Shares of what the thread with most of it did. */
#define NO_WORK 0.001
#define BUSY 0.5

/* How much of the level's bandwidth was used over the whole time; or, since a program does not do the same all the
   time, the share of its cycles that waited for that bandwidth. */
static struct fm_figure saturation(const struct fm_picture *picture, unsigned level)
{
	struct fm_figure used = picture->levels[level].utilisation, waited = picture->levels[level].bandwidth_share;

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
	return picture->levels[level].latency_share;
}

/* A figure like another, with its origin. */
static struct fm_figure like(const struct fm_figure *model, double value)
{
	return fm_figure_make(value, value, value, "", model->origin, model->backend, model->trials);
}

/* A thread that neither did useful work nor was busy took no part: main, which waits for the others, is none of the
   team. One that spins is busy, and its share is missing. */
static struct fm_figure imbalance(const struct fm_picture *picture, unsigned level)
{
	/* threads were counted by what counted the rest */
	const struct fm_figure *origin = picture->active.available ? &picture->active : &picture->levels[1].read_bytes;
	double most = 0, busiest = 0, sum = 0;
	unsigned team = 0;

	(void)level;
	if (!picture->thread_count)
		return fm_figure_unavailable("what each thread did is not known");
	if (picture->threads < 2)
		return like(origin, 1);
	for (unsigned i = 0; i < picture->thread_count; i++) {
		most = fmax(most, (double)picture->per_thread[i].useful);
		busiest = fmax(busiest, (double)picture->per_thread[i].instructions);
		sum += (double)picture->per_thread[i].useful;
	}
	for (unsigned i = 0; i < picture->thread_count; i++)
		team += (double)picture->per_thread[i].useful > NO_WORK * most ||
		        (double)picture->per_thread[i].instructions > BUSY * busiest;
	return sum > 0 ? like(origin, most / sum * team)
	               : fm_figure_unavailable("no useful work was counted: neither arithmetic nor stores");
}

static struct fm_figure false_sharing(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->false_sharing;
}

static struct fm_figure strided(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	if (!picture->unused.available || !picture->foreseen.available)
		return picture->unused.available ? picture->foreseen : picture->unused;
	return like(&picture->unused, picture->unused.value * picture->foreseen.value);
}

static struct fm_figure erratic(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	if (!picture->unused.available || !picture->foreseen.available)
		return picture->unused.available ? picture->foreseen : picture->unused;
	return like(&picture->unused, picture->unused.value * (1 - picture->foreseen.value));
}

static struct fm_figure remote_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->remote;
}

static struct fm_figure translation_share(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->translation;
}

static struct fm_figure waiting_share(const struct fm_picture *picture, unsigned level)
{
	const struct fm_native *native = &picture->native;
	unsigned running = native->cpus && picture->threads > native->cpus ? native->cpus : picture->threads;
	double waited;

	(void)level;
	if (!native->runs)
		return fm_figure_unavailable("only a native run tells how long threads wait");
	if (picture->part.region || picture->part.thread >= 0)
		return fm_figure_unavailable("processor time is known for the whole program only");
	if (picture->threads < 2)
		return fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "native", native->runs);
	if (native->seconds.value < SHORT)
		return fm_figure_unavailable("it ran too briefly: most of its time was its beginning and end");
	waited = fmax(0, 1 - native->cpu_seconds / (native->seconds.value * running));
	return fm_figure_make(waited, waited, waited, "", FM_ORIGIN_measured, "native", native->runs);
}

static struct fm_figure throughput(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->throughput;
}

static struct fm_figure narrow_arithmetic(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->narrow;
}

static const struct {
	struct fm_figure (*compute)(const struct fm_picture *picture, unsigned level);
	bool per_level;
	const char *words;
} metrics[] = {
#define METRIC(identifier, level, words) {identifier, level, words},
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

const char *fm_metric_words(enum fm_metric metric)
{
	return metrics[metric].words;
}
