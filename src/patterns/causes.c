#include "patterns/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/doubt.h"
#include "patterns/deciding.h"

/* Shares of the run time */

static struct fm_figure none(void)
{
	return fm_figure_unavailable("not known");
}

static struct fm_figure scaled(const struct fm_figure *figure, double low, double value, double high)
{
	if (!figure->available)
		return *figure;
	return fm_figure_make(fmin(1, figure->value * value), fmin(1, figure->low * low), fmin(1, figure->high * high),
	                      "", figure->origin, figure->backend, figure->trials);
}

const struct fm_recorded_native *fm_causes_native(const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = &analysis->recording->native;

	return native->runs && native->seconds.available && native->seconds.value > 0 ? native : NULL;
}

/* The part of the run time in which one thread has a processor. */
double fm_causes_busy(const struct fm_recorded_native *native)
{
	return native ? fmin(1, native->cpu_seconds / native->seconds.value) : 1;
}

bool fm_causes_starts_many(const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);
	size_t processes = analysis->recording->processes_count;

	return native && processes >= FM_MANY_PROCESSES && native->cpu_seconds < FM_SHORT_PROCESS * (double)processes;
}

double fm_causes_kernel(const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);
	double share = native && native->share_seconds > FM_KERNEL_SECONDS ? fmin(1, native->kernel_share) : 0;

	/* the kernel starts and ends each process with Fathom's memory in it: the program's part is unknown */
	return fm_causes_starts_many(analysis) ? share / 2 : share;
}

/* A share of the cycles as share of the run time. */
static struct fm_figure of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);
	const struct fm_picture_team *team = &analysis->whole.picture.team;
	double user = 1 - fm_causes_kernel(analysis), transfers = team->true_sharing.value + team->false_sharing.value;

	if (team->known)
		return scaled(share, user * fmax(0, team->worked.low - transfers),
		              user * fmax(0, team->worked.value - transfers),
		              user * fmax(0, team->worked.high - transfers));
	user *= fm_causes_busy(native);
	return scaled(share, user, user, user);
}

/* Factors from simulated to real shares. The costs of instructions are well known, the waiting for lines is not: an
   error of the predicted time is an error of the waiting. */
struct adjustment {
	double core, waiting;
	double unexplained; /* share of the user time that is neither, because nothing waits in the simulation */
};

static struct adjustment adjustment_of(const struct fm_analysis *analysis)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	double transfers =
	           picture->team.true_sharing.value + picture->team.false_sharing.value + picture->team.spinning.value,
	       active = picture->active.value, waiting, longer;
	struct adjustment none = {1, 1, 0}, own;

	/* of several processes, the prediction may lack some */
	if (picture->laboratory.used || picture->counted || analysis->recording->processes_count > 1 ||
	    !picture->off.available || fabs(picture->off.value) < FM_OFF_NOTICED || !picture->memory_bound.available ||
	    !(active > 0) || (picture->team.known && transfers > FM_RIVAL_LEAST))
		return none;
	waiting = fmin(1, picture->memory_bound.value / active);
	longer = fmax(1 + picture->off.value, FM_ADJUSTED_LEAST);
	/* calculation takes no more than all of the time */
	own.core = fmin(longer, waiting < 1 ? 1 / (1 - waiting) : 1);
	own.waiting = waiting > FM_SHARE_SURE ? (1 - own.core * (1 - waiting)) / waiting : 1;
	own.unexplained = waiting > FM_SHARE_SURE ? 0 : 1 - own.core * (1 - waiting);
	return own;
}

double fm_causes_unexplained(const struct fm_analysis *analysis)
{
	const struct fm_figure *off = &analysis->whole.picture.off;

	if (analysis->whole.picture.laboratory.used)
		return off->available ? fmax(0, -off->value) : 0;
	return adjustment_of(analysis).unexplained;
}

static struct fm_figure adjusted(struct fm_figure figure, double factor)
{
	if (!figure.available || factor == 1)
		return figure;
	/* as uncertain as the adjustment is large */
	return fm_figure_make(fmin(1, figure.value * factor), fmin(1, figure.low * fmin(factor, 1)),
	                      fmin(1, figure.high * fmax(factor, 1)), "", figure.origin, figure.backend, figure.trials);
}

static struct fm_figure waiting_of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	struct fm_figure own = adjusted(*share, adjustment_of(analysis).waiting);

	return of_run(analysis, &own);
}

static struct fm_figure core_of_run(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	struct fm_figure own = adjusted(*share, adjustment_of(analysis).core);

	return of_run(analysis, &own);
}

/* The level with the largest part of its peak. */
static unsigned fullest_level(const struct fm_picture *picture)
{
	unsigned fullest = 0;

	for (unsigned i = 1; i < picture->level_count; i++)
		if (picture->levels[i].utilisation.available &&
		    (!fullest || picture->levels[i].utilisation.value > picture->levels[fullest].utilisation.value))
			fullest = i;
	return fullest;
}

/* The whole time is measured. Where simulated prefetchers hide all waiting, the rest of it waits for the level that
   is nearest to its peak, if it reaches a large part of it. */
static struct fm_figure unexplained_time(const struct fm_analysis *analysis, unsigned level,
                                         const struct fm_figure *used)
{
	double unexplained = adjustment_of(analysis).unexplained;
	struct fm_figure share;

	if (unexplained < FM_OFF_NOTICED || !used->available || used->value < FM_MUCH_OF_PEAK ||
	    level != fullest_level(&analysis->whole.picture))
		return none();
	share = fm_figure_make(unexplained, fmin(unexplained, used->low), fmax(unexplained, fmin(1, used->high)), "",
	                       used->origin, used->backend, used->trials);
	return of_run(analysis, &share);
}

/* Where the laboratory did not look, simulated waiting may be wrong, but not the traffic: a level near its peak is the
   limit whatever the core does meanwhile. */
static struct fm_figure bandwidth_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_picture_level *own = &picture->levels[level];
	struct fm_figure waited = waiting_of_run(analysis, &own->bandwidth_share), used = own->utilisation,
	                 rest = unexplained_time(analysis, level, &used);

	if (rest.available && (!waited.available || rest.value > waited.value))
		waited = rest;

	if (picture->laboratory.used || !used.available || !(used.value >= FM_NEAR_PEAK))
		return waited;
	used.high = fmin(1, used.high);
	used.value = fmin(1, used.value);
	used.low = fmax(fmin(1, used.low), waited.available ? fmin(waited.low, used.value) : 0);
	used = of_run(analysis, &used);
	return !waited.available || used.value > waited.value ? used : waited;
}

static struct fm_figure latency_time(const struct fm_analysis *analysis, unsigned level)
{
	return waiting_of_run(analysis, &analysis->whole.picture.levels[level].latency_share);
}

static struct fm_figure translation_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return waiting_of_run(analysis, &analysis->whole.picture.signs.translation);
}

static struct fm_figure remote_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	unsigned memory = picture->level_count - 1;
	struct fm_figure latency = latency_time(analysis, memory), bandwidth = bandwidth_time(analysis, memory);
	const struct fm_figure *remote = &picture->signs.remote;

	(void)level;
	if (!remote->available || !(remote->value > 0) || !latency.available || !bandwidth.available)
		return none();
	latency.value = fmin(1, latency.value + bandwidth.value);
	latency.low = fmin(1, latency.low + bandwidth.low);
	latency.high = fmin(1, latency.high + bandwidth.high);
	return scaled(&latency, remote->low, remote->value, remote->high);
}

static struct fm_figure of_team(const struct fm_analysis *analysis, const struct fm_figure *share)
{
	return analysis->whole.picture.team.known ? *share : none();
}

static struct fm_figure false_sharing_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.false_sharing);
}

static struct fm_figure true_sharing_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.true_sharing);
}

static struct fm_figure imbalance_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return of_team(analysis, &analysis->whole.picture.team.uneven);
}

/* Threads that wait for each other call the kernel for that: then its time is not input or output. */
static bool waits_in_kernel(const struct fm_analysis *analysis)
{
	const struct fm_picture_team *team = &analysis->whole.picture.team;

	return team->known && team->waiting.available && team->waiting.value >= FM_RIVAL_LEAST;
}

/* True sharing, which is part of the team's waiting, has a name of its own. */
static struct fm_figure synchronisation_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture_team *team = &analysis->whole.picture.team;
	double shared = team->true_sharing.value;
	double kernel = waits_in_kernel(analysis) ? fm_causes_kernel(analysis) * team->worked.value : 0;
	struct fm_figure waiting = of_team(analysis, &team->waiting);

	(void)level;
	if (waiting.available) {
		waiting.value = fmin(1, fmax(0, waiting.value - shared) + kernel);
		waiting.low = fmin(1, fmax(0, waiting.low - shared) + kernel);
		waiting.high = fmin(1, fmax(0, waiting.high - shared) + kernel);
	}
	return waiting;
}

static struct fm_figure supply_time(const struct fm_analysis *analysis, unsigned level)
{
	(void)level;
	return core_of_run(analysis, &analysis->whole.picture.signs.supply);
}

/* The kernel, and the time without a processor: of one thread, since several wait for each other. */
static struct fm_figure blocked_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_recorded_native *native = fm_causes_native(analysis);
	const struct fm_picture *picture = &analysis->whole.picture;
	double busy = fm_causes_busy(native), kernel = fm_causes_kernel(analysis), value, error,
	       unknown = fm_causes_starts_many(analysis) ? kernel : 0;
	const struct fm_figure *faults = &picture->fault_seconds;

	(void)level;
	if (!native)
		return none();
	/* pages that are touched first are the program's memory, not its input and output */
	if (faults->available && native->cpu_seconds > 0)
		kernel = fmax(0, kernel - faults->high / native->cpu_seconds);
	if (picture->team.known)
		return waits_in_kernel(analysis) ? none() : scaled(&picture->team.worked, kernel, kernel, kernel);
	value = 1 - busy * (1 - kernel);
	error = FM_TICKS * FM_TICK / fmax(native->share_seconds, native->seconds.value);
	error += busy * unknown;
	return fm_figure_make(value, fmax(0, value - error), fmin(1, value + error), "", FM_ORIGIN_measured, "native",
	                      native->seconds.trials);
}

static struct fm_figure compute_time(const struct fm_analysis *analysis, unsigned level)
{
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_figure *memory = &picture->memory_bound, *supply = &picture->signs.supply;
	double active = picture->active.value, limited = 0;
	struct fm_figure rest;

	(void)level;
	if (!memory->available || !supply->available || !(active > 0))
		return memory->available ? *supply : *memory;
	rest = fm_figure_make(
	    fmax(0, 1 - memory->value / active - supply->value), fmax(0, 1 - memory->high / active - supply->high),
	    fmax(0, 1 - memory->low / active - supply->low), "", memory->origin, memory->backend, memory->trials);
	rest = core_of_run(analysis, &rest);
	/* while a level moves all that it can, calculation only fills the time */
	for (unsigned i = 1; i < picture->level_count; i++) {
		struct fm_figure limit = bandwidth_time(analysis, i);

		if (limit.available)
			limited = fmax(limited, limit.value);
	}
	rest.value = fmin(rest.value, 1 - limited);
	rest.low = fmin(rest.low, rest.value);
	return rest;
}

const struct fm_cause fm_causes[] = {
#define CAUSE(name, per_level, time, pattern, decides, loses, words) \
	{name, per_level, time, pattern, decides, loses, words},
#include "patterns/causes.def"
#undef CAUSE
};

const unsigned fm_causes_count = sizeof(fm_causes) / sizeof(fm_causes[0]);

void fm_causes_each(const struct fm_analysis *analysis, void (*each)(void *context, const struct fm_caused *caused),
                    void *context)
{
	for (unsigned i = 0; i < fm_causes_count; i++) {
		const struct fm_cause *cause = &fm_causes[i];
		unsigned levels = cause->per_level ? analysis->whole.picture.level_count : 1;

		for (unsigned level = cause->per_level; level < levels; level++)
			each(context, &(struct fm_caused){cause, level, cause->time(analysis, level)});
	}
}

const char *fm_caused_name(const struct fm_analysis *analysis, const struct fm_caused *caused, char *text, size_t size)
{
	snprintf(text, size, caused->cause->per_level ? "%s:%s" : "%s", caused->cause->name,
	         analysis->whole.picture.levels[caused->level].name);
	return text;
}

struct sought {
	const struct fm_analysis *analysis;
	const char *name;
	struct fm_figure share;
};

static void look_for(void *context, const struct fm_caused *caused)
{
	struct sought *sought = context;
	size_t length = strlen(sought->name);
	char name[FM_CAUSE_NAME];

	fm_caused_name(sought->analysis, caused, name, sizeof(name));
	if (!strncmp(name, sought->name, length) && (!name[length] || name[length] == ':') && caused->share.available &&
	    (!sought->share.available || caused->share.value > sought->share.value))
		sought->share = caused->share;
}

struct fm_figure fm_causes_share(const struct fm_analysis *analysis, const char *name)
{
	struct sought sought = {analysis, name, none()};

	fm_causes_each(analysis, look_for, &sought);
	return sought.share;
}

bool fm_causes_have(const char *name)
{
	for (unsigned i = 0; i < fm_causes_count; i++) {
		size_t length = strlen(fm_causes[i].name);

		if (!strncmp(name, fm_causes[i].name, length) &&
		    (!name[length] || (name[length] == ':' && fm_causes[i].per_level)))
			return true;
	}
	return false;
}
