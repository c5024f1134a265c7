#include <math.h>

#include "patterns/patterns.h"

/* Shares of what the thread with most of it did. */
#define NO_WORK 0.001
#define STARTING 0.05
#define BUSY 0.5

/* Does the thread take part? One that neither did useful work nor was busy does not: main, which starts the others and
   waits for them, is none of the team. One that spins is busy, and its share is missing. */
static bool takes_part(const struct fm_picture_thread *thread, double most, double busiest)
{
	double least = thread->thread ? NO_WORK : STARTING;

	return (double)thread->useful > least * most || (double)thread->instructions > BUSY * busiest;
}

/* A part of a whole. Its interval may come from figures that do not know of each other. */
static struct fm_figure part(struct fm_figure figure)
{
	figure.value = fmin(1, figure.value);
	figure.low = fmin(1, figure.low);
	figure.high = fmin(1, figure.high);
	return figure;
}

/* How much of the level's bandwidth was used over the whole time; or, since a program does not do the same all the
   time, the share of its cycles that waited for that bandwidth. */
static struct fm_figure saturation(const struct fm_picture *picture, unsigned level)
{
	struct fm_figure used = picture->levels[level].utilisation,
	                 waited = part(picture->levels[level].bandwidth_share);

	/* of counts that windows cannot bound there may be any number, but no more than all of the bandwidth is used */
	used.high = fmin(used.high, fmax(1, used.value));
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
	return part(picture->levels[level].latency_share);
}

/* A figure like another, with its origin. */
static struct fm_figure like(const struct fm_figure *model, double value)
{
	return fm_figure_make(value, value, value, "", model->origin, model->backend, model->trials);
}

/* Of the busiest thread over the mean, by what each thread of the team did. */
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

/* Useful work is arithmetic; where there is none, stores, which say less: who hands work on stores more than who takes
   it. Then the instructions must agree. */
static struct fm_figure imbalance(const struct fm_picture *picture, unsigned level)
{
	/* threads were counted by what counted the rest */
	const struct fm_figure *origin = picture->active.available ? &picture->active : &picture->levels[1].read_bytes;
	double useful, instructions;
	unsigned team;

	(void)level;
	if (!picture->thread_count)
		return fm_figure_unavailable("what each thread did is not known");
	if (picture->threads < 2)
		return like(origin, 1);
	useful = unevenness(picture, false, &team);
	if (!(useful > 0))
		return fm_figure_unavailable("no useful work was counted: neither arithmetic nor stores");
	instructions = unevenness(picture, true, &team);
	if (picture->per_thread[0].arithmetic || !(instructions > 0))
		return like(origin, useful);
	return fm_figure_make(useful, fmin(useful, instructions), useful, "", origin->origin, origin->backend,
	                      origin->trials);
}

static struct fm_figure false_sharing(const struct fm_picture *picture, unsigned level)
{
	(void)level;
	return picture->signs.false_sharing;
}

/* What was not used of the lines brought, times how regularly they were asked for. */
static struct fm_figure unused_times(const struct fm_picture *picture, bool regular)
{
	const struct fm_figure *unused = &picture->signs.unused, *even = &picture->signs.regular;

	if (!unused->available || !even->available)
		return unused->available ? *even : *unused;
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
	return part(picture->signs.translation);
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
	return part(fm_figure_make(stall->value / active->value, stall->low / active->value,
	                           stall->high / active->value, "", stall->origin, stall->backend, stall->trials));
}

/* Blocked, spinning, or handing lines over: a thread does one of them at a time. */
static struct fm_figure waiting_share(const struct fm_picture *picture, unsigned level)
{
	const struct fm_figure *blocked = &picture->signs.blocked, *handing = &picture->signs.handing_over;
	struct fm_figure both;

	(void)level;
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

/* Of what the cores of the threads could execute in the threads' time: one that waits executes nothing, and one that
   spins executes a lot, of no use. What is not known of the waiting may be all of it. */
static struct fm_figure throughput(const struct fm_picture *picture, unsigned level)
{
	struct fm_figure executed = picture->signs.throughput, waiting;

	if (!executed.available || picture->threads < 2)
		return executed;
	/* fused instructions make it more than all */
	executed = part(executed);
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
