/* Decides which processes are worth the cost of recording. A job of many short processes of one program would take
   several times as long; the first ones are representative. The processes of a session share a table of programs,
   stored after the session in its file. */
#ifndef FATHOM_RECORD_STARTS_H
#define FATHOM_RECORD_STARTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FM_STARTS_PROGRAMS = 201, FM_STARTS_OFFSET = 4096 };

/* Table of programs, made by the tool and shared by all processes. */
struct fm_starts {
	struct fm_starts_program {
		uint64_t key;     /* hash of the path, or of the forked processes of a program; 0: free */
		uint32_t started; /* processes … */
		uint32_t ended;   /* … recorded to their end … */
		uint64_t cpu_ns;  /* … with this processor time */
		uint64_t skipped; /* not recorded */
		uint64_t parents; /* recorded ones that started other processes */
	} programs[FM_STARTS_PROGRAMS];
};

/* Finds the entry of this process's program by its path. `starts` may be NULL: with an older tool. */
void fm_starts_open(struct fm_starts *starts);

/* Is this executed process to be recorded? Counts the process. */
bool fm_starts_is_worth(void);

/* Before a fork: decides whether the child is to be recorded, and counts it. The parent decides, because each page that
   a child writes is copied: children that are not recorded shall write none. */
void fm_starts_fork(void);
/* In the child: the decision. */
bool fm_starts_fork_is_worth(void);
/* Is this the forking thread of a child that is not recorded? Without a look at memory that the child has not touched
   yet. */
bool fm_starts_is_passed_over(void);

/* Can the program at this path run without the library? Yes if its processes are skipped and none is known to start
   others. Counts a skipped process. */
bool fm_starts_leave_out(const char *path);

/* Notes that this process starts others. */
void fm_starts_parent(void);

/* Notes the end of a recorded process. */
void fm_starts_end(uint64_t cpu_ns);

#endif
