/* All references of one window, and two results at its end. Survivors: references whose line is not touched again.
   First words: those that begin the next visit to a survivor's line. Allocates nothing and calls nothing: the program
   is stopped meanwhile. */
#ifndef FATHOM_RECORD_WINDOW_LOG_H
#define FATHOM_RECORD_WINDOW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/window_code.h"

enum {
	FM_WINDOW_LONGEST = 8192,
	FM_WINDOW_ROOM = FM_WINDOW_LONGEST + 1024, /* a window ends at the end of a basic block */
	FM_WINDOW_TABLE = 2 * FM_WINDOW_LONGEST * 2,
	FM_WINDOW_WORDS = 8, /* 8-byte words of a line: a watchpoint covers one */
};

struct fm_window_log {
	uint32_t count;
	uint32_t survivors;             /* survivors old enough to be watched */
	uint64_t words[FM_WINDOW_ROOM]; /* addresses / 8 */
	uint32_t codes[FM_WINDOW_ROOM]; /* of the instructions */
	uint16_t since[FM_WINDOW_ROOM]; /* references since the last touch of the line; 0: none */
	uint8_t again[FM_WINDOW_ROOM];  /* 1: the line is touched again */
	uint16_t table[FM_WINDOW_TABLE];
	uint8_t bytes[FM_WINDOW_ROOM * FM_WINDOW_REFERENCE_BYTES]; /* the encoded window */
};

/* A thread's habits: how often a visit to a line begins with the first word of the visit before. */
struct fm_window_habits {
	double visits, same;
};

/* Clears the log for a new window. */
void fm_window_log_begin(struct fm_window_log *log);

static inline bool fm_window_log_add(struct fm_window_log *log, uint64_t address, uint64_t code)
{
	if (log->count == FM_WINDOW_ROOM)
		return false;
	log->words[log->count] = address >> 3;
	log->codes[log->count++] = (uint32_t)code;
	return true;
}

/* At the end of a window: finds the references whose line is touched again. */
void fm_window_log_link(struct fm_window_log *log, struct fm_window_habits *habits);

/* The least age of a survivor to be watched, as fm_window_horizon() of reuse/window.h. */
static inline uint32_t fm_window_log_horizon(uint32_t count)
{
	return count / 8 * 3;
}

/* Position of a random survivor that is old enough, all equally likely. The log must have one. */
uint32_t fm_window_log_choose(const struct fm_window_log *log, uint64_t random);

/* Chooses up to `room` words (addresses / 8) of the reference's line, with which the next visit likely begins; fewer if
   one suffices. Returns their number; `ret_share`: probability that the visit begins with one. */
unsigned fm_window_log_words(const struct fm_window_log *log, const struct fm_window_habits *habits, uint32_t position,
                             unsigned room, uint64_t *ret_words, double *ret_share);

/* Encodes the window for the stream, into `bytes`. Returns the size. */
size_t fm_window_log_encode(struct fm_window_log *log);

#endif
