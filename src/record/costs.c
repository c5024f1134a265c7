#include <time.h>

#include "record/allocations.h"
#include "record/costs.h"
#include "record/log.h"

enum {
	SHORTEST_PERIOD = 250000, /* ns */
	LONGEST_PERIOD = 1000000000,
	FIRST_PERIOD = 4000000,
	LOOK_EVERY = 20000000, /* ns between two looks at the clocks, */
	FIRST_LOOKS = 20,      /* the first ones sooner */
	FIRST_EVERY = 3000000,
	WITHOUT_WINDOWS = 500000000, /* ns: what ends sooner has samples only, which it has few enough of */
	FIRST_INTERVAL = 16,         /* of small allocations that are kept, until it is known what they cost */
	KEPT_EACH = 1 << 16,         /* in the engine: so many are kept before the interval grows by one */
};
/* What code and data of the runtime push out of the caches is paid for by the program, unseen. */
static const double caution = 0.8;
/* Beside samples whose rate is fixed. */
static const double windows_per_second = 100;
static const double pace_share = 0.2; /* of what may be spent */

static struct {
	uint64_t started;
	uint64_t ticks; /* spent on sampling */
	uint64_t attempts;
	uint64_t period;
	uint64_t next_look; /* ticks */
	unsigned looks;
	uint32_t looking;
	double per_attempt;  /* ticks, smoothed */
	double per_kind[3];  /* … of a sample, of a window, of a pace */
	uint64_t pace_ticks; /* spent on paces */
	uint64_t last_paces, last_ticks, last_attempts, last_allocations, last_cpu;
	uint64_t interval;
} costs;

uint64_t fm_costs_period(void)
{
	return __atomic_load_n(&costs.period, __ATOMIC_RELAXED);
}

static double ticks_per_ns(void)
{
	return fm_session->ticks_per_second / 1e9;
}

void fm_costs_open(uint64_t started)
{
	uint64_t now = fm_ticks();

	costs.started = started;
	costs.ticks = now - started; /* setting up costs too; unless the process waited for its processor */
	if (costs.ticks > (uint64_t)(0.002 * fm_session->ticks_per_second))
		costs.ticks = (uint64_t)(0.002 * fm_session->ticks_per_second);
	costs.attempts = 0;
	costs.last_ticks = costs.ticks;
	costs.last_attempts = costs.last_allocations = costs.last_cpu = 0;
	costs.looking = 0;
	costs.per_attempt = 60e-6 * fm_session->ticks_per_second;
	costs.per_kind[0] = costs.per_attempt;
	costs.per_kind[1] = 250e-6 * fm_session->ticks_per_second;
	costs.per_kind[2] = 6e-4 * fm_session->ticks_per_second;
	costs.pace_ticks = costs.last_paces = 0;
	costs.period =
	    fm_session->rate > 0 ? (uint64_t)(1e9 / fm_session->rate * (1 - fm_costs_window_share())) : FIRST_PERIOD;
	costs.looks = 0;
	costs.next_look = now + (uint64_t)(FIRST_EVERY * ticks_per_ns());
	costs.interval = fm_session->sampling ? FIRST_INTERVAL : 1;
	fm_allocations_set_interval(costs.interval);
}

/* Tracking allocations gets at most half of what there is; sampling the rest. */
static void choose_interval(double share)
{
	double wanted = fm_session->overhead > 0 ? fm_session->overhead * caution : 0.02;

	/* in the engine time means nothing: room in the log does */
	if (!fm_session->sampling)
		costs.interval = 1 + fm_process->tracked / KEPT_EACH;
	else if (share > wanted / 2 && costs.interval < 1u << 20)
		costs.interval *= share > 2 * wanted ? 4 : 2;
	else if (share < wanted / 8 && costs.interval > 1)
		costs.interval /= 2;
	fm_allocations_set_interval(costs.interval);
}

/* The period with which what was spent approaches what may be spent, within about a second of processor time. */
static void choose_period(double cpu_ticks, double spent, double allocation_share)
{
	double budget = fm_session->overhead * caution, second = fm_session->ticks_per_second;
	double share = budget - allocation_share + (budget * cpu_ticks - spent) / second;
	double period;

	if (share > budget)
		share = budget;
	if (share < budget / 4) /* allocations give way, not samples */
		share = budget / 4;
	period = costs.per_attempt / share / ticks_per_ns();
	if (period < SHORTEST_PERIOD)
		period = SHORTEST_PERIOD;
	if (period > LONGEST_PERIOD)
		period = LONGEST_PERIOD;
	__atomic_store_n(&costs.period, (uint64_t)period, __ATOMIC_RELAXED);
	fm_process->period_ns = (uint64_t)period;
}

static void look(void)
{
	uint64_t paces = __atomic_load_n(&costs.pace_ticks, __ATOMIC_RELAXED),
	         ticks = __atomic_load_n(&costs.ticks, __ATOMIC_RELAXED),
	         attempts = __atomic_load_n(&costs.attempts, __ATOMIC_RELAXED), allocations = fm_allocations_cost();
	double cpu_ticks, allocation_share = 0, since;

	fm_log_clock();
	cpu_ticks = (double)fm_process->cpu_ns * ticks_per_ns();
	since = cpu_ticks - (double)costs.last_cpu;
	if (attempts > costs.last_attempts) {
		/* paces are few and dear: they have their own share */
		double recent = (double)(ticks - costs.last_ticks - (paces - costs.last_paces)) /
		                (double)(attempts - costs.last_attempts);

		costs.per_attempt = costs.last_attempts ? 0.7 * costs.per_attempt + 0.3 * recent : recent;
	}
	if (since > 0)
		allocation_share = (double)(allocations - costs.last_allocations) / since;
	if (fm_session->track)
		choose_interval(allocation_share);
	if (fm_session->rate <= 0)
		choose_period(cpu_ticks, (double)ticks + (double)allocations, allocation_share);
	costs.last_ticks = ticks;
	costs.last_paces = paces;
	costs.last_attempts = attempts;
	costs.last_allocations = allocations;
	costs.last_cpu = (uint64_t)cpu_ticks;
	fm_process->sampling_ticks = ticks;
	fm_process->allocation_ticks = allocations;
}

double fm_costs_window_share(void)
{
	double sample, window;

	/* windows are large: when half of the room is used up, the rest is for samples */
	if (!fm_session->windows ||
	    __atomic_load_n(&fm_session->used_bytes, __ATOMIC_RELAXED) > fm_session->max_bytes / 2)
		return 0;
	if (fm_session->rate > 0)
		return windows_per_second / (windows_per_second + fm_session->rate);
	if (fm_process->cpu_ns < WITHOUT_WINDOWS)
		return 0;
	sample = costs.per_kind[0];
	window = costs.per_kind[1];
	return sample / (sample + window);
}

bool fm_costs_wants_pace(void)
{
	double cpu = (double)fm_process->cpu_ns * ticks_per_ns();
	double wanted = fm_session->overhead > 0 ? fm_session->overhead : 0.03;

	/* when the next one can be paid for, so not in programs that end at once */
	return (double)__atomic_load_n(&costs.pace_ticks, __ATOMIC_RELAXED) + costs.per_kind[2] <
	       pace_share * wanted * cpu;
}

void fm_costs_add(uint64_t ticks, unsigned kind)
{
	double *mean = &costs.per_kind[kind], most = 8 * *mean;

	/* a thread that lost its processor meanwhile has not used it */
	if ((double)ticks > most)
		ticks = (uint64_t)most;
	/* threads that do this at the same time lose one of the two: it is a mean all the same */
	*mean += 0.05 * ((double)(ticks + fm_session->signal_cost) - *mean);
	__atomic_fetch_add(&costs.ticks, ticks + fm_session->signal_cost, __ATOMIC_RELAXED);
	if (kind == 2)
		__atomic_fetch_add(&costs.pace_ticks, ticks + fm_session->signal_cost, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&costs.attempts, 1, __ATOMIC_RELAXED);
	fm_costs_poll();
}

void fm_costs_poll(void)
{
	uint64_t now = fm_ticks();
	uint32_t nobody = 0;

	if (!costs.next_look || now < __atomic_load_n(&costs.next_look, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&costs.looking, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	costs.next_look = now + (uint64_t)((costs.looks++ < FIRST_LOOKS ? FIRST_EVERY : LOOK_EVERY) * ticks_per_ns());
	look();
	__atomic_store_n(&costs.looking, 0, __ATOMIC_RELEASE);
}

void fm_costs_close(void)
{
	if (fm_process)
		look();
}
