/* A resctrl tree made of files, as kernel and processors of several kinds show it. */
#ifndef FATHOM_TESTS_TREE_H
#define FATHOM_TESTS_TREE_H

#include <stddef.h>

/* Below a new temporary folder, and FATHOM_RESCTRL_ROOT is set to it. `layout`: lines "path text", "\n" in a text for a
   new line, or "path/" for a folder. Returns the folder. */
const char *tree_make(const char *const *layout);
void tree_write(const char *path, const char *text);
/* The text of a file, "" when there is none; until the next call. */
const char *tree_read(const char *path);
int tree_exists(const char *path);
void tree_remove(void);

extern const char *const tree_intel[];     /* 2 sockets, 11 ways, 2 of them shared, MBA in percent */
extern const char *const tree_cdp[];       /* code and data apart, and ways of L2 */
extern const char *const tree_amd[];       /* 16 ways, bandwidth in eighths of GB/s */
extern const char *const tree_megabytes[]; /* mounted with mba_MBps */

#endif
