/* Runs a thread's code from a private code cache.

   The cache holds copies of the program's basic blocks, made at their first execution. The program sees the same
   registers, flags, vector state and memory as natively, including the red zone below the stack pointer and the
   original return addresses. Branches are resolved inside the cache. The thread can leave at any instruction. An
   unknown instruction makes the thread leave, and is counted by reason (reasons.def).

   Each architecture has a folder (x86_64). Exclusive load/store pairs of other architectures become compare-and-swap:
   an entry of the log between load and store could clear the reservation every time.

   A translator belongs to one thread. All memory is mapped when it is created; nothing is allocated later. When that
   memory is used up, all translations are discarded and made again. Nothing here prints, aborts, or changes errno or
   the signal mask that the program sees.

   Conditions of use:
   - A signal handler runs natively and sees an address in the cache as its interrupted instruction, unless
     fm_translator_settle() is called first. It may return as usual. Code that leaves a handler by longjmp() continues
     natively.
   - Changes of mapped code are noticed when the thread itself maps, unmaps or protects it by a system call in the
     cache. After changes by other threads, fm_translator_flush() must be called before the thread continues.
   - A thread created in the cache starts natively; a forked child stays in its own copy of the cache.
   - Where pieces are counted or lines followed, a handler may see flags that the program overwrites before it reads
     them. A thread that leaves in the middle of a piece may have counted all of it; the rest is a piece of its own.
   - A library that holds this code must be linked with -z now: the thread may be in the dynamic linker, which the
     translator must therefore not call. */
#ifndef FATHOM_TRANSLATE_TRANSLATE_H
#define FATHOM_TRANSLATE_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct fm_translator;

enum fm_translate_reason {
#define REASON(name, text) FM_LEFT_##name,
#include "translate/reasons.def"
#undef REASON
	FM_LEFT_REASONS
};

enum {
	FM_TRANSLATE_LOAD = 1,
	FM_TRANSLATE_STORE = 2,
	/* a string instruction with a repeat prefix. `address` is that of the first element. The next entry, of the
	   same site, has the number of elements (rcx) in place of an address; after an interrupt the number done so
	   far, and another entry follows when the rest runs */
	FM_TRANSLATE_REPEATED = 4,
	/* a masked move: it may access none of the operand, and then cannot fault */
	FM_TRANSLATE_MASKED = 8,
	/* relative to the stack pointer or the thread pointer: never followed, see struct fm_translate_filter */
	FM_TRANSLATE_APART = 16,
};

/* One memory operand of one instruction. */
struct fm_translate_site {
	uint64_t pc;
	uint16_t size; /* in bytes; of one element if repeated */
	uint8_t kind;  /* FM_TRANSLATE_... */
	uint8_t operand;
};

/* The end of a piece: before code translated earlier or after a maximal length (both vary between translators); at a
   branch with a known target; at a branch with an unknown target, for instance a return. */
enum fm_translate_end { FM_TRANSLATE_CUT, FM_TRANSLATE_BRANCH, FM_TRANSLATE_INDIRECT };

/* Straight code: from the beginning of a block, or from behind a conditional branch, to the next branch or to code
   translated earlier. An instruction can be in several pieces; its executions are the sum over them. */
struct fm_translate_piece {
	uint64_t pc;
	uint16_t bytes, instructions;
	uint8_t end; /* enum fm_translate_end */
	/* memory operands that could be logged, except those of repeated string instructions */
	uint16_t loads, stores;
	uint32_t load_bytes, store_bytes;
};
#define FM_TRANSLATE_NO_PIECE UINT32_MAX
enum { FM_TRANSLATE_PIECES = 1 << 18 }; /* all numbers of pieces are smaller */

/* One logged reference. `site`: a number from the client's number_site(), or else an index for fm_translator_site(),
   valid until on_log() returns. With log_pieces, the start of a piece has `site` FM_TRANSLATE_PIECE_ENTRY | its number,
   and an undefined address. */
#define FM_TRANSLATE_PIECE_ENTRY (1u << 28)
/* With undo, the entry of a store is followed by what was there before, up to eight bytes in each entry: `address` has
   these bytes, `site` FM_TRANSLATE_OLD_ENTRY | their number. */
#define FM_TRANSLATE_OLD_ENTRY (1u << 29)
struct fm_translate_entry {
	uint64_t address;
	uint64_t site;
};

enum fm_translate_choice {
	FM_TRANSLATE_IGNORE,
	FM_TRANSLATE_LOGGED,   /* an inlined entry in the log, written before the instruction */
	FM_TRANSLATE_CALLED,   /* on_reference() before the instruction; slow */
	FM_TRANSLATE_COUNTED,  /* an inlined countdown; the first reference after zero calls on_counted() before the
	                          instruction */
	FM_TRANSLATE_FILTERED, /* an inlined entry in the log if the line is followed: see below */
};

/* The followed lines: those with (((address + offset) & ~127) * multiplier mod 2^32) < limit, in pairs of neighbours.
   Much cheaper than logging all references. Repeated string instructions are always logged, except short ones far from
   followed lines, which are counted (struct fm_translate_counts). Operands relative to the stack or thread pointer are
   ignored: their lines are nearly always in the first cache. A line among the latest entries is logged again only for
   its first store, or after some other entries. Entries are written before the instruction, or some instructions
   earlier. If the log is full, entries are dropped and counted. */
struct fm_translate_filter {
	uint32_t multiplier, limit;
	uint32_t offset; /* below 2^20, a multiple of 128 */
};

static inline bool fm_translate_is_followed(const struct fm_translate_filter *filter, uint64_t address)
{
	return (((uint32_t)address + filter->offset) & ~127u) * filter->multiplier < filter->limit;
}

/* The client of a translator. Every function may be NULL. They run on the translator's own stack (64 KiB) with all
   signals blocked, while the program may hold any lock: no malloc, no stdio. */
struct fm_translate_client {
	void *context;
	/* Called for each memory operand when its block is translated. NULL: nothing is inserted. Operands with
	   addresses unknown before execution (gathers, gs, enter, xsave) are not passed, but counted as `unlogged`. */
	enum fm_translate_choice (*choose)(void *context, const struct fm_translate_site *site);
	/* Returns the number to log for a site instead of its index, below 2^28. Called for each chosen operand when
	   its block is translated. */
	uint32_t (*number_site)(void *context, const struct fm_translate_site *site);
	/* Returns the number of a piece for fm_translator_counters() or the log, or FM_TRANSLATE_NO_PIECE. Called for
	   each piece when its block is translated, in the order of the code. Consecutive numbers are best: counters
	   used together then share cache lines. */
	uint32_t (*number_piece)(void *context, const struct fm_translate_piece *piece);
	void (*on_reference)(void *context, const struct fm_translate_site *site, uint64_t address);
	/* Called for the first reference after the countdown (fm_translator_set_countdown()). True: go on, with the
	   countdown set again; false: leave before the instruction. `registers`: the program's, in order of encoding
	   (rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …). Vector registers are not saved, for speed: compile the
	   function and all its callees for general registers only. */
	bool (*on_counted)(void *context, const struct fm_translate_site *site, uint64_t address,
	                   const uint64_t *registers);
	/* Called when the log is full, when the thread leaves the cache, and before translations are discarded. */
	void (*on_log)(void *context, const struct fm_translate_entry *entries, size_t count);
	/* Called after a full log was delivered. True: go on; false: leave (counted as fuel). NULL: go on. */
	bool (*on_full)(void *context);
	/* Called when the fuel is used up. Returns the number of instructions to add, 0 to leave. NULL: leave. */
	uint64_t (*on_fuel)(void *context);
	/* Called before a system call. True: make it and stay; false: leave before it. NULL: stay. */
	bool (*on_system_call)(void *context, uint64_t number);
	/* Called before a system call that restricts the program's system calls. The thread leaves before it: a filter
	   may end the program for a call of the translator. NULL: the thread stays. */
	void (*on_filter)(void *context);
	/* Called when the last of the visits of fm_translator_set_visits() was timed. True: go on, after another
	   fm_translator_set_visits(). NULL: leave. */
	bool (*on_visit)(void *context);
	/* Called when the thread leaves at `pc`. Do not change the program's registers. */
	void (*on_leave)(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers);
};

struct fm_translate_options {
	size_t code_size;    /* bytes of the cache; 0: 16 MiB; at least 64 KiB, at most 512 MiB */
	size_t log_entries;  /* 0: 65536; at most 1,000,000; used only with a client that has choose() */
	const void *near_to; /* code near this address runs fastest; NULL: near the program, not its libraries */
	bool with_fuel;      /* blocks count instructions */
	bool count_pieces;   /* each piece counts its executions; needs number_piece() */
	bool log_pieces;     /* each execution of a piece is an entry of the log; needs number_piece() and choose() */
	/* A loop of one piece is copied this many times and counted once for all copies; its exits count the rest. 0,
	   1: not. Only with count_pieces, without a log, fuel or filter */
	unsigned loop_copies;
	/* Log what stores overwrite, so that the memory can be restored, and leave before instructions that cannot be
	   undone or repeated (FM_LEFT_IRREVERSIBLE). Needs choose(). */
	bool undo;
	/* Executions of the pieces for which number_piece() returns 0 are visits: they are counted, and timed now and
	   then (fm_translator_set_visits()). Pieces with any other number are not. Not with count_pieces */
	bool visits;
	bool generated_code; /* translate code in mappings without a file. The caller must flush after changes. */
	/* Forked children do not inherit the memory, so that fork() need not copy its page tables. Children must forget
	   the translator, and no thread may fork in its cache. */
	bool not_inherited;
	/* If set, the only choices are FM_TRANSLATE_FILTERED and FM_TRANSLATE_IGNORE. limit 0: none. -ENOTSUP on
	   processors that cannot save flags (lahf). */
	struct fm_translate_filter filter;
	const struct fm_translate_client *client; /* copied; NULL: none */
};

/* Unlogged repeated string instructions, one count per operand, by element size and load or store. First those of at
   most FM_TRANSLATE_SHORT elements, then, in the same order, those without room in the log. */
enum {
	FM_TRANSLATE_SHORT = 16,
	FM_TRANSLATE_SHORT_KINDS = 8,
	FM_TRANSLATE_STRING_KINDS = 2 * FM_TRANSLATE_SHORT_KINDS
};
struct fm_translate_short {
	uint64_t elements, times;
};
static inline unsigned fm_translate_short_kind(unsigned size, bool store)
{
	return 2 * (unsigned)__builtin_ctz(size | 8) + store;
}

struct fm_translate_counts {
	struct fm_translate_short not_logged[FM_TRANSLATE_STRING_KINDS];
	uint64_t blocks, instructions; /* translated ones, counted again after each flush */
	uint64_t entered, chained, looked_up, flushed, system_calls, unlogged, dropped;
	uint64_t left[FM_LEFT_REASONS];
};

/* Creates a translator. -EINVAL: options out of range; -ENOTSUP: the CPU lacks xsave, or the thread has a shadow stack;
   other errors: from mmap. */
int fm_translator_create(const struct fm_translate_options *options, struct fm_translator **ret_translator);

/* Destroys a translator, or nothing for NULL. Not while the thread is in the cache. */
void fm_translator_destroy(struct fm_translator *translator);

/* Moves the calling thread into the cache; returns there. */
void fm_translator_enter(struct fm_translator *translator);

/* Moves the calling thread out of its cache, if any; returns natively. */
void fm_translator_leave(void);

/* Makes the interrupted thread continue in the cache after the return of the signal handler. The context must be
   native: call fm_translator_settle() before. 0, or -EAGAIN if the next instruction cannot be translated. */
int fm_translator_enter_context(struct fm_translator *translator, ucontext_t *context);

/* Begins a burst: a short stay in the cache, invisible to the program's handlers. From the return of the calling signal
   handler on, the thread runs in the cache with all signals blocked except those of faults. On any exit, one return
   from a signal restores everything at once, including the mask. The client refuses system calls in on_system_call().
   `frame`: memory of this thread, of fm_translator_frame_size() bytes, aligned to 64. `release`: set to 0 when another
   thread may use the translator. After a fault, fm_translator_settle() ends the burst, but leaves `release` to the
   caller. 0; -EAGAIN: not possible from there; -ENOTSUP: the kernel saved the registers in an unknown format. */
int fm_translator_begin_burst(struct fm_translator *translator, ucontext_t *context, void *frame, uint32_t *release);
size_t fm_translator_frame_size(void);

/* Converts the context of a thread interrupted in the cache to its native state: original address, and borrowed
   registers restored. Returning to it leaves the cache. 0: done, or the address is outside the cache. -EAGAIN: the
   thread was in the translator itself; the context is unchanged, try again later. A fault of the program's own
   instructions never gives -EAGAIN. Log entries up to the instruction remain, with the completed elements of a string
   instruction: the thread must not continue from the interrupted place in the cache. A handler may enter the cache
   again only after the context was settled. */
int fm_translator_settle(struct fm_translator *translator, ucontext_t *context);

/* Is the address in the cache, lookup code included? */
bool fm_translator_holds(const struct fm_translator *translator, uint64_t address);

/* The original address of an address in the cache; 0 if none, or if only a register has it. */
uint64_t fm_translator_origin(const struct fm_translator *translator, uint64_t address);

/* Discards all translations and delivers the log. The thread must be outside of the cache, for instance in a client's
   function that is about to leave, or in a signal handler after fm_translator_settle(). */
void fm_translator_flush(struct fm_translator *translator);

/* Sets the number of instructions that may run. Needs with_fuel. The thread stops before a piece that would exceed
   it. */
void fm_translator_set_fuel(struct fm_translator *translator, uint64_t instructions);

/* Executions of each piece, by number: an array of FM_TRANSLATE_PIECES, whose memory is mapped on use. Only the thread
   may clear them, in a client's function or a signal handler. NULL without count_pieces. */
uint64_t *fm_translator_counters(struct fm_translator *translator);

/* Continues the thread in another translator, at the same instruction with the same registers, instead of natively.
   Call it in on_leave(), or before on_full() or on_fuel() leave. If `to` cannot translate the instruction, the thread
   continues natively, after on_leave() of `to`. In a burst, when that is over. */
void fm_translator_hand_over(struct fm_translator *from, struct fm_translator *to);

/* Sets the number of counted references before on_counted(). */
void fm_translator_set_countdown(struct fm_translator *translator, uint64_t references);

/* Reads the time stamp counter at the visit after `until` visits, then after every `apart` more, into `ret_times`; then
   on_visit() is called. Needs `visits`. A loop that is copied may be some passes late. */
void fm_translator_set_visits(struct fm_translator *translator, uint64_t until, uint64_t apart, uint64_t *ret_times,
                              unsigned count);

/* The registers of a thread. `vectors`: fm_translator_vectors_size() bytes. */
struct fm_translate_state {
	uint64_t registers[16], flags, pc;
	void *vectors;
};
size_t fm_translator_vectors_size(const struct fm_translator *translator);

/* The state at the begin of a burst, from the context for fm_translator_begin_burst(). 0 or -ENOTSUP. */
int fm_translator_keep_state(const struct fm_translator *translator, const ucontext_t *context,
                             struct fm_translate_state *ret_state);

/* In on_leave() of a burst: the thread goes on from this state, which it was in at its begin. Its memory is the
   caller's concern. */
void fm_translator_rewind(struct fm_translator *translator, const struct fm_translate_state *state);

/* Does [start, end) contain translated code? Callable by other threads. */
bool fm_translator_covers(const struct fm_translator *translator, uint64_t start, uint64_t end);

/* Limits the log to about `entries` more references: the limit is checked at the start of blocks. */
void fm_translator_set_room(struct fm_translator *translator, size_t entries);

/* Undelivered entries of the log, as far as the thread's code has stored their number. */
size_t fm_translator_logged(const struct fm_translator *translator);

/* The site of an index. NULL: no such site. */
const struct fm_translate_site *fm_translator_site(const struct fm_translator *translator, uint64_t site);

const struct fm_translate_counts *fm_translator_counts(const struct fm_translator *translator);

/* Time stamp ticks spent in the translator itself, not in translated code. Callable in a client's functions. */
uint64_t fm_translator_ticks(const struct fm_translator *translator);

/* Text such as "at code that can be written to"; never NULL. */
const char *fm_translate_reason_text(enum fm_translate_reason reason);

#endif
