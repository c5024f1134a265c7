#include "model/team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "model/doubt.h"

/* Functions in which threads wait for each other, by the beginning of their names. */
static const char *const synchronising[] = {
#define FUNCTION(name) name,
#include "model/synchronising.def"
#undef FUNCTION
};

/* Kinds of positions. A thread that waits does one of the first four. */
enum kind { SPINS, SYNCHRONISES, SHARES_FALSELY, SHARES_TRULY, WAITS, KINDS };

struct member {
	const struct fm_recorded_native_thread *native;
	unsigned positions;
	double seconds;      /* of its positions */
	double parts[KINDS]; /* of these; WAITS: all but false sharing */
	double working;      /* s of its own time that it did not wait */
	bool works;
};

struct team {
	const struct fm_recording *recording;
	struct member members[FM_PICTURE_TEAM_MAX];
	unsigned count;         /* of members */
	bool *at_synchronising; /* by source line */
	double false_part;      /* of the transfers of lines, those by false sharing */
	bool plain;             /* positions in plain code count, too */
};

static bool is_synchronising(const struct fm_recorded_running *running)
{
	for (unsigned i = 0; i < sizeof(synchronising) / sizeof(synchronising[0]); i++)
		if (!strncmp(running->function, synchronising[i], strlen(synchronising[i])))
			return true;
	/* runtime libraries of OpenMP have no names */
	return !strncmp(running->module, "libgomp", 7) || !strncmp(running->module, "libomp", 6);
}

static double false_part(const struct fm_recording *recording)
{
	double all = 0, by_false = 0;

	for (size_t i = 0; i < recording->shared_count; i++) {
		all += (double)(recording->shared[i].true_transfers + recording->shared[i].false_transfers);
		by_false += (double)recording->shared[i].false_transfers;
	}
	return all > 0 ? by_false / all : 0;
}

static bool counts(const struct team *team, const struct fm_recorded_position *position)
{
	return !position->process && position->thread < team->count && (team->plain || !position->plain);
}

/* The part of a position that is of a kind. Spinning loops may be in functions of the runtime, too: they spin. */
static double part_of(const struct team *team, const struct fm_recorded_position *position, enum kind kind)
{
	bool synchronises = !position->waits && (position->locks || team->at_synchronising[position->running]);
	double shares = position->waits || synchronises ? 0 : position->shares;

	switch (kind) {
	case SPINS:
		return position->waits;
	case SYNCHRONISES:
		return synchronises;
	case SHARES_FALSELY:
		return shares * team->false_part;
	case SHARES_TRULY:
		return shares * (1 - team->false_part);
	default:
		return position->waits || synchronises ? 1 : shares * (1 - team->false_part);
	}
}

static void add_positions(struct team *team)
{
	const struct fm_recording *recording = team->recording;

	for (size_t i = 0; i < recording->positions_count; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];
		struct member *member;

		if (!counts(team, position))
			continue;
		member = &team->members[position->thread];
		member->positions++;
		member->seconds += position->seconds;
		for (unsigned kind = 0; kind < KINDS; kind++)
			member->parts[kind] += position->seconds * part_of(team, position, (enum kind)kind);
	}
}

static double share(const struct member *member, enum kind kind)
{
	return member->seconds > 0 ? fmin(1, member->parts[kind] / member->seconds) : 0;
}

/* Share of its time that it neither spun nor synchronised. */
static double share_working(const struct member *member)
{
	return fmax(0, 1 - share(member, SPINS) - share(member, SYNCHRONISES));
}

static const struct member *busiest(const struct team *team)
{
	const struct member *most = &team->members[0];

	for (unsigned i = 1; i < team->count; i++)
		if (team->members[i].working > most->working)
			most = &team->members[i];
	return most;
}

/* The part of the working positions of two threads that lies in the same source lines. */
static double likeness(const struct team *team, unsigned one, unsigned other)
{
	const struct fm_recording *recording = team->recording;
	double *seconds = calloc(2 * recording->runnings_count + 1, sizeof(*seconds)), all[2] = {0}, alike = 0;

	if (!seconds)
		return 0;
	for (size_t i = 0; i < recording->positions_count; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];
		unsigned which = position->thread == other;

		if (!counts(team, position) || position->waits ||
		    (position->thread != one && position->thread != other))
			continue;
		seconds[2 * position->running + which] += position->seconds;
		all[which] += position->seconds;
	}
	for (size_t i = 0; i < recording->runnings_count && all[0] > 0 && all[1] > 0; i++)
		alike += fmin(seconds[2 * i] / all[0], seconds[2 * i + 1] / all[1]);
	free(seconds);
	return alike;
}

/* Threads that only start others, read input or keep a log are no workers: they have little work, and that of no other
   thread. A thread that spins has too little work. */
static unsigned choose_workers(struct team *team)
{
	const struct member *most;
	unsigned workers = 0;

	for (unsigned i = 0; i < team->count; i++) {
		struct member *member = &team->members[i];

		if (member->native)
			member->working = member->native->ran * share_working(member);
	}
	most = busiest(team);
	if (!most->native)
		return 0;
	for (unsigned i = 0; i < team->count; i++) {
		struct member *member = &team->members[i];

		if (!member->native || !(most->working > 0))
			continue;
		member->works = member->working >= FM_WORKER_LEAST * most->working ||
		                member->native->ran >= FM_BUSY_WORKER * most->native->ran ||
		                (member->working >= FM_WORKER_ALIKE * most->working &&
		                 likeness(team, (unsigned)(most - team->members), i) >= FM_WORKERS_ALIKE);
		workers += member->works;
	}
	return workers;
}

/* A position of a working thread. */
struct moment {
	double at, seconds;
	unsigned thread;
};

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	return (a->at > b->at) - (a->at < b->at);
}

static size_t list_moments(const struct team *team, struct moment *ret_moments)
{
	const struct fm_recording *recording = team->recording;
	size_t count = 0;

	for (size_t i = 0; i < recording->positions_count; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];

		if (counts(team, position) && !position->waits && team->members[position->thread].works)
			ret_moments[count++] = (struct moment){position->at, position->seconds, position->thread};
	}
	qsort(ret_moments, count, sizeof(*ret_moments), by_time);
	return count;
}

/* Part of the working time in which no other worker works. A thread that works has a position at each tick. */
static double part_alone(const struct team *team)
{
	struct moment *moments = calloc(team->recording->positions_count + 1, sizeof(*moments));
	size_t near[FM_PICTURE_TEAM_MAX] = {0}, count, from = 0, until = 0;
	unsigned threads = 0;
	double alone = 0, all = 0;

	if (!moments)
		return 0;
	count = list_moments(team, moments);
	for (size_t i = 0; i < count; i++) {
		double apart = fmax(FM_TOGETHER_SECONDS, FM_TOGETHER_TICKS * moments[i].seconds);

		for (; until < count && moments[until].at <= moments[i].at + apart; until++)
			threads += !near[moments[until].thread]++;
		for (; from < i && moments[from].at < moments[i].at - apart; from++)
			threads -= !--near[moments[from].thread];
		all += moments[i].seconds;
		alone += threads < 2 ? moments[i].seconds : 0;
	}
	free(moments);
	return all > 0 ? alone / all : 0;
}

/* Error of a share by chance, as a share of the team's time, from the differences between parts of the run. Ticks of
   different processors come at the same moments, so positions of threads are not independent. */
static double error_of(const struct team *team, enum kind kind)
{
	const struct fm_recording *recording = team->recording;
	double sums[FM_TEAM_BATCHES] = {0}, parts[FM_TEAM_BATCHES] = {0}, last = 0, all = 0, part = 0, variance = 0;
	unsigned used = 0;

	for (size_t i = 0; i < recording->positions_count; i++)
		last = fmax(last, recording->positions[i].at);
	for (size_t i = 0; i < recording->positions_count && last > 0; i++) {
		const struct fm_recorded_position *position = &recording->positions[i];
		unsigned batch = (unsigned)fmin(FM_TEAM_BATCHES - 1, FM_TEAM_BATCHES * position->at / last);

		if (!counts(team, position) || !team->members[position->thread].works)
			continue;
		sums[batch] += position->seconds;
		parts[batch] += position->seconds * part_of(team, position, kind);
	}
	for (unsigned i = 0; i < FM_TEAM_BATCHES; i++) {
		used += sums[i] > 0;
		all += sums[i];
		part += parts[i];
	}
	for (unsigned i = 0; i < FM_TEAM_BATCHES && all > 0; i++) {
		double rest = parts[i] - part / all * sums[i];

		variance += rest * rest;
	}
	if (used < 2)
		return 1;
	return fm_statistics_student(used - 1) * sqrt(variance * used / (used - 1)) / all + FM_TEAM_ERROR;
}

/* The share of the team's time in positions of a kind. */
static struct fm_figure figure_of(const struct team *team, enum kind kind, double seconds, unsigned positions)
{
	double value = 0, error = error_of(team, kind);

	for (unsigned i = 0; i < team->count; i++)
		if (team->members[i].works)
			value += team->members[i].native->ran / seconds * share(&team->members[i], kind);
	return fm_figure_make(fmin(1, value), fmax(0, value - error), fmin(1, value + error), "", FM_ORIGIN_sampled,
	                      "native", positions);
}

static struct fm_figure measured(double value, double error)
{
	value = fmin(1, fmax(0, value));
	return fm_figure_make(value, fmax(0, value - error), fmin(1, value + error), "", FM_ORIGIN_measured, "native",
	                      1);
}

/* By chance, of equal threads the busiest seems to work this much longer than the mean; share of the team's time. */
static double chance_of(const struct team *team, double seconds, unsigned workers, double processors)
{
	double variance = 0;

	for (unsigned i = 0; i < team->count; i++) {
		const struct member *member = &team->members[i];
		double own = share_working(member);

		if (member->works && member->positions)
			variance += member->native->ran * member->native->ran * own * (1 - own) / member->positions;
	}
	/* the mean of the largest of some normal values */
	return workers > 1
	           ? processors * sqrt(variance / workers) * sqrt(2 * log(workers)) * FM_LARGEST_OF_FEW / seconds
	           : 0;
}

/* Processors wait until the busiest thread ends, or while one works alone. At most as much as is lost. */
static void balance(const struct team *team, struct fm_picture_team *result, double processors, double seconds)
{
	double most = 0, sum = 0, ran = 0, delayed = 0, lived = 0, alone = part_alone(team), uneven, lost, serial,
	       chance = chance_of(team, seconds, result->workers, processors);

	for (unsigned i = 0; i < team->count; i++) {
		const struct member *member = &team->members[i];

		if (!member->works)
			continue;
		most = fmax(most, member->working);
		sum += member->working;
		ran += member->native->ran;
		delayed += member->native->delayed;
		lived += member->native->lived;
	}
	/* ready threads without a processor are no reason for an idle one: others had it, or it was not permitted */
	result->idle = measured(1 - (ran + fmin(delayed, fmax(0, seconds - ran))) / seconds, FM_TEAM_ERROR);
	result->delayed = measured(lived > 0 ? delayed / lived : 0, FM_TEAM_ERROR);
	serial = (processors - 1) * alone * sum / seconds;
	uneven = fmax(0, processors * most - sum) / seconds;
	uneven = sqrt(fmax(0, uneven * uneven - chance * chance));
	lost = result->idle.value + result->spinning.value;
	result->alone = measured(alone * sum / (seconds / processors), 2 * FM_TEAM_ERROR);
	result->ratio = sum > 0 ? most / sum * result->workers : 1;
	result->uneven = measured(fmin(lost, fmax(uneven, serial)), FM_TEAM_ERROR + 2 * chance);
	result->worked = measured(sum / seconds, FM_TEAM_ERROR + result->spinning.high - result->spinning.value);
}

/* What threads lose by waiting for each other, for another reason than unequal work. */
static struct fm_figure waiting(const struct team *team, const struct fm_picture_team *result)
{
	double lost = result->idle.value + result->spinning.value, other = fmax(0, lost - result->uneven.value),
	       error = hypot(error_of(team, WAITS), result->uneven.high - result->uneven.value);

	other += result->synchronising.value + result->true_sharing.value;
	return fm_figure_make(fmin(1, other), fmax(0, other - error), fmin(1, other + error), "", FM_ORIGIN_sampled,
	                      "native", result->positions);
}

static bool find_members(struct team *team)
{
	const struct fm_recording *recording = team->recording;

	for (size_t i = 0; i < recording->native_threads_count; i++) {
		const struct fm_recorded_native_thread *native = &recording->native_threads[i];

		if (native->ordinal >= FM_PICTURE_TEAM_MAX)
			continue;
		team->members[native->ordinal].native = native;
		if (native->ordinal >= team->count)
			team->count = native->ordinal + 1;
	}
	team->at_synchronising = calloc(recording->runnings_count + 1, sizeof(*team->at_synchronising));
	for (size_t i = 0; team->at_synchronising && i < recording->runnings_count; i++)
		team->at_synchronising[i] = is_synchronising(&recording->runnings[i]);
	return team->at_synchronising && team->count > 1;
}

/* Positions in plain code are somewhat slower: only if there are few others. */
static unsigned count_positions(struct team *team)
{
	unsigned native = 0, plain = 0;

	for (size_t i = 0; i < team->recording->positions_count; i++) {
		native += !team->recording->positions[i].plain;
		plain += team->recording->positions[i].plain;
	}
	team->plain = native < FM_POSITIONS_ENOUGH;
	return native + (team->plain ? plain : 0);
}

static void fill(struct team *team, struct fm_picture *picture)
{
	const struct fm_recorded_native *native = &team->recording->native;
	struct fm_picture_team *result = &picture->team;
	double processors, seconds;

	result->positions = count_positions(team);
	if (result->positions < FM_POSITIONS_LEAST)
		return;
	add_positions(team);
	result->workers = choose_workers(team);
	processors = native->cpus ? fmin(result->workers, native->cpus) : result->workers;
	seconds = processors * native->seconds.value;
	if (result->workers < 2 || !(seconds > 0))
		return;
	result->known = true;
	result->processors = processors;
	result->spinning = figure_of(team, SPINS, seconds, result->positions);
	result->synchronising = figure_of(team, SYNCHRONISES, seconds, result->positions);
	result->false_sharing = figure_of(team, SHARES_FALSELY, seconds, result->positions);
	result->true_sharing = figure_of(team, SHARES_TRULY, seconds, result->positions);
	balance(team, result, processors, seconds);
	result->waiting = waiting(team, result);
	for (unsigned i = 0; i < picture->thread_count; i++)
		if (picture->per_thread[i].thread < team->count) {
			picture->per_thread[i].working_seconds = team->members[picture->per_thread[i].thread].working;
			picture->per_thread[i].works = team->members[picture->per_thread[i].thread].works;
		}
}

void fm_team_build(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct team *team;

	memset(&picture->team, 0, sizeof(picture->team));
	if (picture->part.region || picture->part.thread >= 0 || !recording->native.same_run ||
	    !recording->native.seconds.available || recording->native_threads_count < 2)
		return;
	team = calloc(1, sizeof(*team));
	if (!team)
		return;
	team->recording = recording;
	team->false_part = false_part(recording);
	if (find_members(team))
		fill(team, picture);
	free(team->at_synchronising);
	free(team);
}
