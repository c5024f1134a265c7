/* Time is the processor time of the process: a program that sleeps is in no hurry to be looked at. */
#include "trace/opening.h"

#include "trace/ring.h"

enum {
	FIRST_PAUSE_NS = 2000000,
	LONGEST_NS = 200000000, /* that a window keeps others from opening: its threads may sleep */
	SHORTEST_PAUSE_NS = 1000000,
	RARE = 10, /* times the pause, when all figures are precise */
	EARLY_ONE_OF = 8,
	LEAST_ROOM = 128,
	EARLY_PAUSE_NS = 5000000,
	EARLY_PART = 16, /* of the time so far */
	LONGEST_PAUSE_NS = 20000000,
	LONGEST_PART = 8, /* of the time so far: however much they cost, or nothing would be known of some programs */
	WINDOW_NS = 10000000,    /* processor time: code that waits for memory all the time makes few references */
	LARGE_TEAM = 5,          /* threads */
	MEMBERS = 2,             /* of a large team in a window */
	MEMBER_ENTRIES = 150000, /* of each thread in it; of a large team: */
	LARGE_TEAM_ENTRIES = 80000,
	LEAST_ENTRIES = 20000,
};

#define EARLY_SECONDS 0.3 /* so much time in windows is not counted as slowing down */

static struct {
	uint64_t state; /* number of the window << 32 | threads in it */
	uint64_t opened_ns, next_ns;
	uint64_t spent; /* ticks */
	/* the reader's, and ours, when a thread last left a window */
	uint64_t read_ns, read_wall_ns, process_ns, wall_ns;
	uint32_t team;            /* threads that run at a time; 0, 1: no team */
	uint32_t turn, last_turn; /* present turn, and that of the latest window; 0: windows are apart as usual */
	uint32_t members;         /* threads that joined the latest window */
} windows;

static uint64_t now_ns(void)
{
	return fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void fm_opening_prepare(void)
{
	windows.state = windows.spent = 0;
	windows.team = windows.turn = windows.last_turn = windows.members = 0;
	windows.read_ns = windows.read_wall_ns = 0;
	windows.process_ns = now_ns();
	windows.wall_ns = fm_clock_ns(CLOCK_MONOTONIC);
	windows.next_ns = windows.process_ns + FIRST_PAUSE_NS;
}

void fm_opening_team(unsigned threads, uint32_t turn)
{
	__atomic_store_n(&windows.team, threads, __ATOMIC_RELAXED);
	__atomic_store_n(&windows.turn, turn, __ATOMIC_RELAXED);
	__atomic_store_n(&fm_head()->team, threads, __ATOMIC_RELAXED);
}

bool fm_opening_is_large_team(void)
{
	return __atomic_load_n(&windows.team, __ATOMIC_RELAXED) >= LARGE_TEAM;
}

bool fm_opening_is_team(void)
{
	return __atomic_load_n(&windows.team, __ATOMIC_RELAXED) > 1;
}

static uint32_t epoch_of(uint64_t state)
{
	return (uint32_t)(state >> 32);
}

static uint64_t load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static bool change(uint64_t *state, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool is_open(uint64_t state, uint64_t now)
{
	return (uint32_t)state && now - load(&windows.opened_ns) < LONGEST_NS;
}

bool fm_window_is_open(void)
{
	return is_open(load(&windows.state), now_ns());
}

static double smaller(double one, double other)
{
	return one < other ? one : other;
}

static double larger(double one, double other)
{
	return one > other ? one : other;
}

static double longest_pause(uint64_t now)
{
	return larger(LONGEST_PAUSE_NS, (double)now / LONGEST_PART);
}

bool fm_window_is_due(const struct fm_place *place)
{
	uint64_t state, now, next;

	if (fm_session->mode != FM_TRACE_WINDOWS || fm_stopped || fm_session->stop || place->epoch ||
	    place->pace.step || (fm_session->region[0] && !place->region_depth))
		return false;
	state = load(&windows.state);
	now = now_ns();
	if (is_open(state, now))
		return place->last_epoch != epoch_of(state) &&
		       (!fm_opening_is_large_team() || windows.members < MEMBERS);
	if (windows.turn)
		return windows.turn != windows.last_turn;
	/* the last window must be read, most of it, or threads would wait in the next one; but not for ever, where the
	   lines that are followed keep the reader busy */
	next = load(&windows.next_ns);
	return now >= next && (!fm_rings_are_behind() || (double)(now - next) > longest_pause(now));
}

/* The number of the window that the thread is in now, 0: none. */
static uint32_t open_or_join(const struct fm_place *place)
{
	uint64_t state = load(&windows.state), now = now_ns();
	uint32_t epoch = epoch_of(state);

	if (is_open(state, now)) {
		if (place->last_epoch == epoch || !change(&windows.state, state, state + 1))
			return 0;
		__atomic_fetch_add(&windows.members, 1, __ATOMIC_RELAXED);
		return epoch;
	}
	if ((!windows.turn && now < load(&windows.next_ns)) ||
	    !change(&windows.state, state, (uint64_t)(epoch + 1) << 32 | 1))
		return 0;
	__atomic_store_n(&windows.members, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&windows.last_turn, windows.turn, __ATOMIC_RELAXED);
	__atomic_store_n(&windows.opened_ns, now, __ATOMIC_RELAXED);
	__atomic_store_n(&windows.next_ns, now, __ATOMIC_RELAXED);
	fm_add(&fm_head()->windows, 1);
	return epoch + 1;
}

/* Entries of the thread's window, references and pieces: in a team, no more than the ring has room for. */
static uint64_t most_entries(const struct fm_place *place)
{
	uint64_t room = fm_ring_room(place) / 4 * 3,
	         share = fm_opening_is_large_team() ? LARGE_TEAM_ENTRIES : MEMBER_ENTRIES;

	return room < share ? room : share;
}

static bool is_half(const struct fm_place *place)
{
	return place->references >= fm_session->window_warm ||
	       place->written - place->window_from >= place->window_entries / 2;
}

static bool is_whole(const struct fm_place *place)
{
	return place->references >= fm_session->window_references ||
	       place->written - place->window_from >= place->window_entries;
}

bool fm_window_begin(struct fm_place *place)
{
	if (!fm_window_is_due(place))
		return false;
	/* a thread of one window, or of short ones, or one that cannot log, is not worth the memory */
	if (((place->last_epoch && place->translators[FM_LOGGING]) || fm_opening_is_team()) &&
	    fm_session->window_references > FM_TRACE_RING)
		fm_ring_enlarge(place);
	if (fm_opening_is_team() && most_entries(place) < LEAST_ENTRIES)
		return false;
	place->epoch = open_or_join(place);
	if (!place->epoch)
		return false;
	place->last_epoch = place->epoch;
	place->references = 0;
	place->window_from = place->written;
	place->window_entries = fm_opening_is_team() ? most_entries(place) : UINT64_MAX;
	place->window_began = fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	place->window_until = place->window_began + (fm_session->window_warm ? WINDOW_NS / 2 : WINDOW_NS);
	place->window_waited = place->waited;
	place->current = FM_LOGGING;
	fm_ring_control(place, FM_TRACE_WINDOW_BEGIN, place->epoch);
	place->warm = !fm_session->window_warm;
	if (place->warm)
		fm_ring_control(place, FM_TRACE_WINDOW_WARM, 0);
	return true;
}

bool fm_window_begin_early(struct fm_place *place)
{
	return fm_place_random(place) % EARLY_ONE_OF == 0 && fm_window_begin(place);
}

size_t fm_window_room(const struct fm_place *place)
{
	uint64_t until = place->warm ? fm_session->window_references : fm_session->window_warm, left;

	left = until > place->references ? until - place->references : 1;
	/* pieces take room too: not one by one at the end */
	if (fm_session->log_pieces && left < LEAST_ROOM)
		left = LEAST_ROOM;
	return left < FM_LOG_ENTRIES ? (size_t)left : FM_LOG_ENTRIES;
}

bool fm_window_is_over(const struct fm_place *place)
{
	return place->epoch && place->epoch != epoch_of(load(&windows.state));
}

bool fm_window_is_late(const struct fm_place *place)
{
	return place->epoch && fm_clock_ns(CLOCK_THREAD_CPUTIME_ID) >= place->window_until + WINDOW_NS / 2;
}

bool fm_window_goes_on(struct fm_place *place)
{
	uint64_t now = fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!place->warm && (is_half(place) || now >= place->window_until)) {
		fm_ring_control(place, FM_TRACE_WINDOW_WARM, 0);
		place->warm = true;
		place->window_until = (now > place->window_until ? now : place->window_until) + WINDOW_NS / 2;
	}
	if (!is_whole(place) && now < place->window_until && !fm_window_is_over(place) && !fm_stopped)
		return true;
	fm_window_end(place);
	return false;
}

static double ticks_per_second(void)
{
	return fm_session->ticks_per_second ? (double)fm_session->ticks_per_second : 1e9;
}

/* What the window has cost the thread, which may have slept meanwhile for reasons of its own. */
static uint64_t window_ticks(const struct fm_place *place)
{
	uint64_t ns = fm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - place->window_began;

	return (uint64_t)((double)ns * 1e-9 * ticks_per_second()) + place->waited - place->window_waited;
}

/* What came since it was asked last. */
static double since(uint64_t *last, uint64_t now)
{
	return (double)(int64_t)(now - __atomic_exchange_n(last, now, __ATOMIC_RELAXED));
}

/* What the reader has cost the program since a thread last left a window, s. Nothing where it had a processor of its
   own. Where it had to wait for one it has kept others from theirs for as long, or for as long as it ran; the program
   is one of them, for its share of what the reader leaves. The time for which the thread waited is counted already. */
static double reader_cost(double waited)
{
	const struct fm_trace_head *head = fm_head();
	double ran = since(&windows.read_ns, load(&head->read_ns)),
	       took = since(&windows.read_wall_ns, load(&head->read_wall_ns)),
	       program = since(&windows.process_ns, now_ns()),
	       wall = since(&windows.wall_ns, fm_clock_ns(CLOCK_MONOTONIC)), busy = wall > 0 ? program / wall : 1,
	       left = (double)head->processors - (took > 0 ? ran / took : 0), share = left > busy ? busy / left : 1;

	return larger(0, smaller(ran, took - ran) * 1e-9 * share - waited);
}

/* The pause, from the end of the window on or added to what other threads of it have asked for. */
static void put_off_next(struct fm_place *place, uint64_t ticks)
{
	double waited = (double)(place->waited - place->window_waited) / ticks_per_second(),
	       cost = (double)ticks / ticks_per_second() + reader_cost(waited),
	       slowdown = fm_session->slowdown > 1.001 ? fm_session->slowdown : 1.001,
	       jitter = 0.5 + (double)(fm_place_random(place) >> 11) / (double)(1ull << 53),
	       pause = cost / (slowdown - 1) * 1e9 * jitter;
	uint64_t now = now_ns(), next, later,
	         all = __atomic_add_fetch(&windows.spent, (uint64_t)(cost * ticks_per_second()), __ATOMIC_RELAXED);

	/* a short program can be looked at more closely: it takes no long time anyway */
	if ((double)all < EARLY_SECONDS * ticks_per_second())
		pause = smaller(pause, larger(EARLY_PAUSE_NS, (double)now / EARLY_PART) * jitter);
	pause = smaller(pause, longest_pause(now) * jitter);
	if (pause < SHORTEST_PAUSE_NS)
		pause = SHORTEST_PAUSE_NS * jitter;
	if (fm_head()->enough)
		pause *= RARE;
	do {
		next = load(&windows.next_ns);
		later = (next > now ? next : now) + (uint64_t)pause;
	} while (!change(&windows.next_ns, next, later));
}

void fm_window_end(struct fm_place *place)
{
	uint32_t epoch = place->epoch;
	uint64_t state, ticks;

	if (!epoch)
		return;
	place->epoch = 0;
	place->current = fm_place_usual(place);
	if (!fm_is_alive())
		return;
	ticks = window_ticks(place);
	fm_place_publish(place);
	fm_ring_control(place, FM_TRACE_WINDOW_END, fm_places_instructions());
	fm_add(&fm_head()->window_ticks, ticks);
	put_off_next(place, ticks);
	do
		state = load(&windows.state);
	while (epoch_of(state) == epoch && !change(&windows.state, state, state - 1));
}
