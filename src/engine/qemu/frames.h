/* The calls a thread is in, followed by its call and return instructions: each stores or loads a return address, and
   where it lies on the stack tells which call a return belongs to, also after a longjmp. Frames of a program that
   switches between several stacks in one thread may be missing.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_FRAMES_H
#define FATHOM_ENGINE_QEMU_FRAMES_H

#include <stdint.h>

enum { FM_FRAMES_MAX = 4096 }; /* in deeper recursion the outermost are forgotten */

struct fm_frame {
	uint64_t slot; /* where the return address lies */
	uint64_t address;
	uint64_t hash; /* of this address and of all further out; 0: nobody has asked yet */
};

struct fm_frames {
	uint64_t count, base; /* those from `base` to `count` are known */
	struct fm_frame frames[FM_FRAMES_MAX];
};

/* Of this thread; NULL: none are kept. */
extern __thread struct fm_frames *fm_frames __attribute__((tls_model("initial-exec")));

static inline struct fm_frame *fm_frames_at(struct fm_frames *frames, uint64_t index)
{
	return &frames->frames[index % FM_FRAMES_MAX];
}

static inline uint64_t fm_frames_mix(uint64_t hash, uint64_t address)
{
	hash = (hash ^ address) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* Hash of all of them. Most calls are over before anybody asks, and then cost nothing here. */
static inline uint64_t fm_frames_hash(struct fm_frames *frames)
{
	uint64_t hash = 0, at = frames->count;

	while (at > frames->base && !hash)
		hash = fm_frames_at(frames, --at)->hash;
	for (at += hash != 0; at < frames->count; at++)
		fm_frames_at(frames, at)->hash = hash = fm_frames_mix(hash, fm_frames_at(frames, at)->address) | 1;
	return hash;
}

/* The return address in this slot was used: calls that stored theirs there or further in are over. */
static inline void fm_frames_return(struct fm_frames *frames, uint64_t slot)
{
	while (frames->count > frames->base && fm_frames_at(frames, frames->count - 1)->slot <= slot)
		frames->count--;
}

static inline void fm_frames_call(struct fm_frames *frames, uint64_t slot, uint64_t address)
{
	fm_frames_return(frames, slot);
	*fm_frames_at(frames, frames->count++) = (struct fm_frame){.slot = slot, .address = address};
	if (frames->count - frames->base > FM_FRAMES_MAX)
		frames->base++;
}

#endif
