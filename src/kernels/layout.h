/* Byte offsets in struct fm_kernel_arguments, for the assembly; kernel.c asserts them. */
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

/* Distance of lines that prefetchers do not fetch together. */
#define FM_APART_BYTES 256

/* Distances of lines in one set: of a first cache, indexed within a page of 4 KiB, and of a second cache with up to
   2,048 sets. FM_WAYS_MAX: longest chain of such lines. */
#define FM_FIRST_SETS_BYTES 4096
#define FM_SECOND_SETS_BYTES (128 << 10)
#define FM_WAYS_MAX 32

/* Steps per iteration of a core kernel. */
#define FM_CORE_STEPS 256
#define FM_CORE_CALLS 16
/* Independent chains of the kernels for throughput. */
#define FM_CORE_CHAINS 10

/* The families of window.S: number of functions, and their additional instructions per function. */
#define FM_WINDOW_FUNCTIONS 40
#define FM_WINDOW_INSTRUCTIONS 16
#define FM_WINDOW_LOADS 8
#define FM_WINDOW_STORES 4

/* Straight code: measured for 1 to FM_CODE_POINTS steps of bytes. FM_CODE_PASSES: passes of a simulated trial. */
#define FM_CODE_STEP (8 << 10)
#define FM_CODE_POINTS 20
#define FM_CODE_PASSES 6
#define FM_STRAIGHT_BYTES (FM_CODE_POINTS * FM_CODE_STEP)

/* Taken branches, each in its own line: measured for 1 to FM_TAKEN_POINTS steps of branches. All fit into the smallest
   instruction cache. */
#define FM_TAKEN_STEP 32
#define FM_TAKEN_POINTS 14
#define FM_TAKEN_PASSES 80
#define FM_TAKEN_MOST (FM_TAKEN_POINTS * FM_TAKEN_STEP)

#endif
