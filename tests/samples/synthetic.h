/* A recording of sampled references whose truth is known. */
#ifndef FATHOM_TESTS_SYNTHETIC_H
#define FATHOM_TESTS_SYNTHETIC_H

#include "recording/recording.h"

/* Objects, with their shares and levels */
enum synthetic_object {
	SYNTHETIC_TABLE,   /* 30 %, random, 20 % L3 and 80 % memory */
	SYNTHETIC_GRID,    /* 30 %, in order, 85 % L1 and 15 % L2, half of them stores */
	SYNTHETIC_NODES,   /* a pool: 16 %, of which one in eight is tracked */
	SYNTHETIC_REST,    /* 6 % in untracked memory, and what the pool lacks */
	SYNTHETIC_STACK,   /* 6 % */
	SYNTHETIC_STACK2,  /* 4 %, of the second thread */
	SYNTHETIC_COUNTER, /* 4 %, both threads write */
	SYNTHETIC_FIRST,   /* 2 % each: two arrays of one call site */
	SYNTHETIC_SECOND,
	SYNTHETIC_OBJECTS
};

enum synthetic_kind {
	SYNTHETIC_TIMED,     /* by the burst sampler */
	SYNTHETIC_SIMULATED, /* by the engine: every reference */
	SYNTHETIC_UNCALIBRATED,
};

/* Not settled. 10 seconds of two threads. */
struct fm_recording *synthetic_recording(unsigned samples, uint64_t seed, enum synthetic_kind kind);

#endif
