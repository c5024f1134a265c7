#include "native/ring.h"

#include <string.h>

enum {
	PATIENCE_NS = 100000000,
	PATIENCE = 100, /* times without anything read */
	ENOUGH = FM_TRACE_RING / 4,
};

_Static_assert(sizeof(struct fm_trace_entry) == sizeof(struct fm_translate_entry) &&
                   (int)FM_TRACE_PIECE == (int)FM_TRANSLATE_PIECE_ENTRY,
               "logged entries are copied as they are");

static bool gave_up;

static struct fm_trace_thread *line_of(const struct fm_place *place)
{
	return &fm_file->threads[place->number];
}

static struct fm_trace_entry *entry_at(const struct fm_place *place, uint64_t at)
{
	return &fm_file->rings[place->number][at % FM_TRACE_RING];
}

static bool has_room(const struct fm_place *place, uint64_t read, uint64_t count)
{
	return place->written - read + count <= FM_TRACE_RING;
}

static void wake_reader(void)
{
	__atomic_fetch_add(&fm_session->published, 1, __ATOMIC_RELEASE);
	fm_wake(&fm_session->published);
}

static bool wait_for_room(struct fm_place *place, uint64_t count)
{
	struct fm_trace_thread *line = line_of(place);
	uint64_t began = fm_ticks(), read = __atomic_load_n(&line->read, __ATOMIC_ACQUIRE), before;
	unsigned idle = 0;

	while (!has_room(place, read, count) && idle < PATIENCE && !fm_session->stop) {
		__atomic_store_n(&line->waiting, 1, __ATOMIC_SEQ_CST);
		before = read;
		wake_reader();
		read = __atomic_load_n(&line->read, __ATOMIC_SEQ_CST);
		if (read == before)
			fm_wait((uint32_t *)&line->read, (uint32_t)read, PATIENCE_NS);
		read = __atomic_load_n(&line->read, __ATOMIC_ACQUIRE);
		idle = read == before ? idle + 1 : 0;
	}
	__atomic_store_n(&line->waiting, 0, __ATOMIC_RELAXED);
	place->waited += fm_ticks() - began;
	return has_room(place, read, count);
}

static bool make_room(struct fm_place *place, uint64_t count)
{
	if (!fm_file_is_open() || gave_up)
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
		if (fm_file_reserve(fm_file->rings[place->number], sizeof(fm_file->rings[0])))
			return false;
		place->reserved = true;
	}
	place->written = line->written;
	__atomic_store_n(&line->used, 1, __ATOMIC_RELEASE);
	return true;
}

void fm_ring_release(struct fm_place *place)
{
	if (fm_file_is_open())
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
	size_t first = FM_TRACE_RING - at % FM_TRACE_RING;

	if (first > count)
		first = count;
	memcpy(entry_at(place, at), entries, first * sizeof(*entries));
	memcpy(entry_at(place, 0), entries + first, (count - first) * sizeof(*entries));
}

void fm_ring_log(struct fm_place *place, const struct fm_translate_entry *entries, size_t count)
{
	uint64_t ended = fm_ticks(), at = place->written;

	if (!make_room(place, count + 2)) {
		if (fm_file_is_open())
			fm_add(&fm_head()->lost_entries, count);
		return;
	}
	*entry_at(place, at) = (struct fm_trace_entry){place->began, FM_TRACE_CONTROL | FM_TRACE_BEGAN};
	copy(place, at + 1, entries, count);
	*entry_at(place, at + 1 + count) = (struct fm_trace_entry){ended, FM_TRACE_CONTROL | FM_TRACE_ENDED};
	publish(place, count + 2, false);
	place->began = fm_ticks();
}
