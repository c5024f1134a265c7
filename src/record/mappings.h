/* Mappings of the program that matter to samples. */
#ifndef FATHOM_RECORD_MAPPINGS_H
#define FATHOM_RECORD_MAPPINGS_H

#include <stddef.h>

/* The code at these addresses may have changed. */
void fm_mappings_changed(const void *address, size_t size);

/* A file was mapped. Memory of devices is read only where necessary. */
void fm_mappings_of_file(const void *address, size_t size, int file);

#endif
