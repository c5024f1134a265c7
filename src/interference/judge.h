/* Judges trials: do takers reduce the intended resource, by which amount, and do they spare the other one? Pure
   arithmetic, tested with synthetic trials; calibrate.h measures.
   A victim that depends on one resource is timed without takers and beside each step (a setting of the takers). One
   such sequence is a block, in which only the takers differ. Ratios are taken within blocks. */
#ifndef FATHOM_INTERFERENCE_JUDGE_H
#define FATHOM_INTERFERENCE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/figure.h"
#include "interference/taker.h"

enum { FM_INTERFERENCE_STEPS = 8 };

enum fm_effect { FM_EFFECT_UNCLEAR, FM_EFFECT_ABSENT, FM_EFFECT_PRESENT };

const char *fm_effect_name(enum fm_effect effect);
/* FM_EFFECT_UNCLEAR for an unknown name. */
enum fm_effect fm_effect_find(const char *name);

/* Per block: [0] without takers, [i] beside step i-1. */
struct fm_interference_block {
	double cost[FM_INTERFERENCE_STEPS + 1];   /* ns of an access of the victim */
	double amount[FM_INTERFERENCE_STEPS + 1]; /* bytes of the victim; or GB/s of the takers */
	bool set_aside[FM_INTERFERENCE_STEPS + 1];
};

struct fm_interference_trials {
	unsigned steps;
	unsigned count, room;
	struct fm_interference_block *blocks;
};

/* A new zeroed block; NULL without memory. */
struct fm_interference_block *fm_interference_add_block(struct fm_interference_trials *trials);
void fm_interference_free_trials(struct fm_interference_trials *trials);

/* The setting of a step. */
struct fm_interference_setting {
	unsigned takers;
	uint64_t bytes; /* per taker, as in fm_taker_wish */
	double rate;    /* accesses per second and taker; 0: no limit */
};

struct fm_interference_step {
	struct fm_interference_setting setting;
	double expected;         /* slowdown if takers took the whole intended amount */
	struct fm_figure slower; /* slowdown of the victim of this resource … */
	struct fm_figure other;  /* … and of the other resource */
	struct fm_figure left;   /* bytes, or GB/s */
	enum fm_effect effect, side_effect;
	bool offered; /* takes a known amount and nothing else */
};

struct fm_interference_axis {
	enum fm_effect effect; /* of the largest step */
	struct fm_figure full; /* without takers */
	unsigned count;
	struct fm_interference_step steps[FM_INTERFERENCE_STEPS]; /* by amount, ascending */
};

/* The effect from the slowdown against no takers. */
enum fm_effect fm_effect_of(const struct fm_figure *slower, double expected);

/* Completes an axis with given settings and expectations. `own`: trials with the victim of this resource; `other`: with
   the victim of the other resource. */
void fm_interference_judge_capacity(const struct fm_interference_trials *own,
                                    const struct fm_interference_trials *other, struct fm_interference_axis *axis);
void fm_interference_judge_bandwidth(const struct fm_interference_trials *own,
                                     const struct fm_interference_trials *other, struct fm_interference_axis *axis);

/* True if more trials cannot change the result. */
bool fm_interference_is_decided(const struct fm_interference_axis *axis);

/* Number of offered steps. */
unsigned fm_interference_offered(const struct fm_interference_axis *axis);

/* One or two sentences. `what` is "L3" or "memory". */
void fm_interference_state(const struct fm_interference_axis *axis, enum fm_taker_kind kind, const char *what,
                           char *text, size_t size);

#endif
