/* Shadow call stack of a thread, maintained at its call and return instructions. The stack slot of a return address
   identifies the call that a return belongs to, also after a longjmp. Frames may be missing if a thread switches
   between stacks.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_FRAMES_H
#define FATHOM_ENGINE_QEMU_FRAMES_H

#include <stdint.h>

enum { FM_FRAMES_MAX = 4096 }; /* in deeper recursion the outermost frames are dropped */

struct fm_frame {
	uint64_t slot; /* address of the return address on the stack */
	uint64_t address;
	uint64_t hash; /* of this frame's address and all outer ones; 0: not computed */
};

struct fm_frames {
	uint64_t count, base; /* frames `base` to `count` - 1 are valid */
	struct fm_frame frames[FM_FRAMES_MAX];
};

/* Frames of this thread; NULL: not recorded. */
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

/* Hash of all frames, computed lazily: most calls return before their hash is needed. */
static inline uint64_t fm_frames_hash(struct fm_frames *frames)
{
	uint64_t hash = 0, at = frames->count;

	while (at > frames->base && !hash)
		hash = fm_frames_at(frames, --at)->hash;
	for (at += hash != 0; at < frames->count; at++)
		fm_frames_at(frames, at)->hash = hash = fm_frames_mix(hash, fm_frames_at(frames, at)->address) | 1;
	return hash;
}

/* On a return through this slot: removes the frames with this slot and all inner ones. */
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
