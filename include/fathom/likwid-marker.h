/* LIKWID's marker macros as regions of Fathom: programs that are marked for likwid-perfctr work unchanged when this
   folder comes first (-I …/fathom -DLIKWID_PERFMON). Without LIKWID_PERFMON the macros are nothing, as LIKWID's own
   are. Counts are Fathom's to report, so LIKWID_MARKER_GET gives none. */
#ifndef FATHOM_LIKWID_MARKER_H
#define FATHOM_LIKWID_MARKER_H

#ifdef LIKWID_PERFMON
#include "../fathom.h"

#define LIKWID_MARKER_INIT ((void)0)
#define LIKWID_MARKER_THREADINIT ((void)0)
#define LIKWID_MARKER_SWITCH ((void)0)
#define LIKWID_MARKER_CLOSE ((void)0)
#define LIKWID_MARKER_REGISTER(tag) ((void)(tag))
#define LIKWID_MARKER_START(tag) fathom_region_begin(tag)
#define LIKWID_MARKER_STOP(tag) fathom_region_end(tag)
#define LIKWID_MARKER_RESET(tag) ((void)(tag))
#define LIKWID_MARKER_GET(tag, count_of_events, events, time, count) \
	((void)(tag), (void)(events), (void)(*(count_of_events) = 0), (void)(*(time) = 0), (void)(*(count) = 0))
#define LIKWID_MARKER_WRITE_FILE(name) ((void)(name))
#else
#define LIKWID_MARKER_INIT
#define LIKWID_MARKER_THREADINIT
#define LIKWID_MARKER_SWITCH
#define LIKWID_MARKER_CLOSE
#define LIKWID_MARKER_REGISTER(tag)
#define LIKWID_MARKER_START(tag)
#define LIKWID_MARKER_STOP(tag)
#define LIKWID_MARKER_RESET(tag)
#define LIKWID_MARKER_GET(tag, count_of_events, events, time, count)
#define LIKWID_MARKER_WRITE_FILE(name)
#endif

#endif
