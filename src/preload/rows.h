/* A row of the unwinding tables (.eh_frame): how to find the caller's frame and registers for one instruction.
   Lock-free and safe in signal handlers, as unwind.h, the only user. */
#ifndef FATHOM_PRELOAD_ROWS_H
#define FATHOM_PRELOAD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/modules.h"
#include "preload/x86_64/registers.h"

#pragma GCC visibility push(hidden)

enum fm_column_kind {
	FM_SAME, /* no rule: kept by the callee if it is a callee-saved register */
	FM_UNDEFINED,
	FM_AT_OFFSET,     /* saved at frame address + value */
	FM_IS_OFFSET,     /* equals frame address + value */
	FM_REGISTER,      /* in register `value` */
	FM_AT_EXPRESSION, /* saved at the address of an expression */
	FM_IS_EXPRESSION
};

/* The frame address (CFA): a register + offset, or the result of an expression. Expressions are offsets from the start
   of the module; their length (LEB128) comes first. */
struct fm_row {
	uint32_t frame_expression; /* 0: none */
	int32_t frame_offset;
	uint8_t frame_register;
	uint8_t kind[FM_COLUMNS];
	int32_t value[FM_COLUMNS];
};

/* Reads bytes of a module. A read outside of the module or of unreadable memory returns 0 and marks the reader bad. */
struct fm_reader {
	const struct fm_module *module;
	uint64_t at, end;
	uint64_t low, high; /* readable range found so far */
	bool bad;
};

/* Number of loads and unloads of libraries, part of each key of remembered rules. */
extern uint32_t fm_rows_generation;

void fm_rows_forget(void);

/* Finds the row of the instruction at `pc`. `ret_signal`: code to which a signal handler returns, so the caller's pc is
   no return address. False: no row. */
bool fm_rows_find(const struct fm_module *module, uint64_t pc, struct fm_row *ret_row, bool *ret_signal);

/* Opens a reader on an expression of a row. */
void fm_rows_expression(const struct fm_module *module, uint32_t expression, struct fm_reader *ret_reader);

/* Read a number of 1, 2, 4 or 8 bytes, or of variable length (LEB128). */
uint64_t fm_reader_unsigned(struct fm_reader *reader, unsigned size);
int64_t fm_reader_signed(struct fm_reader *reader, unsigned size);
uint64_t fm_reader_uleb(struct fm_reader *reader);
int64_t fm_reader_sleb(struct fm_reader *reader);

#pragma GCC visibility pop

#endif
