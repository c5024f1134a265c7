/* Files of the resctrl tree, without symbolic links, and their content. */
#ifndef FATHOM_INTERFERENCE_RESCTRL_TREE_H
#define FATHOM_INTERFERENCE_RESCTRL_TREE_H

#include "interference/resctrl.h"

/* The root folder, or -errno. */
int fm_resctrl_tree_open(void);

/* True for the kernel's file system. A tree of files for tests has no magic number; its files are created and removed
   explicitly. */
bool fm_resctrl_tree_is_real(int root);

/* Reads a small file; 0 or -errno. Paths are relative to the root, without links. */
int fm_resctrl_tree_read(int root, const char *path, char *text, size_t size);
int fm_resctrl_tree_write(int root, const char *path, const char *text);

/* Names of the groups at the root, "a, b". Returns their number. */
unsigned fm_resctrl_tree_groups(int root, char *names, size_t size);

/* Creates or removes the folder of a group; -errno. Removing a missing one succeeds. */
int fm_resctrl_tree_make(int root, const char *group);
int fm_resctrl_tree_remove(int root, const char *group);

/* Reads info/ and the default group. -ENOTSUP with the missing condition. */
int fm_resctrl_tree_facts(int root, struct fm_resctrl_facts *ret_facts, struct fm_error *error);

#endif
