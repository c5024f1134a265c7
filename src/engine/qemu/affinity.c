/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/affinity.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/qemu/accesses.h"
#include "engine/qemu/guest.h"
#include "engine/qemu/queue.h"
#include "engine/qemu/regions.h"
#include "engine/qemu/state.h"

enum { MASK_BYTES = FM_ENGINE_MASK_BYTES, EXPECTED = 64 };

/* Threads that do not run yet, and the core they were given. */
static struct {
	uint32_t thread;
	int core;
} expected[EXPECTED];

/* With the engine's mutex: threads end. */
static struct fm_engine_thread *find(struct fm_engine_thread *caller, uint64_t thread)
{
	if (!thread || thread == caller->record->host_thread)
		return caller;
	for (struct fm_engine_thread *live = fm_engine.live; live; live = live->next_live)
		if (live->record->host_thread == thread)
			return live;
	return NULL;
}

static bool has(const unsigned char *mask, unsigned core)
{
	return core / 8 < MASK_BYTES && mask[core / 8] >> core % 8 & 1;
}

/* Stay when the mask allows it; else the first core without a thread, else the first. -1: the machine has none of
   them. */
static int choose(const unsigned char *mask, int now)
{
	int first = -1;

	if (now >= 0 && has(mask, (unsigned)now))
		return now;
	for (unsigned core = 0; core < fm_engine.account->hierarchy->core_count; core++) {
		if (!has(mask, core))
			continue;
		if (!fm_engine.core_users[core])
			return (int)core;
		if (first < 0)
			first = (int)core;
	}
	return first;
}

void fm_affinity_set(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask)
{
	unsigned char wanted[MASK_BYTES] = {0}, all[MASK_BYTES];
	size_t length = bytes < sizeof(wanted) ? bytes : sizeof(wanted);
	struct fm_engine_thread *whom;
	int core;

	/* another process is none of ours: what it is given is for the kernel */
	if (fm_guest_copy(wanted, length, mask) != length ||
	    (thread && syscall(SYS_tgkill, getpid(), (pid_t)thread, 0)))
		return;
	pthread_mutex_lock(&fm_engine.mutex);
	whom = find(caller, thread);
	core = choose(wanted, whom && whom->core ? (int)whom->core->index : -1);
	if (core >= 0 && whom) {
		fm_engine_move(whom, (unsigned)core);
		memcpy(whom->mask, wanted, sizeof(wanted));
		whom->has_mask = true;
	} else if (core >= 0) {
		static unsigned next;

		expected[next % EXPECTED].thread = (uint32_t)thread;
		expected[next++ % EXPECTED].core = core;
	}
	pthread_mutex_unlock(&fm_engine.mutex);
	if (whom && whom == caller)
		fm_engine_trace(caller, caller->tracing);
	if (core < 0)
		return; /* neither machine has it: let the call fail */
	/* the host's kernel leaves out what it does not have */
	caller->mask_address = mask;
	caller->mask_bytes = length;
	memcpy(caller->mask_saved, wanted, sizeof(wanted));
	memset(all, 0xff, sizeof(all));
	fm_guest_write(mask, all, length);
}

void fm_affinity_get(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask)
{
	const struct fm_engine_thread *whom;

	pthread_mutex_lock(&fm_engine.mutex);
	whom = find(caller, thread);
	if (whom && whom->has_mask) {
		caller->mask_address = mask;
		caller->mask_bytes = bytes < sizeof(caller->mask_saved) ? bytes : sizeof(caller->mask_saved);
		caller->mask_only_on_success = true;
		memcpy(caller->mask_saved, whom->mask, sizeof(whom->mask));
	}
	pthread_mutex_unlock(&fm_engine.mutex);
}

void fm_affinity_return(struct fm_engine_thread *caller, int64_t result)
{
	if (!caller->mask_address)
		return;
	if (!caller->mask_only_on_success || result >= 0)
		fm_guest_write(caller->mask_address, caller->mask_saved,
		               caller->mask_only_on_success && (uint64_t)result < caller->mask_bytes
		                   ? (size_t)result
		                   : caller->mask_bytes);
	caller->mask_address = 0;
	caller->mask_only_on_success = false;
}

int fm_affinity_expected(uint32_t thread)
{
	for (unsigned i = 0; i < EXPECTED; i++)
		if (expected[i].thread == thread) {
			expected[i].thread = 0;
			return expected[i].core;
		}
	return -1;
}
