/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/calls.h"

#include <stddef.h>

unsigned fm_call_kind(int64_t number, bool x86)
{
	static const struct {
		int x86, arm;
		unsigned kind;
	} calls[] = {
	    {0, 63, FM_CALL_READS | FM_CALL_WAITS},
	    {17, 67, FM_CALL_READS},
	    {19, 65, FM_CALL_READS | FM_CALL_WAITS},
	    {45, 207, FM_CALL_READS | FM_CALL_WAITS},
	    {318, 278, FM_CALL_READS},
	    {59, 221, FM_CALL_EXECUTES},
	    {322, 281, FM_CALL_EXECUTES},
	    {60, 93, FM_CALL_EXITS},
	    {231, 94, FM_CALL_EXITS_ALL},
	    {56, 220, FM_CALL_CLONES},
	    {435, 435, FM_CALL_CLONES},
	    {202, 98, FM_CALL_FUTEX},
	    {203, 122, FM_CALL_SETS_AFFINITY},
	    {204, 123, FM_CALL_GETS_AFFINITY},
	    {1, 64, FM_CALL_WAITS},
	    {20, 66, FM_CALL_WAITS},
	    {7, -1, FM_CALL_WAITS},
	    {23, -1, FM_CALL_WAITS},
	    {24, 124, FM_CALL_WAITS | FM_CALL_PAUSES},
	    {34, -1, FM_CALL_WAITS},
	    {35, 101, FM_CALL_WAITS | FM_CALL_PAUSES},
	    {42, 203, FM_CALL_WAITS},
	    {43, 202, FM_CALL_WAITS},
	    {44, 206, FM_CALL_WAITS},
	    {46, 211, FM_CALL_WAITS},
	    {47, 212, FM_CALL_READS | FM_CALL_WAITS},
	    {61, 260, FM_CALL_WAITS},
	    {65, 193, FM_CALL_WAITS},
	    {70, 188, FM_CALL_WAITS},
	    {72, 25, FM_CALL_WAITS},
	    {73, 32, FM_CALL_WAITS},
	    {128, 137, FM_CALL_WAITS},
	    {130, 133, FM_CALL_WAITS},
	    {230, 115, FM_CALL_WAITS | FM_CALL_PAUSES},
	    {232, -1, FM_CALL_WAITS},
	    {247, 95, FM_CALL_WAITS},
	    {270, 72, FM_CALL_WAITS},
	    {271, 73, FM_CALL_WAITS},
	    {281, 22, FM_CALL_WAITS},
	    {288, 242, FM_CALL_WAITS},
	    {299, 243, FM_CALL_WAITS},
	    {69, 189, FM_CALL_WAITS},
	    {208, 4, FM_CALL_WAITS},
	    {219, 128, FM_CALL_WAITS},
	    {220, 192, FM_CALL_WAITS},
	    {242, 182, FM_CALL_WAITS},
	    {243, 183, FM_CALL_WAITS},
	    {307, 269, FM_CALL_WAITS},
	    {333, 292, FM_CALL_WAITS},
	    {426, 426, FM_CALL_WAITS},
	    {441, 441, FM_CALL_WAITS},
	    {449, 449, FM_CALL_WAITS},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (number == (x86 ? calls[i].x86 : calls[i].arm))
			return calls[i].kind;
	return 0;
}

bool fm_futex_waits(uint64_t operation)
{
	switch (operation & 127) {
	case 0:  /* WAIT */
	case 6:  /* LOCK_PI */
	case 9:  /* WAIT_BITSET */
	case 11: /* WAIT_REQUEUE_PI */
	case 13: /* LOCK_PI2 */
		return true;
	default:
		return false;
	}
}
