/* Numbers for keys: equal keys have equal numbers, in order of first appearance. */
#ifndef FATHOM_SAMPLES_NAMES_H
#define FATHOM_SAMPLES_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. */
struct fm_names {
	char **keys; /* copies */
	size_t *lengths;
	uint32_t *slots; /* number + 1 */
	size_t count, room, slot_count;
};

/* The number of a text. 0 or -ENOMEM. */
int fm_names_find(struct fm_names *names, const char *key, uint32_t *ret_number);
/* The number of a sequence of bytes. 0 or -ENOMEM. */
int fm_names_find_bytes(struct fm_names *names, const void *key, size_t length, uint32_t *ret_number);
void fm_names_free(struct fm_names *names);

#endif
