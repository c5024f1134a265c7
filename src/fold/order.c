#include "fold/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold/thresholds.h"
#include "samples/ordering.h"

enum {
	LOOKED_AT = 4096, /* points */
	PASSES_MAX = 64,  /* that are looked for */
	STEPS = 4,        /* speeds that are tried for each pass more */
	LINE = 64,
	BLOCK = 8, /* points of one instruction whose distances have a divisor */
	STRIDES = 64,
	STRIDE_MAX = 1 << 20,
	THREADS = 8,
};

static void say(struct fm_stream *stream, enum fm_direction direction, double confidence, const char *reason)
{
	stream->direction = direction;
	stream->confidence = confidence;
	snprintf(stream->reason, sizeof(stream->reason), "%s", reason);
}

/* Order: addresses as ranks 0 … 1, evenly distributed for any use of the range. With k passes, rank r is at place (n +
   r) / k. */

struct ranked {
	double place, rank;
	uint64_t address, tie;
};

static int by_address(const void *first, const void *second)
{
	const struct ranked *a = first, *b = second;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->tie > b->tie) - (a->tie < b->tie);
}

/* Of one thread, or of all (UINT32_MAX); evenly chosen if there are many. Places from begin to end become 0 … 1. */
static size_t rank_points(const struct fm_order_point *points, size_t count, uint32_t thread, double begin, double end,
                          struct ranked *ranked)
{
	size_t all = 0, kept = 0, each, seen = 0;

	for (size_t i = 0; i < count; i++)
		all += thread == UINT32_MAX || points[i].thread == thread;
	each = all / LOOKED_AT + 1;
	for (size_t i = 0; i < count && kept < LOOKED_AT; i++) {
		if ((thread != UINT32_MAX && points[i].thread != thread) || seen++ % each)
			continue;
		ranked[kept] = (struct ranked){.place = end > begin ? (points[i].place - begin) / (end - begin) : 0,
		                               .address = points[i].address,
		                               .tie = (kept + 1) * 0x9e3779b97f4a7c15u};
		ranked[kept].tie ^= ranked[kept].tie >> 29;
		kept++;
	}
	qsort(ranked, kept, sizeof(*ranked), by_address);
	for (size_t i = 0; i < kept; i++)
		ranked[i].rank = ((double)i + 0.5) / (double)kept;
	return kept;
}

static double agreement(const struct ranked *ranked, size_t count, double passes)
{
	double real = 0, imaginary = 0;

	for (size_t i = 0; i < count; i++) {
		double angle = 2 * M_PI * (ranked[i].rank - passes * ranked[i].place);

		real += cos(angle);
		imaginary += sin(angle);
	}
	return hypot(real, imaginary) / (double)count;
}

struct order {
	double passes, agrees, error; /* passes: negative when it falls */
	bool ordered, excluded;       /* neither: not known */
	bool fitted;                  /* one pass, from the place `begin` to `end`: 0 … 1 of the ranks */
	double begin, end;
	size_t count;
};

static struct order find_order(const struct ranked *ranked, size_t count, double most_passes)
{
	struct order order = {.count = count};
	double most = fmin(fmin(PASSES_MAX, (double)count / 4), fmax(most_passes, 1) * FM_PASSES_MARGIN + 1), chance;
	unsigned steps = (unsigned)(most * STEPS);

	for (unsigned i = 2; i <= steps; i++)
		for (int way = -1; way <= 1; way += 2) {
			double passes = way * (double)i / STEPS, agrees = agreement(ranked, count, passes);

			if (agrees > order.agrees) {
				order.agrees = agrees;
				order.passes = passes;
			}
		}
	chance = 2 * steps * exp(-(double)count * order.agrees * order.agrees);
	order.ordered = chance < FM_POINTS_CHANCE && order.agrees >= FM_POINTS_AGREEMENT;
	order.excluded = chance > FM_CHANCE_RANDOM || order.agrees < FM_POINTS_AGREEMENT / 2;
	/* the phases' spread, over the spread of the places, which are even */
	order.error = 1.96 * sqrt(-2 * log(fmin(order.agrees, 0.9999))) / (2 * M_PI) / sqrt((double)count / 12);
	return order;
}

/* One pass: the line through places and addresses. Instances are never quite alike, so that places are uncertain and
   addresses are not: the place is fitted to the address. Twice: points far off, of instances that were interrupted,
   are left out the second time. */
static bool fit_one_pass(const struct ranked *ranked, size_t count, struct order *order)
{
	double slope = 0, middle_rank = 0, middle_place = 0, spread = INFINITY, squares = 0;
	size_t used = 0;

	for (int round = 0; round < 2; round++) {
		double ranks = 0, places = 0, both = 0, rest = 0, before = slope, rank_before = middle_rank,
		       place_before = middle_place;

		used = 0;
		for (int part = 0; part < 3; part++) {
			for (size_t i = 0; i < count; i++) {
				double rank = ranked[i].rank, place = ranked[i].place;

				if (fabs(place - place_before - before * (rank - rank_before)) > 3 * spread)
					continue;
				if (part == 0) {
					ranks += rank;
					places += place;
					used++;
				} else if (part == 1) {
					both += (rank - middle_rank) * (place - middle_place);
					squares += (rank - middle_rank) * (rank - middle_rank);
				} else {
					double off = place - middle_place - slope * (rank - middle_rank);

					rest += off * off;
				}
			}
			if (part == 0 && used < FM_POINTS_LEAST)
				return false;
			if (part == 0) {
				middle_rank = ranks / (double)used;
				middle_place = places / (double)used;
				squares = 0;
			} else if (part == 1) {
				slope = squares > 0 ? both / squares : 0;
			}
		}
		spread = sqrt(rest / (double)(used - 2));
	}
	if (slope * slope * squares <
	        FM_ONE_PASS_EXPLAINED * (slope * slope * squares + spread * spread * (double)used) ||
	    (slope < 0) != (order->passes < 0))
		return false;
	order->passes = slope < 0 ? -1 : 1;
	order->error = 1.96 * spread / sqrt(squares) / fabs(slope);
	order->fitted = true;
	order->begin = middle_place + slope * ((slope < 0 ? 1 : 0) - middle_rank);
	order->end = order->begin + fabs(slope);
	return true;
}

/* The number of passes more exactly: by addresses, not by ranks, which are only as even as the places are. */
static void refine(struct ranked *ranked, size_t count, struct order *order)
{
	uint64_t lowest = ranked[0].address, highest = ranked[count - 1].address;
	double agrees, best = order->passes;

	for (size_t i = 0; i < count; i++)
		ranked[i].rank = (double)(ranked[i].address - lowest) / fmax((double)(highest - lowest), 1);
	agrees = agreement(ranked, count, best);
	for (int halved = 0; halved < 8; halved++) {
		double step = 0.5 / STEPS / (1 << halved);

		for (int way = -1; way <= 1; way += 2) {
			double other = agreement(ranked, count, best + way * step);

			if (other > agrees) {
				agrees = other;
				best += way * step;
				break;
			}
		}
	}
	/* an object that is used unevenly has no even speed */
	if (agrees < FM_POINTS_AGREEMENT)
		return;
	order->passes = best;
	if (fabs(best) < FM_ONE_PASS && fit_one_pass(ranked, count, order))
		return;
	order->error = 1.96 * sqrt(-2 * log(fmin(agrees, 0.9999))) / (2 * M_PI) / sqrt((double)count / 12);
}

/* If all threads together show none, each one may go through a part of its own. */
static struct order order_by_thread(const struct fm_order_point *points, size_t count, double begin, double end,
                                    double most_passes, struct ranked *ranked)
{
	uint32_t threads[THREADS] = {0};
	unsigned found = 0;
	struct order best = {.excluded = true};
	bool up = false, down = false;

	for (size_t i = 0; i < count && found < THREADS; i++) {
		unsigned k = 0;

		while (k < found && threads[k] != points[i].thread)
			k++;
		if (k == found)
			threads[found++] = points[i].thread;
	}
	for (unsigned k = 0; found > 1 && k < found; k++) {
		size_t kept = rank_points(points, count, threads[k], begin, end, ranked);
		struct order order;

		if (kept < FM_POINTS_RANDOM)
			continue;
		order = find_order(ranked, kept, most_passes);
		if (order.ordered)
			refine(ranked, kept, &order);
		up |= order.ordered && order.passes > 0;
		down |= order.ordered && order.passes < 0;
		if (order.ordered && order.agrees > best.agrees)
			best = order;
	}
	if (up && down)
		best.ordered = best.excluded = false;
	return best;
}

/* Strides */

static uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

struct stride {
	uint64_t bytes;
	double count;
};

static int by_code(const void *first, const void *second)
{
	const struct fm_order_point *a = first, *b = second;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static void vote(struct stride *strides, unsigned *count, uint64_t bytes)
{
	unsigned k = 0;

	if (!bytes || bytes > STRIDE_MAX)
		return;
	while (k < *count && strides[k].bytes != bytes)
		k++;
	if (k == STRIDES)
		return;
	if (k == *count)
		strides[(*count)++] = (struct stride){bytes, 0};
	strides[k].count++;
}

/* An instruction in a loop advances by the same number of bytes each time, and the distances of its addresses are
   multiples of that. Few addresses are compared at a time, so that a single stray address does no harm. 0: not known.
   */
static uint64_t find_stride(struct fm_order_point *points, size_t count, double *ret_confidence)
{
	struct stride strides[STRIDES];
	unsigned kinds = 0;
	double all = 0, most = 0;
	uint64_t found = 0;

	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && points[next].code == points[i].code; next++)
			;
		/* points of a block are far apart: neighbours in address would be multiples of few elements */
		for (size_t blocks = (next - i) / BLOCK, b = 0; b < blocks; b++) {
			uint64_t common = 0;

			for (size_t k = 1; k < BLOCK; k++)
				common = divisor(points[i + b + k * blocks].address - points[i + b].address, common);
			vote(strides, &kinds, common);
		}
	}
	for (unsigned k = 0; k < kinds; k++) {
		all += strides[k].count;
		if (strides[k].count > most) {
			most = strides[k].count;
			found = strides[k].bytes;
		}
	}
	*ret_confidence = all > 0 ? most / all : 0;
	return most >= 0.5 * all ? found : 0;
}

/* The used bytes of each stride. */

static int by_offset(const void *first, const void *second)
{
	const struct fm_stream_field *a = first, *b = second;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

static uint64_t find_fields(const struct fm_order_point *points, size_t count, uint64_t stride,
                            struct fm_stream *stream)
{
	struct fm_stream_field fields[4 * FM_STREAM_FIELDS] = {0};
	unsigned found = 0, kept = 0;
	uint64_t used = 0, end = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t offset = (uint32_t)(points[i].address % stride);
		unsigned k = 0;

		while (k < found && fields[k].offset != offset)
			k++;
		if (k == sizeof(fields) / sizeof(fields[0]))
			return stride;
		if (k == found)
			fields[found++] = (struct fm_stream_field){offset, 0, 0, false};
		fields[k].bytes = points[i].bytes > fields[k].bytes ? points[i].bytes : fields[k].bytes;
		fields[k].share += 1 / (double)count;
		fields[k].stores |= points[i].store;
	}
	qsort(fields, found, sizeof(*fields), by_offset);
	for (unsigned k = 0; k < found; k++) {
		/* one address elsewhere is no field */
		if (fields[k].share < FM_FIELD_LEAST)
			continue;
		used += fields[k].offset + fields[k].bytes > (end > fields[k].offset ? end : fields[k].offset)
		            ? fields[k].offset + fields[k].bytes - (end > fields[k].offset ? end : fields[k].offset)
		            : 0;
		end = fields[k].offset + fields[k].bytes > end ? fields[k].offset + fields[k].bytes : end;
		if (kept < FM_STREAM_FIELDS)
			stream->fields[kept++] = fields[k];
	}
	stream->field_count = kept;
	return used < stride ? used : stride;
}

static int judge_stride(const struct fm_order_point *points, size_t count, struct fm_stream *stream)
{
	struct fm_order_point *sorted = malloc(count * sizeof(*sorted));
	uint64_t stride, used, step;
	double confidence;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, points, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_code);
	stride = find_stride(sorted, count, &confidence);
	free(sorted);
	if (!stride) {
		stream->stride_bytes = fm_figure_unavailable("too few samples of one instruction");
		return 0;
	}
	used = find_fields(points, count, stride, stream);
	/* loops are unrolled: several instructions that cover a range without a gap have the step of the smallest */
	step = stride;
	if (used >= stride) {
		for (size_t i = 0; i < count; i++)
			step = points[i].bytes && points[i].bytes < step ? points[i].bytes : step;
		stream->field_count = 0;
	}
	stream->stride_bytes =
	    fm_figure_make((double)step, (double)step, (double)step, "B", FM_ORIGIN_sampled, "", (unsigned)count);
	if (used < stride && (stream->direction == FM_DIRECTION_UP || stream->direction == FM_DIRECTION_DOWN))
		stream->direction = FM_DIRECTION_STRIDED;
	return 0;
}

double fm_order_range(const struct fm_stream *stream, size_t count)
{
	double range = (double)(stream->highest - stream->lowest);

	return count > 2 ? range * (double)(count + 1) / (double)(count - 1) : range;
}

static void judge(const struct order *order, double range, const struct fm_order_hints *hints, struct fm_stream *stream)
{
	double shown = fmin(PASSES_MAX, (double)order->count / 4);

	if (order->ordered) {
		stream->falling = order->passes < 0;
		say(stream, stream->falling ? FM_DIRECTION_DOWN : FM_DIRECTION_UP,
		    fmin(FM_ORDER_CERTAIN, 0.5 + order->agrees / 2),
		    "addresses advance with the position in the folded instance");
		stream->passes = fm_figure_make(fabs(order->passes), fmax(fabs(order->passes) - order->error, 0),
		                                fabs(order->passes) + order->error, "", FM_ORIGIN_sampled, "",
		                                (unsigned)order->count);
	} else if (order->count < FM_POINTS_RANDOM) {
		say(stream, FM_DIRECTION_INCONCLUSIVE, 0, "too few samples show no order");
	} else if (!order->excluded) {
		say(stream, FM_DIRECTION_INCONCLUSIVE, 0, "addresses are only partly in order, or threads differ");
	} else if (hints->most_passes <= shown) {
		say(stream, FM_DIRECTION_RANDOM, order->count >= FM_ORDER_MANY ? FM_ORDER_SURE : FM_ORDER_LIKELY,
		    "no order: any address occurs at each position of the folded instance, and the implied number of "
		    "passes is impossible");
	} else if (hints->first_high < FM_FIRST_MISSES && range >= FM_RANDOM_RANGE * hints->first_bytes) {
		say(stream, FM_DIRECTION_RANDOM, FM_ORDER_LIKELY,
		    "no order: any address occurs at each position of the folded instance, and most references miss "
		    "the L1 cache");
	} else {
		say(stream, FM_DIRECTION_INCONCLUSIVE, 0,
		    "any address occurs at each position: random order, or more passes than the samples resolve");
	}
}

int fm_order_judge(const struct fm_order_point *points, size_t count, const struct fm_order_hints *hints,
                   struct fm_stream *stream)
{
	struct ranked *ranked;
	struct order order;
	size_t kept;

	stream->lowest = UINT64_MAX;
	stream->begin = 1;
	for (size_t i = 0; i < count; i++) {
		stream->begin = fmin(stream->begin, points[i].place);
		stream->end = fmax(stream->end, points[i].place);
		stream->lowest = points[i].address < stream->lowest ? points[i].address : stream->lowest;
		stream->highest = points[i].address + points[i].bytes > stream->highest
		                      ? points[i].address + points[i].bytes
		                      : stream->highest;
		stream->load |= points[i].load;
		stream->store |= points[i].store;
	}
	/* without the outermost ones, which may be out of place; points are in the order of places */
	if (count >= 4 * FM_POINTS_LEAST) {
		double low = points[count / 50].place, high = points[count - 1 - count / 50].place;

		stream->begin = fmax(stream->begin, low - (high - low) / 48);
		stream->end = fmin(stream->end, high + (high - low) / 48);
	}
	stream->passes = fm_figure_unavailable("it is not in order");
	stream->stride_bytes = fm_figure_unavailable("it is not known");
	if (count < FM_POINTS_LEAST) {
		say(stream, FM_DIRECTION_INCONCLUSIVE, 0, "too few samples");
		return 0;
	}
	if (stream->lowest / LINE == (stream->highest - 1) / LINE) {
		say(stream, FM_DIRECTION_FIXED, FM_ORDER_CERTAIN, "all sampled addresses lie in one cache line");
		stream->stride_bytes = fm_figure_make(0, 0, 0, "B", FM_ORIGIN_sampled, "", (unsigned)count);
		return 0;
	}
	ranked = malloc(LOOKED_AT * sizeof(*ranked));
	if (!ranked)
		return -ENOMEM;
	kept = rank_points(points, count, UINT32_MAX, stream->begin, stream->end, ranked);
	order = find_order(ranked, kept, hints->most_passes);
	if (order.ordered) {
		refine(ranked, kept, &order);
	} else {
		struct order by_thread =
		    order_by_thread(points, count, stream->begin, stream->end, hints->most_passes, ranked);

		if (by_thread.ordered || !by_thread.excluded)
			order = by_thread;
	}
	free(ranked);
	if (order.ordered && order.fitted) {
		double length = stream->end - stream->begin, begin = stream->begin + length * order.begin;

		stream->end = fmin(stream->begin + length * order.end, 1);
		stream->begin = fmax(begin, 0);
	}
	judge(&order, (double)(stream->highest - stream->lowest), hints, stream);
	return judge_stride(points, count, stream);
}
