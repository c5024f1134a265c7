/* Detects atomic x86-64 instructions: a lock prefix, or xchg with memory, which is atomic without the prefix. */
#ifndef FATHOM_ENGINE_ACCOUNT_X86_64_LOCKED_H
#define FATHOM_ENGINE_ACCOUNT_X86_64_LOCKED_H

#include <stdbool.h>

static inline bool fm_is_locked(const unsigned char *bytes, unsigned count)
{
	unsigned i = 0;

	for (; i < count; i++)
		switch (bytes[i]) {
		case 0xf0:
			return true;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64 ... 0x67:
		case 0xf2:
		case 0xf3:
			continue;
		default:
			/* callers pass instructions with memory operands only */
			i += bytes[i] >> 4 == 4;
			return i < count && (bytes[i] & ~1) == 0x86;
		}
	return false;
}

#endif
