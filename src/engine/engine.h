/* The engines: run an unmodified program and count its memory accesses on a simulated machine. */
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

/* Final state of a program beside the observed one. */
struct fm_engine_program_beside {
	unsigned runs;
	bool ended;      /* ended before the observed program, not by Fathom's signal, and was not restarted */
	int exit_status; /* of its last run: 0 … 255, or 128 + signal */
};

struct fm_engine_options {
	enum fm_engine_kind kind; /* FM_ENGINE_AUTO: QEMU so far */
	const struct fm_machine_description *machine;
	const char *cores;   /* simulated cores, "0-3+12": the n-th thread runs on the n-th core of the list */
	bool timing;         /* with core timing: cycles and stalls */
	bool timing_sampled; /* native only: core timing of short stretches that represent the rest; implied by
	                        windows */
	bool free_running;   /* threads run in parallel: faster, not reproducible */
	bool no_prefetch;
	bool curve;          /* native only: stack distances, for the misses of caches of any size */
	uint64_t skew;       /* how far a thread may be ahead, in simulated time; 0: default */
	uint64_t page_bytes; /* page size; 0: the machine's */
	const char *region;  /* count only inside this region; NULL: everywhere */
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end; /* instructions of each thread */
	uint64_t interval;                 /* cycles between moments of the time series, needs timing; 0: none */
	/* Absolute path of a folder for samples of references (record/stream.h), one of `every` references; NULL: none.
	   Allocations are recorded if the preloaded library is available. */
	const char *samples;
	uint64_t every;
	/* Native only, without windows: programs beside this one on the same simulated machine, as argument vectors.
	   They are terminated with the observed program. `beside_again`: a program that ends earlier is restarted. */
	char *const *const *beside;
	unsigned beside_count;
	bool beside_again;
	unsigned
	    ranks; /* number of ranks (processes that are copies of one program), the observed one first; 0: none */
	/* The program's output is discarded. The program and its descendants are killed one second after the request to
	   end, or when the tool dies. Otherwise the program may end slowly and survives the tool. */
	bool silent;
	/* Native only: called once if processing after the program's end takes several seconds. It stops after 10 s
	   plus the program's duration; the results then end at the last entry read. May be NULL. */
	void (*waiting)(void *context);
	void *waiting_context;
	/* Native only: count all executed code, simulate only in windows. `references` per thread and window, the first
	   `warm` of them for warm-up; `slowdown`: intended run time over native run time. 0: defaults. */
	struct {
		bool on;
		uint64_t references, warm;
		double slowdown;
		double overhead;    /* permitted share of the processor time, with native rests; 0: default */
		double precision;   /* windows become rare once all figures have this relative interval; 0: never */
		bool no_laboratory; /* never time stretches with all cache lines placed */
		bool pace; /* measure the pace without instrumentation; a few percent of the run are then not counted */
	} windows;
};

struct fm_engine_run {
	enum fm_engine_kind kind;         /* the engine used: FM_ENGINE_NATIVE or FM_ENGINE_QEMU */
	const struct fm_results *results; /* of the program, not of a shell that executed it */
	const struct fm_results **forked; /* of other processes */
	unsigned forked_count;
	int exit_status; /* of the program: 0 … 255, or 128 + the signal */
	int signal;
	bool unseen; /* the program ran, but there are no results; its exit status is valid */
	bool killed; /* the program or a descendant ignored the request to end */
	double seconds;
	struct rusage used;                 /* by the program and the children it waited for; native only */
	uint32_t foreign[FM_FOREIGN_KINDS]; /* processes that were not observed, by reason; native only */
	struct fm_scheduled *scheduled;     /* scheduling accounts of the threads of all processes; native only. A
	                                       process that executed another program precedes it */
	unsigned scheduled_count;
	struct fm_engine_program_beside beside[FM_ENGINE_BESIDE_MAX]; /* one per requested program */
	void *mapping;
};

/* Runs the program argv[0] once. -ENOTSUP without QEMU with plugins, or if the native engine cannot run the program;
   -ENOENT and -EACCES for a missing or non-executable program. A crash of the program is no error. On any error,
   ret_run->unseen is true if the program has run nevertheless. */
int fm_engine_execute(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                      struct fm_error *error);
/* Checks if the native engine can run the program: 0, -ENOTSUP with the reason, -ENOENT or -EACCES. */
int fm_engine_check_tracing(const struct fm_engine_options *options, const char *program, struct fm_error *error);
void fm_engine_run_free(struct fm_engine_run *run);

/* Counts of one thread: its core's counts from the thread's begin to its end, or until now. */
void fm_result_thread_counts(const struct fm_results *results, unsigned index, struct fm_core_counts *ret_counts,
                             struct fm_timing_counts *ret_timing);

#endif
