/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/repeated.h"

#include "engine/qemu/state.h"

/* The most bytes of one access: they are counted in eight bits on the way to the simulator. */
enum { ACCESS_BYTES_MAX = 128 };

static unsigned access_limit(void)
{
	unsigned line = 1u << fm_engine.account->hierarchy->line_shift;

	return line < ACCESS_BYTES_MAX ? line : ACCESS_BYTES_MAX;
}

void fm_gather_end(struct fm_engine_thread *thread, struct fm_gathered *gathered)
{
	struct fm_result_site *site = (struct fm_result_site *)gathered->site;
	bool down = gathered->step >> 63;
	uint64_t end = gathered->expected ? gathered->expected : gathered->first + gathered->element;
	uint64_t low = down ? end + gathered->element : gathered->first,
	         high = down ? gathered->first + gathered->element : end;

	if (!site)
		return;
	gathered->site = NULL;
	fm_engine_gathered(thread, site, low, (unsigned)(high - low), gathered->store);
}

void fm_gather_end_all(struct fm_engine_thread *thread)
{
	fm_gather_end(thread, &thread->gathered[0]);
	fm_gather_end(thread, &thread->gathered[1]);
}

static bool take(struct fm_engine_thread *thread, struct fm_gathered *gathered, uint64_t address, unsigned bytes)
{
	unsigned limit = access_limit();
	uint64_t first = gathered->first;

	/* the second element shows the direction */
	if ((!gathered->expected || gathered->expected == first + bytes) && address + bytes == first &&
	    address / limit == first / limit) {
		gathered->step = -(uint64_t)bytes;
		gathered->expected = address;
		gathered->left = (unsigned)(first % limit) / bytes;
	}
	if (gathered->expected != address)
		return false;
	gathered->expected += gathered->step;
	if (!--gathered->left)
		fm_gather_end(thread, gathered);
	return true;
}

void fm_gather_slowly(struct fm_engine_thread *thread, const struct fm_result_site *site, uint64_t address,
                      unsigned bytes, bool store)
{
	struct fm_gathered *streams = thread->gathered, *chosen;
	unsigned limit = access_limit(), room = limit - (unsigned)(address % limit);

	for (unsigned i = 0; i < 2; i++) {
		if (streams[i].site && streams[i].site != site)
			fm_gather_end(thread, &streams[i]);
		if (streams[i].site && streams[i].store == store && take(thread, &streams[i], address, bytes))
			return;
	}
	/* a second load is that of a comparison */
	chosen = &streams[store || (streams[0].site && !streams[1].site)];
	fm_gather_end(thread, chosen);
	if (room < bytes) { /* it crosses into the next line */
		fm_engine_gathered(thread, (struct fm_result_site *)site, address, bytes, store);
		return;
	}
	*chosen = (struct fm_gathered){.site = site,
	                               .expected = room < 2 * bytes ? 0 : address + bytes,
	                               .step = bytes,
	                               .left = room / bytes - 1,
	                               .store = store,
	                               .first = address,
	                               .element = bytes};
}
