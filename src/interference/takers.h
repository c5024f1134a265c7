/* Takers at work: threads on chosen CPUs, in a process of their own that ends when the tool does. What they do is
   changed through shared memory, within a millisecond. */
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
	uint64_t bytes; /* the most it will be told to use */
};

struct fm_taker_setting {
	bool on;
	double rate;    /* accesses per second; 0: as many as it can */
	uint64_t bytes; /* 0: all it has */
};

/* What it did since it was made. */
struct fm_taker_work {
	uint64_t accesses;
	uint64_t on_ns;   /* time for which it was on, … */
	uint64_t lost_ns; /* … and of all its time, ready but without its CPU: somebody else had it */
};

struct fm_takers;

/* -ENOMEM when memory that is free does not suffice, with what would; -EINVAL for CPUs that cannot be used. All are off
   at first. To be called by a thread that lives as long as the tool. */
int fm_takers_start(const struct fm_taker_wish *wishes, unsigned count, struct fm_takers **ret_takers,
                    struct fm_error *error);

/* NULL is allowed. */
void fm_takers_stop(struct fm_takers *takers);

void fm_takers_set(struct fm_takers *takers, unsigned index, const struct fm_taker_setting *setting);

/* Until all of them do what they were told last. -ETIMEDOUT when one has not got its CPU in that time, -ESRCH when they
   are gone. */
int fm_takers_settle(struct fm_takers *takers, double seconds);

struct fm_taker_work fm_takers_work(const struct fm_takers *takers, unsigned index);
bool fm_takers_alive(struct fm_takers *takers);
pid_t fm_takers_process(const struct fm_takers *takers);

/* May takers have so much memory? -ENOMEM with the reason: what is available, what a limit (ulimit -v, -d) leaves. */
int fm_takers_check_memory(uint64_t bytes, struct fm_error *error);

/* The rate at which a taker of a kind moves so many GB/s, each access being a line. */
double fm_takers_rate(double gbs);

#endif
