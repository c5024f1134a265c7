#include "trace/client.h"

#include <errno.h>

#include "trace/laboratory.h"
#include "trace/numbers.h"
#include "trace/pace.h"
#include "trace/ring.h"
#include "trace/runtime.h"
#include "trace/opening.h"

_Static_assert((int)FM_LEFT_REASONS <= (int)FM_TRACE_REASONS, "every reason has a counter");

enum { ROOM_AFTER_CALL = 64, LOOP_COPIES = 8 };

/* Compilers and browsers execute more code than the usual cache holds: a C++ compiler took 20 times as long as
   natively, most of it for the same code again. What is not used of it is only addresses, 0.3 GiB of them with all
   tables. */
enum { LARGE_CODE = 64 << 20, LARGE_CODES = 8 };
#define LARGE_ADDRESSES (300ull << 20)
#define LABORATORY_ADDRESSES (100ull << 20)

static enum fm_translate_choice choose(void *context, const struct fm_translate_site *site)
{
	struct fm_place *place = context;

	place->chosen = fm_number_site(site);
	return place->chosen == FM_NO_NUMBER ? FM_TRANSLATE_IGNORE : FM_TRANSLATE_LOGGED;
}

/* Asked right after choose(), or later: then it is found. */
static uint32_t number_site(void *context, const struct fm_translate_site *site)
{
	struct fm_place *place = context;
	const struct fm_trace_site *last;

	if (place->chosen != FM_NO_NUMBER) {
		last = &fm_file->sites[place->chosen];
		if (last->pc == site->pc && last->operand == site->operand)
			return place->chosen;
	}
	return fm_number_site(site);
}

static enum fm_translate_choice choose_lines(void *context, const struct fm_translate_site *site)
{
	return choose(context, site) == FM_TRANSLATE_LOGGED ? FM_TRANSLATE_FILTERED : FM_TRANSLATE_IGNORE;
}

static uint32_t number_line_site(void *context, const struct fm_translate_site *site)
{
	return FM_TRACE_LINE | number_site(context, site);
}

static uint32_t number_piece(void *context, const struct fm_translate_piece *piece)
{
	uint32_t number = fm_number_piece(piece);

	(void)context;
	return number == FM_NO_NUMBER ? FM_TRANSLATE_NO_PIECE : number;
}

static uint32_t number_mark(void *context, const struct fm_translate_piece *piece)
{
	uint32_t number = fm_pace_number(context, piece);

	return number == FM_NO_NUMBER ? FM_TRANSLATE_NO_PIECE : number;
}

static uint64_t count_references(const struct fm_translate_entry *entries, size_t count)
{
	uint64_t references = 0;

	if (!fm_session->log_pieces)
		return count;
	for (size_t i = 0; i < count; i++)
		references += entries[i].site < FM_TRANSLATE_PIECE_ENTRY;
	return references;
}

static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	struct fm_place *place = context;

	if (!fm_is_alive() || !place->begun)
		return;
	place->references += count_references(entries, count);
	fm_ring_log(place, entries, count);
}

/* Many at a time, more than a ring may have room for. */
static void on_lines(void *context, const struct fm_translate_entry *entries, size_t count)
{
	struct fm_place *place = context;

	if (!fm_is_alive() || !place->begun)
		return;
	for (size_t at = 0; at < count; at += FM_LOG_ENTRIES)
		fm_ring_log(place, entries + at, count - at < FM_LOG_ENTRIES ? count - at : FM_LOG_ENTRIES);
}

static bool on_full(void *context)
{
	struct fm_place *place = context;

	/* in a forked child that will soon be told of it: nothing of this is its own */
	if (!fm_is_alive())
		return !fm_stopped;
	if (fm_stopped || fm_session->stop) {
		fm_place_end(place);
		return false;
	}
	if (fm_session->mode == FM_TRACE_EXACT)
		return true;
	if (!place->epoch || !fm_window_goes_on(place)) {
		fm_place_hand_over(place, FM_LOGGING);
		return false;
	}
	fm_translator_set_room(place->translators[FM_LOGGING], fm_window_room(place));
	return true;
}

/* Others than we ask for: of code that cannot be translated. */
static void on_leave(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	struct fm_place *place = context;

	(void)pc;
	(void)registers;
	if (reason == FM_LEFT_ASKED || reason == FM_LEFT_FUEL || !fm_is_alive())
		return;
	fm_add(&fm_head()->left[reason], 1);
	fm_window_end(place);
}

/* The order in which threads did things matters where they ask the kernel for something. When the call returns is not
   seen: only what is logged right after it gets a time stamp from before. */
static bool on_system_call(void *context, uint64_t number)
{
	struct fm_place *place = context;

	if (!fm_is_alive())
		return true;
	if (fm_session->mode == FM_TRACE_EXACT)
		fm_translator_set_room(place->translators[FM_LOGGING], ROOM_AFTER_CALL);
	if (number == SYS_exit_group)
		fm_runtime_end();
	if (number == SYS_execve || number == SYS_execveat) {
		fm_place_deliver(place);
		fm_runtime_publish();
	}
	return true;
}

static void on_filter(void *context)
{
	fm_runtime_stop_before_filter(context);
}

static int open_counters(struct fm_place *place, unsigned which)
{
	int error = fm_counters_open(&place->counters[which], fm_translator_counters(place->translators[which]));

	if (error)
		fm_translator_destroy(place->translators[which]);
	return error;
}

int fm_client_create(struct fm_place *place, unsigned which)
{
	struct fm_translate_client client = {
	    .context = place,
	    .number_piece = number_piece,
	    .on_filter = on_filter,
	    .on_leave = on_leave,
	};
	struct fm_translate_options options = {
	    .client = &client,
	    .count_pieces = true,
	};

	if (which == FM_UNDO || which == FM_TIMED) {
		fm_laboratory_options(&client, &options, which);
		return fm_has_addresses(LABORATORY_ADDRESSES) &&
		               !fm_translator_create(&options, &place->translators[which])
		           ? 0
		           : -ENOMEM;
	}
	if (which == FM_LOGGING) {
		client.choose = choose;
		client.number_site = number_site;
		client.on_log = on_log;
		client.on_full = on_full;
		client.on_system_call = on_system_call;
		options.log_entries = FM_LOG_ENTRIES;
		options.log_pieces = fm_session->log_pieces;
	} else if (which == FM_PLAIN) {
		client.number_piece = number_mark;
		options.loop_copies = LOOP_COPIES;
	} else if (fm_session->mode == FM_TRACE_WINDOWS && fm_session->line_limit) {
		client.choose = choose_lines;
		client.number_site = number_line_site;
		client.on_log = on_lines;
		options.log_entries = FM_LINE_ENTRIES;
		options.filter = (struct fm_translate_filter){fm_session->line_multiplier, fm_session->line_limit,
		                                              fm_session->line_offset};
	}
	if (place - fm_places < LARGE_CODES && fm_has_addresses(LARGE_ADDRESSES)) {
		options.code_size = LARGE_CODE;
		if (!fm_translator_create(&options, &place->translators[which]))
			return open_counters(place, which);
		options.code_size = 0;
	}
	if (fm_translator_create(&options, &place->translators[which]))
		return -ENOMEM;
	return open_counters(place, which);
}
