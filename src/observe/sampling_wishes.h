/* Options of the sampling of references. */
#ifndef FATHOM_OBSERVE_SAMPLING_WISHES_H
#define FATHOM_OBSERVE_SAMPLING_WISHES_H

#include <stdbool.h>
#include <stdint.h>

/* Texts belong to the caller. */
struct fm_sampling_wishes {
	const char *path;       /* of the recording, NAME.fathom: the parts lie beside it */
	const char *sampler;    /* NULL: any */
	double overhead;        /* share of processor time; 0: the rate is fixed */
	double rate;            /* per second of processor time */
	double delay, duration; /* seconds; duration 0: to the end */
	uint64_t max_bytes;
	bool no_children, no_arguments, no_allocations;
	bool windows;         /* occasionally log windows of references, for miss-ratio curves */
	uint64_t every;       /* sampling period of the engine in references; 0 and 1: each */
	bool calibrate;       /* repeat the calibration even if a valid one is kept */
	uint32_t signal_cost; /* ticks, see struct fm_session */
};

#endif
