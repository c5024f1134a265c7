/* What the program maps and unmaps, as far as samples must know of it. */
#ifndef FATHOM_RECORD_MAPPINGS_H
#define FATHOM_RECORD_MAPPINGS_H

#include <stddef.h>

/* Code there may be another from now on. */
void fm_mappings_changed(const void *address, size_t size);

/* A file was mapped. Devices are not read without need. */
void fm_mappings_of_file(const void *address, size_t size, int file);

#endif
