#include "engine/trace/beside.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process_state.h"
#include "simulator/space.h"
#include "engine/account/decode.h"
#include "engine/account/room.h"
#include "engine/trace/beside_timing.h"
#include "engine/trace/map.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"

enum {
	UNREAD_NS = 3000000000, /* below the patience of a writer without room: src/trace/ring.c */
	OF_PROGRAM = 255,
};

/* A memory operand, as far as it is needed. */
struct operand {
	uint16_t size; /* 0: not known yet */
	uint8_t access;
	bool unusable, repeated;
	bool stores, loads;
	bool copies, may_stop; /* as in struct fm_traced_rest */
};

struct repeated {
	const struct operand *operand; /* NULL: none */
	uint64_t pc, address, count;
};

/* A process of a neighbour. */
struct source {
	struct source *next;
	struct fm_trace_file *trace;
	struct fm_code *code;
	unsigned neighbour, space;
	uint32_t mappings;
	struct operand *operands;       /* FM_TRACE_SITES */
	unsigned live;                  /* threads */
	bool ended;                     /* it is about to end, or to execute another program */
	uint64_t quiet;                 /* ns, since when there are none, or since then */
	unsigned places;                /* of threads that were ever used, up to the last */
	struct fm_timed_piece **pieces; /* FM_TRACE_PIECES, as they are needed; NULL: no core timing */
	bool begins;
	bool replaced;          /* by exec: its process has another trace now */
	struct runner *runners; /* FM_TRACE_THREADS */
};

/* A thread of it, or the program. */
struct runner {
	struct fm_account *account; /* its hierarchy is shared with the program */
	struct source *source;
	uint64_t read, written;
	uint64_t clock;
	uint64_t heard, fed; /* ns, when something came last, and when something was read last */
	uint64_t looked;     /* ns, when its state was asked for last */
	uint32_t thread;     /* the kernel's number */
	bool live, asleep;
	struct fm_simulated_core *core;
	struct repeated waiting, held;
	struct fm_beside_timed timed;
};

struct neighbour {
	unsigned first_core;
	uint32_t processes, threads;
	uint64_t instructions;
	uint64_t awaited;   /* ns, since when its next run is waited for; 0: it is not */
	struct source *own; /* the process that it began with; NULL: none now */
};

struct fm_beside {
	const struct fm_beside_roster *roster;
	struct fm_consumer *consumer;
	const char *folder;
	bool again;
	bool timing;
	struct fm_core_timing *timings[FM_SIMULATED_CORES_MAX]; /* of cores that neighbours have or had */
	unsigned count;
	struct neighbour neighbours[FM_ENGINE_BESIDE_MAX];
	uint32_t taken; /* of the roster */
	struct source *sources;
	unsigned spaces;
	struct runner program;
	uint64_t now;    /* ns */
	uint64_t time;   /* the clock of the one that went on last */
	double fraction; /* of a cycle, of the program's clock */
	uint64_t woken;  /* the program's clock when it last came back from sleep */
	/* owner of each core: the number of a program beside, from 1; OF_PROGRAM; 0: free */
	uint8_t cores[FM_SIMULATED_CORES_MAX];
};

/* Cores */

int fm_beside_create(const struct fm_engine_options *options, const struct fm_beside_roster *roster, const char *folder,
                     struct fm_consumer *consumer, struct fm_beside **ret_beside, struct fm_error *error)
{
	struct fm_beside *beside = calloc(1, sizeof(*beside));
	unsigned cores = consumer->account->hierarchy->core_count, kept = 0, next = 0;
	/* a list that was not given is all of them */
	bool given = consumer->core_list_count < cores;

	if (!beside)
		return fm_error_set(error, ENOMEM, "out of memory");
	beside->roster = roster;
	beside->consumer = consumer;
	beside->folder = folder;
	beside->again = options->beside_again;
	beside->timing = options->timing;
	beside->count = options->beside_count;
	beside->now = beside->program.heard = beside->program.fed = fm_clock_now();
	beside->program.live = true;
	for (unsigned i = 0; i < consumer->core_list_count; i++)
		if (given || !i)
			beside->cores[consumer->core_list[i]] = OF_PROGRAM;
	for (unsigned i = 0; i < beside->count; i++) {
		while (next < cores && beside->cores[next])
			next++;
		if (next >= cores) {
			free(beside);
			return fm_error_set(error, EINVAL,
			                    "%s has %u cores, too few for the program%s and %u concurrent programs",
			                    options->machine->name, cores, given ? ", with those of --cores," : "",
			                    options->beside_count);
		}
		beside->neighbours[i].first_core = next;
		beside->neighbours[i].awaited = beside->now;
		beside->cores[next++] = (uint8_t)(i + 1);
	}
	/* the program keeps off these */
	for (unsigned i = 0; i < consumer->core_list_count; i++)
		if (!beside->cores[consumer->core_list[i]] || beside->cores[consumer->core_list[i]] == OF_PROGRAM)
			consumer->core_list[kept++] = consumer->core_list[i];
	consumer->core_list_count = kept;
	*ret_beside = beside;
	return 0;
}

/* Its first, another of its own without a thread, a free one; else its first again. */
static unsigned choose_core(const struct fm_beside *beside, const struct neighbour *neighbour)
{
	const struct fm_consumer *consumer = beside->consumer;
	unsigned cores = consumer->account->hierarchy->core_count,
	         number = (unsigned)(neighbour - beside->neighbours) + 1;

	if (!consumer->core_users[neighbour->first_core])
		return neighbour->first_core;
	for (unsigned i = 0; i < cores; i++)
		if (beside->cores[i] == number && !consumer->core_users[i])
			return i;
	for (unsigned i = 0; i < cores; i++)
		if (!beside->cores[i] && !consumer->account->hierarchy->cores[i].active)
			return i;
	return neighbour->first_core;
}

/* The program must not use what a neighbour has from now on. */
static void take_core(struct fm_beside *beside, const struct neighbour *neighbour, unsigned core)
{
	struct fm_consumer *consumer = beside->consumer;
	unsigned kept = 0;

	beside->cores[core] = (uint8_t)(neighbour - beside->neighbours + 1);
	for (unsigned i = 0; i < consumer->core_list_count; i++)
		if (consumer->core_list[i] != core)
			consumer->core_list[kept++] = consumer->core_list[i];
	consumer->core_list_count = kept;
}

/* Traces */

static void close_source(struct source *source)
{
	if (source->trace)
		munmap(source->trace, sizeof(*source->trace));
	for (unsigned i = 0; source->pieces && i < FM_TRACE_PIECES; i++)
		free(source->pieces[i]);
	if (source->pieces)
		munmap(source->pieces, FM_TRACE_PIECES * sizeof(struct fm_timed_piece *));
	if (source->operands)
		munmap(source->operands, FM_TRACE_SITES * sizeof(*source->operands));
	fm_code_destroy(source->code);
	free(source->runners);
	free(source);
}

static void add_source(struct fm_beside *beside, uint32_t number)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return;
	source->neighbour = beside->roster->traces[number].neighbour % FM_ENGINE_BESIDE_MAX;
	source->begins = beside->roster->traces[number].begins;
	source->trace = fm_trace_map(beside->folder, beside->roster->traces[number].name);
	source->code = source->trace ? fm_code_create(fm_trace_process(&source->trace->head)) : NULL;
	source->runners = calloc(FM_TRACE_THREADS, sizeof(*source->runners));
	source->operands = mmap(NULL, FM_TRACE_SITES * sizeof(*source->operands), PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (source->operands == MAP_FAILED)
		source->operands = NULL;
	if (beside->timing)
		source->pieces = mmap(NULL, FM_TRACE_PIECES * sizeof(*source->pieces), PROT_READ | PROT_WRITE,
		                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (source->pieces == MAP_FAILED)
		source->pieces = NULL;
	if (!source->trace || !source->code || !source->runners || !source->operands ||
	    (beside->timing && !source->pieces)) {
		close_source(source);
		return;
	}
	for (struct source *other = beside->sources; other; other = other->next)
		other->replaced |= other->trace->head.process == source->trace->head.process;
	/* the program is space 0; with more processes than spaces, what the first of them left is gone by then */
	source->space = 1 + beside->spaces++ % (FM_SPACES - 1);
	source->mappings = source->trace->head.mappings;
	source->quiet = beside->now;
	source->next = beside->sources;
	beside->sources = source;
	beside->neighbours[source->neighbour].processes++;
	if (source->begins) {
		beside->neighbours[source->neighbour].awaited = 0;
		beside->neighbours[source->neighbour].own = source;
	}
}

static void runner_begin(struct fm_beside *beside, struct runner *runner, uint32_t thread)
{
	struct neighbour *neighbour = &beside->neighbours[runner->source->neighbour];
	unsigned core = choose_core(beside, neighbour);

	runner->core = fm_hierarchy_core(beside->consumer->account->hierarchy, core);
	if (!runner->core)
		return;
	if (beside->timing && !beside->timings[core] &&
	    fm_core_timing_create(beside->consumer->account->hierarchy, core, &beside->timings[core], NULL)) {
		beside->consumer->account->results->native_error = ENOMEM;
		return;
	}
	runner->timed = (struct fm_beside_timed){.core = beside->timings[core]};
	take_core(beside, neighbour, core);
	beside->consumer->core_users[core]++;
	neighbour->threads++;
	runner->thread = thread;
	runner->waiting.operand = runner->held.operand = NULL;
	/* it begins at the time of its creator */
	if (runner->clock < beside->time)
		runner->clock = beside->time;
	runner->live = true;
	runner->source->live++;
}

static void runner_end(struct fm_beside *beside, struct runner *runner)
{
	if (!runner->live)
		return;
	if (runner->timed.core)
		fm_beside_timed_finish(&runner->timed);
	beside->consumer->core_users[runner->core->index]--;
	runner->live = false;
	if (!--runner->source->live)
		runner->source->quiet = beside->now;
}

static void look_at(struct fm_beside *beside, struct source *source)
{
	uint32_t mappings = __atomic_load_n(&source->trace->head.mappings, __ATOMIC_ACQUIRE);
	bool ended = __atomic_load_n(&source->trace->head.ended, __ATOMIC_ACQUIRE);

	if (ended && !source->ended)
		source->quiet = beside->now;
	source->ended = ended;
	if (mappings != source->mappings) {
		source->mappings = mappings;
		fm_code_look_again(source->code);
	}
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++) {
		struct runner *runner = &source->runners[i];
		uint64_t written = __atomic_load_n(&source->trace->threads[i].written, __ATOMIC_ACQUIRE);

		if (written == runner->written)
			continue;
		if (source->places <= i)
			source->places = i + 1;
		/* not what a writer writes */
		if (written - runner->read > FM_TRACE_RING)
			runner->read = written;
		if (runner->asleep || !runner->written) {
			/* its sleep took no simulated time */
			runner->asleep = false;
			if (runner->clock < beside->time)
				runner->clock = beside->time;
			runner->fed = beside->now;
		}
		runner->account = beside->consumer->account;
		runner->source = source;
		runner->written = written;
		runner->heard = beside->now;
	}
}

/* As fm_process_state(); 0 also for a thread that only has to be collected. */
static char state_of(uint32_t process, uint32_t thread)
{
	char path[80], state;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", process, thread ? thread : process);
	state = fm_process_state(path, NULL);
	return state == 'Z' || state == 'X' ? 0 : state;
}

static bool has_unread(const struct source *source)
{
	for (unsigned i = 0; source && i < source->places; i++)
		if (source->runners[i].read != source->runners[i].written)
			return true;
	return false;
}

/* Has the process ended, and is all of it read? */
static bool is_over(const struct source *source)
{
	if (has_unread(source))
		return false;
	return source->replaced ||
	       ((!source->live || source->ended) && !state_of(fm_trace_process(&source->trace->head), 0));
}

void fm_beside_look(struct fm_beside *beside)
{
	uint32_t count = __atomic_load_n(&beside->roster->count, __ATOMIC_ACQUIRE);

	beside->now = fm_clock_now();
	for (; beside->taken < count && beside->taken < FM_BESIDE_TRACES; beside->taken++)
		add_source(beside, beside->taken);
	for (struct source **place = &beside->sources; *place;) {
		struct source *source = *place;
		struct neighbour *neighbour = &beside->neighbours[source->neighbour];

		look_at(beside, source);
		if (!is_over(source)) {
			place = &source->next;
			continue;
		}
		/* its next run, or what it has become by exec */
		if (neighbour->own == source) {
			neighbour->own = NULL;
			neighbour->awaited = beside->now;
		}
		for (unsigned i = 0; i < source->places; i++)
			runner_end(beside, &source->runners[i]);
		*place = source->next;
		close_source(source);
	}
}

/* References */

static void prepare(struct source *source, uint32_t number)
{
	const struct fm_trace_site *given = &source->trace->sites[number];
	struct operand *operand = &source->operands[number];
	unsigned char bytes[FM_INSTRUCTION_BYTES_MAX];
	struct fm_decoded decoded = {0};
	bool ready = __atomic_load_n(&given->ready, __ATOMIC_ACQUIRE);
	/* once: who writes there may do so again */
	const uint16_t size = __atomic_load_n(&given->size, __ATOMIC_RELAXED);
	const uint8_t kind = __atomic_load_n(&given->kind, __ATOMIC_RELAXED);
	size_t length;

	operand->size = 1;
	operand->unusable = true;
	if (!ready || !size || !(kind & (FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE)) ||
	    (kind & FM_TRANSLATE_REPEATED && size > sizeof(uint64_t)))
		return;
	operand->unusable = false;
	operand->size = size;
	operand->loads = kind & FM_TRANSLATE_LOAD;
	operand->stores = kind & FM_TRANSLATE_STORE;
	operand->repeated = kind & FM_TRANSLATE_REPEATED;
	operand->access = operand->stores ? FM_ACCESS_STORE : FM_ACCESS_LOAD;
	if (!operand->stores && !operand->repeated)
		return;
	length = fm_code_bytes(source->code, given->pc, bytes, sizeof(bytes));
	if (!length || !fm_decode(bytes, (unsigned)length, &decoded))
		return;
	if (operand->stores && decoded.nontemporal)
		operand->access = FM_ACCESS_STORE_NONTEMPORAL;
	operand->copies = operand->repeated && decoded.reads && decoded.writes;
	operand->may_stop = operand->repeated && !decoded.writes;
}

/* The clock of a timed runner is its core's. */
static void access_one(struct runner *runner, uint64_t address, unsigned bytes, enum fm_access access, bool repeated)
{
	struct fm_memory_access timed = {.address = fm_space_address(runner->source->space, address),
	                                 .bytes = (uint8_t)bytes,
	                                 .access = (uint8_t)access};
	unsigned served;

	if (runner->timed.core && repeated) {
		fm_beside_timed_part(&runner->timed, &timed);
		return;
	}
	if (runner->timed.core) {
		fm_beside_timed_access(&runner->timed, &timed);
		return;
	}
	served = fm_hierarchy_access(runner->account->hierarchy, runner->core,
	                             fm_space_address(runner->source->space, address), bytes, access);

	runner->clock += (served ? runner->account->latency[served] : 0) + (access == FM_ACCESS_STORE_WHOLE);
}

static void access_parts(struct runner *runner, const struct operand *operand, uint64_t address, enum fm_access access)
{
	unsigned line = 1u << runner->account->hierarchy->line_shift;

	for (unsigned at = 0; at < operand->size; at += line)
		access_one(runner, address + at, operand->size - at < line ? operand->size - at : line, access, false);
}

/* The next line's part of a repeated instruction. */
static void access_line(struct runner *runner, struct repeated *repeated, uint64_t *left)
{
	unsigned line = 1u << runner->account->hierarchy->line_shift,
	         room = line - (unsigned)(repeated->address % line);
	unsigned bytes = *left < room ? (unsigned)*left : room;

	if (!bytes)
		return;
	access_one(runner, repeated->address, bytes,
	           !repeated->operand->stores ? FM_ACCESS_LOAD
	           : bytes == line            ? FM_ACCESS_STORE_WHOLE
	                                      : FM_ACCESS_STORE,
	           true);
	repeated->address += bytes;
	*left -= bytes;
}

static uint64_t bytes_of(const struct runner *runner, const struct repeated *repeated)
{
	unsigned line = 1u << runner->account->hierarchy->line_shift;
	uint64_t bytes = repeated->count > BESIDE_BYTES_MOST / repeated->operand->size
	                     ? BESIDE_BYTES_MOST
	                     : repeated->count * repeated->operand->size;

	/* the place at which it found its value is unknown */
	if (repeated->operand->may_stop && bytes > line - repeated->address % line)
		bytes = line - repeated->address % line;
	return bytes;
}

static void feed_repeated(struct runner *runner, struct repeated *first, struct repeated *second)
{
	uint64_t left = bytes_of(runner, first), other = second ? bytes_of(runner, second) : 0;

	while (left || other) {
		access_line(runner, first, &left);
		if (second)
			access_line(runner, second, &other);
	}
}

static void feed_held(struct runner *runner)
{
	if (runner->held.operand)
		feed_repeated(runner, &runner->held, NULL);
	runner->held.operand = NULL;
}

/* Two entries: an address, then how often. A copy is two of them, loads and stores, which alternate. */
static void on_repeated(struct runner *runner, const struct operand *operand, uint64_t pc, uint64_t value)
{
	struct repeated *held = &runner->held, complete;

	if (runner->waiting.operand != operand) {
		runner->waiting = (struct repeated){.operand = operand, .pc = pc, .address = value};
		return;
	}
	runner->waiting.count = value;
	complete = runner->waiting;
	runner->waiting.operand = NULL;
	if (held->operand && held->pc == pc && held->count == value) {
		if (held->operand->stores)
			feed_repeated(runner, &complete, held);
		else
			feed_repeated(runner, held, &complete);
		held->operand = NULL;
		return;
	}
	feed_held(runner);
	if (operand->copies)
		*held = complete;
	else
		feed_repeated(runner, &complete, NULL);
}

static void feed_reference(struct runner *runner, uint32_t number, uint64_t address)
{
	struct source *source = runner->source;
	const struct operand *operand = &source->operands[number];

	if (!operand->size)
		prepare(source, number);
	if (operand->unusable)
		return;
	if (runner->timed.core)
		fm_beside_timed_advance(&runner->timed, source->trace->sites[number].pc);
	if (operand->repeated) {
		on_repeated(runner, operand, source->trace->sites[number].pc, address);
		return;
	}
	if (operand->loads)
		access_parts(runner, operand, address, FM_ACCESS_LOAD);
	if (operand->stores)
		access_parts(runner, operand, address, (enum fm_access)operand->access);
}

static uint64_t instructions_of(const struct fm_trace_file *trace, uint64_t what)
{
	uint64_t number = what ^ FM_TRACE_PIECE;

	return number < FM_TRACE_PIECES && __atomic_load_n(&trace->pieces[number].ready, __ATOMIC_ACQUIRE)
	           ? trace->pieces[number].instructions
	           : 0;
}

static void begin_piece(struct runner *runner, uint64_t what)
{
	struct source *source = runner->source;
	uint64_t number = what ^ FM_TRACE_PIECE;
	struct fm_timed_piece **piece = number < FM_TRACE_PIECES ? &source->pieces[number] : NULL;

	if (piece && !*piece && __atomic_load_n(&source->trace->pieces[number].ready, __ATOMIC_ACQUIRE))
		*piece = fm_timed_piece_decode(&source->trace->pieces[number], source->code);
	fm_beside_timed_piece(&runner->timed, piece ? *piece : NULL);
}

static void feed_entry(struct fm_beside *beside, struct runner *runner, const struct fm_trace_entry *entry)
{
	uint64_t what = entry->what, instructions;

	if (what == (FM_TRACE_CONTROL | FM_TRACE_THREAD_BEGIN)) {
		runner_end(beside, runner);
		runner_begin(beside, runner, (uint32_t)entry->address);
		return;
	}
	/* a thread without an announcement */
	if (!runner->live && what < FM_TRACE_SITES)
		runner_begin(beside, runner, 0);
	if (!runner->live)
		return;
	if (what < FM_TRACE_SITES) {
		feed_reference(runner, (uint32_t)what, entry->address);
	} else if (what == (FM_TRACE_CONTROL | FM_TRACE_THREAD_END)) {
		feed_held(runner);
		runner_end(beside, runner);
	} else {
		instructions = instructions_of(runner->source->trace, what);
		if (runner->timed.core)
			begin_piece(runner, what);
		else
			runner->clock += instructions;
		beside->neighbours[runner->source->neighbour].instructions += instructions;
	}
}

static void feed(struct fm_beside *beside, struct runner *runner)
{
	unsigned place = (unsigned)(runner - runner->source->runners);
	const struct fm_trace_entry *ring = runner->source->trace->rings[place];
	struct fm_trace_thread *line = &runner->source->trace->threads[place];

	for (unsigned i = 0; i < FM_BESIDE_SLICE && runner->read != runner->written; i++) {
		const struct fm_trace_entry entry = ring[runner->read % FM_TRACE_RING];

		/* it has slept, or begins */
		if (runner->timed.core && fm_core_now(runner->timed.core) < runner->clock)
			fm_core_skip(runner->timed.core, runner->clock);

		feed_entry(beside, runner, &entry);
		if (runner->timed.core && fm_core_now(runner->timed.core) > runner->clock)
			runner->clock = fm_core_now(runner->timed.core);
		runner->read++;
	}
	runner->fed = beside->now;
	beside->time = runner->clock;
	__atomic_store_n(&line->read, runner->read, __ATOMIC_SEQ_CST);
	/* as in consumer.c */
	if (runner->written - runner->read <= FM_TRACE_RING - FM_TRACED_WORTH_WAKING &&
	    __atomic_load_n(&line->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, (uint32_t *)&line->read, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Turns */

static char state_of_program(const struct fm_beside *beside)
{
	const struct fm_consumer *consumer = beside->consumer;
	char state = 0;

	if (!consumer->live_count)
		return state_of(fm_trace_process(&consumer->trace->head), 0);
	for (unsigned i = 0; i < consumer->places; i++) {
		char one = consumer->threads[i].live ? state_of(fm_trace_process(&consumer->trace->head),
		                                                consumer->threads[i].record->host_thread)
		                                     : 0;

		if (one && state != 'R' && state != 'D')
			state = one;
	}
	return state;
}

/* Does a thread that has written nothing sleep, so that others go on without it? */
static bool is_asleep(struct fm_beside *beside, struct runner *runner)
{
	char state;

	if (runner->asleep)
		return true;
	if (beside->now - runner->heard < SILENT_THREAD_NS || beside->now - runner->looked < SILENT_THREAD_NS)
		return false;
	runner->looked = beside->now;
	state = runner == &beside->program ? state_of_program(beside)
	                                   : state_of(fm_trace_process(&runner->source->trace->head), runner->thread);
	/* after the program's end no thread continues; the waiting consumer sees that */
	if (runner == &beside->program && (!state || beside->consumer->trace->head.ended))
		return false;
	if (!state)
		runner_end(beside, runner);
	/* D is short: a page that comes from a disk, a child of vfork() that is about to execute */
	runner->asleep = (state != 'R' && state != 'D') || beside->now - runner->heard > AWAKE_THREAD_NS;
	return runner->asleep;
}

/* Will a neighbour be there soon that is not now? At the beginning, when it is started again, when it has executed
   another program; before the first and after the last thread of its process. */
static bool is_awaited(const struct fm_beside *beside)
{
	for (unsigned i = 0; i < beside->count; i++) {
		const struct neighbour *neighbour = &beside->neighbours[i];
		const struct source *own = neighbour->own;
		uint64_t since =
		    own && (!own->live || own->ended) && !has_unread(own) ? own->quiet : neighbour->awaited;

		if (since && beside->now - since < AWAKE_THREAD_NS &&
		    !__atomic_load_n(&beside->roster->over[i], __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

enum fm_beside_turn fm_beside_turn(struct fm_beside *beside, bool has)
{
	struct runner *program = &beside->program, *first = NULL;
	bool first_has = false;

	if (has) {
		program->heard = beside->now;
		if (program->asleep && program->clock < beside->time)
			program->clock = beside->woken = beside->time;
		program->asleep = false;
	}
	if (has || !is_asleep(beside, program)) {
		first = program;
		first_has = has;
	}
	if (is_awaited(beside))
		return FM_BESIDE_WAIT;
	for (const struct source *source = beside->sources; source; source = source->next)
		for (unsigned i = 0; i < source->places; i++) {
			struct runner *runner = &source->runners[i];
			bool some = runner->read != runner->written;

			if (!some && (!runner->live || source->ended || is_asleep(beside, runner)))
				continue;
			/* it must not conclude that the reader has ended */
			if (some && beside->now - runner->fed > UNREAD_NS) {
				feed(beside, runner);
				return FM_BESIDE_READ;
			}
			if (!first || runner->clock < first->clock) {
				first = runner;
				first_has = some;
			}
		}
	if (has && first != program && beside->now - program->fed > UNREAD_NS)
		return FM_BESIDE_PROGRAM;
	if (!first || !first_has)
		return FM_BESIDE_WAIT;
	if (first == program)
		return FM_BESIDE_PROGRAM;
	feed(beside, first);
	return FM_BESIDE_READ;
}

void fm_beside_pass(struct fm_beside *beside, const struct fm_trace_entry *entries, uint64_t count, uint64_t delay,
                    unsigned running)
{
	uint64_t cycles = delay;

	for (uint64_t i = 0; i < count; i++)
		cycles += instructions_of(beside->consumer->trace, entries[i].what);
	/* threads that go on at the same time need the time of one */
	beside->fraction += (double)cycles / (running ? running : 1);
	cycles = (uint64_t)beside->fraction;
	beside->fraction -= (double)cycles;
	beside->program.clock += cycles;
	beside->program.fed = beside->now;
	beside->time = beside->program.clock;
}

void fm_beside_reach(struct fm_beside *beside, uint64_t clock)
{
	if (clock > beside->program.clock)
		beside->program.clock = clock;
	beside->program.fed = beside->now;
	beside->time = beside->program.clock;
}

uint64_t fm_beside_woken(const struct fm_beside *beside)
{
	return beside->woken;
}

/* End */

void fm_beside_finish(struct fm_beside *beside)
{
	struct fm_account *account = beside->consumer->account;
	struct fm_results *results = account->results;

	if (!fm_room_claim(&account->room, results->beside, beside->count * sizeof(results->beside[0])))
		return;
	results->beside_count = beside->count;
	for (unsigned i = 0; i < beside->count; i++) {
		const struct neighbour *neighbour = &beside->neighbours[i];
		struct fm_result_beside *result = &results->beside[i];

		*result = (struct fm_result_beside){.processes = neighbour->processes,
		                                    .threads = neighbour->threads,
		                                    .first_core = neighbour->first_core,
		                                    .instructions = neighbour->instructions};
		for (unsigned k = 0; k < account->hierarchy->core_count; k++)
			if (beside->cores[k] == i + 1)
				fm_core_counts_add(&result->counts, &account->hierarchy->cores[k].counts);
	}
}

void fm_beside_destroy(struct fm_beside *beside)
{
	while (beside && beside->sources) {
		struct source *source = beside->sources;

		beside->sources = source->next;
		close_source(source);
	}
	for (unsigned i = 0; beside && i < FM_SIMULATED_CORES_MAX; i++)
		fm_core_timing_destroy(beside->timings[i]);
	free(beside);
}
