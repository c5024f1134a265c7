/* Where performance groups are: files of the user's, and ours beside the machines. */
#ifndef FATHOM_CLI_GROUP_FILE_H
#define FATHOM_CLI_GROUP_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A path that can be read, or FAMILY/NAME of ours. false when there is neither. */
bool fm_group_file(const char *name, char *path, size_t size);

/* The vendor's formulas for a family of ours, or with NULL for this machine's processor (families.def). */
bool fm_vendor_file(const char *family, char *path, size_t size);

#endif
