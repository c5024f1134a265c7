/* Byte offsets inside struct fm_kernel_arguments, for the assembly; kernel.c asserts that they are right. */
#ifndef FATHOM_KERNELS_LAYOUT_H
#define FATHOM_KERNELS_LAYOUT_H

#define FM_ARGUMENT_STREAM 0
#define FM_ARGUMENT_COUNT 32
#define FM_ARGUMENT_PASSES 40
#define FM_ARGUMENT_SCALAR 48
#define FM_ARGUMENT_RESULT 56
#define FM_ARGUMENT_CHAIN 64

/* A streaming kernel advances every stream by one block per iteration of its loop. */
#define FM_BLOCK_SHIFT 9
#define FM_BLOCK_BYTES (1 << FM_BLOCK_SHIFT)
#define FM_LINE_BYTES 64

#define FM_CHAINS_MAX 32
#define FM_MULTIPLICATIONS_MAX 64

/* Lines so far apart are none that prefetchers bring along. */
#define FM_APART_BYTES 256

/* Lines this far apart are in one set of a first cache, whose sets are found by the place in a page of 4 KiB; and of a
   second one with up to 2,048 sets. Chains have up to so many of them. */
#define FM_FIRST_SETS_BYTES 4096
#define FM_SECOND_SETS_BYTES (128 << 10)
#define FM_WAYS_MAX 32

/* Steps that a loop of a core kernel takes at a time. */
#define FM_CORE_STEPS 256
#define FM_CORE_CALLS 16
/* Chains side by side in those that do not wait for each other. */
#define FM_CORE_CHAINS 10

/* The families of window.S: functions, and what each has more than the one before. */
#define FM_WINDOW_FUNCTIONS 40
#define FM_WINDOW_INSTRUCTIONS 16
#define FM_WINDOW_LOADS 8
#define FM_WINDOW_STORES 4

/* Straight code: passed over for each number of bytes from one step to all, so often in the simulator. */
#define FM_CODE_STEP (8 << 10)
#define FM_CODE_POINTS 20
#define FM_CODE_PASSES 6
#define FM_STRAIGHT_BYTES (FM_CODE_POINTS * FM_CODE_STEP)

/* Branches that are taken, each in a line of its own: passed over for each number of them from one step to all. They
   fit into the smallest instruction cache there is. */
#define FM_TAKEN_STEP 32
#define FM_TAKEN_POINTS 14
#define FM_TAKEN_PASSES 80
#define FM_TAKEN_MOST (FM_TAKEN_POINTS * FM_TAKEN_STEP)

#endif
