#include "model/contention.h"

#include <math.h>

#include "model/doubt.h"

static struct fm_bounds range(double value, double low, double high)
{
	return (struct fm_bounds){.value = value, .low = fmin(low, value), .high = fmax(high, value)};
}

/* Costs */

static bool transfer_cost(const struct fm_machine *profile, struct fm_bounds *ret)
{
	double value = 0, low = INFINITY, high = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < profile->transfer_count; i++)
		if (profile->transfers[i].ns.available) {
			value += profile->transfers[i].ns.value;
			low = fmin(low, profile->transfers[i].ns.low);
			high = fmax(high, profile->transfers[i].ns.high);
			count++;
		}
	if (!count)
		return false;
	*ret = range(value / count * 1e-9, low * 1e-9, high * 1e-9);
	return true;
}

/* Between the measured numbers of threads on both sides, in proportion; outside of them as the nearest. */
static bool measured_cost(const struct fm_machine *profile, enum fm_contention_kind kind, double threads,
                          struct fm_bounds *ret)
{
	const struct fm_contention_point *below = NULL, *above = NULL;
	double part;

	for (unsigned i = 0; i < profile->contention_count; i++) {
		const struct fm_contention_point *point = &profile->contentions[i];

		if (point->kind != kind || !point->ns.available)
			continue;
		if (point->threads <= threads && (!below || point->threads > below->threads))
			below = point;
		if (point->threads >= threads && (!above || point->threads < above->threads))
			above = point;
	}
	if (!below && !above)
		return false;
	below = below ? below : above;
	above = above ? above : below;
	part = above->threads > below->threads ? (threads - below->threads) / (double)(above->threads - below->threads)
	                                       : 0;
	*ret = range((below->ns.value + part * (above->ns.value - below->ns.value)) * 1e-9,
	             (below->ns.low + part * (above->ns.low - below->ns.low)) * 1e-9,
	             (below->ns.high + part * (above->ns.high - below->ns.high)) * 1e-9);
	return true;
}

/* Time for which a core keeps a contended line: the operations of that time, alone, share the cost of one transfer. */
static double kept(const struct fm_machine *profile, enum fm_contention_kind kind, const struct fm_bounds *crowd,
                   double transfer, double otherwise)
{
	struct fm_bounds alone;

	if (!measured_cost(profile, kind, 1, &alone) || !(crowd->value > alone.value))
		return otherwise;
	return transfer * alone.value / (crowd->value - alone.value);
}

bool fm_contended_costs(const struct fm_machine *profile, double threads, struct fm_contended_costs *ret_costs)
{
	struct fm_contended_costs costs = {0};
	bool atomic, store, transfer;

	if (!profile)
		return false;
	transfer = transfer_cost(profile, &costs.transfer);
	atomic = measured_cost(profile, FM_CONTENTION_ATOMIC, threads, &costs.atomic);
	store = measured_cost(profile, FM_CONTENTION_STORE, threads, &costs.store);
	/* two atomic operations of two threads move the line twice at most */
	if (!transfer && atomic && threads > 1)
		costs.transfer = range(costs.atomic.value / threads, 0, costs.atomic.high);
	else if (!transfer)
		return false;
	if (!atomic)
		costs.atomic = range(FM_ATOMIC_LIKELY * threads * costs.transfer.value, costs.transfer.low,
		                     threads * costs.transfer.high);
	if (!store)
		costs.store = range(FM_STORE_LIKELY * costs.transfer.value, 0, costs.transfer.high);
	costs.measured = atomic && store;
	costs.atomic_kept = atomic ? kept(profile, FM_CONTENTION_ATOMIC, &costs.atomic, costs.transfer.value, 0) : 0;
	costs.store_kept =
	    store ? kept(profile, FM_CONTENTION_STORE, &costs.store, costs.transfer.value, costs.transfer.value)
	          : costs.transfer.value;
	*ret_costs = costs;
	return true;
}

/* One line */

/* A load and a store of the same data are one operation. */
static double plain_operations(const struct fm_line_use *use)
{
	return use->stores > 0 ? fmax(use->stores, use->loads) : 0;
}

static double reading_operations(const struct fm_line_use *use)
{
	return use->stores > 0 ? 0 : use->loads;
}

static double operations(const struct fm_line_use *use)
{
	return use->atomics + plain_operations(use) + reading_operations(use);
}

static double writes(const struct fm_line_use *use)
{
	return use->atomics + use->stores;
}

double fm_line_threads(const struct fm_line_use *uses, unsigned count)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < count; i++) {
		double own = operations(&uses[i]);

		sum += own;
		squares += own * own;
	}
	return squares > 0 ? sum * sum / squares : 0;
}

/* The share of operations that find the line elsewhere. In the engine the line moves once per turn, which is right if
   operations are further apart than turns are long. Otherwise, with `contended` of them used by others too, the share
   is between chance, by which others' operations come in between, and strict alternation. */
static struct fm_bounds moved_share(const struct fm_line_use *use, double own, double others, double contended)
{
	double seen = fmin(1, use->got / own), chance = others / (others + own), alternating = fmin(1, others / own),
	       dense = contended * (use->distance > 0 ? fmin(1, use->turn / use->distance) : 1),
	       likely = (chance + alternating) / 2;

	return range(seen + dense * (fmax(seen, likely) - seen), seen + dense * (fmax(seen, chance) - seen),
	             seen + dense * (fmax(seen, alternating) - seen));
}

/* Of the operations within the time that the line is kept, at most one finds it elsewhere. */
static double limited(double share, double pause, double kept)
{
	return kept > 0 ? fmin(share, pause / kept) : share;
}

/* The share of its operations that lie where others use the line, too: a thread that has it to itself for many turns
   does not lose it in them. */
static double contended_share(const struct fm_line_use *use, double own)
{
	double in_a_turn = use->distance > 0 ? fmax(1, use->turn / use->distance) : own;

	return fmin(1, use->got * in_a_turn / own);
}

struct fm_line_cost fm_line_contention(const struct fm_line_use *uses, unsigned count, unsigned which,
                                       const struct fm_contended_costs *costs)
{
	const struct fm_line_use *use = &uses[which];
	double own = operations(use), plain = plain_operations(use), reading = reading_operations(use), others = 0,
	       written = 0, contended, work, pause;
	struct fm_line_cost cost = {0};
	struct fm_bounds moved;

	for (unsigned i = 0; i < count; i++)
		if (i != which) {
			others += operations(&uses[i]);
			written += writes(&uses[i]);
		}
	/* readers lose nothing by other readers */
	if (!(writes(use) > 0))
		others = written;
	if (!(own > 0) || !(others > 0) || !(use->got > 0))
		return cost;
	contended = contended_share(use, own);
	moved = moved_share(use, own, others, contended);
	work = use->own_seconds * (use->atomics + plain) / own;
	pause = use->near > 0 ? use->own_seconds / (own * use->near) : INFINITY;
	for (int end = 0; end < 3; end++) {
		double *serial = end == 0   ? &cost.serial.value
		                 : end == 1 ? &cost.serial.low
		                            : &cost.serial.high,
		       *moving = end == 0   ? &cost.moving.value
		                 : end == 1 ? &cost.moving.low
		                            : &cost.moving.high,
		       atomic = end == 0   ? costs->atomic.value
		                : end == 1 ? costs->atomic.low
		                           : costs->atomic.high,
		       store = end == 0   ? costs->store.value
		               : end == 1 ? costs->store.low
		                          : costs->store.high,
		       transfer = end == 0   ? costs->transfer.value
		                  : end == 1 ? costs->transfer.low
		                             : costs->transfer.high,
		       share = end == 0   ? moved.value
		               : end == 1 ? moved.low
		                          : moved.high,
		       *locked = end == 0   ? &cost.atomic.value
		                 : end == 1 ? &cost.atomic.low
		                            : &cost.atomic.high;

		*serial = contended * fmax(0, use->near * (use->atomics * atomic + plain * store) - work);
		/* Atomic operations and loads wait for the line. Stores alone wait in the store buffer. */
		*locked = transfer * limited(share, pause, costs->atomic_kept) * use->atomics;
		*moving =
		    *locked + transfer * (fmin(share * reading, written) +
		                          (use->loads > 0 ? limited(share, pause, costs->store_kept) * plain : 0));
	}
	return cost;
}

void fm_contention_add(struct fm_line_cost *sum, const struct fm_line_cost *line)
{
	sum->serial.value = fmax(sum->serial.value, line->serial.value);
	sum->serial.low = fmax(sum->serial.low, line->serial.low);
	sum->serial.high = fmax(sum->serial.high, line->serial.high);
	sum->moving.value += line->moving.value;
	sum->moving.low += line->moving.low;
	sum->moving.high += line->moving.high;
	sum->atomic.value += line->atomic.value;
	sum->atomic.low += line->atomic.low;
	sum->atomic.high += line->atomic.high;
	sum->largest.value = fmax(sum->largest.value, line->moving.value - line->atomic.value);
	sum->largest.low = fmax(sum->largest.low, line->moving.low - line->atomic.low);
	sum->largest.high = fmax(sum->largest.high, line->moving.high - line->atomic.high);
}

/* Independent loads wait together; stores leave one after the other while the core continues. The least is the longest
   wait for one line, the most is the sum. */
struct fm_bounds fm_contention_sum(const struct fm_line_cost *sum)
{
	return range(fmax(sum->serial.value, sum->atomic.value + sum->largest.value),
	             fmax(sum->serial.low, sum->atomic.low + sum->largest.low),
	             fmax(sum->serial.high, sum->moving.high));
}

struct fm_bounds fm_running_at_once(double available)
{
	double low = fmax(0, 2 * available - 1);

	return range((low + available) / 2, low, available);
}
