#include "trace/laboratory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/mappings.h"
#include "trace/numbers.h"
#include "trace/opening.h"
#include "trace/plan.h"
#include "trace/x86_64/first_cache.h"
#include "trace/x86_64/placing.h"

enum {
	ENTRIES = 1 << 17, /* of the log */
	STRETCHES = 24,    /* of natural time, at most … */
	STRETCHES_LEAST = 4,
	STAMPS = 64,
	NATURAL_NS = 300000, /* … and about as long, after … */
	RUN_UP_NS = 150000,  /* … what the tick has driven out of the caches has come back */
	LATE_NS = 4000000,   /* after which nothing is waited for */
	SHORTEST_PAUSE_NS = 2000000,
	PAUSE_PART = 1000,    /* of the time so far, at least: the room for results must last */
	EARLY_NS = 300000000, /* in which it may cost EARLY times as much */
	EARLY = 3,
	INTERRUPT_NS = 10000, /* more than this beyond what is usual is not the program's time */
	SECOND_ONE_OF = 4,    /* times that lines are placed in the second cache */
	UNKNOWN_SITE = (1 << 28) - 1,
	THREADS_OF_ONE = 3, /* links of a folder with one thread */
	PAGES = 64,         /* that processors translate without delay, if they do not say … */
	PAGES_PART = 4,     /* … of which one part of this many stays free */
	PAGES_SECOND = 512, /* that they translate with little delay, for stretches below SHORT_NS */
	SHORT_NS = 250,
	CODE_BYTES = 64 << 10,
	MOST_LOADS = CODE_BYTES / FM_PLACING_LOAD - 1,
};

enum step { IDLE, RUN_UP, NATURAL, LOGGING, PLACING, TIMING };

static struct {
	bool opened;
	bool refused; /* for good: no memory */
	bool natural; /* it is the turn of natural time */
	bool disturbed;
	bool halve; /* it is the turn of a short stretch */
	uint8_t step, kind;
	uint64_t mark;       /* 0: none yet … */
	uint32_t apart;      /* … visits of a stretch of natural time … */
	double per_visit;    /* … instructions of a visit … */
	double usual;        /* … and its ticks in natural time, 0: not known */
	uint64_t timed_mark; /* of the present translations */
	uint64_t next_ns, began_ns, began;
	uint64_t exits; /* of the translator when the lines were placed */
	const struct fm_translate_entry *entries;
	size_t count;
	unsigned parts; /* in which the log was delivered: one, or it does not reach back to the begin */
	uint32_t release;
	struct fm_translate_state state;
	struct fm_plan_limits first, second; /* with pages that are translated with, or nearly without delay */
	struct fm_plan plan;
	uint64_t times[STRETCHES + 1];
	unsigned run_up, stretches; /* of the present natural time */
	uint64_t stamp;             /* ticks that reading the clock takes */
	uint64_t called;            /* ticks of the latest system call */
	struct fm_mappings mappings;
	uint8_t *frame, *code;
	uint8_t *evicting; /* as large as two first caches */
	uint64_t evicting_lines;
} lab;

static uint64_t process_ns(void)
{
	return fm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t thread_ns(void)
{
	return fm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void fm_laboratory_prepare(void)
{
	lab.step = IDLE;
	lab.natural = false;
	lab.next_ns = process_ns() + SHORTEST_PAUSE_NS;
}

static void *map(size_t size)
{
	return fm_map(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static uint64_t shortest_stamp(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < STAMPS; i++) {
		uint64_t begin = fm_placing_clock(), ticks = fm_placing_clock() - begin;

		if (ticks < least)
			least = ticks;
	}
	return least;
}

static bool open_laboratory(const struct fm_translator *translator)
{
	size_t frame = (fm_translator_frame_size() + 63) & ~(size_t)63;
	struct fm_first_cache first;
	uint32_t pages;

	if (lab.opened)
		return true;
	if (!fm_first_cache(&first))
		return false;
	pages = fm_first_pages();
	pages = pages ? pages : PAGES;
	lab.first = (struct fm_plan_limits){first.line, first.sets, first.ways, pages - pages / PAGES_PART};
	lab.second = lab.first;
	lab.second.pages = PAGES_SECOND;
	lab.evicting_lines = 2ull * first.sets * first.ways;
	if (fm_file_reserve(&fm_file->timings, sizeof(fm_file->timings)))
		return false;
	if (!lab.frame)
		lab.frame = map(frame + fm_translator_vectors_size(translator));
	if (!lab.code)
		lab.code = map(CODE_BYTES);
	if (!lab.evicting)
		lab.evicting = map(lab.evicting_lines * lab.first.line);
	if (!lab.frame || !lab.code || !lab.evicting)
		return false;
	lab.state.vectors = lab.frame + frame;
	lab.stamp = shortest_stamp();
	memset(lab.evicting, 1, lab.evicting_lines * lab.first.line);
	return lab.opened = true;
}

static void note(const struct fm_trace_timing *timing)
{
	struct fm_trace_timings *timings = &fm_file->timings;

	if (!fm_is_alive())
		return;
	if (timings->count == FM_TRACE_TIMINGS) {
		timings->lost++;
		return;
	}
	timings->list[timings->count] = *timing;
	__atomic_store_n(&timings->count, timings->count + 1, __ATOMIC_RELEASE);
}

static void note_problem(enum fm_timing_problem problem)
{
	note(&(struct fm_trace_timing){.mark = lab.mark, .kind = lab.kind, .problem = (uint16_t)problem});
}

static bool is_natural(void)
{
	return lab.step == RUN_UP || lab.step == NATURAL;
}

/* The pause follows from what the latest round has cost. */
static void end_round(struct fm_place *place)
{
	uint64_t now = process_ns(), ns = thread_ns() - lab.began_ns;
	double share = fm_session->laboratory > 0.001 ? fm_session->laboratory : 0.001, pause;

	if (now < EARLY_NS)
		share *= EARLY;
	pause = is_natural() ? 0 : (double)ns / share;
	if (pause < (double)now / PAUSE_PART)
		pause = (double)now / PAUSE_PART;
	if (pause < SHORTEST_PAUSE_NS)
		pause = SHORTEST_PAUSE_NS;
	pause *= 0.5 + (double)(fm_place_random(place) >> 11) / (double)(1ull << 53);
	lab.next_ns = now + (uint64_t)pause;
	if (!is_natural() && fm_is_alive())
		fm_add(&fm_head()->window_ticks, (uint64_t)((double)ns * 1e-9 * (double)fm_session->ticks_per_second));
	lab.step = IDLE;
	if (place->current == FM_TIMED)
		place->current = fm_place_usual(place);
}

/* The program went on as usual meanwhile. */
static void end_natural(struct fm_place *place, uint64_t visits)
{
	uint64_t ns = thread_ns() - lab.began_ns;

	if (fm_is_alive()) {
		fm_add(&fm_head()->plain_ns, ns);
		if (visits)
			fm_add(&fm_head()->plain_instructions, (uint64_t)((double)visits * lab.per_visit));
		else
			fm_add(&fm_head()->plain_unknown_ns, ns);
	}
	end_round(place);
}

static void sort(uint64_t *values, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		for (unsigned k = i; k && values[k - 1] > values[k]; k--) {
			uint64_t value = values[k];

			values[k] = values[k - 1];
			values[k - 1] = value;
		}
}

static uint64_t without_stamps(uint64_t ticks, unsigned count)
{
	return ticks > count * lab.stamp ? ticks - count * lab.stamp : 0;
}

/* Without stretches in which the program called the kernel, and without what interrupts take. */
static void note_natural(struct fm_place *place)
{
	uint64_t durations[STRETCHES], sum = 0,
	                               most = (uint64_t)(INTERRUPT_NS * 1e-9 * (double)fm_session->ticks_per_second);
	unsigned count = 0, kept = 0;

	for (unsigned i = 0; i < lab.stretches; i++)
		if (!lab.called || lab.called < lab.times[i] || lab.called > lab.times[i + 1])
			durations[count++] = lab.times[i + 1] - lab.times[i];
	sort(durations, count);
	for (unsigned i = 0; i < count && durations[i] <= durations[count / 2] + most; i++, kept++)
		sum += durations[i];
	if (2 * kept > lab.stretches && !lab.disturbed) {
		lab.usual = (double)sum / (kept * lab.apart);
		note(&(struct fm_trace_timing){.mark = lab.mark,
		                               .kind = FM_TIMING_NATURAL,
		                               .ticks = without_stamps(sum, kept),
		                               .visits = kept * lab.apart,
		                               .instructions = (uint32_t)(kept * lab.apart * lab.per_visit)});
	}
	end_natural(place, (uint64_t)lab.apart * (lab.run_up + lab.stretches));
}

static uint64_t exits(const struct fm_translator *translator)
{
	const struct fm_translate_counts *counts = fm_translator_counts(translator);

	return counts->blocks + counts->chained + counts->looked_up + counts->flushed + counts->entered +
	       counts->system_calls;
}

static void note_placed(struct fm_place *place)
{
	struct fm_trace_timing timing = {.mark = lab.mark,
	                                 .kind = lab.kind,
	                                 .ticks = without_stamps(lab.times[1] - lab.times[0], 1),
	                                 .visits = lab.plan.until - lab.plan.from,
	                                 .instructions = lab.plan.instructions,
	                                 .lines = (uint16_t)lab.plan.line_count,
	                                 .pages = (uint16_t)lab.plan.page_count};

	if (exits(place->translators[FM_TIMED]) != lab.exits)
		note_problem(FM_TIMING_TRANSLATED);
	else if (lab.disturbed)
		note_problem(FM_TIMING_DISTURBED);
	else
		note(&timing);
	end_round(place);
}

/* A stretch of the run-up has ended. */
static void go_on_naturally(const struct fm_place *place)
{
	uint64_t ns = thread_ns() - lab.began_ns;

	if (++lab.run_up == 1 || ns < RUN_UP_NS) {
		fm_translator_set_visits(place->translators[FM_TIMED], lab.apart, 1, lab.times, 1);
		return;
	}
	lab.stretches = (unsigned)(NATURAL_NS / (ns / lab.run_up + 1));
	lab.stretches = lab.stretches > STRETCHES         ? STRETCHES
	                : lab.stretches < STRETCHES_LEAST ? STRETCHES_LEAST
	                                                  : lab.stretches;
	lab.step = NATURAL;
	fm_translator_set_visits(place->translators[FM_TIMED], 1, lab.apart, lab.times, lab.stretches + 1);
}

static bool on_visit(void *context)
{
	struct fm_place *place = context;

	if (lab.step == RUN_UP) {
		go_on_naturally(place);
		return true;
	}
	if (lab.step == PLACING) {
		fm_translator_set_visits(place->translators[FM_TIMED], lab.plan.from - lab.plan.place_at,
		                         lab.plan.until - lab.plan.from, lab.times, 2);
		lab.exits = exits(place->translators[FM_TIMED]);
		lab.step = TIMING;
		fm_placing_run(lab.code);
		return true;
	}
	if (lab.step == TIMING)
		note_placed(place);
	else if (lab.step == NATURAL)
		note_natural(place);
	return false;
}

static void on_leave_timed(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	struct fm_place *place = context;

	(void)reason;
	(void)pc;
	(void)registers;
	if (is_natural())
		end_natural(place, 0);
	else if (lab.step != IDLE)
		end_round(place);
	fm_place_hand_over(place, FM_TIMED);
}

static bool on_system_call_timed(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	lab.called = fm_ticks();
	return is_natural();
}

static uint32_t number_mark(void *context, const struct fm_translate_piece *piece)
{
	(void)context;
	return piece->end != FM_TRANSLATE_CUT && piece->pc + piece->bytes == lab.timed_mark ? 0 : FM_TRANSLATE_NO_PIECE;
}

/* All of them: what is not logged cannot be undone. */
static enum fm_translate_choice choose(void *context, const struct fm_translate_site *site)
{
	(void)context;
	(void)site;
	return FM_TRANSLATE_LOGGED;
}

static uint32_t number_site(void *context, const struct fm_translate_site *site)
{
	uint32_t number = fm_number_site(site);

	(void)context;
	return number == FM_NO_NUMBER ? UNKNOWN_SITE : number;
}

static uint32_t number_piece(void *context, const struct fm_translate_piece *piece)
{
	uint32_t number = fm_number_piece(piece);

	(void)context;
	return number == FM_NO_NUMBER ? FM_TRANSLATE_NO_PIECE : number;
}

static void on_log(void *context, const struct fm_translate_entry *entries, size_t count)
{
	(void)context;
	if (!count)
		return;
	lab.entries = entries;
	lab.count = count;
	lab.parts++;
}

static bool never(void *context)
{
	(void)context;
	return false;
}

static bool refuse(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return false;
}

static bool write_code(struct fm_place *place)
{
	uint8_t *at = lab.code;
	uint64_t *lines = lab.plan.lines;
	unsigned loads = 0;

	if (fm_failed(fm_system_call(SYS_mprotect, (long)lab.code, CODE_BYTES, PROT_READ | PROT_WRITE, 0, 0, 0)))
		return false;
	/* in no order that a prefetcher would see */
	for (uint32_t i = lab.plan.line_count; i > 1; i--) {
		uint32_t other = (uint32_t)(fm_place_random(place) % i);
		uint64_t line = lines[i - 1];

		lines[i - 1] = lines[other];
		lines[other] = line;
	}
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < lab.plan.line_count && loads < MOST_LOADS; i++, loads++)
			at = fm_placing_load(at, lines[i]);
	for (uint64_t i = 0; lab.kind == FM_TIMING_SECOND && i < lab.evicting_lines && loads < MOST_LOADS; i++, loads++)
		at = fm_placing_load(at, (uint64_t)lab.evicting + i * lab.first.line);
	fm_placing_return(at);
	return !fm_failed(fm_system_call(SYS_mprotect, (long)lab.code, CODE_BYTES, PROT_READ | PROT_EXEC, 0, 0, 0));
}

static bool uses_shared(const struct fm_plan_log *log)
{
	for (unsigned i = 0; i < lab.mappings.count; i++)
		if (!fm_plan_avoids(log, lab.mappings.shared[i].start, lab.mappings.shared[i].end))
			return true;
	return false;
}

/* Counts executions of the mark in new translations, if it is another one. */
static struct fm_translator *timed_translator(struct fm_place *place)
{
	struct fm_translator *translator;
	bool changed = lab.timed_mark != lab.mark;

	lab.timed_mark = lab.mark;
	translator = fm_place_translator_of(place, FM_TIMED);
	if (translator && changed)
		fm_translator_flush(translator);
	return translator;
}

/* Such a stretch has little time but that of its ends. */
static bool is_short(void)
{
	double ticks = (lab.plan.until - lab.plan.from) * lab.usual;

	return lab.usual > 0 && ticks < SHORT_NS * 1e-9 * (double)fm_session->ticks_per_second;
}

/* Whether the thread goes on from where it was, with everything set back. */
static enum fm_timing_problem set_back(struct fm_place *place)
{
	const struct fm_plan_log log = {.entries = lab.entries,
	                                .count = lab.count,
	                                .pieces = fm_file->pieces,
	                                .piece_count = fm_head()->piece_count,
	                                .sites = fm_file->sites,
	                                .site_count = fm_head()->site_count};
	enum fm_timing_problem problem;
	struct fm_translator *translator;

	if (lab.parts != 1)
		return FM_TIMING_SHORT;
	if (uses_shared(&log))
		return FM_TIMING_SHARED;
	problem = fm_plan_make(&log, lab.mark, &lab.first, &lab.plan);
	if (problem == FM_TIMING_OTHER_MARK) {
		lab.mark = fm_plan_choose(&log);
		lab.usual = 0;
		if (!lab.mark)
			return FM_TIMING_MARK;
		problem = fm_plan_make(&log, lab.mark, &lab.first, &lab.plan);
	}
	if (problem == FM_TIMING_SETS || (!problem && is_short()))
		problem = fm_plan_make(&log, lab.mark, &lab.second, &lab.plan);
	if (problem)
		return problem;
	if (lab.halve)
		fm_plan_halve(&log, lab.mark, &lab.plan);
	lab.apart = lab.plan.apart;
	lab.per_visit = (double)lab.plan.instructions / (lab.plan.until - lab.plan.from);
	lab.natural = true;
	translator = timed_translator(place);
	if (!translator || !write_code(place))
		return FM_TIMING_MEMORY;
	/* an earlier reading of the clock teaches the branch predictor the way back */
	if (lab.plan.place_at > lab.plan.step)
		fm_translator_set_visits(translator, lab.plan.place_at - lab.plan.step, lab.plan.step, lab.times, 2);
	else
		fm_translator_set_visits(translator, lab.plan.place_at, 1, lab.times, 1);
	fm_plan_undo(&log);
	return FM_TIMING_DONE;
}

static void on_leave_undo(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers)
{
	struct fm_place *place = context;
	enum fm_timing_problem problem;

	(void)reason;
	(void)pc;
	(void)registers;
	problem = lab.step == LOGGING && fm_is_alive() && place->wanted ? set_back(place) : FM_TIMING_DISTURBED;
	if (problem) {
		note_problem(problem);
		end_round(place);
	} else {
		lab.step = PLACING;
		place->current = FM_TIMED;
		fm_translator_rewind(place->translators[FM_UNDO], &lab.state);
	}
	fm_place_hand_over(place, FM_UNDO);
}

void fm_laboratory_options(struct fm_translate_client *client, struct fm_translate_options *options, unsigned which)
{
	options->count_pieces = false;
	if (which == FM_TIMED) {
		client->number_piece = number_mark;
		client->on_visit = on_visit;
		client->on_leave = on_leave_timed;
		client->on_system_call = on_system_call_timed;
		options->visits = true;
		options->loop_copies = FM_PLAN_COPIES;
		return;
	}
	client->choose = choose;
	client->number_site = number_site;
	client->number_piece = number_piece;
	client->on_log = on_log;
	client->on_full = never;
	client->on_system_call = refuse;
	client->on_leave = on_leave_undo;
	options->undo = true;
	options->log_pieces = true;
	options->with_fuel = true;
	options->log_entries = ENTRIES;
}

bool fm_laboratory_is_due(const struct fm_place *place)
{
	return fm_session->laboratory > 0 && !lab.refused && fm_session->mode == FM_TRACE_WINDOWS && !place->epoch &&
	       !place->pace.step && !place->resting && !place->stepped_out && place->current == FM_COUNTING &&
	       !fm_opening_is_team() && process_ns() >= lab.next_ns;
}

static bool has_one_thread(void)
{
	struct stat about = {0};

	return !fm_system_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&about, 0, 0, 0) &&
	       about.st_nlink == THREADS_OF_ONE;
}

static void begin_natural(struct fm_place *place)
{
	struct fm_translator *translator = timed_translator(place);

	lab.natural = false;
	if (!translator)
		return;
	lab.step = RUN_UP;
	lab.called = lab.run_up = 0;
	fm_translator_set_visits(translator, lab.apart, 1, lab.times, 1);
	place->current = FM_TIMED;
}

bool fm_laboratory_begin(struct fm_place *place, ucontext_t *context)
{
	struct fm_translator *translator;
	enum fm_timing_problem problem = FM_TIMING_DONE;

	if (!fm_laboratory_is_due(place) || place->depth)
		return false;
	lab.began_ns = thread_ns();
	lab.disturbed = false;
	if (lab.natural && lab.mark) {
		begin_natural(place);
		return false;
	}
	translator = fm_place_translator_of(place, FM_UNDO);
	if (!translator || !open_laboratory(translator)) {
		lab.refused = true;
		note_problem(FM_TIMING_MEMORY);
		return false;
	}
	lab.kind = fm_place_random(place) % SECOND_ONE_OF ? FM_TIMING_FIRST : FM_TIMING_SECOND;
	lab.halve = fm_place_random(place) % 2;
	lab.step = LOGGING;
	lab.parts = 0;
	if (!has_one_thread())
		problem = FM_TIMING_THREADS;
	else if (!fm_mappings_read(&lab.mappings))
		problem = FM_TIMING_SHARED;
	fm_translator_set_room(translator, ENTRIES);
	lab.parts = 0;
	fm_translator_set_fuel(translator, FM_PLAN_LENGTH);
	if (!problem && (fm_translator_keep_state(translator, context, &lab.state) ||
	                 fm_translator_begin_burst(translator, context, lab.frame, &lab.release)))
		problem = FM_TIMING_MEMORY;
	if (problem) {
		note_problem(problem);
		end_round(place);
	}
	return !problem;
}

bool fm_laboratory_is_busy(const struct fm_place *place)
{
	return place->current == FM_TIMED && lab.step != IDLE && thread_ns() - lab.began_ns < LATE_NS;
}

void fm_laboratory_end(struct fm_place *place)
{
	if (place->current != FM_TIMED)
		return;
	if (is_natural()) {
		lab.mark = 0; /* seldom, or not at all */
		end_natural(place, 0);
	} else {
		note_problem(FM_TIMING_DISTURBED);
		end_round(place);
	}
}

void fm_laboratory_disturb(const struct fm_place *place)
{
	lab.disturbed |= place->current == FM_TIMED;
}
