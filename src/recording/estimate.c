#include "recording/estimate.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "recording/windows.h"

enum { LEAST_EVENTS = 50 }; /* of followed lines in windows, to go by them */

/* What followed lines do, and other lines too: come into a cache, for loads, for stores; are written back. */
enum basis { BROUGHT, FOR_LOADS, FOR_STORES, WRITTEN };

/* What chance does not explain: what followed lines find in caches is not exactly what they would in the others'
   company; of the lines that prefetchers waste nobody knows much; and no two runs are the same. */
static const double by_lines_errors[] = {[BROUGHT] = 0.03, [FOR_LOADS] = 0.03, [FOR_STORES] = 0.08, [WRITTEN] = 0.07},
                    prefetched_error = 0.15, direct_error = 0.12, direct_written_error = 0.15, wasted_error = 0.3,
                    share_error = 0.7, split_error = 0.9, counted_error = 0.01, uncounted_error = 0.25,
                    hits_error = 0.01, RARE = 0.01, UNUSUAL = 20;

#define INDEX(member) (offsetof(struct fm_core_counts, member) / sizeof(uint64_t))
#define WITHIN(member) (offsetof(struct fm_cache_counts, member) / sizeof(uint64_t))
enum { CACHE_NUMBERS = sizeof(struct fm_cache_counts) / sizeof(uint64_t) };

static unsigned index_of(unsigned cache, unsigned within)
{
	return (unsigned)INDEX(caches) + cache * CACHE_NUMBERS + within;
}

struct part {
	double value, below, above;
};

/* One process. */
struct course {
	const struct fm_recording *recording;
	const struct fm_recorded_process *whole;
	uint32_t process;
	unsigned last; /* cache */
	const struct fm_recorded_window *windows;
	size_t count;
	const struct fm_recorded_group *groups;
	size_t group_count;
	double share;    /* one line of so many is followed */
	double *weights; /* how many instructions one of the window's stands for */
	double *values;  /* one for each window: what is estimated now */
	struct fm_estimate *counts;
};

static int begin_course(const struct fm_recording *recording, uint32_t process, struct course *ret_course)
{
	struct course course = {.recording = recording, .process = process, .last = recording->machine.cache_count - 1};

	if (process >= recording->processes_count || !recording->machine.cache_count)
		return -EINVAL;
	course.whole = &recording->processes[process];
	course.count = fm_windows_of(recording, process, &course.windows);
	for (size_t i = 0; i < recording->groups_count; i++)
		if (recording->groups[i].process == process && !course.group_count++) {
			course.groups = &recording->groups[i];
			course.share = recording->groups[i].share;
		}
	course.weights = calloc(2 * course.count + 1, sizeof(*course.weights));
	if (!course.weights)
		return -ENOMEM;
	course.values = course.weights + course.count;
	fm_windows_strata(recording, process, course.weights);
	for (size_t i = 0; i < course.count; i++) {
		double instructions = fm_window_instructions(&course.windows[i]);

		course.weights[i] = instructions > 0 ? course.weights[i] / instructions : 0;
	}
	*ret_course = course;
	return 0;
}

static double number_of(const struct fm_core_counts *counts, unsigned index)
{
	uint64_t value;

	memcpy(&value, (const char *)counts + index * sizeof(value), sizeof(value));
	return (double)value;
}

static void take_values(const struct course *course, unsigned index)
{
	for (size_t i = 0; i < course->count; i++)
		course->values[i] = number_of(&course->windows[i].counts, index);
}

static double weighted(const struct course *course)
{
	double sum = 0;

	for (size_t i = 0; i < course->count; i++)
		sum += course->weights[i] * course->values[i];
	return sum;
}

static struct part by_instructions(const struct course *course)
{
	struct fm_window_total total = fm_windows_total(course->recording, course->process, course->values);
	double half = fm_window_half_width(&total);

	return (struct part){total.value, half, half};
}

static double of_basis(enum basis basis, uint64_t brought, uint64_t owned, uint64_t written)
{
	return (double)(basis == WRITTEN      ? written
	                : basis == FOR_STORES ? owned
	                : basis == FOR_LOADS  ? brought - owned
	                                      : brought);
}

/* What followed lines did: in a window, and in all of the run. */
static double in_window(const struct fm_recorded_window *window, enum basis basis, unsigned cache)
{
	return of_basis(basis, window->brought[cache], window->owned[cache], window->written[cache]);
}

static double in_run(const struct course *course, enum basis basis, unsigned cache)
{
	double sum = 0;

	for (size_t i = 0; i < course->group_count; i++)
		sum += of_basis(basis, course->groups[i].brought[cache], course->groups[i].owned[cache],
		                course->groups[i].written[cache]);
	return sum;
}

/* Two estimates of the same. If they contradict each other, one of them is wrong, and nobody knows which. Else the
   truth is more likely between them, nearer to the one that is more certain, and how much they differ is a part of the
   doubt. */
static struct part combine(struct part one, struct part other)
{
	double difference = other.value - one.value, share;

	if (fabs(difference) > hypot(one.above, other.above)) {
		one.below = fmax(one.below, other.below - difference);
		one.above = fmax(one.above, difference + other.above);
		return one;
	}
	if (!(other.above > 0) || !isfinite(other.above))
		return one;
	share = one.above * one.above / (one.above * one.above + other.above * other.above);
	one.value += share * difference;
	one.below = one.above = sqrt(1 - share) * one.above + share * fabs(difference);
	return one;
}

/* What windows stand for cannot be right if followed lines did many times as much: the only window of a phase was taken
   for another's. How much windows saw for each followed line still holds. */
static struct part by_ratio_alone(const struct course *course, enum basis basis, unsigned cache, double all)
{
	const double doubt = 0.2;
	double seen = 0, lines = 0, value;

	for (size_t i = 0; i < course->count; i++) {
		seen += course->values[i];
		lines += in_window(&course->windows[i], basis, cache);
	}
	value = seen / lines * all;
	return (struct part){value, doubt * value, doubt * value};
}

/* By lines if windows have seen enough of them, else by instructions. */
static struct part by_lines(const struct course *course, enum basis basis, unsigned cache)
{
	const double much = 20;
	double seen = weighted(course), lines = 0, events = 0, all = in_run(course, basis, cache), ratio, variance = 0,
	       half;
	struct part other = by_instructions(course);

	if (!course->group_count || course->count < FM_WINDOWS_LEAST)
		return other;
	for (size_t i = 0; i < course->count; i++) {
		events += in_window(&course->windows[i], basis, cache);
		lines += course->weights[i] * in_window(&course->windows[i], basis, cache);
	}
	if (events < LEAST_EVENTS) {
		/* what followed lines did, and windows did not see them do */
		other.above += course->share * (fmax(0, all - lines) + 2 * sqrt(all + 1));
		return other;
	}
	if (!(lines * much > all))
		return by_ratio_alone(course, basis, cache, all);
	ratio = seen / lines;
	for (size_t i = 0; i < course->count; i++) {
		double rest =
		    course->weights[i] * (course->values[i] - ratio * in_window(&course->windows[i], basis, cache));

		variance += rest * rest;
	}
	variance *= (double)course->count / (double)(course->count - 1);
	half = 1.5 * all / lines * fm_statistics_student((unsigned)course->count - 1) * sqrt(variance) +
	       by_lines_errors[basis] * ratio * all;
	return half < other.above ? combine((struct part){ratio * all, half, half}, other) : other;
}

/* Of what windows do not know of a cache, the part that may have been taken for the wrong thing: as many as of those
   accesses of which followed lines tell; all, if there are none. */
static double wrong_part(const struct course *course, unsigned cache)
{
	double known = 0, off = 0, variance = 0;

	for (size_t i = 0; i < course->count; i++) {
		const struct fm_recorded_window *window = &course->windows[i];
		double few = (double)window->too_few[cache], many = (double)window->too_many[cache],
		       weight = course->weights[i];

		known += weight * (double)window->known[cache];
		off += weight * (few - many);
		variance += weight * weight * (few + many + (window->known[cache] > 0));
	}
	return known > 0 ? fmin(1, (fabs(off) + 2 * sqrt(variance)) / known) : 1;
}

static double all_unknown_of(const struct course *course, unsigned cache)
{
	double sum = 0;

	for (size_t i = 0; i < course->count; i++)
		sum += course->weights[i] * (double)course->windows[i].unknown[cache];
	return sum;
}

static double unknown_of(const struct course *course, unsigned cache)
{
	return all_unknown_of(course, cache) * wrong_part(course, cache);
}

static void set(const struct course *course, unsigned index, struct part part)
{
	course->counts[index] =
	    (struct fm_estimate){part.value, fmax(0, part.value - part.below), part.value + part.above};
}

static struct part part_of(const struct course *course, unsigned index)
{
	const struct fm_estimate *estimate = &course->counts[index];

	return (struct part){estimate->value, estimate->value - estimate->low, estimate->high - estimate->value};
}

/* Lines from or to memory, of all groups, and how far that may be off since not all lines are in them. */
static double memory_of(const struct course *course, size_t group, enum basis basis)
{
	const struct fm_recorded_group *own = &course->groups[group];
	uint64_t owned = own->owned[course->last] < own->memory_reads ? own->owned[course->last] : own->memory_reads;

	return of_basis(basis, own->memory_reads, owned, own->memory_writes);
}

static struct part followed_memory(const struct course *course, enum basis basis)
{
	double sum = 0, squares = 0, n = (double)course->group_count, half;

	for (size_t i = 0; i < course->group_count; i++)
		sum += memory_of(course, i, basis);
	for (size_t i = 0; i < course->group_count; i++)
		squares += (memory_of(course, i, basis) - sum / n) * (memory_of(course, i, basis) - sum / n);
	half = n > 1 ? course->share * fm_statistics_student((unsigned)n - 1) * sqrt(n * squares / (n - 1) + sum + 1)
	             : INFINITY;
	half += (basis == WRITTEN ? direct_written_error : direct_error) * course->share * sum;
	return (struct part){course->share * sum, half, half};
}

static double lines_into(const struct fm_cache_counts *counts)
{
	return (double)(counts->lines_demand + counts->lines_ownership + counts->lines_prefetch);
}

/* Lines that prefetchers brought into the cache above the last, more than followed lines know of, and that came from
   memory. */
static double wasted(const struct course *course)
{
	double above, below = 0, cold = 0, all;

	if (!course->last)
		return 0;
	for (size_t i = 0; i < course->count; i++)
		course->values[i] = lines_into(&course->windows[i].counts.caches[course->last - 1]);
	all = by_lines(course, BROUGHT, course->last - 1).value;
	above = in_run(course, BROUGHT, course->last - 1);
	for (size_t i = 0; i < course->group_count; i++) {
		below += (double)course->groups[i].memory_reads;
		cold += (double)course->groups[i].cold;
	}
	if (!(above > cold) || !(below > cold) || !(all > course->share * above))
		return 0;
	return (all - course->share * above) * fmin(1, (below - cold) / (above - cold));
}

/* What is asked of a cache: by loads, by stores, by prefetchers above. */
enum asker { LOADS, STORES, PREFETCHERS, ASKERS };
static double asked(const struct fm_cache_counts *counts, enum asker asker)
{
	return (double)(asker == LOADS    ? counts->load_hits + counts->load_misses
	                : asker == STORES ? counts->store_hits + counts->store_misses
	                                  : counts->lines_prefetch + counts->prefetches_answered);
}

static struct part asked_of(const struct course *course, unsigned cache, enum asker asker)
{
	for (size_t i = 0; i < course->count; i++)
		course->values[i] = asked(&course->windows[i].counts.caches[cache], asker);
	return by_lines(course, asker == LOADS ? FOR_LOADS : asker == STORES ? FOR_STORES : BROUGHT, cache - 1);
}

/* A number of the last cache that has to do with lines from memory, for loads or for stores: as large a share of these
   as in windows. But what windows do not know of the cache may change the shares, too. */
static struct part share_memory(const struct course *course, unsigned index, enum basis basis)
{
	struct part memory = followed_memory(course, basis);
	double own, all = 0, asks = 0, doubt, share;

	for (size_t i = 0; i < course->count; i++) {
		const struct fm_cache_counts *last = &course->windows[i].counts.caches[course->last];
		uint64_t owned = last->lines_ownership + last->lines_prefetch_ownership;

		all += course->weights[i] * of_basis(basis, (uint64_t)lines_into(last), owned, 0);
		for (unsigned k = 0; k < ASKERS; k++)
			asks += course->weights[i] * asked(last, (enum asker)k);
	}
	take_values(course, index);
	own = weighted(course);
	if (!(all > 0))
		return (struct part){memory.value / 2, memory.value / 2, memory.value / 2 + memory.above};
	share = own / all;
	doubt =
	    asks > 0 ? share_error * fmin(1, all_unknown_of(course, course->last) / asks) * share * memory.value : 0;
	/* which of the lines a prefetcher asked for first is not known well, least of all of the smaller part */
	doubt = fmax(doubt, split_error * fmin(share, 1 - fmin(1, share)) * memory.value);
	/* what is rare in windows may be less so elsewhere */
	return (struct part){memory.value * share, memory.below * share + doubt,
	                     memory.above * share + doubt + 5 * RARE * memory.value};
}

static bool contradict(const struct part *one, const struct part *other)
{
	return one->value + one->above < other->value - other->below ||
	       other->value + other->above < one->value - one->below;
}

static struct part narrower(struct part one, struct part other)
{
	return other.below + other.above < one.below + one.above ? other : one;
}

/* Misses of a cache and lines that come into it. */
static const struct {
	unsigned within;
	enum basis basis;
} coming_in[] = {
    {WITHIN(load_misses), FOR_LOADS},  {WITHIN(store_misses), FOR_STORES},
    {WITHIN(lines_demand), FOR_LOADS}, {WITHIN(lines_ownership), FOR_STORES},
    {WITHIN(lines_prefetch), BROUGHT}, {WITHIN(lines_prefetch_ownership), FOR_STORES},
};

static enum basis basis_of(unsigned within)
{
	for (unsigned i = 0; i < sizeof(coming_in) / sizeof(coming_in[0]); i++)
		if (coming_in[i].within == within)
			return coming_in[i].basis;
	return within == WITHIN(lines_written) ? WRITTEN : BROUGHT;
}

/* Of what is rare among all that comes into a cache, code that no window has seen may do more. */
static double unseen_of(const struct course *course, unsigned cache, double value)
{
	double all = course->share * in_run(course, BROUGHT, cache), unseen = (double)course->whole->unseen,
	       part = course->whole->instructions ? unseen / (double)course->whole->instructions : 1;

	return value < RARE * all ? fmin(unseen, fmax(all, 1) * fmin(1, UNUSUAL * part)) : 0;
}

/* Whether any prefetcher brings lines into the cache: its own or one above. */
static bool has_prefetchers(const struct course *course, unsigned cache)
{
	for (unsigned i = 0; i <= cache; i++) {
		const struct fm_cache_description *description = &course->recording->machine.caches[i];

		if (description->adjacent || description->next || description->streams)
			return true;
	}
	return false;
}

static bool is_of_prefetchers(unsigned within)
{
	return within == WITHIN(lines_prefetch) || within == WITHIN(lines_prefetch_ownership) ||
	       within == WITHIN(prefetch_hits);
}

static void estimate_cache(const struct course *course, unsigned cache)
{
	double unknown = unknown_of(course, cache);

	for (unsigned i = 0; i < CACHE_NUMBERS; i++) {
		struct part part;

		take_values(course, index_of(cache, i));
		if (is_of_prefetchers(i) && !has_prefetchers(course, cache)) {
			set(course, index_of(cache, i), (struct part){0});
			continue;
		}
		part = by_lines(course, basis_of(i), cache);
		if (is_of_prefetchers(i)) {
			part.below += prefetched_error * part.value;
			part.above += prefetched_error * part.value;
		}
		part.below += unknown;
		part.above += unknown + unseen_of(course, cache, part.value);
		set(course, index_of(cache, i), part);
	}
	for (unsigned i = 0;
	     cache == course->last && course->group_count && i < sizeof(coming_in) / sizeof(coming_in[0]); i++) {
		unsigned index = index_of(cache, coming_in[i].within);

		set(course, index, narrower(part_of(course, index), share_memory(course, index, coming_in[i].basis)));
	}
}

/* What is asked less what is missed. */
static void estimate_hits(const struct course *course, unsigned cache)
{
	static const unsigned hits[] = {WITHIN(load_hits), WITHIN(store_hits)},
	                      misses[] = {WITHIN(load_misses), WITHIN(store_misses)};

	for (unsigned i = 0; i < 2; i++) {
		struct part all = cache ? asked_of(course, cache, i ? STORES : LOADS)
		                        : part_of(course, i ? INDEX(stores) : INDEX(loads)),
		            missed = part_of(course, index_of(cache, misses[i]));

		/* an access that touches two lines is one hit at most */
		all.below += hits_error * all.value;
		all.above += hits_error * all.value;
		/* what is asked of a cache is what misses the one above */
		if (cache) {
			double unknown = unknown_of(course, cache - 1);

			all.below += unknown;
			all.above += unknown + unseen_of(course, cache - 1, all.value);
		}
		set(course, index_of(cache, hits[i]),
		    (struct part){fmax(0, all.value - missed.value), all.below + missed.above,
		                  all.above + missed.below});
	}
}

/* Numbers that are counted for the whole run. */
static void set_counted(const struct course *course)
{
	const struct {
		unsigned index;
		uint64_t value;
	} counted[] = {{INDEX(loads), course->whole->loads},
	               {INDEX(stores), course->whole->stores},
	               {INDEX(load_bytes), course->whole->load_bytes},
	               {INDEX(store_bytes), course->whole->store_bytes}};

	for (unsigned i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		double value = (double)counted[i].value,
		       half = (counted_error + uncounted_error * course->whole->uncounted) * value + 8000;

		if (course->whole->loads + course->whole->stores)
			set(course, counted[i].index, (struct part){value, half, half});
	}
}

static void estimate_memory(const struct course *course, bool written, struct part *ret_part)
{
	unsigned index = written ? INDEX(memory_writes) : INDEX(memory_reads),
	         remote = written ? INDEX(memory_writes_remote) : INDEX(memory_reads_remote);
	double unknown = unknown_of(course, course->last), extra = 0, local;
	struct part part;

	take_values(course, index);
	part = by_lines(course, written ? WRITTEN : BROUGHT, course->last);
	part.below += unknown;
	part.above += unknown;
	if (course->group_count) {
		struct part followed = followed_memory(course, written ? WRITTEN : BROUGHT);

		extra = written ? 0 : wasted(course);
		followed.value += extra;
		followed.below += wasted_error * extra;
		followed.above += wasted_error * extra;
		/* followed lines were there all the time */
		part = contradict(&part, &followed) ? followed : narrower(part, followed);
	}
	set(course, index, part);
	*ret_part = part;
	take_values(course, index);
	local = weighted(course);
	take_values(course, remote);
	local = local > 0 ? weighted(course) / local : 0;
	set(course, remote, (struct part){part.value * local, part.below * local, part.above * local});
}

int fm_estimate_process(const struct fm_recording *recording, uint32_t process, struct fm_estimates *ret_estimates)
{
	struct course course;
	struct part writes;
	int r = begin_course(recording, process, &course);

	if (r)
		return r;
	memset(ret_estimates, 0, sizeof(*ret_estimates));
	course.counts = ret_estimates->counts;
	ret_estimates->windows = (unsigned)course.count;
	for (unsigned i = 0; i < FM_ESTIMATES; i++) {
		struct part part;

		take_values(&course, i);
		part = by_instructions(&course);
		part.above += (double)course.whole->unseen;
		set(&course, i, part);
	}
	set_counted(&course);
	estimate_memory(&course, false, &writes);
	estimate_memory(&course, true, &writes);
	for (unsigned cache = 0; cache <= course.last; cache++)
		estimate_cache(&course, cache);
	set(&course, index_of(course.last, WITHIN(lines_written)), writes);
	for (unsigned cache = 0; cache <= course.last; cache++)
		estimate_hits(&course, cache);
	free(course.weights);
	return 0;
}

int fm_estimate_all(const struct fm_recording *recording, struct fm_estimates *ret_estimates)
{
	struct fm_estimates one;

	memset(ret_estimates, 0, sizeof(*ret_estimates));
	for (size_t i = 0; i < recording->windows_count; i++) {
		uint32_t process = recording->windows[i].process;
		int r;

		if (i && recording->windows[i - 1].process == process)
			continue;
		r = fm_estimate_process(recording, process, &one);
		if (r)
			return r;
		for (unsigned k = 0; k < FM_ESTIMATES; k++) {
			struct fm_estimate *sum = &ret_estimates->counts[k], *own = &one.counts[k];
			double below = hypot(sum->value - sum->low, own->value - own->low),
			       above = hypot(sum->high - sum->value, own->high - own->value);

			sum->value += own->value;
			sum->low = fmax(0, sum->value - below);
			sum->high = sum->value + above;
		}
		ret_estimates->windows += one.windows;
	}
	return 0;
}
