#include "windows/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "recording/schema.h"
#include "windows/rests.h"
#include "windows/totals.h"
#include "windows/tuning.h"

/* Events of all lines that followed lines have, too, in the order of BY_LINES_ERRORS: lines that come into a cache, for
   loads, for stores; write-backs. */
enum basis { BROUGHT, FOR_LOADS, FOR_STORES, WRITTEN };

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
	double share;    /* one line in this number is followed */
	double runs;     /* instructions of the whole run over the counted ones, with which lines are followed */
	double *weights; /* represented instructions per instruction of each window */
	double *values;  /* one for each window: what is estimated now */
	struct fm_estimate *counts;
};

static int begin_course(const struct fm_recording *recording, uint32_t process, struct course *ret_course)
{
	struct course course = {.recording = recording, .process = process, .last = recording->machine.cache_count - 1};

	if (process >= recording->processes_count || !recording->machine.cache_count)
		return -EINVAL;
	course.whole = &recording->processes[process];
	course.runs = 1 + fmax(0, course.whole->uncounted);
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

static void take_values(const struct course *course, unsigned index)
{
	for (size_t i = 0; i < course->count; i++)
		course->values[i] = (double)fm_counter_get(&course->windows[i].counts, index);
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

/* The events of followed lines: in a window, and in the whole run. */
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
	return sum * course->runs;
}

/* Two estimates of the same number. If they contradict each other, one of them is wrong, and the interval covers both.
   Otherwise the mean by their certainty is taken, and their difference adds to the error. */
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

/* If followed lines did many times as much as windows represent, the weights of windows are wrong: the only window of a
   phase was taken for another phase. The ratio per followed line still holds. */
static struct part by_ratio_alone(const struct course *course, enum basis basis, unsigned cache, double all)
{
	double seen = 0, lines = 0, value;

	for (size_t i = 0; i < course->count; i++) {
		seen += course->values[i];
		lines += in_window(&course->windows[i], basis, cache);
	}
	value = seen / lines * all;
	return (struct part){value, UNDERRATED_ERROR * value, UNDERRATED_ERROR * value};
}

/* By lines if windows have seen enough of them, else by instructions. */
static struct part by_lines(const struct course *course, enum basis basis, unsigned cache)
{
	double seen = weighted(course), lines = 0, events = 0, all = in_run(course, basis, cache), ratio, variance = 0,
	       half;
	struct part other = by_instructions(course);

	if (!course->group_count || course->count < FM_WINDOWS_LEAST)
		return other;
	for (size_t i = 0; i < course->count; i++) {
		events += in_window(&course->windows[i], basis, cache);
		lines += course->weights[i] * in_window(&course->windows[i], basis, cache);
	}
	if (events < EVENTS_LEAST) {
		/* what followed lines did, and windows did not see them do */
		other.above += course->share * (fmax(0, all - lines) + 2 * sqrt(all + 1));
		return other;
	}
	if (!(lines * UNDERRATED > all))
		return by_ratio_alone(course, basis, cache, all);
	ratio = seen / lines;
	for (size_t i = 0; i < course->count; i++) {
		double rest =
		    course->weights[i] * (course->values[i] - ratio * in_window(&course->windows[i], basis, cache));

		variance += rest * rest;
	}
	variance *= (double)course->count / (double)(course->count - 1);
	half = RATIO_HALF_WIDTH * all / lines * fm_statistics_student((unsigned)course->count - 1) * sqrt(variance) +
	       BY_LINES_ERRORS[basis] * ratio * all;
	return half < other.above ? combine((struct part){ratio * all, half, half}, other) : other;
}

/* The part of the unknown accesses of a cache that may have the wrong outcome: as among those to followed lines; all,
   if there are none of these. */
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

static struct fm_rest_factor rest_factor(const struct course *course)
{
	const struct fm_cache_description *last = &course->recording->machine.caches[course->last];
	struct fm_after_rests after = {.rested = course->runs,
	                               .resident = (double)course->whole->resident,
	                               .capacity = (double)(last->available ? last->available : last->bytes),
	                               .life = last->life};

	for (size_t i = 0; i < course->group_count; i++) {
		after.hits += (double)course->groups[i].unknown_hits;
		after.misses += (double)course->groups[i].unknown_misses;
		after.reads += (double)course->groups[i].memory_reads;
		after.cold += (double)course->groups[i].cold;
	}
	after.seen = after.cold * course->share * course->recording->machine.line_bytes;
	return fm_rests_factor(&after);
}

static struct part followed_memory(const struct course *course, enum basis basis)
{
	double sum = 0, squares = 0, n = (double)course->group_count, half, share;
	struct fm_rest_factor factor = rest_factor(course);

	for (size_t i = 0; i < course->group_count; i++)
		sum += memory_of(course, i, basis);
	for (size_t i = 0; i < course->group_count; i++)
		squares += (memory_of(course, i, basis) - sum / n) * (memory_of(course, i, basis) - sum / n);
	share = course->share * factor.value;
	half =
	    n > 1 ? share * fm_statistics_student((unsigned)n - 1) * sqrt(n * squares / (n - 1) + sum + 1) : INFINITY;
	half += (basis == WRITTEN ? DIRECT_WRITTEN_ERROR : DIRECT_ERROR) * share * sum;
	return (struct part){share * sum, half + course->share * sum * (factor.value - factor.low),
	                     half + course->share * sum * (factor.high - factor.value)};
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
		below += (double)course->groups[i].memory_reads * course->runs;
		cold += (double)course->groups[i].cold;
	}
	if (!(above > cold) || !(below > cold) || !(all > course->share * above))
		return 0;
	return (all - course->share * above) * fmin(1, (below - cold) / (above - cold));
}

/* The requests of a cache: by loads, by stores, by prefetchers above. */
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
	    asks > 0 ? SHARE_ERROR * fmin(1, all_unknown_of(course, course->last) / asks) * share * memory.value : 0;
	/* which of the lines a prefetcher asked for first is not known well, least of all of the smaller part */
	doubt = fmax(doubt, SPLIT_ERROR * fmin(share, 1 - fmin(1, share)) * memory.value);
	/* what is rare in windows may be less so elsewhere */
	return (struct part){memory.value * share, memory.below * share + doubt,
	                     memory.above * share + doubt + RARE_ELSEWHERE * RARE * memory.value};
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
    {FM_CACHE_load_misses, FOR_LOADS},  {FM_CACHE_store_misses, FOR_STORES},
    {FM_CACHE_lines_demand, FOR_LOADS}, {FM_CACHE_lines_ownership, FOR_STORES},
    {FM_CACHE_lines_prefetch, BROUGHT}, {FM_CACHE_lines_prefetch_ownership, FOR_STORES},
};

static enum basis basis_of(unsigned within)
{
	for (unsigned i = 0; i < sizeof(coming_in) / sizeof(coming_in[0]); i++)
		if (coming_in[i].within == within)
			return coming_in[i].basis;
	return within == FM_CACHE_lines_written ? WRITTEN : BROUGHT;
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
	return within == FM_CACHE_lines_prefetch || within == FM_CACHE_lines_prefetch_ownership ||
	       within == FM_CACHE_prefetch_hits;
}

static void estimate_cache(const struct course *course, unsigned cache)
{
	double unknown = unknown_of(course, cache);

	for (unsigned i = 0; i < FM_CACHE_NUMBERS; i++) {
		struct part part;

		take_values(course, fm_counter_of_cache(cache, i));
		if (is_of_prefetchers(i) && !has_prefetchers(course, cache)) {
			set(course, fm_counter_of_cache(cache, i), (struct part){0});
			continue;
		}
		part = by_lines(course, basis_of(i), cache);
		if (is_of_prefetchers(i)) {
			part.below += PREFETCHED_ERROR * part.value;
			part.above += PREFETCHED_ERROR * part.value;
		}
		part.below += unknown;
		part.above += unknown + unseen_of(course, cache, part.value);
		set(course, fm_counter_of_cache(cache, i), part);
	}
	for (unsigned i = 0;
	     cache == course->last && course->group_count && i < sizeof(coming_in) / sizeof(coming_in[0]); i++) {
		unsigned index = fm_counter_of_cache(cache, coming_in[i].within);

		set(course, index, narrower(part_of(course, index), share_memory(course, index, coming_in[i].basis)));
	}
}

/* Hits are requests less misses. */
static void estimate_hits(const struct course *course, unsigned cache)
{
	static const unsigned hits[] = {FM_CACHE_load_hits, FM_CACHE_store_hits},
	                      misses[] = {FM_CACHE_load_misses, FM_CACHE_store_misses};

	for (unsigned i = 0; i < 2; i++) {
		struct part all = cache ? asked_of(course, cache, i ? STORES : LOADS)
		                        : part_of(course, i ? FM_COUNTS_stores : FM_COUNTS_loads),
		            missed = part_of(course, fm_counter_of_cache(cache, misses[i]));

		/* an access that touches two lines is one hit at most */
		all.below += HITS_ERROR * all.value;
		all.above += HITS_ERROR * all.value;
		/* what is asked of a cache is what misses the one above */
		if (cache) {
			double unknown = unknown_of(course, cache - 1);

			all.below += unknown;
			all.above += unknown + unseen_of(course, cache - 1, all.value);
		}
		set(course, fm_counter_of_cache(cache, hits[i]),
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
	} counted[] = {{FM_COUNTS_loads, course->whole->loads},
	               {FM_COUNTS_stores, course->whole->stores},
	               {FM_COUNTS_load_bytes, course->whole->load_bytes},
	               {FM_COUNTS_store_bytes, course->whole->store_bytes}};

	for (unsigned i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		double value = (double)counted[i].value, plain = course->whole->uncounted - course->whole->rested,
		       half = (COUNTED_ERROR + UNCOUNTED_ERROR * plain) * value + COUNTED_FLOOR;

		if (course->whole->loads + course->whole->stores)
			set(course, counted[i].index, (struct part){value, half, half});
	}
}

/* Nearly all lines come into the last cache from memory. */
static void estimate_lines_in(const struct course *course, unsigned cache)
{
	double unknown = unknown_of(course, cache);
	struct part part;

	if (cache == course->last && course->group_count) {
		part = part_of(course, FM_COUNTS_memory_reads);
	} else {
		for (size_t i = 0; i < course->count; i++)
			course->values[i] = lines_into(&course->windows[i].counts.caches[cache]);
		part = by_lines(course, BROUGHT, cache);
		part.below += unknown;
		part.above += unknown;
	}
	set(course, FM_ESTIMATE_LINES_IN + cache, part);
}

static void estimate_memory(const struct course *course, bool written, struct part *ret_part)
{
	unsigned index = written ? FM_COUNTS_memory_writes : FM_COUNTS_memory_reads,
	         remote = written ? FM_COUNTS_memory_writes_remote : FM_COUNTS_memory_reads_remote;
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
		followed.below += WASTED_ERROR * extra;
		followed.above += WASTED_ERROR * extra;
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

/* Instructions of rests are known as well as the pace is, and all counts go with them. */
static void widen_by_pace(const struct course *course)
{
	double error = RESTED_ERROR * course->whole->rested / course->runs;

	for (unsigned i = 0; i < FM_ESTIMATES && error > 0; i++) {
		struct part part = part_of(course, i);

		if (i >= FM_ESTIMATE_WORK && i < FM_ESTIMATE_LINES_IN)
			continue;
		part.below = hypot(part.below, error * part.value);
		part.above = hypot(part.above, error * part.value);
		set(course, i, part);
	}
}

int fm_estimate_process(const struct fm_recording *recording, uint32_t process, struct fm_estimates *ret_estimates)
{
	struct course course;
	struct part writes;
	int r = begin_course(recording, process, &course);

	if (r)
		return r;
	memset(ret_estimates, 0, sizeof(*ret_estimates));
	course.counts = ret_estimates->numbers;
	ret_estimates->windows = (unsigned)course.count;
	for (unsigned i = 0; i < FM_COUNTS_NUMBERS; i++) {
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
	set(&course, fm_counter_of_cache(course.last, FM_CACHE_lines_written), writes);
	for (unsigned cache = 0; cache <= course.last; cache++)
		estimate_hits(&course, cache);
	for (unsigned cache = 0; cache <= course.last; cache++)
		estimate_lines_in(&course, cache);
	widen_by_pace(&course);
	free(course.weights);
	return 0;
}

/* Where a number of work or timing is in a window. */
static double other_number(const struct fm_recorded_window *window, unsigned index)
{
	if (index == FM_ESTIMATE_PRODUCTIVE)
		return (double)(window->timing.cycles - window->timing.no_execute);
	return (double)(index < FM_ESTIMATE_TIMING ? fm_counter_get(&window->work, index - FM_ESTIMATE_WORK)
	                                           : fm_counter_get(&window->timing, index - FM_ESTIMATE_TIMING));
}

/* Numbers that go with instructions, which are counted. */
static int estimate_others(const struct fm_recording *recording, struct fm_estimates *estimates)
{
	double *values = calloc(recording->windows_count + 1, sizeof(*values));

	for (unsigned i = FM_ESTIMATE_WORK; values && i < FM_ESTIMATE_LINES_IN; i++) {
		struct fm_window_total total;
		double half;

		for (size_t k = 0; k < recording->windows_count; k++)
			values[k] = other_number(&recording->windows[k], i);
		total = fm_windows_sum(recording, values);
		half = fm_window_half_width(&total);
		estimates->numbers[i] =
		    (struct fm_estimate){total.value, fmax(0, total.value - half), total.value + half};
	}
	free(values);
	return values ? 0 : -ENOMEM;
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
			struct fm_estimate *sum = &ret_estimates->numbers[k], *own = &one.numbers[k];
			double below = hypot(sum->value - sum->low, own->value - own->low),
			       above = hypot(sum->high - sum->value, own->high - own->value);

			sum->value += own->value;
			sum->low = fmax(0, sum->value - below);
			sum->high = sum->value + above;
		}
		ret_estimates->windows += one.windows;
	}
	return estimate_others(recording, ret_estimates);
}

/* In the recording, by name */

static const char productive[] = "timing.productive";

/* "cache0.lines_in" */
static const char *lines_in_name(unsigned cache, char text[16])
{
	snprintf(text, 16, "cache%u.lines_in", cache % 10);
	return text;
}

static unsigned index_of_number(const struct fm_number *number)
{
	return number->kind == FM_COLUMN_COUNTS ? number->index
	       : number->kind == FM_COLUMN_WORK ? FM_ESTIMATE_WORK + number->index
	                                        : FM_ESTIMATE_TIMING + number->index;
}

static int keep_one(struct fm_recording *recording, const char *name, const struct fm_estimate *estimate)
{
	struct fm_recorded_estimate *row = fm_recording_add(recording, estimates);

	if (!row)
		return -ENOMEM;
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->value = estimate->value;
	row->low = estimate->low;
	row->high = estimate->high;
	return 0;
}

int fm_estimates_keep(struct fm_recording *recording)
{
	const struct fm_schema *schema = fm_schema();
	struct fm_estimates *estimates;
	char text[16];
	int r;

	if (!recording->windows_count || recording->estimates_count)
		return 0;
	estimates = malloc(sizeof(*estimates));
	r = estimates ? fm_estimate_all(recording, estimates) : -ENOMEM;
	for (unsigned i = 0; !r && i < schema->number_count; i++)
		r = keep_one(recording, schema->numbers[i].name,
		             &estimates->numbers[index_of_number(&schema->numbers[i])]);
	if (!r)
		r = keep_one(recording, productive, &estimates->numbers[FM_ESTIMATE_PRODUCTIVE]);
	for (unsigned i = 0; !r && i < FM_SIMULATED_CACHES_MAX; i++)
		r = keep_one(recording, lines_in_name(i, text), &estimates->numbers[FM_ESTIMATE_LINES_IN + i]);
	free(estimates);
	return r;
}

/* The place of a row; the rows of one version are in the order of its schema. FM_ESTIMATES: unknown. */
static unsigned place_of(const struct fm_schema *schema, const char *name, size_t guess)
{
	char text[16];

	if (guess < schema->number_count && !strcmp(schema->numbers[guess].name, name))
		return index_of_number(&schema->numbers[guess]);
	for (unsigned i = 0; i < schema->number_count; i++)
		if (!strcmp(schema->numbers[i].name, name))
			return index_of_number(&schema->numbers[i]);
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		if (!strcmp(lines_in_name(i, text), name))
			return FM_ESTIMATE_LINES_IN + i;
	return strcmp(name, productive) ? FM_ESTIMATES : FM_ESTIMATE_PRODUCTIVE;
}

bool fm_estimates_of(const struct fm_recording *recording, struct fm_estimates *ret_estimates)
{
	const struct fm_schema *schema = fm_schema();

	if (!recording->estimates_count)
		return !fm_estimate_all(recording, ret_estimates);
	memset(ret_estimates, 0, sizeof(*ret_estimates));
	ret_estimates->windows = (unsigned)recording->windows_count;
	for (size_t i = 0; i < recording->estimates_count; i++) {
		const struct fm_recorded_estimate *row = &recording->estimates[i];
		unsigned place = place_of(schema, row->name, i);

		/* a file may hold anything: an interval contains its value */
		if (place < FM_ESTIMATES && row->value >= 0 && isfinite(row->value))
			ret_estimates->numbers[place] = (struct fm_estimate){
			    row->value, row->low >= 0 ? fmin(row->low, row->value) : 0, fmax(row->high, row->value)};
	}
	return true;
}
