/* What the files of this folder share. */
#ifndef FATHOM_TRANSLATE_INTERNAL_H
#define FATHOM_TRANSLATE_INTERNAL_H

#include <Zydis/Zydis.h>

#include "translate/translate.h"

/* General registers in the order of their encoding. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NO_REGISTER = 0xff };
#define REGISTER_BIT(number) (1u << (number))

enum instruction_class {
	CLASS_COPY,
	CLASS_JUMP,
	CLASS_CONDITIONAL,
	CLASS_COUNTED, /* loop, loope, loopne, jrcxz, jecxz */
	CLASS_CALL,
	CLASS_RETURN,
	CLASS_INDIRECT_JUMP,
	CLASS_INDIRECT_CALL,
	CLASS_SYSTEM_CALL,
	CLASS_LEAVE,
};

enum segment { SEGMENT_NONE, SEGMENT_FS, SEGMENT_GS };

/* The address of a memory operand. With `absolute` the displacement is all of it. */
struct address {
	int64_t displacement;
	uint8_t base, index, scale; /* scale as a power of two */
	uint8_t segment;
	bool absolute;
	bool narrow;  /* 32-bit address size */
	bool unknown; /* cannot be computed in one lea */
};

enum { MOST_REFERENCES = 4 };

struct reference {
	struct address address;
	uint16_t size;
	uint8_t kind;
};

/* Relative to the thread pointer, only what one instruction more computes. */
static inline bool fm_translate_can_be_logged(const struct reference *reference)
{
	return reference->address.segment != SEGMENT_FS || (!reference->address.absolute && !reference->address.narrow);
}

struct instruction {
	uint64_t pc;
	uint64_t target;      /* of a direct branch */
	struct address from;  /* where an indirect branch through memory gets its target */
	uint64_t rip_address; /* what a rip-relative operand means */
	struct reference references[MOST_REFERENCES];
	uint16_t reads, writes; /* general registers, hidden ones too */
	uint16_t replaces;      /* those that it writes as a whole and does not read */
	uint16_t popped;        /* bytes that a return drops beside the address */
	uint8_t length, class, condition, reason;
	uint8_t branch_register; /* of an indirect branch, or NO_REGISTER */
	uint8_t reference_count, unknown_references;
	uint8_t displacement_at, modrm_at; /* of a rip-relative operand */
	uint8_t opcode;                    /* of a counted branch */
	uint8_t extension_at;              /* the byte that could extend a base register, if there is one */
	bool rip_relative, has_extension, extension_inverted, narrow, agen;
	bool overwrites_flags; /* OF, SF, ZF, AF and PF, without reading them */
	bool reads_flags;      /* any of these, or it is not known */
	bool overwrites_carry, reads_carry;
};

/* Decodes the instruction at pc, of which at most `room` bytes may be read. What cannot be run becomes CLASS_LEAVE. */
void fm_translate_decode(const ZydisDecoder *decoder, uint64_t pc, size_t room, struct instruction *instruction);

/* Whether the program overwrites OF, SF, ZF, AF and PF after pc without reading them; false if it is not seen soon.
   Looks only at code in [start, end). */
bool fm_translate_flags_die(const ZydisDecoder *decoder, uint64_t pc, uint64_t start, uint64_t end);

/* For each of `count` instructions: whether from there on all flags, CF too, are overwritten before any of them is
   read; what comes after the last one is looked at too. */
void fm_translate_find_dead_flags(const ZydisDecoder *decoder, const struct instruction *instructions, unsigned count,
                                  uint64_t start, uint64_t end, bool *ret_dead);

/* Executable mappings of the process. */
enum range_kind { RANGE_FILE, RANGE_GENERATED, RANGE_WRITABLE };
struct range {
	uint64_t start, end;
	uint8_t kind;
	bool used; /* something of it was translated */
};
enum { MOST_RANGES = 512, RANGE_TEXT = 8192 };
struct ranges {
	struct range list[MOST_RANGES];
	unsigned count;
	char text[RANGE_TEXT];
};
/* NULL if nothing executable is there. Reads /proc/self/maps if the address is in no known range. */
struct range *fm_translate_find_range(struct ranges *ranges, uint64_t address);
/* Of eight bytes. */
bool fm_translate_is_readable(uint64_t address);
/* Whether the description of a restartable sequence (rseq) is at the address. The kernel restarts it only where it
   knows it, so it must run where the program has it. */
bool fm_translate_is_sequence(struct ranges *ranges, uint64_t address);

/* How the original address is known at some place of the cache. */
enum pc_kind {
	PC_STATIC,
	PC_END,        /* the block's last branch is as good as taken */
	PC_AFTER_CALL, /* static, and rcx gets it too, as the processor does in a system call */
	PC_IN_RCX,
	PC_RCX_MINUS_R11, /* a landing is comparing */
	PC_UNKNOWN
};

/* From `code` bytes after the previous place on: the program is at `pc` bytes after the previous address. */
struct place {
	uint8_t code;
	int8_t pc;
	uint16_t held;        /* registers whose values are in the slots */
	uint8_t logged;       /* references logged since log_register was loaded */
	uint8_t log_register; /* has the log's end, or NO_REGISTER */
	uint8_t pc_kind;
	uint8_t unused;
};

struct block {
	uint64_t pc;
	uint32_t code; /* offset in the cache; blocks are in its order */
	uint32_t places, place_count;
	uint32_t landing; /* offset of the code that indirect branches come to, 0: none */
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
	EXIT_LEARN
};
/* Why the cache asks for the translator. */
struct exit_record {
	uint64_t pc;
	uint32_t patch; /* offset of the branch's displacement, or where to go on */
	uint16_t kind;
	uint16_t reason;
	uint32_t site;
};
enum { EXIT_ENTER = 0xfffffffe, EXIT_INDIRECT = 0xffffffff };

enum { INDEX_BITS = 16, THREAD_GATES = 32, THREAD_GATE_SIZE = 128, GATES_SIZE = THREAD_GATES * THREAD_GATE_SIZE };

enum { FILTER_LATEST = 64, FILTER_ENTRIES = 12, LINE_SHIFT = 6 };
#define FILTER_GENERATION (1ull << 48)

/* What the code of one operand has beside it. */
struct filter_record {
	uint64_t
	    line; /* that it met last, as in the slots; of a repeated one, where it is counted if it is not logged */
	uint32_t site; /* what is logged */
	uint32_t back; /* where to go on: offset in the cache */
};

/* What code in the cache reads and writes, addressed relative to the instruction. */
struct slots {
	uint64_t registers[16];
	uint64_t flags;
	uint64_t resume; /* where to go when the translator has done its work */
	uint64_t exit;   /* index of the exit record */
	uint64_t target; /* of an indirect branch that was not found; address of a reference */
	uint64_t next;   /* where to go on after a system call */
	int64_t fuel;
	uint64_t log_end; /* where the next entry goes */
	uint64_t stack;   /* top of the translator's own */
	uint64_t gate;    /* fm_translate_gate */
	uint64_t self;
	int64_t countdown;
	uint64_t light_gate; /* fm_translate_light_gate */
	/* filter.c */
	uint64_t filter_record, filter_next; /* of whom, and where to go on; the address is in `target` */
	uint64_t filter_registers[3], filter_flags;
	/* lines of the latest entries, those that were loaded and those that were stored to: address >> LINE_SHIFT,
	   plus the generation, a multiple of FILTER_GENERATION, which changes after some entries */
	uint64_t filter_lines[FILTER_LATEST], filter_stored[FILTER_LATEST];
	uint64_t filter_table; /* address of filter_lines */
	uint64_t filter_generation;
	uint32_t filter_left; /* entries of this generation */
	uint64_t filter_dropped;
	struct fm_translate_short filter_short[FM_TRANSLATE_STRING_KINDS];
	uint64_t filter_stop;       /* the end of the log */
	uint8_t special_calls[256]; /* by the low byte of the number: 1 if the translator must see the call */
};

struct lookup_entry {
	uint64_t pc;
	uint32_t block; /* index + 1; 0: empty */
};

/* uc_flags … uc_sigmask of the kernel's struct ucontext, up to a multiple of 64 */
enum { KERNEL_CONTEXT = 304, FRAME_CONTEXT = 320 };

enum { MOST_INSTRUCTIONS = 64, MOST_BLOCK_CODE = 32768 };

enum { MOST_PENDING = 2 * MOST_INSTRUCTIONS + MOST_INSTRUCTIONS * MOST_REFERENCES + 8, MOST_LITERALS = 4 };

/* A branch of the block whose other end is not written yet. */
struct pending {
	uint8_t *displacement;
	struct exit_record record;
};

/* A conditional branch with borrowed registers, which get their values back only if it is taken, away from the block.
 */
struct sideways {
	uint8_t *displacement;
	uint64_t target;
	uint16_t held;
};

/* An operand that is looked at; see filter.c. */
enum { MOST_FILTERED = 128 };
struct filtered {
	uint8_t instruction, reference;
	uint8_t before; /* in front of which instruction */
	uint8_t temporary;
	uint8_t kept; /* the register that has rax meanwhile, if it is in the address */
	bool live;    /* flags must be kept */
	/* whose two tests are for this one too: it lies between these addresses, which may be the same */
	uint8_t leader, members;
	int32_t low, high;
	uint8_t *displacement[2]; /* of the branches to its stub; NULL: none yet */
	struct filter_record *record;
};

/* A block in the making. */
struct work {
	struct fm_translator *translator;
	uint8_t *at;
	struct block *block;
	uint64_t pc;
	uint16_t held;
	uint8_t log_register;
	uint8_t logged;  /* entries of instructions before this one */
	uint8_t writing; /* and of this one */
	uint8_t *last_code;
	uint64_t last_pc;
	unsigned count_at; /* in front of which instruction the piece is counted; MOST_INSTRUCTIONS: none */
	bool count_kept;   /* it is counted where flags are kept for an operand */
	const uint64_t *counter;
	uint64_t range_start, range_end; /* of the code */
	struct pending pending[MOST_PENDING];
	unsigned pending_count;
	struct {
		uint8_t *displacement;
		uint64_t value;
	} literals[MOST_LITERALS];
	unsigned literal_count;
	struct sideways sideways[MOST_INSTRUCTIONS];
	unsigned sideways_count;
	struct filtered filtered[MOST_FILTERED];
	unsigned filtered_count;
	bool flags_dead[MOST_INSTRUCTIONS]; /* in front of each instruction */
};

struct fm_translator {
	/* the next four are known to the assembly in gate.c by their order */
	struct slots *slots;
	void *vector_state;
	uint64_t enter_code;
	uint64_t vector_mask;

	uint8_t *region;
	size_t region_size;
	uint64_t *table; /* 2^INDEX_BITS landings, by the low bits of the target */
	uint8_t *code, *code_start, *code_end;
	uint8_t *code_at, *stubs_at; /* blocks grow up, their stubs and literals down */
	uint8_t *exit_code, *counted_code, *missing_code, *call_code, *burst_code;
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
	uint8_t log_frame; /* byte 3 of all addresses of the log, which a block compares instead of the end */

	void *own_vector_state;    /* vector_state when there is no burst */
	struct burst_frame *burst; /* NULL: none */
	uint32_t *burst_release;
	size_t vector_size;
	uint64_t ticks, served_since; /* in fm_translate_serve(): altogether, and since when, 0: not now */
	bool left;                    /* the thread goes on natively, unless there is a successor */
	struct fm_translator *successor;
	uint64_t mask; /* of signals, the program's, while they are blocked */

	void *tables;
	size_t tables_size;
	struct fm_translate_client client;
	bool with_fuel, generated_code, count_pieces, log_pieces;
	struct fm_translate_filter filter;
	uint8_t *filter_code[FILTER_KINDS];
	struct filter_record *filter_records; /* by the index of the site */
	uint64_t *counters;                   /* of pieces */
	uint8_t *stack_start, *stack_end;
	ZydisDecoder decoder;
	struct fm_translate_counts counts;
	struct ranges ranges;
	struct instruction instructions[MOST_INSTRUCTIONS]; /* here, since stacks of signal handlers are small */
	struct work work;
};

/* block.c: the block at pc, translated if need be; index + 1, or 0 with the reason to leave. May flush.
   With a landing a new block is reachable by indirect branches at once. */
uint32_t fm_translate_block(struct fm_translator *translator, uint64_t pc, bool with_landing,
                            enum fm_translate_reason *ret_reason);
/* Makes the block reachable by indirect branches. May not flush; without room it is simply not reachable. */
void fm_translate_land(struct fm_translator *translator, uint32_t block);
/* Writes code for an indirect jump or call that expects it to go to `target`, at code_at. False: no room. */
bool fm_translate_guess(struct fm_translator *translator, const struct instruction *instruction, uint64_t target);
/* Whether it goes where a pointer at a fixed address says. */
static inline bool fm_translate_is_fixed(const struct instruction *instruction)
{
	return (instruction->class == CLASS_INDIRECT_JUMP || instruction->class == CLASS_INDIRECT_CALL) &&
	       instruction->branch_register == NO_REGISTER && instruction->from.absolute && !instruction->from.segment;
}
void fm_translate_permanent_code(struct fm_translator *translator);
/* The code for a system call at `pc - 2` that makes a thread; NULL if there are too many. */
uint8_t *fm_translate_thread_gate(struct fm_translator *translator, uint64_t next);

/* Neighbours in the program are neighbours in the table: the translator asks for one address after the other. */
static inline uint32_t lookup_start(const struct fm_translator *translator, uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> 24) & translator->lookup_mask;
}

/* cache.c */
uint32_t fm_translate_find(const struct fm_translator *translator, uint64_t pc);
void fm_translate_deliver_log(struct fm_translator *translator);
void fm_translate_set_context(ucontext_t *context, const uint64_t *registers);
void fm_translate_forget_burst(struct fm_translator *translator);

/* What a return from a signal takes: the kernel's layout, of which the first word is not used. */
struct burst_frame {
	uint64_t unused[7];
	uint64_t return_address;
	uint8_t context[FRAME_CONTEXT]; /* the beginning of a ucontext_t, as far as the kernel knows it */
	uint8_t vector_state[] __attribute__((aligned(64)));
};

/* count.c: general registers only. True: leave. */
bool fm_translate_count(struct fm_translator *translator);

/* gate.c */
void fm_translate_light_gate(void);
void fm_translate_gate(void);
extern const char fm_translate_gate_end[];
/* Returns the translator that goes on, with all signals still blocked. */
struct fm_translator *fm_translate_serve(struct fm_translator *translator);
void fm_translate_unblock(struct fm_translator *translator);

#endif
