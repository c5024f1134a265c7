/* Numbers of threads, and how a program receives them. */
#ifndef FATHOM_SCALE_COUNTS_H
#define FATHOM_SCALE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { FM_SCALE_COUNTS_MAX = 24, FM_SCALE_MOST = 1024 };

struct fm_scale_counts {
	unsigned count;
	unsigned values[FM_SCALE_COUNTS_MAX]; /* ascending, each once */
};

/* Parses "1,2,4", "1-4", "8-64:8" (multiples of eight). 0 or -EINVAL. */
int fm_scale_counts_parse(const char *text, struct fm_scale_counts *ret_counts, struct fm_error *error);

/* 1, 2, 4 … and `most`; with two processors 1, 2, 4, if threads may outnumber processors. */
struct fm_scale_counts fm_scale_counts_default(unsigned most, bool may_exceed);

#define FM_SCALE_PLACEHOLDER "{threads}"

/* Does an argument have the placeholder? */
bool fm_scale_has_placeholder(char *const *program);

/* The program with its placeholders replaced, freed by fm_scale_program_free(). NULL: out of memory. */
char **fm_scale_program(char *const *program, unsigned count);
void fm_scale_program_free(char **program);

/* Sets the number in the environment of this process, for programs started later. 0 restores the initial values.
   `variable` NULL: all of variables.def. */
void fm_scale_set_variables(const char *variable, unsigned count);

/* Writes "OMP_NUM_THREADS, …". Returns `text`. */
const char *fm_scale_variables_text(const char *variable, char *text, size_t size);

#endif
