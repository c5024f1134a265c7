/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/functions.h"

#include <stddef.h>
#include <string.h>

#include "engine/qemu/frames.h"
#include "engine/qemu/regions.h"
#include "engine/qemu/samples.h"
#include "engine/qemu/state.h"

enum { ENTRIES_MAX = 32 };

__thread uint64_t fm_function_slot __attribute__((tls_model("initial-exec"))) = UINT64_MAX;
__thread struct fm_frames *fm_frames __attribute__((tls_model("initial-exec")));

static struct {
	uint64_t entries[ENTRIES_MAX];
	unsigned count;
	bool marked;
} functions;

/* Compilers name what they made of a function after it: solve.isra.0, solve.constprop.1. What they moved out of it
   (solve.cold, solve.part.0) is not all of it. */
static bool is_named(const char *symbol, const char *name)
{
	size_t length = strlen(name);

	if (!length || strncmp(symbol, name, length))
		return false;
	return !symbol[length] || !strncmp(symbol + length, ".isra", 5) || !strncmp(symbol + length, ".constprop", 10);
}

void fm_functions_add(const char *name, uint64_t address)
{
	/* of other processors calls are not followed */
	if (fm_engine.x86 && is_named(name, fm_engine.region_only) && !fm_functions_begin_at(address) &&
	    functions.count < ENTRIES_MAX)
		functions.entries[functions.count++] = address;
}

bool fm_functions_begin_at(uint64_t address)
{
	for (unsigned i = 0; i < functions.count; i++)
		if (functions.entries[i] == address)
			return true;
	return false;
}

void fm_function_enter(void)
{
	if (functions.marked || fm_function_slot != UINT64_MAX || !fm_self || !fm_frames)
		return;
	/* a function that was jumped to returns for the one that was called */
	fm_function_slot =
	    fm_frames->count > fm_frames->base ? fm_frames_at(fm_frames, fm_frames->count - 1)->slot : UINT64_MAX - 1;
	fm_region_begin(fm_self, fm_engine.region_only);
	fm_samples_region(fm_engine.region_only, true);
	__atomic_fetch_add(&fm_engine.account->results->region_calls, 1, __ATOMIC_RELAXED);
}

void fm_function_leave(void)
{
	if (fm_function_slot == UINT64_MAX || !fm_self)
		return;
	fm_function_slot = UINT64_MAX;
	fm_region_end(fm_self, fm_engine.region_only);
	fm_samples_region(fm_engine.region_only, false);
}

void fm_functions_marked(const char *name)
{
	if (!fm_engine.region_only[0] || strcmp(name, fm_engine.region_only))
		return;
	functions.marked = true;
	fm_engine.account->results->region_marked = 1;
	if (fm_function_slot == UINT64_MAX)
		return;
	fm_function_slot = UINT64_MAX;
	fm_region_forget(fm_self, fm_engine.region_only);
	fm_samples_region(fm_engine.region_only, false);
}
