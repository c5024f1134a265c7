/* Code addresses and call stacks of a recording: each place in a file once, stacks as a tree. Reading entries needs
   only numbers; at the end, referenced places and frames get names and become rows. */
#ifndef FATHOM_REPLAY_CALL_TREE_H
#define FATHOM_REPLAY_CALL_TREE_H

#include "replay/modules.h"
#include "recording/recording.h"

struct fm_call_tree;

#define FM_NO_MODULE 0xffffffffu

/* The place of an instruction. */
struct fm_code_place {
	uint32_t module; /* FM_NO_MODULE: in no file */
	uint32_t process;
	uint64_t offset, address;
};

struct fm_call_tree *fm_call_tree_create(void);
void fm_call_tree_free(struct fm_call_tree *tree);

/* Return numbers, or -ENOMEM. `caller` -1: the outermost frame. */
int64_t fm_call_tree_code(struct fm_call_tree *tree, const struct fm_code_place *place);
int64_t fm_call_tree_frame(struct fm_call_tree *tree, int64_t caller, uint32_t code);

const struct fm_code_place *fm_call_tree_place(const struct fm_call_tree *tree, uint32_t code);

/* Mark a place, or a frame with its callers, for a row. -1 is allowed. */
void fm_call_tree_use_code(struct fm_call_tree *tree, int64_t code);
void fm_call_tree_use_frame(struct fm_call_tree *tree, int64_t frame);

/* Adds rows with names for all marked places and frames. 0 or a negative errno. */
int fm_call_tree_write(struct fm_call_tree *tree, struct fm_modules *modules, struct fm_recording *recording);

/* Rows of numbers, after fm_call_tree_write(); -1 stays -1. */
int64_t fm_call_tree_code_row(const struct fm_call_tree *tree, int64_t code);
int64_t fm_call_tree_frame_row(const struct fm_call_tree *tree, int64_t frame);

/* Does a function of this name only pass allocations on (allocator_wrappers.def)? */
bool fm_call_tree_forwards(const char *function);

/* The site of an allocation, after fm_call_tree_write(), without functions that only forward allocations
   (allocator_wrappers.def). `site`: "solver.c:40 (make_grid) < main.c:12 (main)"; `name`: its first part. */
void fm_call_tree_site(const struct fm_call_tree *tree, int64_t frame, char *site, size_t site_size, char *name,
                       size_t name_size);

/* Function and module of a place without a row. */
void fm_code_function(struct fm_modules *modules, const struct fm_code_place *place, char *function,
                      size_t function_size, char *module, size_t module_size);

#endif
