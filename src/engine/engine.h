/* The exact engine: run an unmodified program and count everything it does to memory on a simulated machine. */
#ifndef FATHOM_ENGINE_ENGINE_H
#define FATHOM_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/foreign_kind.h"
#include "base/schedule.h"
#include "simulator/description.h"
#include "engine/results.h"

enum fm_engine_kind { FM_ENGINE_AUTO, FM_ENGINE_NATIVE, FM_ENGINE_QEMU };

enum { FM_ENGINE_BESIDE_MAX = FM_RESULT_BESIDE_MAX };

/* What became of a program beside the observed one. */
struct fm_engine_neighbour {
	unsigned runs;
	bool ended;      /* by itself, before the program did, and it was not started again */
	int exit_status; /* of its last end: 0 … 255, or 128 + the signal */
};

struct fm_engine_options {
	enum fm_engine_kind kind; /* FM_ENGINE_AUTO: QEMU so far */
	const struct fm_machine_description *machine;
	const char *cores;   /* simulated cores, "0-3+12": the n-th thread runs on the n-th */
	bool timing;         /* core timing as well: cycles and stalls */
	bool timing_sampled; /* native only: of short stretches, which stand for the rest; windows always do so */
	bool free_running;   /* threads in parallel: faster, and not the same twice */
	bool no_prefetch;
	bool curve;          /* native only: distances between touches of lines, for misses of caches of any size */
	uint64_t skew;       /* simulated time a thread may be ahead; 0: the default */
	uint64_t page_bytes; /* 0: the machine's */
	const char *region;  /* count only inside */
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end; /* instructions of each thread */
	uint64_t interval;                 /* note moments every so many cycles; with timing only. 0: none */
	/* Samples of references into a folder (record/stream.h), an absolute path; NULL: none. One of every so many.
	   What allocates memory is seen by a library that is loaded into the program, if it is installed and can be. */
	const char *samples;
	uint64_t every;
	/* Native only, with every reference seen: programs that run beside this one on the same simulated machine, each
	   a command with its arguments. They are ended with it; one that ends before is started again, if so wished. */
	char *const *const *beside;
	unsigned beside_count;
	bool beside_again;
	unsigned ranks; /* these are copies of one program, which is the first of so many ranks; 0: they are not */
	/* The program's output goes nowhere: asked to end, the program and all that it started are killed a second
	   later, and when the tool dies. Otherwise the program takes its time, and outlives the tool. */
	bool silent;
	/* Native only: called once if what is left to do after the end of the program takes longer than some seconds.
	   It gets 10 s and as long as the program took; then the results are of what was read until then. NULL: nobody
	   wants to know. */
	void (*waiting)(void *context);
	void *waiting_context;
	/* Native only: count everything that is executed, and simulate in windows. `references` of each thread, of
	   which the first `warm` only warm the caches; `slowdown`: the program takes so many times as long, about. 0:
	   the defaults. */
	struct {
		bool on;
		uint64_t references, warm;
		double slowdown;
		double precision; /* once all figures are known so well, windows become rare; 0: they do not */
		bool pace; /* find out how fast the program would be by itself; a few percent are not counted then */
	} windows;
};

struct fm_engine_run {
	enum fm_engine_kind kind;         /* FM_ENGINE_NATIVE or FM_ENGINE_QEMU: which it was */
	const struct fm_results *results; /* of the program: if a shell or the like has executed it, not of that */
	const struct fm_results **forked; /* of other processes */
	unsigned forked_count;
	int exit_status; /* of the program: 0 … 255, or 128 + the signal */
	int signal;
	bool unseen; /* it ran, and ended as said below, but there are no results */
	bool killed; /* it, or what it forked, did not end when asked to */
	double seconds;
	struct rusage used;                 /* by it and what it waited for; native only */
	uint32_t foreign[FM_FOREIGN_KINDS]; /* processes that were left alone, by reason; native only */
	struct fm_scheduled *scheduled;     /* threads of all processes as the scheduler saw them; native only. What has
	                                       executed another program comes before it */
	unsigned scheduled_count;
	struct fm_engine_neighbour beside[FM_ENGINE_BESIDE_MAX]; /* as many as were wished for */
	void *mapping;
};

/* Run argv[0] … once. -ENOTSUP when there is no QEMU with plugins, or the native engine cannot do it, -ENOENT and
   -EACCES for a program that is not there or cannot be run; the program's own end, however bad, is no error. With any
   error ret_run->unseen says whether the program has run all the same. */
int fm_engine_execute(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                      struct fm_error *error);
/* Whether the native engine can run it: 0, -ENOTSUP with the reason, -ENOENT and -EACCES for the program. */
int fm_engine_check_native(const struct fm_engine_options *options, const char *program, struct fm_error *error);
void fm_engine_run_free(struct fm_engine_run *run);

/* What a thread did: its core's counts from its begin to its end, or until now. */
void fm_result_thread_counts(const struct fm_results *results, unsigned index, struct fm_core_counts *ret_counts,
                             struct fm_timing_counts *ret_timing);

#endif
