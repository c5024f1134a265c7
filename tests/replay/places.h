/* Code and variables with known names and lines. The functions give the address of the instruction after their call. */
#ifndef FATHOM_TESTS_RECORD_PLACES_H
#define FATHOM_TESTS_RECORD_PLACES_H

#include <stdint.h>

struct place_grid {
	double cells[512];
};
extern struct place_grid place_grid; /* in .bss */
extern int place_numbers[100];       /* in .data */
extern __thread int place_local[16]; /* one for each thread */

uint64_t place_leaf(void);  /* line 19 */
uint64_t xmalloc(void);     /* line 24: only hands on */
uint64_t place_outer(void); /* line 29 */

#endif
