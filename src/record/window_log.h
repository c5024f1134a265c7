/* The references of one window, all of them, and what is to be known at its end: which of them are survivors, whose
   line is not touched again, and which words of a survivor's line will be touched first when it is. Allocates nothing,
   calls nothing: it works while the program stands still. */
#ifndef FATHOM_RECORD_WINDOW_LOG_H
#define FATHOM_RECORD_WINDOW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/window_code.h"

enum {
	FM_WINDOW_LONGEST = 8192,
	FM_WINDOW_ROOM = FM_WINDOW_LONGEST + 1024, /* a window ends only where a block of code ends */
	FM_WINDOW_TABLE = 2 * FM_WINDOW_LONGEST * 2,
	FM_WINDOW_WORDS = 8, /* of a line, 8 bytes each: what a watchpoint covers */
};

struct fm_window_log {
	uint32_t count;
	uint32_t survivors;             /* that are old enough to be watched */
	uint64_t words[FM_WINDOW_ROOM]; /* addresses / 8 */
	uint32_t codes[FM_WINDOW_ROOM]; /* of the instructions */
	uint16_t since[FM_WINDOW_ROOM]; /* references since the line was touched before; 0: never */
	uint8_t again[FM_WINDOW_ROOM];  /* 1: the line is touched again */
	uint16_t table[FM_WINDOW_TABLE];
	uint8_t bytes[FM_WINDOW_ROOM * FM_WINDOW_REFERENCE_BYTES]; /* the window as it is written down */
};

/* What is known of a thread's habits: how often a line that is visited again is first touched at the word where the
   visit before began. */
struct fm_window_habits {
	double visits, same;
};

/* Forget everything that was there. */
void fm_window_log_begin(struct fm_window_log *log);

static inline bool fm_window_log_add(struct fm_window_log *log, uint64_t address, uint64_t code)
{
	if (log->count == FM_WINDOW_ROOM)
		return false;
	log->words[log->count] = address >> 3;
	log->codes[log->count++] = (uint32_t)code;
	return true;
}

/* The window has ended: find out which lines are touched again. */
void fm_window_log_link(struct fm_window_log *log, struct fm_window_habits *habits);

/* How old a survivor must be to be watched: as fm_window_horizon() of reuse/window.h. */
static inline uint32_t fm_window_log_horizon(uint32_t count)
{
	return count / 8 * 3;
}

/* The position of one of the survivors that are old enough, each as likely as the other. The log must have some. */
uint32_t fm_window_log_choose(const struct fm_window_log *log, uint64_t random);

/* Up to `room` words of the line of that reference, by their addresses / 8, such that the next visit likely begins with
   one of them; fewer if one is enough. Returns how many; `ret_share` is how likely. */
unsigned fm_window_log_words(const struct fm_window_log *log, const struct fm_window_habits *habits, uint32_t position,
                             unsigned room, uint64_t *ret_words, double *ret_share);

/* As it goes into the stream: in `bytes`; returns how many. */
size_t fm_window_log_encode(struct fm_window_log *log);

#endif
