/* A block under translation: registers borrowed from the program, and the state at each place of its code. */
#ifndef FATHOM_TRANSLATE_X86_64_MAKING_H
#define FATHOM_TRANSLATE_X86_64_MAKING_H

#include "translate/x86_64/instruction.h"

/* How the original address is found at a place of the cache. */
enum pc_kind {
	PC_STATIC,
	PC_END,        /* the block's last branch counts as taken */
	PC_AFTER_CALL, /* static, and rcx gets the address too, as in a system call of the processor */
	PC_IN_RCX,
	PC_RCX_MINUS_R11, /* a landing compares */
	PC_UNKNOWN
};

/* A branch of the block with an unwritten target. */
struct pending {
	uint8_t *displacement;
	struct exit_record record;
};

/* A conditional branch with borrowed registers. Code outside of the block restores them, only if the branch is
   taken. */
struct sideways {
	uint8_t *displacement;
	uint64_t target;
	uint16_t held;
	uint8_t passes; /* of the loop that the branch ends, not counted yet */
};

/* An operand whose line is tested; see filter.c. */
enum { MOST_FILTERED = 128 };
struct filtered {
	uint8_t instruction, reference;
	uint8_t before; /* index of the instruction after the test */
	uint8_t temporary;
	uint8_t kept; /* register that holds rax meanwhile, if the address uses it */
	bool live;    /* flags must be kept */
	/* operand with the two tests that serve this one: it lies between their addresses, which may be equal */
	uint8_t leader, members;
	int32_t low, high;
	uint8_t *displacement[2]; /* of the branches to its stub; NULL: none yet */
	struct filter_record *record;
};

/* A block under translation. */
struct work {
	struct fm_translator *translator;
	uint8_t *at;
	struct block *block;
	uint64_t pc;
	uint16_t held;
	uint8_t log_register;
	uint8_t logged;  /* entries of earlier instructions */
	uint8_t writing; /* entries of this instruction */
	uint8_t *last_code;
	uint64_t last_pc;
	unsigned count_at; /* the piece is counted before this instruction; MOST_INSTRUCTIONS: nowhere */
	bool count_kept;   /* the piece is counted where flags are saved for an operand */
	const uint64_t *counter;
	unsigned copies;                 /* of the loop that the block begins with, 1: no such loop */
	const uint64_t *loop_counter;    /* NULL: none */
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
	bool flags_dead[MOST_INSTRUCTIONS]; /* before each instruction */
	ZydisDecoder decoder;
	struct instruction instructions[MOST_INSTRUCTIONS];
};

/* The slot with the program's value of a borrowed register. */
uint64_t *fm_making_slot(struct work *work, unsigned number);

/* Notes the state from here on. Called after each change. */
void fm_making_mark(struct work *work, enum pc_kind kind);

/* From here on the slot has the register's value. */
void fm_making_spill(struct work *work, unsigned number);

/* Returns a register that may be overwritten, its value saved in its slot; none of `exclude`. */
unsigned fm_making_borrow(struct work *work, unsigned exclude, bool low);

/* Restores the borrowed registers of the mask. */
void fm_making_give_back(struct work *work, unsigned mask);

/* Emits number := address. The registers of the address must have the program's values. */
void fm_making_address(struct work *work, unsigned number, const struct address *address);

/* Provides a register with the end of the log, none of `used`. */
void fm_making_begin_log(struct work *work, unsigned used);

/* The displacement of a branch to an exit, which is written here: it goes to a stub behind the block. `patch`,
   `reason`, `site`: of the exit's record. */
void fm_making_pend(struct work *work, enum exit_kind kind, uint64_t pc, unsigned reason, uint32_t patch,
                    uint32_t site);

#endif
