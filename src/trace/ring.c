#include "trace/ring.h"

#include "trace/opening.h"

#include <string.h>

#include "trace/x86_64/copy.h"

enum {
	PATIENCE_NS = 100000000,
	PATIENCE = 100,             /* times without anything read, and without a sign of life */
	ENOUGH = FM_TRACE_RING / 4, /* for the reader to begin, however large the ring is */
	BEHIND = FM_TRACE_LARGE / 16,
	KEPT = 256,                         /* entries of a team's ring that are for control */
	SMALLER_LARGE = FM_TRACE_LARGE / 4, /* of large teams, and where there is little memory */
	TOUCHED = FM_TRACE_LARGE / 4,       /* entries of a large ring that are prepared at once */
};

_Static_assert(sizeof(struct fm_trace_entry) == sizeof(struct fm_translate_entry) &&
                   (int)FM_TRACE_PIECE == (int)FM_TRANSLATE_PIECE_ENTRY,
               "logged entries are copied as they are");

static bool gave_up;

static struct {
	struct fm_trace_entry *entries; /* NULL: not mapped */
	uint64_t size;
	uint32_t owner; /* number of the place, from 1 */
} large[FM_TRACE_LARGE_RINGS];
static uint32_t large_lock;

static struct fm_trace_thread *line_of(const struct fm_place *place)
{
	return &fm_file->threads[place->number];
}

static struct fm_trace_entry *entry_at(const struct fm_place *place, uint64_t at)
{
	return &place->ring[at & (place->ring_size - 1)];
}

static bool has_room(const struct fm_place *place, uint64_t read, uint64_t count)
{
	return place->written - read + count <= place->ring_size;
}

uint64_t fm_ring_room(const struct fm_place *place)
{
	return place->ring_size - (place->written - __atomic_load_n(&line_of(place)->read, __ATOMIC_ACQUIRE));
}

static void wake_reader(void)
{
	__atomic_fetch_add(&fm_session->published, 1, __ATOMIC_RELEASE);
	fm_wake(&fm_session->published);
}

static bool wait_for_room(struct fm_place *place, uint64_t count)
{
	struct fm_trace_thread *line = line_of(place);
	uint64_t began = fm_ticks(), read = __atomic_load_n(&line->read, __ATOMIC_ACQUIRE), before, beats, beaten = 0;
	unsigned idle = 0;

	while (!has_room(place, read, count) && idle < PATIENCE && !fm_session->stop) {
		__atomic_store_n(&line->waiting, 1, __ATOMIC_SEQ_CST);
		before = read;
		wake_reader();
		read = __atomic_load_n(&line->read, __ATOMIC_SEQ_CST);
		if (read == before)
			fm_wait((uint32_t *)&line->read, (uint32_t)read, PATIENCE_NS);
		read = __atomic_load_n(&line->read, __ATOMIC_ACQUIRE);
		/* one entry may be a string instruction over a gigabyte, and others' entries are read meanwhile */
		beats = __atomic_load_n(&fm_head()->beats, __ATOMIC_RELAXED);
		idle = read == before && beats == beaten ? idle + 1 : 0;
		if (idle && !fm_folder_reader_lives())
			break;
		beaten = beats;
	}
	__atomic_store_n(&line->waiting, 0, __ATOMIC_RELAXED);
	began = fm_ticks() - began;
	place->waited += began;
	place->waited_outside += place->epoch ? 0 : began;
	return has_room(place, read, count);
}

static bool make_room(struct fm_place *place, uint64_t count)
{
	if (!fm_is_alive() || gave_up)
		return false;
	if (has_room(place, __atomic_load_n(&line_of(place)->read, __ATOMIC_ACQUIRE), count) ||
	    wait_for_room(place, count))
		return true;
	/* nobody reads: other processes need not find that out too */
	gave_up = true;
	fm_stopped = 1;
	__atomic_store_n(&fm_session->stop, 1, __ATOMIC_RELAXED);
	return false;
}

/* Threads of a team wait for each other: what has no room is lost, and the thread leaves the code cache. */
static bool has_room_in_team(struct fm_place *place, uint64_t count)
{
	place->is_full = !has_room(place, __atomic_load_n(&line_of(place)->read, __ATOMIC_ACQUIRE), count + KEPT);
	return !place->is_full;
}

/* A reader that found nothing sleeps, for a while. It is woken for something that is worth it, since it may take this
   processor: when there is enough, and at the end. One that has not read everything will find this too. */
static void publish(struct fm_place *place, uint64_t count, bool at_end)
{
	struct fm_trace_thread *line = line_of(place);
	uint64_t before = place->written, read;

	place->written += count;
	__atomic_store_n(&line->written, place->written, __ATOMIC_SEQ_CST);
	read = __atomic_load_n(&line->read, __ATOMIC_SEQ_CST);
	if ((before - read < ENOUGH && place->written - read >= ENOUGH) || at_end)
		wake_reader();
}

bool fm_ring_take(struct fm_place *place)
{
	struct fm_trace_thread *line = line_of(place);

	if (__atomic_load_n(&line->read, __ATOMIC_ACQUIRE) != line->written)
		return false;
	if (!place->reserved) {
		if (fm_file_reserve(fm_file->rings[place->number], sizeof(fm_file->rings[0])) ||
		    fm_file_reserve(&fm_file->positions[place->number], sizeof(fm_file->positions[0])))
			return false;
		place->reserved = true;
	}
	place->written = line->written;
	place->ring = place->large ? large[place->large - 1].entries : fm_file->rings[place->number];
	place->ring_size = place->large ? large[place->large - 1].size : FM_TRACE_RING;
	place->stays_small = false;
	__atomic_store_n(&line->used, 1, __ATOMIC_RELEASE);
	return true;
}

/* Takes it from a place that no thread has, once everything in it is read. */
static bool take_from(uint32_t owner)
{
	struct fm_place *place = &fm_places[owner - 1];
	struct fm_trace_thread *line = &fm_file->threads[owner - 1];
	bool free;

	if (__atomic_exchange_n(&place->taken, 1, __ATOMIC_ACQUIRE))
		return false;
	free = __atomic_load_n(&line->read, __ATOMIC_ACQUIRE) == line->written;
	if (free)
		place->large = line->large = 0;
	__atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
	return free;
}

/* From 1; 0: none. */
static uint32_t find_large(void)
{
	uint32_t most = fm_head()->large_rings;

	if (most > FM_TRACE_LARGE_RINGS)
		most = FM_TRACE_LARGE_RINGS;
	for (uint32_t i = 0; i < most; i++)
		if (large[i].entries && take_from(large[i].owner))
			return i + 1;
	for (uint32_t i = 0; i < most; i++)
		if (!large[i].entries) {
			large[i].size = fm_opening_is_large_team() ? SMALLER_LARGE : FM_TRACE_LARGE;
			large[i].entries = fm_file_large_ring(i, large[i].size, TOUCHED);
			if (!large[i].entries && large[i].size > SMALLER_LARGE) {
				large[i].size = SMALLER_LARGE;
				large[i].entries = fm_file_large_ring(i, SMALLER_LARGE, TOUCHED);
			}
			return large[i].entries ? i + 1 : 0;
		}
	return 0;
}

void fm_ring_enlarge(struct fm_place *place)
{
	struct fm_trace_thread *line = line_of(place);

	/* the reader says what it can read when it begins; whoever finds the lock taken asks again some other time */
	if (place->large || place->stays_small || !fm_head()->large_rings ||
	    __atomic_exchange_n(&large_lock, 1, __ATOMIC_ACQUIRE))
		return;
	place->large = find_large();
	if (place->large) { /* not read at once */
		large[place->large - 1].owner = place->number + 1;
		place->ring = large[place->large - 1].entries;
		place->ring_size = large[place->large - 1].size;
		line->large_size = (uint32_t)place->ring_size;
		line->large_from = place->written;
		__atomic_store_n(&line->large, place->large, __ATOMIC_RELEASE);
	}
	place->stays_small = !place->large;
	__atomic_store_n(&large_lock, 0, __ATOMIC_RELEASE);
}

void fm_rings_forked(void)
{
	for (unsigned i = 0; i < FM_TRACE_LARGE_RINGS; i++)
		if (large[i].entries)
			fm_system_call(SYS_munmap, (long)large[i].entries,
			               (long)(large[i].size * sizeof(struct fm_trace_entry)), 0, 0, 0, 0);
	memset(large, 0, sizeof(large));
	large_lock = 0;
}

bool fm_rings_are_behind(void)
{
	for (unsigned i = 0; i < FM_TRACE_LARGE_RINGS; i++) {
		uint32_t owner = __atomic_load_n(&large[i].owner, __ATOMIC_RELAXED);
		const struct fm_trace_thread *line = &fm_file->threads[owner ? owner - 1 : 0];

		if (owner &&
		    __atomic_load_n(&line->written, __ATOMIC_RELAXED) - __atomic_load_n(&line->read, __ATOMIC_RELAXED) >
		        BEHIND)
			return true;
	}
	return false;
}

bool fm_rings_have_room(void)
{
	for (const struct fm_place *place = fm_places; place < fm_places + FM_TRACE_THREADS; place++)
		if (place->begun && 2 * fm_ring_room(place) < place->ring_size)
			return false;
	return true;
}

void fm_ring_release(struct fm_place *place)
{
	if (fm_is_alive())
		__atomic_store_n(&line_of(place)->used, 0, __ATOMIC_RELEASE);
}

void fm_ring_control(struct fm_place *place, enum fm_trace_control control, uint64_t value)
{
	if (!make_room(place, 1))
		return;
	*entry_at(place, place->written) = (struct fm_trace_entry){value, FM_TRACE_CONTROL | control};
	publish(place, 1, control == FM_TRACE_THREAD_END);
}

static void copy(const struct fm_place *place, uint64_t at, const struct fm_translate_entry *entries, size_t count)
{
	size_t first = place->ring_size - (at & (place->ring_size - 1));

	if (first > count)
		first = count;
	if (place->large) { /* not read at once */
		fm_copy_past(entry_at(place, at), entries, first * sizeof(*entries));
		fm_copy_past(entry_at(place, 0), entries + first, (count - first) * sizeof(*entries));
		fm_copy_past_end();
		return;
	}
	memcpy(entry_at(place, at), entries, first * sizeof(*entries));
	memcpy(entry_at(place, 0), entries + first, (count - first) * sizeof(*entries));
}

void fm_ring_log(struct fm_place *place, const struct fm_translate_entry *entries, size_t count)
{
	uint64_t ended = fm_ticks(), at = place->written;

	if (fm_opening_is_team() ? !has_room_in_team(place, count + 2) : !make_room(place, count + 2)) {
		if (fm_is_alive())
			fm_add(&fm_head()->lost_entries, count);
		return;
	}
	*entry_at(place, at) = (struct fm_trace_entry){place->began, FM_TRACE_CONTROL | FM_TRACE_BEGAN};
	copy(place, at + 1, entries, count);
	*entry_at(place, at + 1 + count) = (struct fm_trace_entry){ended, FM_TRACE_CONTROL | FM_TRACE_ENDED};
	publish(place, count + 2, false);
	place->began = fm_ticks();
}
