/* Running takers: threads on chosen CPUs, in a process that ends with the tool. Shared memory changes their settings
   within a millisecond. */
#ifndef FATHOM_INTERFERENCE_TAKERS_H
#define FATHOM_INTERFERENCE_TAKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "interference/taker.h"

enum { FM_TAKERS_MAX = 64 };

struct fm_taker_wish {
	enum fm_taker_kind kind;
	unsigned cpu;
	uint64_t bytes; /* largest setting */
};

struct fm_taker_setting {
	bool on;
	double rate;    /* accesses per second; 0: no limit */
	uint64_t bytes; /* 0: all */
};

/* Totals of a taker since its creation. */
struct fm_taker_work {
	uint64_t accesses;
	uint64_t on_ns;   /* time with the setting on, … */
	uint64_t lost_ns; /* … and time ready without a CPU, on or off */
};

struct fm_takers;

/* All takers are off at first. -ENOMEM with a remedy without free memory; -EINVAL for unusable CPUs. Call it in a
   thread with the life of the tool. */
int fm_takers_start(const struct fm_taker_wish *wishes, unsigned count, struct fm_takers **ret_takers,
                    struct fm_error *error);

/* NULL has no effect. */
void fm_takers_stop(struct fm_takers *takers);

void fm_takers_set(struct fm_takers *takers, unsigned index, const struct fm_taker_setting *setting);

/* Waits until all takers use their last setting. -ETIMEDOUT if a taker gets no CPU, -ESRCH if the takers have ended. */
int fm_takers_settle(struct fm_takers *takers, double seconds);

struct fm_taker_work fm_takers_work(const struct fm_takers *takers, unsigned index);
bool fm_takers_alive(struct fm_takers *takers);
pid_t fm_takers_process(const struct fm_takers *takers);

/* Checks the memory for takers. -ENOMEM with the reason: available memory or a limit (ulimit -v, -d). */
int fm_takers_check_memory(uint64_t bytes, struct fm_error *error);

/* The rate of a taker that moves `gbs` GB/s, one line per access. */
double fm_takers_rate(double gbs);

#endif
