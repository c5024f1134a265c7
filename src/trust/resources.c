#include "trust/resources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/solve.h"

/* Worse than this on average, an indicator is none. */
#define USELESS 0.3
/* A longer sum has to be better by so much. */
#define WORTH_SHARE 0.6
#define WORTH_POINTS 0.005

enum { KEPT = 8 /* events that may begin a pair */ };

double fm_indicator_estimate(const struct fm_matrix *matrix, const struct fm_indicator *indicator, unsigned run)
{
	double sum = 0;

	for (unsigned i = 0; i < indicator->count; i++)
		sum += indicator->coefficients[i] * fm_matrix_mean(matrix, indicator->events[i], run);
	return sum;
}

/* The truth of a run, where it may be used: a quantity that cores share is one core's only when it runs alone. */
static double truth_of(const struct fm_matrix *matrix, unsigned quantity, bool socket, unsigned run)
{
	if (!socket && matrix->quantities.quantities[quantity].shared && matrix->runs[run].cores > 1)
		return NAN;
	return fm_run_quantity(matrix, run, quantity, socket);
}

/* Geometric mean of what there is of the quantity, where there is any; 0 when there is none. */
static double typical(const struct fm_matrix *matrix, unsigned quantity, bool socket)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = truth_of(matrix, quantity, socket, r);

		if (truth > 0) {
			sum += log(truth);
			n++;
		}
	}
	return n ? exp(sum / n) : 0;
}

/* Runs with next to nothing on both sides do not count. */
static void set_error(const struct fm_matrix *matrix, unsigned quantity, bool socket, struct fm_indicator *indicator)
{
	double sum = 0, usual = typical(matrix, quantity, socket);
	unsigned runs = 0;

	indicator->worst = 0;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = truth_of(matrix, quantity, socket, r),
		       estimate = fm_indicator_estimate(matrix, indicator, r);
		double larger = fmax(truth, estimate);

		if (!isfinite(truth) || !isfinite(estimate) || !(larger > 0.02 * usual))
			continue;
		sum += fabs(estimate - truth) / larger;
		/* where there is much of it: little is soon off by much */
		if (larger > 0.2 * usual)
			indicator->worst = fmax(indicator->worst, fabs(estimate - truth) / larger);
		runs++;
	}
	indicator->error = runs ? sum / runs : 1;
}

struct fm_indicator fm_indicator_fit(const struct fm_matrix *matrix, unsigned quantity, bool socket,
                                     const unsigned *events, unsigned count)
{
	enum { ROUNDS = 12 };
	struct fm_indicator indicator = {.count = count}, plain;
	double coefficients[FM_SOLVE_MAX] = {0}, usual = typical(matrix, quantity, socket);

	memcpy(indicator.events, events, count * sizeof(*events));
	/* least absolute deviations, by weighting squares with what is left: a few runs that are quite different shall
	   not spoil the others */
	for (unsigned round = 0; usual > 0 && round < ROUNDS; round++) {
		struct fm_normal normal;

		fm_normal_clear(&normal, count);
		for (unsigned r = 0; r < matrix->run_count; r++) {
			double truth = truth_of(matrix, quantity, socket, r), row[FM_INDICATOR_EVENTS_MAX],
			       estimate = 0, weight, off;
			bool counted = isfinite(truth);

			for (unsigned i = 0; i < count; i++) {
				row[i] = fm_matrix_mean(matrix, events[i], r);
				counted &= isfinite(row[i]);
				estimate += coefficients[i] * row[i];
			}
			if (!counted)
				continue;
			/* relative errors count, where there is something; where there is not, what is usual */
			weight = 1 / fmax(truth, 0.2 * usual);
			off = round ? fabs(estimate - truth) * weight : 1;
			fm_normal_add(&normal, row, truth, weight * weight / fmax(off, 1e-3));
		}
		fm_normal_solve(&normal, (1ull << count) - 1, coefficients);
	}
	/* what is one but for a little is one */
	for (unsigned i = 0; i < count; i++)
		indicator.coefficients[i] = fabs(coefficients[i] - 1) < 0.01 ? 1 : coefficients[i];
	set_error(matrix, quantity, socket, &indicator);
	/* and a plain sum is better than one with odd factors that does no better */
	plain = indicator;
	for (unsigned i = 0; i < count; i++)
		plain.coefficients[i] = 1;
	set_error(matrix, quantity, socket, &plain);
	return plain.error <= indicator.error ? plain : indicator;
}

static bool is_candidate(const struct fm_matrix *matrix, const struct fm_judgement *judgements, unsigned event,
                         bool socket)
{
	enum fm_class class = judgements[event].class;

	return matrix->events[event].socket == socket && class != FM_CLASS_dead && class != FM_CLASS_noisy &&
	       class != FM_CLASS_uncounted && class != FM_CLASS_stall && class != FM_CLASS_unexplained;
}

static bool all_used(const struct fm_indicator *indicator)
{
	for (unsigned i = 0; i < indicator->count; i++)
		if (!(indicator->coefficients[i] > 0))
			return false;
	return true;
}

/* The events of `start` and one more, whichever helps most. */
static struct fm_indicator extend(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                                  unsigned quantity, bool socket, const struct fm_indicator *start)
{
	struct fm_indicator best = {.error = INFINITY};

	for (unsigned i = 0; i < matrix->event_count; i++) {
		unsigned events[FM_INDICATOR_EVENTS_MAX];
		struct fm_indicator tried;
		bool twice = false;

		for (unsigned k = 0; k < start->count; k++) {
			events[k] = start->events[k];
			twice |= events[k] == i;
		}
		if (twice || !is_candidate(matrix, judgements, i, socket))
			continue;
		events[start->count] = i;
		tried = fm_indicator_fit(matrix, quantity, socket, events, start->count + 1);
		if (all_used(&tried) && tried.error < best.error - 1e-9)
			best = tried;
	}
	return best;
}

/* The better ones of all events, best first, so that the time for pairs grows with the events and not with their
   square. */
static unsigned best_singles(const struct fm_matrix *matrix, const struct fm_judgement *judgements, unsigned quantity,
                             bool socket, struct fm_indicator *ret_singles)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < matrix->event_count; i++) {
		struct fm_indicator single;
		unsigned at;

		if (!is_candidate(matrix, judgements, i, socket))
			continue;
		single = fm_indicator_fit(matrix, quantity, socket, &i, 1);
		for (at = kept < KEPT ? kept++ : KEPT; at > 0 && single.error < ret_singles[at - 1].error; at--)
			if (at < KEPT)
				ret_singles[at] = ret_singles[at - 1];
		if (at < KEPT)
			ret_singles[at] = single;
	}
	return kept;
}

struct fm_indicator fm_indicator_best(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                                      unsigned quantity, bool socket)
{
	const struct fm_indicator nothing = {.error = 1};
	struct fm_indicator best = extend(matrix, judgements, quantity, socket, &nothing), longer = best;

	if (!best.count)
		return nothing;
	for (unsigned count = 2; count <= FM_INDICATOR_EVENTS_MAX && best.error > WORTH_POINTS; count++) {
		struct fm_indicator candidate = {.error = INFINITY};

		if (count == 2) {
			/* the best pair need not hold the best single one, but one of the better */
			struct fm_indicator singles[KEPT];
			unsigned kept = best_singles(matrix, judgements, quantity, socket, singles);

			for (unsigned i = 0; i < kept; i++) {
				struct fm_indicator pair = extend(matrix, judgements, quantity, socket, &singles[i]);

				if (pair.error < candidate.error - 1e-9)
					candidate = pair;
			}
		} else {
			candidate = extend(matrix, judgements, quantity, socket, &longer);
		}
		if (!candidate.count || !isfinite(candidate.error))
			break;
		longer = candidate;
		if (candidate.error < WORTH_SHARE * best.error && candidate.error < best.error - WORTH_POINTS)
			best = candidate;
	}
	return best.error < USELESS ? best : nothing;
}

/* The fastest run of the plain kernel with the data there. */
static void find_peak(const struct fm_matrix *matrix, struct fm_resource *resource, const char *level, bool remote)
{
	double best = 0;

	for (unsigned r = 0; r < matrix->run_count; r++) {
		const struct fm_run *run = &matrix->runs[r];
		double transfers = truth_of(matrix, resource->quantity, resource->socket, r), rate;
		unsigned bytes = resource->transfer_bytes;

		if (run->kind != FM_RUN_stream || strcmp(run->level, level) || run->remote != remote ||
		    strcmp(run->kernel, resource->write ? "store" : "load") || (run->cores > 1) != resource->socket ||
		    !(run->seconds > 0) || !isfinite(transfers))
			continue;
		if (!strcmp(run->isa, "avx512") && !matrix->quantities.quantities[resource->quantity].bytes)
			bytes = 64;
		else if (!strcmp(run->isa, "avx2") && !matrix->quantities.quantities[resource->quantity].bytes)
			bytes = 32;
		else if (!matrix->quantities.quantities[resource->quantity].bytes)
			bytes = !strcmp(run->isa, "sse") ? 16 : 8;
		rate = transfers / run->seconds * bytes;
		if (rate <= best * 1.001)
			continue;
		best = rate;
		resource->bandwidth_gbs = rate * 1e-9;
		resource->transfers = transfers / run->seconds;
		resource->transfer_bytes = bytes;
		snprintf(resource->run, sizeof(resource->run), "%s", run->name);
		resource->maximal_events = 0;
		for (unsigned i = 0; i < resource->indicator.count; i++)
			resource->maximal_events +=
			    fm_matrix_mean(matrix, resource->indicator.events[i], r) / run->seconds;
	}
}

static void add(const struct fm_matrix *matrix, const struct fm_judgement *judgements, struct fm_resource *resources,
                unsigned *count, const char *name, const char *level, bool remote, bool write, bool socket,
                const char *quantity)
{
	struct fm_resource *resource = &resources[*count];
	int index = fm_quantity_find(&matrix->quantities, quantity);

	if (index < 0 || *count == FM_RESOURCES_MAX)
		return;
	memset(resource, 0, sizeof(*resource));
	snprintf(resource->name, sizeof(resource->name), "%s", name);
	resource->write = write;
	resource->socket = socket;
	resource->quantity = (unsigned)index;
	resource->transfer_bytes = matrix->quantities.line_bytes;
	resource->indicator = fm_indicator_best(matrix, judgements, resource->quantity, socket);
	find_peak(matrix, resource, level, remote);
	if (resource->bandwidth_gbs > 0)
		++*count;
}

unsigned fm_resources_find(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                           struct fm_resource *ret_resources)
{
	const struct fm_quantities *all = &matrix->quantities;
	unsigned count = 0;

	for (int socket = 0; socket < 2; socket++) {
		for (unsigned cache = 0; cache <= all->cache_count; cache++) {
			const char *level = cache < all->cache_count ? all->caches[cache] : "memory";
			char in[48], out[48];

			/* of a socket, only what its cores share: the last cache and memory */
			if (socket && cache + 1 < all->cache_count)
				continue;
			snprintf(in, sizeof(in), "%s",
			         !cache                     ? "loads"
			         : cache < all->cache_count ? ""
			         : all->remote              ? "memory.reads_local"
			                                    : "memory.reads");
			snprintf(out, sizeof(out), "%s",
			         !cache                     ? "stores"
			         : cache < all->cache_count ? ""
			         : all->remote              ? "memory.writes_local"
			                                    : "memory.writes");
			if (cache == all->cache_count && socket) {
				/* the controllers serve whoever asks */
				snprintf(in, sizeof(in), "memory.reads");
				snprintf(out, sizeof(out), "memory.writes");
			}
			if (cache && cache < all->cache_count) {
				snprintf(in, sizeof(in), "%s.lines_in", all->caches[cache - 1]);
				snprintf(out, sizeof(out), "%s.lines_out", all->caches[cache - 1]);
			}
			add(matrix, judgements, ret_resources, &count, level, level, false, false, socket, in);
			add(matrix, judgements, ret_resources, &count, level, level, false, true, socket, out);
		}
		if (all->remote) {
			add(matrix, judgements, ret_resources, &count, socket ? "socket links" : "remote memory",
			    "memory", true, false, socket, "memory.reads_remote");
			add(matrix, judgements, ret_resources, &count, socket ? "socket links" : "remote memory",
			    "memory", true, true, socket, "memory.writes_remote");
		}
	}
	return count;
}
