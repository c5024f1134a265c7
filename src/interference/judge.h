/* From trials to a statement: do takers take what they are meant to take, how much of it, and do they leave the other
   resource alone? Nothing is measured here (calibrate.h does), so that it can be tested with trials of known truth.

   A victim, a program that depends on one resource, is timed without takers and beside each step, a setting of them,
   again and again: each time is a block, in which only the takers differ. What counts are ratios within blocks. */
#ifndef FATHOM_INTERFERENCE_JUDGE_H
#define FATHOM_INTERFERENCE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/figure.h"
#include "interference/taker.h"

enum { FM_INTERFERENCE_STEPS = 8 };

enum fm_effect { FM_EFFECT_UNCLEAR, FM_EFFECT_ABSENT, FM_EFFECT_PRESENT };

const char *fm_effect_name(enum fm_effect effect);
/* FM_EFFECT_UNCLEAR for any other text. */
enum fm_effect fm_effect_find(const char *name);

/* In each block, at 0 without takers, at i beside step i-1. */
struct fm_interference_block {
	double cost[FM_INTERFERENCE_STEPS + 1];   /* ns of an access of the victim */
	double amount[FM_INTERFERENCE_STEPS + 1]; /* bytes that it had; or GB/s that takers moved meanwhile */
	bool set_aside[FM_INTERFERENCE_STEPS + 1];
};

struct fm_interference_trials {
	unsigned steps;
	unsigned count, room;
	struct fm_interference_block *blocks;
};

/* A new one, all of it zero; NULL: no memory left. */
struct fm_interference_block *fm_interference_add_block(struct fm_interference_trials *trials);
void fm_interference_free_trials(struct fm_interference_trials *trials);

/* How a step is taken. */
struct fm_interference_setting {
	unsigned takers;
	uint64_t bytes; /* of each, as fm_taker_wish has it */
	double rate;    /* accesses per second of each; 0: as many as it can */
};

struct fm_interference_step {
	struct fm_interference_setting setting;
	double expected;         /* times as slow, if takers had from the victim what they are meant to take */
	struct fm_figure slower; /* times as slow as without takers, the victim of this resource … */
	struct fm_figure other;  /* … and of the other one */
	struct fm_figure left;   /* bytes, or GB/s */
	enum fm_effect effect, side_effect;
	bool offered; /* it takes a known amount, and nothing else */
};

struct fm_interference_axis {
	enum fm_effect effect; /* of the largest step */
	struct fm_figure full; /* without takers */
	unsigned count;
	struct fm_interference_step steps[FM_INTERFERENCE_STEPS]; /* by what they take, ascending */
};

/* Slower by this share is an effect. What is below the other with certainty has none that would matter. */
#define FM_EFFECT_NOTICEABLE 0.02
#define FM_EFFECT_NEGLIGIBLE 0.05

/* The effect behind ratios to a state without takers. Fewer than so many are no evidence. */
enum { FM_EFFECT_LEAST_BLOCKS = 12 };
enum fm_effect fm_effect_of(const struct fm_figure *slower, double expected);

/* Fills in the axis, whose steps have their settings and what is expected. `own`: the victim that depends on this
   resource; `other`: the one that depends on the other. */
void fm_interference_judge_capacity(const struct fm_interference_trials *own,
                                    const struct fm_interference_trials *other, struct fm_interference_axis *axis);
void fm_interference_judge_bandwidth(const struct fm_interference_trials *own,
                                     const struct fm_interference_trials *other, struct fm_interference_axis *axis);

/* Is everything decided that more trials could decide? */
bool fm_interference_is_decided(const struct fm_interference_axis *axis);

/* The steps that are offered; their number. */
unsigned fm_interference_offered(const struct fm_interference_axis *axis);

/* One or two sentences. `what` is "L3" or "memory". */
void fm_interference_state(const struct fm_interference_axis *axis, enum fm_taker_kind kind, const char *what,
                           char *text, size_t size);

#endif
