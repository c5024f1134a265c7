/* What the unwinding tables (.eh_frame) of the program and its libraries say of one instruction: how to find the frame
   of the caller and the registers it had. Lock-free and safe in signal handlers, as unwind.h, which is the only user.
 */
#ifndef FATHOM_RECORD_ROWS_H
#define FATHOM_RECORD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/modules.h"

#pragma GCC visibility push(hidden)

/* DWARF's numbers of the registers of x86-64. */
enum { FM_BX = 3, FM_DI = 5, FM_BP = 6, FM_SP = 7, FM_R10 = 10, FM_R12 = 12, FM_R15 = 15, FM_RETURN = 16, FM_COLUMNS };

enum fm_column_kind {
	FM_SAME, /* nothing is said: kept by a function that is called, if it is one of those that are */
	FM_UNDEFINED,
	FM_AT_OFFSET,     /* saved at the frame's address + value */
	FM_IS_OFFSET,     /* it is the frame's address + value */
	FM_REGISTER,      /* in register `value` */
	FM_AT_EXPRESSION, /* saved at what an expression tells */
	FM_IS_EXPRESSION
};

/* The frame's address (CFA) is a register + offset, or what an expression tells. Expressions are their distances from
   the start of the module; their length (LEB128) comes first. */
struct fm_row {
	uint32_t frame_expression; /* 0: none */
	int32_t frame_offset;
	uint8_t frame_register;
	uint8_t kind[FM_COLUMNS];
	int32_t value[FM_COLUMNS];
};

/* Bytes of a module. What would lie outside, or where nothing can be read, makes it bad, and reads as 0. */
struct fm_reader {
	const struct fm_module *module;
	uint64_t at, end;
	uint64_t low, high; /* known to be readable */
	bool bad;
};

/* How often libraries came or went. Part of every key of what is remembered. */
extern uint32_t fm_rows_generation;

void fm_rows_forget(void);

/* The row of the instruction at pc. `ret_signal`: it belongs to code that a signal handler returns to, so the pc of its
   caller is no return address. */
bool fm_rows_find(const struct fm_module *module, uint64_t pc, struct fm_row *ret_row, bool *ret_signal);

/* Opens an expression of a row. */
void fm_rows_expression(const struct fm_module *module, uint32_t expression, struct fm_reader *ret_reader);

/* Numbers of 1, 2, 4 or 8 bytes, and of as many as they need (LEB128). */
uint64_t fm_reader_unsigned(struct fm_reader *reader, unsigned size);
int64_t fm_reader_signed(struct fm_reader *reader, unsigned size);
uint64_t fm_reader_uleb(struct fm_reader *reader);
int64_t fm_reader_sleb(struct fm_reader *reader);

#pragma GCC visibility pop

#endif
