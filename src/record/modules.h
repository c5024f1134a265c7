/* Which program or library an instruction belongs to. Safe in signal handlers but for the two that say so. */
#ifndef FATHOM_RECORD_MODULES_H
#define FATHOM_RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct fm_module {
	uint64_t start, end;
	uint64_t header; /* .eh_frame_hdr */
};

/* Not in signal handlers: once, and whenever libraries came or went. */
void fm_modules_open(void);
void fm_modules_changed(void);

/* Only modules that have unwinding tables. */
bool fm_modules_find(uint64_t pc, struct fm_module *ret_module);

#pragma GCC visibility pop

#endif
