/* Shared by the files of this folder, and the interface of the folders per architecture. */
#ifndef FATHOM_TRANSLATE_INTERNAL_H
#define FATHOM_TRANSLATE_INTERNAL_H

#include "translate/translate.h"

/* Executable mappings of the process. */
enum range_kind { RANGE_FILE, RANGE_GENERATED, RANGE_WRITABLE };
struct range {
	uint64_t start, end;
	uint8_t kind;
	bool used; /* a part was translated */
};
enum { MOST_RANGES = 512, RANGE_TEXT = 8192 };
struct ranges {
	struct range list[MOST_RANGES];
	unsigned count;
	char text[RANGE_TEXT];
};
/* The executable range of an address; NULL: none. Reads /proc/self/maps if no known range contains the address. */
struct range *fm_translate_find_range(struct ranges *ranges, uint64_t address);
/* Are eight bytes at the address readable? */
bool fm_translate_is_readable(uint64_t address);
/* Is the descriptor of a restartable sequence (rseq) at the address? The kernel restarts the sequence only at its
   registered address, so it must run there. */
bool fm_translate_is_sequence(struct ranges *ranges, uint64_t address);

/* State of the program from `code` bytes after the previous place on. `pc`: bytes after the previous address. */
struct place {
	uint8_t code;
	int8_t pc;
	uint16_t held;        /* registers whose values are in the slots */
	uint8_t logged;       /* references logged since log_register was loaded */
	uint8_t log_register; /* register with the log's end, or NO_REGISTER */
	uint8_t pc_kind;
	uint8_t unused;
};

struct block {
	uint64_t pc;
	uint32_t code; /* offset in the cache; blocks are in its order */
	uint32_t places, place_count;
	uint32_t landing; /* offset of the code for indirect branches to the block, 0: none */
	uint64_t end_pc;  /* of PC_END */
};

enum { FILTER_LOAD, FILTER_STORE, FILTER_REPEATED, FILTER_KINDS };

enum exit_kind {
	EXIT_CHAIN,
	EXIT_LEAVE,
	EXIT_SYSTEM_CALL,
	EXIT_FUEL,
	EXIT_FULL,
	EXIT_REFERENCE,
	EXIT_COUNTED,
	EXIT_VISIT,
	EXIT_MASKED,
	EXIT_LEARN
};
/* Why cached code calls the translator. */
struct exit_record {
	uint64_t pc;
	uint32_t patch; /* offset of the branch's displacement, or of the code to continue at */
	uint16_t kind;
	uint16_t reason;
	uint32_t site;
};
enum { EXIT_ENTER = 0xfffffffe, EXIT_INDIRECT = 0xffffffff };

enum { INDEX_BITS = 16, THREAD_GATES = 32, THREAD_GATE_SIZE = 128, GATES_SIZE = THREAD_GATES * THREAD_GATE_SIZE };

enum { FILTER_LATEST = 64, FILTER_ENTRIES = 12, LINE_SHIFT = 6 };
#define FILTER_GENERATION (1ull << 48)

/* Data of the code of one operand. */
struct filter_record {
	uint64_t line; /* the latest line met, as in the slots; of a repeated operand: address of its counter of
	                  unlogged executions */
	uint32_t site; /* site to log */
	uint32_t back; /* offset in the cache to continue at */
};

/* Data of code in the cache, addressed relative to the instruction. */
struct slots {
	uint64_t registers[16];
	uint64_t flags;
	uint64_t resume; /* address to continue at after the translator */
	uint64_t exit;   /* index of the exit record */
	uint64_t target; /* of an indirect branch that was not found; address of a reference */
	uint64_t next;   /* address to continue at after a system call */
	int64_t fuel;
	uint64_t log_end; /* address of the next entry */
	uint64_t stack;   /* top of the translator's own stack */
	uint64_t gate;    /* fm_translate_gate */
	uint64_t self;
	int64_t countdown;
	uint64_t light_gate; /* fm_translate_light_gate */
	/* visits: left until the next time, then after it; where the next time is kept, how many more there are, and
	   where the thread goes on */
	int64_t visits, visits_next;
	uint64_t times_at;
	int64_t times_left;
	uint64_t visit_back;
	/* filter.c */
	uint64_t filter_record,
	    filter_next; /* record of the operand, and address to continue at; the operand's address is in `target` */
	uint64_t filter_registers[3], filter_flags;
	/* lines of the latest loaded and stored entries: address >> LINE_SHIFT, plus the generation, a multiple of
	   FILTER_GENERATION that changes after some entries */
	uint64_t filter_lines[FILTER_LATEST], filter_stored[FILTER_LATEST];
	uint64_t filter_table; /* address of filter_lines */
	uint64_t filter_generation;
	uint32_t filter_left; /* entries left in this generation */
	uint64_t filter_dropped;
	struct fm_translate_short filter_short[FM_TRANSLATE_STRING_KINDS];
	uint64_t filter_stop;       /* the end of the log */
	uint8_t special_calls[256]; /* by the low byte of the number: 1 if the translator must handle the call */
};

struct lookup_entry {
	uint64_t pc;
	uint32_t block; /* index + 1; 0: empty */
};

/* Limits of a block and of an instruction. */
enum { MOST_INSTRUCTIONS = 64, MOST_BLOCK_CODE = 32768, MOST_REFERENCES = 4, MOST_OLD = 8 /* entries of a store */ };

enum { MOST_PENDING = 2 * MOST_INSTRUCTIONS + MOST_INSTRUCTIONS * MOST_REFERENCES + 8, MOST_LITERALS = 4 };

struct fm_translator {
	/* gate.c's assembly knows the order of the next four */
	struct slots *slots;
	void *vector_state;
	uint64_t enter_code;
	uint64_t vector_mask;

	uint8_t *region;
	size_t region_size;
	uint64_t *table; /* 2^INDEX_BITS landings, by the low bits of the target */
	uint8_t *code, *code_start, *code_end;
	uint8_t *code_at, *stubs_at; /* blocks grow upwards, their stubs and literals downwards */
	uint8_t *exit_code, *counted_code, *missing_code, *call_code, *burst_code, *visit_code;
	uint8_t *thread_gates;
	uint64_t thread_gate_pcs[THREAD_GATES];
	unsigned thread_gate_count;

	struct block *blocks;
	struct lookup_entry *lookup; /* pc to block, open addressing */
	struct exit_record *exits;
	struct place *places;
	struct fm_translate_site *sites;
	uint32_t block_count, most_blocks, lookup_mask, exit_count, most_exits, place_count, most_places, site_count,
	    most_sites;
	uint32_t generation;

	struct fm_translate_entry *log, *log_from, *log_limit;
	void *log_mapping;
	size_t log_mapping_size;
	uint8_t log_frame; /* byte 3 of all addresses of the log, compared by blocks instead of the end */

	void *own_vector_state;    /* vector_state outside of bursts */
	struct burst_frame *burst; /* NULL: none */
	uint32_t *burst_release;
	size_t vector_size;
	uint64_t ticks, served_since; /* in fm_translate_serve(): total, and start of the current call, 0: none */
	bool left;                    /* the thread continues natively, unless there is a successor */
	struct fm_translator *successor;
	const struct fm_translate_state *rewound; /* with which a burst ends; NULL: with the present one */
	uint64_t mask;                            /* the program's signal mask, while signals are blocked */

	void *tables;
	size_t tables_size;
	struct fm_translate_client client;
	bool with_fuel, generated_code, count_pieces, log_pieces, undo, visits;
	unsigned loop_copies;
	struct fm_translate_filter filter;
	uint8_t *filter_code[FILTER_KINDS];
	struct filter_record *filter_records; /* by index of the site */
	uint64_t *counters;                   /* of pieces */
	uint8_t *stack_start, *stack_end;
	struct fm_translate_counts counts;
	struct ranges ranges;
	struct work *work; /* not on the stack: stacks of signal handlers are small */
};

/* Start of the lookup. Neighbours in the program are neighbours in the table: the translator looks up addresses in
   order. */
static inline uint32_t lookup_start(const struct fm_translator *translator, uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> 24) & translator->lookup_mask;
}

/* cache.c: index + 1 of the block at `pc`, 0: none */
uint32_t fm_translate_find(const struct fm_translator *translator, uint64_t pc);
void fm_translate_insert(struct fm_translator *translator, uint64_t pc, uint32_t block);
/* Is there room for a block of any size? */
bool fm_translate_has_room(const struct fm_translator *translator);
void fm_translate_deliver_log(struct fm_translator *translator);

/* count.c: general registers only. True: leave the cache. */
bool fm_translate_count(struct fm_translator *translator);

/* serve.c: called by the gate. Returns the translator that continues, all signals still blocked. */
struct fm_translator *fm_translate_serve(struct fm_translator *translator);
void fm_translate_unblock(struct fm_translator *translator);
/* Continues the thread at `pc`: natively, or in the cache if possible. Returns the block's index + 1, or 0. */
void fm_translate_leave(struct fm_translator *translator, enum fm_translate_reason reason, uint64_t pc);
uint32_t fm_translate_go_to(struct fm_translator *translator, uint64_t pc, bool with_landing);

/* The rest is in a folder per architecture, such as x86_64. There are the functions of translate.h that access
   registers of a thread: fm_translator_enter(), _leave(), _enter_context(), _begin_burst(), _settle(), _origin(). */

/* Decode and emit: size of the data of a block under translation, its decoder, and the code at the start of the
   cache. */
extern const size_t fm_translate_work_size;
int fm_translate_prepare(struct fm_translator *translator);
/* Returns the block at `pc`, translated if necessary: index + 1, or 0 with the reason to leave. May flush. With a
   landing, indirect branches reach a new block at once. */
uint32_t fm_translate_block(struct fm_translator *translator, uint64_t pc, bool with_landing,
                            enum fm_translate_reason *ret_reason);
/* Makes the block reachable by indirect branches. Does not flush; without room the block stays unreachable. */
void fm_translate_land(struct fm_translator *translator, uint32_t block);
/* Directs the branch at this offset to slots->resume. */
void fm_translate_chain(struct fm_translator *translator, uint32_t patch);
/* EXIT_LEARN: gives an indirect branch through a pointer at a fixed address code that expects the pointer's value. */
void fm_translate_learn(struct fm_translator *translator, const struct exit_record *exit);
/* The code of a thread-creating system call before `next`; NULL if there are too many. */
uint8_t *fm_translate_thread_gate(struct fm_translator *translator, uint64_t next);

/* Gate: saves the registers, calls fm_translate_serve() and continues in the cache. The light gate saves no vector
   registers and calls fm_translate_count(). */
void fm_translate_light_gate(void);
void fm_translate_gate(void);
extern const char fm_translate_gate_end[];
/* A mask register in the saved vector state. */
uint64_t fm_translate_mask_register(const struct fm_translator *translator, unsigned number);

/* Checks the processor. -ENOTSUP if it lacks a requirement; else 0, with mask and size of the saved vector state. */
int fm_translate_check(bool with_filter, uint64_t *ret_mask, size_t *ret_size);
/* Returns to the program as from a signal, which restores registers, vector state and mask at once. Once burst_release
   is set, another thread may use the translator: it is not accessed any more. */
void fm_translate_end_burst(struct fm_translator *translator) __attribute__((noreturn));
/* The next system call of a thread. */
struct system_call {
	uint64_t number, arguments[4];
	unsigned bytes; /* of the instruction */
};
struct system_call fm_translate_system_call(const struct slots *slots);

#endif
