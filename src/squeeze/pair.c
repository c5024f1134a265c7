/* Two programs in one cache. In an LRU cache all lines stay for the same time after their last use: the programs'
   shares are such that both need that time to fill theirs. The accesses until a program fills c lines are the sum, over
   the lines, of one over its miss share in a cache of that many lines; the time of these accesses depends on its share.

   With random replacement, the shares are proportional to the rates of new lines. Real caches lie between; the two are
   the ends of the interval. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "squeeze/squeeze.h"
#include "squeeze/tuning.h"

enum { STEPS = 60, PIECES = 400, COLD = -1 /* the row of distances that has lines touched for the first time */ };

enum order { LRU, RANDOM };

/* A program as the pair sees it: times are in cycles by one of two clocks. */
struct partner {
	const struct fm_squeeze *squeeze;
	struct fm_design times, lines, misses; /* by capacity; misses as a share of the requests */
	double references;
	double footprint; /* bytes that it touches */
};

static void prepare(const struct fm_squeeze *squeeze, bool by_latency, struct partner *ret_partner)
{
	*ret_partner =
	    (struct partner){.squeeze = squeeze, .references = (double)squeeze->recording->squeeze_steps[0].references};
	for (size_t i = 0; i < squeeze->recording->distances_count; i++)
		if (squeeze->recording->distances[i].bin == COLD)
			ret_partner->footprint =
			    squeeze->recording->distances[i].accesses * squeeze->recording->machine.line_bytes;
	for (size_t i = 0; i < squeeze->recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &squeeze->recording->squeeze_steps[i];

		if (step->gbs < squeeze->how->gbs || !(step->bytes > 0))
			continue;
		fm_design_add(&ret_partner->times, step->bytes,
		              (double)(by_latency ? step->latency_cycles : step->cycles));
		fm_design_add(&ret_partner->lines, step->bytes, (double)step->lines);
		fm_design_add(&ret_partner->misses, step->bytes,
		              step->requests ? (double)step->misses / (double)step->requests : 0);
	}
}

/* Within the measured amounts; below them, as with the least. */
static double at(const struct fm_design *design, double bytes)
{
	double value = 0, low, high;

	bytes = fmin(fmax(bytes, design->points[0].amount), design->points[design->count - 1].amount);
	fm_design_at(design, bytes, &value, &low, &high);
	return value;
}

/* Lines that come into the cache with each reference. */
static double coming_at(const struct partner *partner, double bytes)
{
	double begin = fmin(partner->footprint, partner->squeeze->how->bytes) /
	               partner->squeeze->recording->machine.line_bytes / partner->references;

	return fmax(at(&partner->lines, bytes) / partner->references - begin, LEAST_LINES);
}

/* Cycles in which the program would fill that much of the cache, at its pace with that share. */
static double filling_time(const struct partner *partner, double bytes)
{
	double line = partner->squeeze->recording->machine.line_bytes, accesses = 0;

	for (unsigned i = 0; i < PIECES; i++)
		accesses += bytes / PIECES / line / coming_at(partner, bytes * (i + 0.5) / PIECES);
	return accesses * at(&partner->times, bytes) / partner->references;
}

/* Lines per cycle. */
static double filling_rate(const struct partner *partner, double bytes)
{
	return coming_at(partner, bytes) * partner->references / at(&partner->times, bytes);
}

/* The share of the first program. */
static double share_of(const struct partner *first, const struct partner *second, double all, enum order order)
{
	double low = fmax(all - second->footprint, 0), high = fmin(first->footprint, all);

	/* both fit */
	if (low >= high)
		return (low + high) / 2;
	for (unsigned i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;
		bool too_much = order == LRU ? filling_time(first, middle) > filling_time(second, all - middle)
		                             : middle * filling_rate(second, all - middle) >
		                                   (all - middle) * filling_rate(first, middle);

		if (too_much)
			high = middle;
		else
			low = middle;
	}
	return (low + high) / 2;
}

static int check(const struct fm_squeeze *first, const struct fm_squeeze *second, struct fm_error *error)
{
	const struct fm_machine_description *machines[] = {&first->recording->machine, &second->recording->machine};

	if (first->how->live || second->how->live)
		return fm_error_set(
		    error, EINVAL,
		    "--pair needs recordings from a simulated machine, with counted misses: use --machine NAME");
	if (strcmp(machines[0]->name, machines[1]->name) != 0 || first->how->cache != second->how->cache ||
	    fabs(first->how->bytes - second->how->bytes) > 0.5)
		return fm_error_set(error, EINVAL,
		                    "the recordings are for different machines or caches: %s of %s and %s of %s",
		                    first->how->level, machines[0]->name, second->how->level, machines[1]->name);
	if (machines[0]->caches[first->how->cache].shared_by < 2)
		return fm_error_set(error, EINVAL, "%s of %s is not shared by two cores", first->how->level,
		                    machines[0]->name);
	if (!first->has_curve || !second->has_curve || first->capacity.count < 2 || second->capacity.count < 2)
		return fm_error_set(error, EINVAL, "%s has no miss-ratio curve or no run with less cache",
		                    !first->has_curve || first->capacity.count < 2 ? first->recording->run.program
		                                                                   : second->recording->run.program);
	return 0;
}

int fm_squeeze_pair(const struct fm_squeeze *first, const struct fm_squeeze *second, struct fm_squeeze_pair *ret_pair,
                    struct fm_error *error)
{
	const double all = first->how->bytes;
	struct fm_squeeze_pair pair;
	int r = check(first, second, error);

	if (r)
		return r;
	for (unsigned by_latency = 0; by_latency < 2; by_latency++) {
		struct partner partners[2];
		double shares[2];

		prepare(first, by_latency, &partners[0]);
		prepare(second, by_latency, &partners[1]);
		for (unsigned order = LRU; order <= RANDOM; order++)
			shares[order] = share_of(&partners[0], &partners[1], all, order);
		for (unsigned i = 0; i < 2; i++) {
			double alone = at(&partners[i].times, all), slower[2];

			for (unsigned order = LRU; order <= RANDOM; order++)
				slower[order] = at(&partners[i].times, i ? all - shares[order] : shares[order]) / alone;
			(by_latency ? pair.latency_slowdown : pair.slowdown)[i] = fm_figure_make(
			    slower[LRU], fmin(slower[LRU], slower[RANDOM]), fmax(slower[LRU], slower[RANDOM]), "times",
			    FM_ORIGIN_modelled, first->how->backend, 1);
			if (!by_latency) {
				pair.share[i] = i ? all - shares[LRU] : shares[LRU];
				pair.misses[i] = at(&partners[i].misses, pair.share[i]);
			}
		}
	}
	*ret_pair = pair;
	return 0;
}
