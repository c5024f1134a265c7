/* Runs a thread's code from a private code cache.

   The cache holds copies of the program's basic blocks, made when they are first reached. What the program can see is
   the same as without: registers, flags, x87 and vector state, memory, including the 128 bytes below the stack pointer
   and the return addresses on the stack, which are the original ones. Branches are resolved inside the cache. The
   thread can leave at any instruction; what the translator does not know makes it leave, and is counted by reason
   (reasons.def).

   One translator belongs to one thread, which alone may run in it. All memory is mapped when it is created; nothing is
   allocated later. When that memory is used up, everything is thrown away and translated again. Nothing here prints,
   aborts, or changes errno or the signal mask that the program sees.

   What must be known by whoever uses it:
   - A signal handler runs natively and sees an address in the cache as its interrupted instruction, unless somebody
   calls fm_translator_settle() first. It may return as usual. Code that leaves a handler by longjmp() goes on natively.
   - Changes of mapped code are noticed when the thread itself maps, unmaps or protects it by a system call in the
   cache. After changes by other threads call fm_translator_flush() before the thread goes on.
   - A thread created in the cache starts natively; a forked child stays in the cache (of which it has its own copy).
   - Where pieces are counted or lines followed, a handler may see flags that the program overwrites before it reads
   them.
   A thread that leaves in the middle of a piece may have counted all of it; what follows is a piece of its own.
   - A library that holds this code must be linked with -z now: the translator must not call the dynamic linker, which
     the thread may be in the middle of. */
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
	/* a string instruction with a repeat prefix: `address` is that of the first element; the entry after it has the
	   number of elements (rcx) in place of an address, and the same site. If it was interrupted: of those it had
	   done by then; the rest is another entry when it goes on */
	FM_TRANSLATE_REPEATED = 4,
	/* a masked move: it may touch nothing of the operand, not even fault */
	FM_TRANSLATE_MASKED = 8,
	/* relative to the stack pointer or the thread pointer: never followed, see struct fm_translate_filter */
	FM_TRANSLATE_APART = 16,
};

/* One memory operand of one instruction. */
struct fm_translate_site {
	uint64_t pc;
	uint16_t size; /* bytes, of one element if repeated */
	uint8_t kind;  /* FM_TRANSLATE_... */
	uint8_t operand;
};

/* How a piece ends: before code that was translated earlier, or since it is long, which differs between translators; by
   a branch whose target is known; by a branch that goes anywhere, a return for instance. */
enum fm_translate_end { FM_TRANSLATE_CUT, FM_TRANSLATE_BRANCH, FM_TRANSLATE_INDIRECT };

/* Straight code: from the beginning of a block, or from behind a conditional branch, to the next branch, or to code
   that was translated before. The same instruction can be in several pieces; it runs as often as all of them together.
 */
struct fm_translate_piece {
	uint64_t pc;
	uint16_t bytes, instructions;
	uint8_t end; /* enum fm_translate_end */
	/* memory operands that could be logged, without those of repeated string instructions */
	uint16_t loads, stores;
	uint32_t load_bytes, store_bytes;
};
#define FM_TRANSLATE_NO_PIECE UINT32_MAX
enum { FM_TRANSLATE_PIECES = 1 << 18 }; /* numbers of pieces are below */

/* One logged reference; `site` is an index for fm_translator_site(), valid until the on_log() that delivers it returns,
   or what the client's number_site() gave. A piece that begins, with log_pieces: `site` is FM_TRANSLATE_PIECE_ENTRY |
   its number, and the address is left as it was. */
#define FM_TRANSLATE_PIECE_ENTRY (1u << 28)
struct fm_translate_entry {
	uint64_t address;
	uint64_t site;
};

enum fm_translate_choice {
	FM_TRANSLATE_IGNORE,
	FM_TRANSLATE_LOGGED,   /* an inlined entry in the log, written before the instruction */
	FM_TRANSLATE_CALLED,   /* on_reference() before the instruction; slow */
	FM_TRANSLATE_COUNTED,  /* counts down, inlined; the one after the countdown calls on_counted() before the
	                          instruction */
	FM_TRANSLATE_FILTERED, /* an entry in the log if its line is one of those that are followed: see below */
};

/* Which lines are followed: those with (((address + offset) & ~127) * multiplier mod 2^32) < limit, two
   neighbours at a time. Much cheaper than to
   log everything and choose later. A repeated string instruction is always logged, but for short ones near no line that
   is followed, which are counted (struct fm_translate_counts). Not looked at are operands relative
   to the stack pointer or the thread pointer, whose lines are in the first cache nearly always. A line that
   is among the latest entries is not logged again, unless by its first store, until some others were logged. Entries
   are written before the instruction, or some instructions earlier. When the log is full they are dropped, and counted.
 */
struct fm_translate_filter {
	uint32_t multiplier, limit;
	uint32_t offset; /* below 2^20, a multiple of 128 */
};

static inline bool fm_translate_is_followed(const struct fm_translate_filter *filter, uint64_t address)
{
	return (((uint32_t)address + filter->offset) & ~127u) * filter->multiplier < filter->limit;
}

/* What somebody wants to know about the code in the cache. Every function may be NULL. They are called on the
   translator's own stack (64 KiB) with all signals blocked, while the program may hold any lock: no malloc, no stdio.
 */
struct fm_translate_client {
	void *context;
	/* Asked for each memory operand when its block is translated. NULL: nothing is inserted. Operands whose address
	   cannot be computed beforehand (gathers, gs, enter, xsave) are not asked for, but counted as `unlogged`. */
	enum fm_translate_choice (*choose)(void *context, const struct fm_translate_site *site);
	/* What is logged as the site instead of its index, below 2^28. Asked for each chosen operand when its block is
	   translated. */
	uint32_t (*number_site)(void *context, const struct fm_translate_site *site);
	/* The number under which a piece is counted (fm_translator_counters()) or logged, or FM_TRANSLATE_NO_PIECE.
	   Asked for each piece when its block is translated, in the order in which they stand there. Numbers in the
	   order of asking are best: counters that are used together then share cache lines. */
	uint32_t (*number_piece)(void *context, const struct fm_translate_piece *piece);
	void (*on_reference)(void *context, const struct fm_translate_site *site, uint64_t address);
	/* This reference is the one after the countdown (fm_translator_set_countdown()). True: go on, with the
	   countdown set again; false: leave in front of the instruction. `registers` are the program's, in the order of
	   their encoding (rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …). The vector registers are the program's as well
	   and not saved, so that as little as possible happens before it: the function must be compiled for general
	   registers only, and call nothing that is not. */
	bool (*on_counted)(void *context, const struct fm_translate_site *site, uint64_t address,
	                   const uint64_t *registers);
	/* The log is full, or the thread leaves the cache, or translations are about to be thrown away. */
	void (*on_log)(void *context, const struct fm_translate_entry *entries, size_t count);
	/* The log is full and was delivered. True: go on; false: leave (counted as fuel). NULL: go on. */
	bool (*on_full)(void *context);
	/* The fuel is used up. Returns how many instructions more may run, 0 to leave. NULL: leave. */
	uint64_t (*on_fuel)(void *context);
	/* Before a system call. True: make it and stay; false: leave in front of it. NULL: stay. */
	bool (*on_system_call)(void *context, uint64_t number);
	/* Before a system call that limits which system calls the program may make. The thread leaves in front of it: a
	   filter may end the program for a call of ours. NULL: it stays. */
	void (*on_filter)(void *context);
	/* Leaving at pc. Registers of the program are not to be touched. */
	void (*on_leave)(void *context, enum fm_translate_reason reason, uint64_t pc, const uint64_t *registers);
};

struct fm_translate_options {
	size_t code_size;    /* bytes of the cache; 0: 16 MiB; at least 64 KiB, at most 512 MiB */
	size_t log_entries;  /* 0: 65536; at most 1,000,000; used only with a client that has choose() */
	const void *near_to; /* code near to this address runs fastest; NULL: the program itself, not its libraries */
	bool with_fuel;      /* blocks count instructions */
	bool count_pieces;   /* each piece counts how often it begins; needs number_piece() */
	bool log_pieces;     /* each piece that begins is an entry of the log; needs number_piece() and choose() */
	bool generated_code; /* translate code of mappings that belong to no file. The caller promises to flush after
	                        changes. */
	/* With these FM_TRANSLATE_FILTERED is the only choice beside FM_TRANSLATE_IGNORE; limit 0: none. -ENOTSUP
	   on processors that cannot save flags (lahf). */
	struct fm_translate_filter filter;
	const struct fm_translate_client *client; /* copied; NULL: none */
};

/* Repeated string instructions that were not logged, for each of their operands: by the size of an element, and whether
   it is stored to. First those of at most FM_TRANSLATE_SHORT elements, then, in the same order, those for which there
   was no room in the log. */
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
	uint64_t blocks, instructions; /* translated, again after each flush */
	uint64_t entered, chained, looked_up, flushed, system_calls, unlogged, dropped;
	uint64_t left[FM_LEFT_REASONS];
};

/* -EINVAL: options out of range; -ENOTSUP: this CPU lacks xsave, or the thread has a shadow stack; other: mmap's. */
int fm_translator_create(const struct fm_translate_options *options, struct fm_translator **ret_translator);

/* Not while the thread is in the cache. NULL is allowed. */
void fm_translator_destroy(struct fm_translator *translator);

/* Returns as usual, but from then on the calling thread runs in the cache. */
void fm_translator_enter(struct fm_translator *translator);

/* Returns as usual, but the calling thread runs natively (again). */
void fm_translator_leave(void);

/* Makes the interrupted thread go on in the cache when the signal handler returns. The context must be native: call
   fm_translator_settle() before. 0, or -EAGAIN when its next instruction cannot be translated. */
int fm_translator_enter_context(struct fm_translator *translator, ucontext_t *context);

/* A burst: a short stay that a signal handler begins and of which the program's own handlers see nothing. From the
   return of the handler on the thread runs in the cache with all signals blocked but those of faults; when it leaves,
   for whatever reason, one return from a signal puts back everything at once, the mask as it was included. A client of
   bursts refuses system calls in on_system_call(). `frame` is memory of this thread, of fm_translator_frame_size()
   bytes, aligned to 64; `release` is set to 0 when the translator is not used any more: translators may serve one
   thread after the other. Faults in a burst: fm_translator_settle(), which ends it too, but leaves `release` to the
   caller. 0; -EAGAIN: not from there; -ENOTSUP: the kernel saved the registers in another way than is known. */
int fm_translator_begin_burst(struct fm_translator *translator, ucontext_t *context, void *frame, uint32_t *release);
size_t fm_translator_frame_size(void);

/* Turns the context of a thread that was interrupted in the cache into the one it would have had natively: the original
   address, and registers that the cache had borrowed. Returning to it leaves the cache. 0: done, or nothing to do since
   the address is outside the cache; -EAGAIN: the thread was between two states, in the translator itself: the context
   is unchanged, try again later. A fault of the program's own instructions never gives -EAGAIN. Log entries up to the
   instruction stay in the log, and so does what a string instruction has done: the thread must not go on from where it
   was interrupted in the cache. Entering again in a handler is allowed only after the context was settled. */
int fm_translator_settle(struct fm_translator *translator, ucontext_t *context);

/* Whether the address is in the cache, its look-up code included. */
bool fm_translator_holds(const struct fm_translator *translator, uint64_t address);

/* The original address for one in the cache; 0 if there is none, or it is only in a register. */
uint64_t fm_translator_origin(const struct fm_translator *translator, uint64_t address);

/* Throws all translations away. The thread must be outside of the cache, for instance in a client's function that is
   about to leave, or in a signal handler after fm_translator_settle(). Delivers the log. */
void fm_translator_flush(struct fm_translator *translator);

/* How many instructions may run; counts down from now on. Needs with_fuel. The thread stops in front of a piece of
   straight code that would take more than is left, so it never runs more. */
void fm_translator_set_fuel(struct fm_translator *translator, uint64_t instructions);

/* How often each piece began, by its number: FM_TRANSLATE_PIECES of them, in memory that is mapped as it is used. The
   thread itself may set them to 0, in a client's function, or in a signal handler. NULL without count_pieces. */
uint64_t *fm_translator_counters(struct fm_translator *translator);

/* In on_leave(), or in on_full() and on_fuel() that are about to leave: instead of going on natively, the thread goes
   on in another translator, at the same instruction and with the same registers. If that one cannot translate it,
   natively after all (its on_leave() is told). Not in a burst. */
void fm_translator_hand_over(struct fm_translator *from, struct fm_translator *to);

/* How many counted references pass before on_counted() is called. */
void fm_translator_set_countdown(struct fm_translator *translator, uint64_t references);

/* Whether anything translated lies in [start, end). May be asked by other threads. */
bool fm_translator_covers(const struct fm_translator *translator, uint64_t start, uint64_t end);

/* Limits the log to the next `entries` references, more or less: it is looked at where blocks begin. */
void fm_translator_set_room(struct fm_translator *translator, size_t entries);

/* Entries in the log that were not delivered yet, as far as the thread's code has stored how many. */
size_t fm_translator_logged(const struct fm_translator *translator);

/* NULL if there is no such site. */
const struct fm_translate_site *fm_translator_site(const struct fm_translator *translator, uint64_t site);

const struct fm_translate_counts *fm_translator_counts(const struct fm_translator *translator);

/* Time stamp ticks spent in the translator itself so far, not in translated code; also from a client's functions. */
uint64_t fm_translator_ticks(const struct fm_translator *translator);

/* "at code that can be written to"; never NULL. */
const char *fm_translate_reason_text(enum fm_translate_reason reason);

#endif
