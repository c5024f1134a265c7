#include "trust/resources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/judging.h"
#include "trust/solve.h"
#include "trust/wording.h"

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

/* The target of an estimate: the truth of each run, and the geometric mean of the runs with any. */
struct target {
	const struct fm_matrix *matrix;
	unsigned quantity;
	bool socket;
	double *truth;
	double usual; /* 0: there is none */
};

static bool aim(const struct fm_matrix *matrix, unsigned quantity, bool socket, struct target *ret_target)
{
	double *truth = malloc((matrix->run_count + 1) * sizeof(*truth)), sum = 0;
	unsigned n = 0;

	for (unsigned r = 0; truth && r < matrix->run_count; r++) {
		truth[r] = truth_of(matrix, quantity, socket, r);
		if (truth[r] > 0) {
			sum += log(truth[r]);
			n++;
		}
	}
	*ret_target = (struct target){matrix, quantity, socket, truth, n ? exp(sum / n) : 0};
	return truth != NULL;
}

/* Runs with next to nothing on both sides do not count. */
static void set_error(const struct target *target, struct fm_indicator *indicator)
{
	const struct fm_matrix *matrix = target->matrix;
	double sum = 0, usual = target->usual;
	unsigned runs = 0;

	indicator->worst = 0;
	for (unsigned r = 0; r < matrix->run_count; r++) {
		double truth = target->truth[r], estimate = fm_indicator_estimate(matrix, indicator, r);
		double larger = fmax(truth, estimate);

		if (!isfinite(truth) || !isfinite(estimate) || !(larger > FM_INDICATOR_FLOOR * usual))
			continue;
		sum += fabs(estimate - truth) / larger;
		/* only runs with much of it: small truths have large relative errors */
		if (larger > FM_INDICATOR_MUCH * usual)
			indicator->worst = fmax(indicator->worst, fabs(estimate - truth) / larger);
		runs++;
	}
	indicator->error = runs ? sum / runs : 1;
}

static struct fm_indicator fit(const struct target *target, const unsigned *events, unsigned count)
{
	enum { ROUNDS = 12 };
	const struct fm_matrix *matrix = target->matrix;
	struct fm_indicator indicator = {.count = count}, plain;
	double coefficients[FM_SOLVE_MAX] = {0}, usual = target->usual;

	memcpy(indicator.events, events, count * sizeof(*events));
	/* Least absolute deviations, by squares with weights from the residuals: a few outliers shall not spoil the
	   other runs. */
	for (unsigned round = 0; usual > 0 && round < ROUNDS; round++) {
		struct fm_normal normal;
		double before[FM_INDICATOR_EVENTS_MAX], moved = 0;

		fm_normal_clear(&normal, count);
		for (unsigned r = 0; r < matrix->run_count; r++) {
			double truth = target->truth[r], row[FM_INDICATOR_EVENTS_MAX], estimate = 0, weight, off;
			bool counted = isfinite(truth);

			for (unsigned i = 0; i < count; i++) {
				row[i] = fm_matrix_mean(matrix, events[i], r);
				counted &= isfinite(row[i]);
				estimate += coefficients[i] * row[i];
			}
			if (!counted)
				continue;
			/* errors are relative to the truth, or for small truths to the typical one */
			weight = 1 / fmax(truth, FM_INDICATOR_MUCH * usual);
			off = round ? fabs(estimate - truth) * weight : 1;
			fm_normal_add(&normal, row, truth, weight * weight / fmax(off, 1e-3));
		}
		memcpy(before, coefficients, sizeof(before));
		fm_normal_solve(&normal, (1ull << count) - 1, coefficients);
		for (unsigned i = 0; i < count; i++)
			moved = fmax(moved, fabs(coefficients[i] - before[i]) / fmax(coefficients[i], 1e-9));
		if (round && moved < FM_COEFFICIENTS_SETTLED)
			break;
	}
	/* a coefficient near one is one */
	for (unsigned i = 0; i < count; i++)
		indicator.coefficients[i] = fabs(coefficients[i] - 1) < FM_COEFFICIENT_ONE ? 1 : coefficients[i];
	set_error(target, &indicator);
	/* and a plain sum is better than one with odd factors that does no better */
	plain = indicator;
	for (unsigned i = 0; i < count; i++)
		plain.coefficients[i] = 1;
	set_error(target, &plain);
	return plain.error <= indicator.error ? plain : indicator;
}

struct fm_indicator fm_indicator_fit(const struct fm_matrix *matrix, unsigned quantity, bool socket,
                                     const unsigned *events, unsigned count)
{
	struct fm_indicator indicator = {.error = 1};
	struct target target;

	if (aim(matrix, quantity, socket, &target))
		indicator = fit(&target, events, count);
	free(target.truth);
	return indicator;
}

static bool has_factors(const struct fm_indicator *indicator)
{
	for (unsigned i = 0; i < indicator->count; i++)
		if (indicator->coefficients[i] != 1)
			return true;
	return false;
}

/* The kinds of access for which it is wrong. A factor that is right for prefetched lines may be three times too large
   for others. Runs of those are few and may be short. */
static void find_failures(const struct target *target, struct fm_indicator *indicator)
{
	const struct fm_matrix *matrix = target->matrix;

	indicator->fails = indicator->untested = 0;
	indicator->fails_by = 1;
	for (uint64_t set = matrix->quantities.quantities[target->quantity].atoms; set && indicator->count;
	     set &= set - 1) {
		unsigned atom = (unsigned)__builtin_ctzll(set);
		double estimates = 0, truths = 0, floors = 0;

		for (unsigned r = 0; r < matrix->run_count; r++) {
			const struct fm_run *run = &matrix->runs[r];
			double truth = target->truth[r], estimate = fm_indicator_estimate(matrix, indicator, r);

			if (!isfinite(estimate) || !(truth > 0) ||
			    !((target->socket ? run->socket : run->own)[atom] > FM_ATOM_ALONE * truth))
				continue;
			estimates += estimate;
			truths += truth;
			floors += FM_INDICATOR_FLOOR * target->usual;
		}
		/* Would a run without such counts show? A coefficient of one needs no check; a fitted factor is known
		   for its runs only. */
		if (!((1 - FM_INDICATOR_HOLDS) * truths > floors) && has_factors(indicator))
			indicator->untested |=
			    (1ull << atom) & ~(target->socket ? matrix->missing_socket : matrix->missing);
		if (truths > 0 && fabs(estimates - truths) > FM_INDICATOR_HOLDS * truths + floors) {
			double by = estimates / truths;

			indicator->fails |= 1ull << atom;
			if (fabs(log(fmax(by, 1e-9))) > fabs(log(fmax(indicator->fails_by, 1e-9))))
				indicator->fails_by = by;
		}
	}
}

const char *fm_indicator_limits(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *text,
                                size_t size)
{
	char words[160];
	size_t used = 0;

	*text = '\0';
	if (fm_indicator_holds(indicator))
		return text;
	if (indicator->fails) {
		bool more = indicator->fails_by > 1;

		fm_word_accesses(&matrix->quantities, indicator->fails, words, sizeof(words));
		used = (size_t)snprintf(text, size,
		                        more ? "not for %s (%.2g times too high)" : "not for %s (%.0f %% too low)",
		                        words, more ? indicator->fails_by : 100 * (1 - indicator->fails_by));
	}
	if (indicator->untested && used < size) {
		fm_word_accesses(&matrix->quantities, indicator->untested, words, sizeof(words));
		snprintf(text + used, size - used, "%snot tested for %s", used ? "; " : "", words);
	}
	return text;
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
static struct fm_indicator extend(const struct target *target, const struct fm_judgement *judgements,
                                  const struct fm_indicator *start)
{
	const struct fm_matrix *matrix = target->matrix;
	struct fm_indicator best = {.error = INFINITY};

	for (unsigned i = 0; i < matrix->event_count; i++) {
		unsigned events[FM_INDICATOR_EVENTS_MAX];
		struct fm_indicator tried;
		bool twice = false;

		for (unsigned k = 0; k < start->count; k++) {
			events[k] = start->events[k];
			twice |= events[k] == i;
		}
		if (twice || !is_candidate(matrix, judgements, i, target->socket))
			continue;
		events[start->count] = i;
		tried = fit(target, events, start->count + 1);
		if (all_used(&tried) && tried.error < best.error - 1e-9)
			best = tried;
	}
	return best;
}

/* The better ones of all events, best first, so that the time for pairs grows with the events and not with their
   square. */
static unsigned best_singles(const struct target *target, const struct fm_judgement *judgements,
                             struct fm_indicator *ret_singles)
{
	const struct fm_matrix *matrix = target->matrix;
	unsigned kept = 0;

	for (unsigned i = 0; i < matrix->event_count; i++) {
		struct fm_indicator single;
		unsigned at;

		if (!is_candidate(matrix, judgements, i, target->socket))
			continue;
		single = fit(target, &i, 1);
		for (at = kept < FM_INDICATOR_FIRST ? kept++ : FM_INDICATOR_FIRST;
		     at > 0 && single.error < ret_singles[at - 1].error; at--)
			if (at < FM_INDICATOR_FIRST)
				ret_singles[at] = ret_singles[at - 1];
		if (at < FM_INDICATOR_FIRST)
			ret_singles[at] = single;
	}
	return kept;
}

/* A single event that holds for every kind of access, if one is nearly as good. */
static struct fm_indicator one_that_holds(const struct target *target, const struct fm_judgement *judgements,
                                          struct fm_indicator best)
{
	struct fm_indicator singles[FM_INDICATOR_FIRST];
	unsigned kept = best_singles(target, judgements, singles);

	for (unsigned i = 0; i < kept; i++) {
		find_failures(target, &singles[i]);
		if (fm_indicator_holds(&singles[i]) && singles[i].error < best.error + FM_INDICATOR_HOLDS_WORTH)
			return singles[i];
	}
	return best;
}

static struct fm_indicator best_for(const struct target *target, const struct fm_judgement *judgements)
{
	const struct fm_indicator nothing = {.error = 1};
	struct fm_indicator best = extend(target, judgements, &nothing), longer = best;

	if (!best.count)
		return nothing;
	for (unsigned count = 2; count <= FM_INDICATOR_EVENTS_MAX && best.error > FM_LONGER_SUM_POINTS; count++) {
		struct fm_indicator candidate = {.error = INFINITY};

		if (count == 2) {
			/* the best pair need not hold the best single one, but one of the better */
			struct fm_indicator singles[FM_INDICATOR_FIRST];
			unsigned kept = best_singles(target, judgements, singles);

			for (unsigned i = 0; i < kept; i++) {
				struct fm_indicator pair = extend(target, judgements, &singles[i]);

				if (pair.error < candidate.error - 1e-9)
					candidate = pair;
			}
		} else {
			candidate = extend(target, judgements, &longer);
		}
		if (!candidate.count || !isfinite(candidate.error))
			break;
		longer = candidate;
		if (candidate.error < FM_LONGER_SUM_SHARE * best.error &&
		    candidate.error < best.error - FM_LONGER_SUM_POINTS)
			best = candidate;
	}
	find_failures(target, &best);
	if (!fm_indicator_holds(&best))
		best = one_that_holds(target, judgements, best);
	return best.error < FM_INDICATOR_WORST ? best : nothing;
}

struct fm_indicator fm_indicator_best(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                                      unsigned quantity, bool socket)
{
	struct fm_indicator best = {.error = 1};
	struct target target;

	if (aim(matrix, quantity, socket, &target))
		best = best_for(&target, judgements);
	free(target.truth);
	return best;
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
		if (rate <= best * (1 + FM_RATE_FASTER))
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

			/* of a socket, only shared levels: the last cache and memory */
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
				/* the controllers serve all sockets */
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
