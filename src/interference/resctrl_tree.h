/* Files of the resctrl tree: read and written without following symbolic links, and what they say. */
#ifndef FATHOM_INTERFERENCE_RESCTRL_TREE_H
#define FATHOM_INTERFERENCE_RESCTRL_TREE_H

#include "interference/resctrl.h"

/* The root folder, or -errno. */
int fm_resctrl_tree_open(void);

/* Is it the kernel's? A tree of files for tests has no magic: files are made, and removed, by hand. */
bool fm_resctrl_tree_is_real(int root);

/* The whole of a small file; 0 or -errno. Paths are relative to the root and have no links. */
int fm_resctrl_tree_read(int root, const char *path, char *text, size_t size);
int fm_resctrl_tree_write(int root, const char *path, const char *text);

/* Folders at the root that are groups of somebody, "a, b". Returns how many. */
unsigned fm_resctrl_tree_groups(int root, char *names, size_t size);

/* A group with its folder; -errno. Removing one that is not there is fine. */
int fm_resctrl_tree_make(int root, const char *group);
int fm_resctrl_tree_remove(int root, const char *group);

/* What info/ and the default group say. -ENOTSUP with what is missing. */
int fm_resctrl_tree_facts(int root, struct fm_resctrl_facts *ret_facts, struct fm_error *error);

#endif
