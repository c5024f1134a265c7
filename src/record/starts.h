/* Which processes are worth the cost of beginning to record them. A job of many short processes, all of the same
   program, would take several times as long if each were recorded; what they do is known from the first ones. The
   processes of a session share a table of programs, behind the session in its file. */
#ifndef FATHOM_RECORD_STARTS_H
#define FATHOM_RECORD_STARTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FM_STARTS_PROGRAMS = 252, FM_STARTS_OFFSET = 4096 };

/* Shared by the tool, which makes it, and all processes. */
struct fm_starts {
	struct fm_starts_program {
		uint64_t key;     /* hash of the path, or of a program's forked processes; 0: free */
		uint32_t started; /* processes … */
		uint32_t ended;   /* … and those of them that were recorded to their end … */
		uint64_t cpu_ns;  /* … in so much processor time */
		uint64_t skipped; /* not recorded */
	} programs[FM_STARTS_PROGRAMS];
};

/* The program of this process, by the path by which it was executed. `starts` may be NULL: an older tool has none. */
void fm_starts_open(struct fm_starts *starts);

/* Whether this process is to be recorded; counts it. */
bool fm_starts_is_worth(bool forked);

/* The process has ended, and was recorded. */
void fm_starts_end(uint64_t cpu_ns);

#endif
