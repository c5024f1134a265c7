#include "interference/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/statistics.h"
#include "base/text.h"
#include "interference/tuning.h"
#include "kernels/layout.h"

static const char *const effect_names[] = {"inconclusive", "absent", "present"};

const char *fm_effect_name(enum fm_effect effect)
{
	return effect_names[effect];
}

enum fm_effect fm_effect_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(effect_names) / sizeof(effect_names[0]); i++)
		if (name && !strcmp(name, effect_names[i]))
			return i;
	return FM_EFFECT_UNCLEAR;
}

struct fm_interference_block *fm_interference_add_block(struct fm_interference_trials *trials)
{
	struct fm_interference_block *block;

	if (!fm_array_grow(trials->blocks, trials->count, trials->room))
		return NULL;
	block = &trials->blocks[trials->count++];
	memset(block, 0, sizeof(*block));
	return block;
}

void fm_interference_free_trials(struct fm_interference_trials *trials)
{
	free(trials->blocks);
	memset(trials, 0, sizeof(*trials));
}

/* The median of a function over blocks, with its interval. */
typedef double (*block_function)(const struct fm_interference_block *block, unsigned step);

static double cost_ratio(const struct fm_interference_block *block, unsigned step)
{
	return block->cost[step] / block->cost[0];
}

static double amount_ratio(const struct fm_interference_block *block, unsigned step)
{
	return block->amount[step] / block->amount[0];
}

static double amount(const struct fm_interference_block *block, unsigned step)
{
	return block->amount[step];
}

/* GB/s of the victim and of the takers beside it. */
static double together(const struct fm_interference_block *block, unsigned step)
{
	return FM_LINE_BYTES / block->cost[step] + (step ? block->amount[step] : 0);
}

static struct fm_figure median_of(const struct fm_interference_trials *trials, unsigned step, block_function function,
                                  const char *unit)
{
	struct fm_sample sample = {0};
	struct fm_location location;
	struct fm_figure figure;
	unsigned set_aside = 0;

	for (unsigned i = 0; i < trials->count; i++) {
		const struct fm_interference_block *block = &trials->blocks[i];
		double value;

		if (block->set_aside[step] || block->set_aside[0]) {
			set_aside++;
			continue;
		}
		value = function(block, step);
		if (isfinite(value) && fm_sample_add(&sample, value))
			break;
	}
	if (sample.count < EFFECT_LEAST_BLOCKS || fm_statistics_median(sample.values, sample.count, &location)) {
		figure = fm_figure_unavailable("only %u undisturbed trials", sample.count);
	} else {
		figure = fm_figure_make(location.value, location.low, location.high, unit, FM_ORIGIN_measured,
		                        "threads", sample.count);
		figure.set_aside = set_aside;
	}
	fm_sample_free(&sample);
	return figure;
}

enum fm_effect fm_effect_of(const struct fm_figure *slower, double expected)
{
	double negligible = fmin(EFFECT_NEGLIGIBLE, EFFECT_NEGLIGIBLE_SHARE * (expected - 1));

	if (!slower->available)
		return FM_EFFECT_UNCLEAR;
	if (slower->low > 1 + EFFECT_NOTICEABLE)
		return FM_EFFECT_PRESENT;
	return slower->high < 1 + negligible ? FM_EFFECT_ABSENT : FM_EFFECT_UNCLEAR;
}

static void judge_steps(const struct fm_interference_trials *own, const struct fm_interference_trials *other,
                        struct fm_interference_axis *axis)
{
	axis->effect = FM_EFFECT_UNCLEAR;
	for (unsigned i = 0; i < axis->count; i++) {
		struct fm_interference_step *step = &axis->steps[i];

		step->slower = median_of(own, i + 1, cost_ratio, "times");
		step->other = median_of(other, i + 1, cost_ratio, "times");
		step->effect = fm_effect_of(&step->slower, step->expected);
		/* a negligible effect is no side effect, even if it is certain */
		step->side_effect = step->other.available && step->other.high < 1 + EFFECT_NEGLIGIBLE
		                        ? FM_EFFECT_ABSENT
		                        : fm_effect_of(&step->other, INFINITY);
	}
	/* one question, one test: of many steps some would seem to have an effect by chance */
	if (axis->count)
		axis->effect = axis->steps[axis->count - 1].effect;
}

static void offer(struct fm_interference_axis *axis)
{
	double before = axis->full.available ? axis->full.value : 0;

	for (unsigned i = 0; i < axis->count; i++) {
		struct fm_interference_step *step = &axis->steps[i];

		step->offered = axis->effect == FM_EFFECT_PRESENT && step->effect == FM_EFFECT_PRESENT &&
		                step->side_effect == FM_EFFECT_ABSENT && step->left.available && axis->full.available &&
		                step->left.value > 0 && step->left.value < AMOUNT_LESS * before &&
		                step->left.high < axis->full.value &&
		                (step->left.high - step->left.low) / 2 < AMOUNT_KNOWN * axis->full.value;
		if (step->offered)
			before = step->left.value;
	}
}

void fm_interference_judge_capacity(const struct fm_interference_trials *own,
                                    const struct fm_interference_trials *other, struct fm_interference_axis *axis)
{
	judge_steps(own, other, axis);
	axis->full = median_of(own, 0, amount, "bytes");
	for (unsigned i = 0; i < axis->count; i++) {
		struct fm_figure share = median_of(own, i + 1, amount_ratio, "");

		axis->steps[i].left = share.available && axis->full.available
		                          ? fm_figure_scaled(&share, axis->full.value, "bytes")
		                          : share;
	}
	offer(axis);
}

void fm_interference_judge_bandwidth(const struct fm_interference_trials *own,
                                     const struct fm_interference_trials *other, struct fm_interference_axis *axis)
{
	judge_steps(own, other, axis);
	/* the largest sum of victim and takers */
	axis->full = median_of(own, 0, together, "GB/s");
	for (unsigned i = 0; i < axis->count; i++) {
		struct fm_figure sum = median_of(own, i + 1, together, "GB/s");

		if (sum.available && (!axis->full.available || sum.value > axis->full.value))
			axis->full = sum;
	}
	for (unsigned i = 0; i < axis->count; i++) {
		struct fm_figure taken = median_of(own, i + 1, amount, "GB/s");

		axis->steps[i].left = taken;
		if (taken.available && axis->full.available)
			axis->steps[i].left = fm_figure_make(
			    fmax(axis->full.value - taken.value, 0), fmax(axis->full.value - taken.high, 0),
			    fmax(axis->full.value - taken.low, 0), "GB/s", FM_ORIGIN_measured, "threads", taken.trials);
	}
	offer(axis);
}

bool fm_interference_is_decided(const struct fm_interference_axis *axis)
{
	if (axis->effect != FM_EFFECT_PRESENT)
		return axis->effect == FM_EFFECT_ABSENT;
	for (unsigned i = 0; i < axis->count; i++)
		if (axis->steps[i].effect == FM_EFFECT_UNCLEAR || axis->steps[i].side_effect == FM_EFFECT_UNCLEAR)
			return false;
	return true;
}

unsigned fm_interference_offered(const struct fm_interference_axis *axis)
{
	unsigned offered = 0;

	for (unsigned i = 0; i < axis->count; i++)
		offered += axis->steps[i].offered;
	return offered;
}

static const char *amount_text(char *text, size_t size, double value, enum fm_taker_kind kind)
{
	char number[32];

	if (kind == FM_TAKER_STORAGE)
		return fm_text_bytes(text, size, value);
	snprintf(text, size, "%s GB/s", fm_text_number(number, sizeof(number), value));
	return text;
}

/* "from 15.1 MiB to 2.6 MiB of 20.1 MiB" */
static void state_range(const struct fm_interference_axis *axis, enum fm_taker_kind kind, char *text, size_t size)
{
	char most[32], least[32], full[32];
	const struct fm_interference_step *first = NULL, *last = NULL;

	for (unsigned i = 0; i < axis->count; i++)
		if (axis->steps[i].offered) {
			first = first ? first : &axis->steps[i];
			last = &axis->steps[i];
		}
	if (!first)
		return;
	snprintf(text, size, "leave %s to %s of %s", amount_text(most, sizeof(most), first->left.value, kind),
	         amount_text(least, sizeof(least), last->left.value, kind),
	         amount_text(full, sizeof(full), axis->full.value, kind));
}

void fm_interference_state(const struct fm_interference_axis *axis, enum fm_taker_kind kind, const char *what,
                           char *text, size_t size)
{
	static const char *const resources[FM_TAKER_KINDS] = {"bandwidth", "capacity"};
	const char *resource = resources[kind],
	           *other = resources[kind == FM_TAKER_STORAGE ? FM_TAKER_BANDWIDTH : FM_TAKER_STORAGE];
	const struct fm_interference_step *last = axis->count ? &axis->steps[axis->count - 1] : NULL;
	char range[160] = "";
	unsigned offered = fm_interference_offered(axis);

	if (!last) {
		snprintf(text, size, "%s of %s: not measured", resource, what);
	} else if (!last->slower.available) {
		snprintf(text, size, "%s of %s: inconclusive, %s", resource, what, last->slower.why);
	} else if (axis->effect == FM_EFFECT_ABSENT) {
		snprintf(text, size,
		         "%s of %s: load threads do not reduce it: a dependent program is %.1f %% slower under load "
		         "(%.1f … %.1f)%s",
		         resource, what, 100 * (last->slower.value - 1), 100 * (last->slower.low - 1),
		         100 * (last->slower.high - 1),
		         kind == FM_TAKER_STORAGE ? "; the cache is not shared with these threads, or a hypervisor "
		                                    "divides it"
		                                  : "; the total exceeds the demand of all threads");
	} else if (axis->effect == FM_EFFECT_UNCLEAR) {
		snprintf(text, size,
		         "%s of %s: inconclusive: a dependent program is %.1f %% slower under load, with an interval "
		         "from %.1f to %.1f",
		         resource, what, 100 * (last->slower.value - 1), 100 * (last->slower.low - 1),
		         100 * (last->slower.high - 1));
	} else if (!offered) {
		snprintf(text, size,
		         "%s of %s: not offered: load threads reduce it (%.1f %% slower), but also reduce %s, or by an "
		         "unknown amount",
		         resource, what, 100 * (last->slower.value - 1), other);
	} else {
		state_range(axis, kind, range, sizeof(range));
		snprintf(text, size, "%s of %s: load threads %s, in %u step%s, without an effect on %s", resource, what,
		         range, offered, offered > 1 ? "s" : "", other);
	}
}
