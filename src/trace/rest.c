#include "trace/rest.h"

#include "trace/opening.h"
#include "trace/pace.h"
#include "trace/positions.h"
#include "trace/ring.h"

enum {
	LONGEST_WINDOW_NS = 200000000, /* for which a phase waits */
	ACTIVE_NS = 12000000,          /* of each busy thread: a window, and counted code */
	PLAIN_NS = 8000000,            /* of each busy thread: a warm-up, and the measurement of the pace */
	BRIEFLY_NS = 4000000,          /* of each busy thread, in an active phase without a window */
	FORGOTTEN_IN = 4,              /* phases with fewer threads: half of those without a tick no longer run */
	FIRST_PHASES = 2,              /* without a rest */
	LONG_REST_PART = 24,           /* of the time so far: a rest that is long even then */
};

enum state { ACTIVE, REST, PLAIN };

#define LEAST_REST_NS 10000000.0
#define LONGEST_REST_NS 40000000.0
#define TEAM_REST_NS 200000000.0
#define USUAL_SLOWDOWN 2.5
#define PLAIN_SLOWDOWN 1.2
#define CATCHING_UP_SLOWDOWN 2.0
#define MOST_SLOWDOWN 6.0

/* Processor time is that of the process. */
static struct {
	uint64_t until_ns, began_ns;
	uint64_t window_ticks; /* sum of the process at the begin of the phase */
	double progress_ns;    /* of the program, as if it had run natively: since tracing began … */
	double cost_ns;        /* … and the time beyond that */
	uint32_t number, state, busy, changing;
	uint32_t in_turns;   /* 1: the latest active phase had several busy threads */
	uint32_t team;       /* threads that run at a time: most of recent phases */
	uint32_t fewer;      /* latest phases with ticks of fewer threads */
	uint32_t turn;       /* active phases with a window so far */
	uint32_t briefly;    /* 1: an active phase without one */
	uint32_t catches_up; /* 1: a rest in which the reader may take a processor */
	double slowdown;
} phase;

static uint32_t load(const uint32_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static uint64_t process_ns(void)
{
	return fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void fm_rest_prepare(void)
{
	uint64_t now = process_ns();

	phase.number = 1;
	phase.state = ACTIVE;
	phase.busy = phase.changing = phase.in_turns = phase.team = phase.catches_up = phase.turn = phase.briefly =
	    phase.fewer = 0;
	phase.slowdown = USUAL_SLOWDOWN;
	phase.window_ticks = 0;
	phase.progress_ns = phase.cost_ns = 0;
	phase.began_ns = now;
	phase.until_ns = now + fm_session->run_in_ns;
}

void fm_rest_note_slowdown(double slowdown)
{
	double limited = slowdown < 1 ? 1 : slowdown > MOST_SLOWDOWN ? MOST_SLOWDOWN : slowdown;

	/* a lost update is harmless: each is an estimate */
	phase.slowdown = (phase.slowdown + limited) / 2;
}

static void account(double ns, double windows)
{
	double counted = ns > windows ? ns - windows : 0, progress = counted / phase.slowdown;

	if (phase.state == REST && !phase.catches_up) {
		phase.progress_ns += ns;
		return;
	}
	/* each thread may have waited for the one whose processor the reader had */
	if (phase.state == REST)
		progress = ns / CATCHING_UP_SLOWDOWN;
	if (phase.state == PLAIN)
		progress = ns / PLAIN_SLOWDOWN;
	phase.progress_ns += progress;
	phase.cost_ns += ns - progress;
}

static double larger(double one, double other)
{
	return one > other ? one : other;
}

/* The rest that is due: until the cost so far is the permitted part of the progress. */
static double rest_due(void)
{
	return phase.cost_ns / fm_session->overhead - phase.progress_ns;
}

/* Of the next phase, in processor time of the process. Rests are short, so that the pace after each of them is that of
   the same code. */
static double phase_length(struct fm_place *place, enum state state, uint32_t busy, uint64_t now)
{
	double jitter = 0.5 + (double)(fm_place_random(place) >> 11) / (double)(1ull << 53), threads = busy ? busy : 1,
	       longest = (double)now / LONG_REST_PART, rest = rest_due();

	if (state != REST)
		return (state == PLAIN ? PLAIN_NS : phase.briefly ? BRIEFLY_NS : ACTIVE_NS) * threads;
	/* threads do not change at the same moment, and wait for each other then: teams change seldom */
	if (busy > 1)
		longest *= threads;
	longest = larger(longest, busy > 1 ? TEAM_REST_NS * threads : LONGEST_REST_NS);
	rest = rest < longest ? rest : longest;
	return larger(rest, LEAST_REST_NS * threads) * jitter;
}

/* The first rest has plain code before it, too. */
static enum state state_after(enum state state)
{
	return state == ACTIVE ? phase.number < FIRST_PHASES ? PLAIN : REST : state == REST ? PLAIN : ACTIVE;
}

static void change(struct fm_place *place, uint64_t now)
{
	enum state next;
	uint32_t busy = phase.busy, rests;
	uint64_t spent = fm_head()->window_ticks;

	account((double)(now - phase.began_ns),
	        (double)(spent - phase.window_ticks) * 1e9 / (double)fm_session->ticks_per_second);
	next = state_after((enum state)phase.state);
	if (phase.state == ACTIVE) {
		phase.in_turns = busy >= fm_session->busy_least;
		if (!phase.in_turns)
			next = ACTIVE;
	}
	/* what the last phases logged is still unread */
	phase.catches_up = phase.in_turns && next == ACTIVE && !fm_rings_have_room();
	if (phase.catches_up)
		next = REST;
	/* the cost is not made up for yet: only to see what the plain code did */
	phase.briefly = next == ACTIVE && phase.in_turns && rest_due() > LEAST_REST_NS;
	phase.turn += next == ACTIVE && !phase.briefly;
	phase.until_ns = now + (uint64_t)phase_length(place, next, busy, now);
	phase.began_ns = now;
	phase.window_ticks = spent;
	phase.busy = 0;
	/* in a short phase, or without a processor, a thread may have had no tick */
	phase.fewer = busy < phase.team ? phase.fewer + 1 : 0;
	if (phase.fewer >= FORGOTTEN_IN) {
		phase.team -= (phase.team - busy + 1) / 2;
		phase.fewer = 0;
	}
	if (phase.team)
		fm_opening_team(phase.team, phase.in_turns ? phase.turn : 0);
	__atomic_store_n(&phase.state, next, __ATOMIC_RELAXED);
	__atomic_store_n(&phase.number, phase.number + 1, __ATOMIC_RELEASE);
	/* the pace in plain code stands for that of the rest */
	rests = next != ACTIVE && !phase.catches_up;
	if (__atomic_exchange_n(&fm_head()->resting, rests, __ATOMIC_RELEASE) && !rests)
		fm_wake(&fm_head()->resting);
}

void fm_rest_tick(struct fm_place *place)
{
	uint32_t number = __atomic_load_n(&phase.number, __ATOMIC_ACQUIRE);
	uint64_t now;

	if (!(fm_session->overhead > 0) || !place->begun || fm_session->mode != FM_TRACE_WINDOWS)
		return;
	if (place->phase != number) {
		place->phase = number;
		place->is_full = false;
		__atomic_fetch_add(&phase.busy, 1, __ATOMIC_RELAXED);
	}
	now = process_ns();
	if (phase.busy > phase.team) {
		phase.team = phase.busy;
		fm_opening_team(phase.team, phase.in_turns ? phase.turn : 0);
	}
	/* other threads may wait for one that is in a window */
	if (load(&phase.state) == ACTIVE && fm_window_is_open() &&
	    now < __atomic_load_n(&phase.until_ns, __ATOMIC_RELAXED) + LONGEST_WINDOW_NS)
		return;
	if ((now < __atomic_load_n(&phase.until_ns, __ATOMIC_RELAXED) && !(phase.catches_up && fm_rings_have_room())) ||
	    __atomic_exchange_n(&phase.changing, 1, __ATOMIC_ACQUIRE))
		return;
	if (now >= phase.until_ns || phase.catches_up)
		change(place, now);
	__atomic_store_n(&phase.changing, 0, __ATOMIC_RELEASE);
}

bool fm_rest_is_due(const struct fm_place *place)
{
	return (load(&phase.state) == REST || (place->is_full && phase.in_turns)) && !place->epoch && !place->pace.step;
}

bool fm_rest_is_near(void)
{
	return load(&phase.state) == PLAIN;
}

bool fm_rest_is_disturbed(void)
{
	return load(&phase.catches_up);
}

bool fm_rest_takes_turns(void)
{
	return load(&phase.in_turns);
}

void fm_rest_begin(struct fm_place *place)
{
	if (place->resting)
		return;
	fm_pace_end_together(place);
	fm_pace_settle_together(place);
	fm_pace_prepare_together(place);
	fm_place_publish(place);
	place->rest_counted_ns = fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	place->resting = true;
	fm_positions_resume(place);
}

void fm_rest_publish(struct fm_place *place)
{
	uint64_t now, ns;

	if (!place->resting)
		return;
	now = fm_clock_ns(FM_CLOCK_OF_THREAD(place->thread));
	ns = now > place->rest_counted_ns ? now - place->rest_counted_ns : 0;
	place->rest_counted_ns += ns;
	fm_add(&fm_head()->rest_ns, ns);
	fm_add(&fm_file->threads[place - fm_places].rested_ns, ns);
}

void fm_rest_end(struct fm_place *place)
{
	if (place->resting) {
		fm_place_publish(place);
		place->resting = false;
		place->rested = true;
	}
	if (!place->rested || fm_rest_is_near())
		return;
	place->rested = false;
	fm_pace_end_together(place);
	if (phase.in_turns)
		fm_ring_enlarge(place);
	fm_ring_control(place, FM_TRACE_RESTED, load(&phase.number));
}

void fm_rest_forget(struct fm_place *place)
{
	place->resting = place->rested = false;
}
