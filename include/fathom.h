/* Markers for Fathom: name the parts of a program that matter, such as the iterations of a solver.

       fathom_region_begin("sweep");
       …
       fathom_region_end("sweep");

   Header-only. A marked program builds and runs without Fathom, also when it is static or not position-independent:
   where no tool listens a marker is one test of a variable. C++ has fathom::region, which ends with its scope; Fortran
   calls the functions of include/fathom.f90 through a C file that defines FATHOM_FORTRAN before including this one. */
#ifndef FATHOM_H
#define FATHOM_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* No kernel knows this number. An engine that runs the program sees the call and its arguments; elsewhere it is not
 * made. */
#define FATHOM_MARKER_CALL 0x46617468L
#define FATHOM_MARKER_BEGIN 1L
#define FATHOM_MARKER_END 2L

/* 0: not asked yet, 1: nobody listens, 2: an engine does. Asked once; a race only asks twice. */
extern int fathom_listening_;
__attribute__((weak)) int fathom_listening_;

int fathom_ask_(void);
__attribute__((weak, noinline, cold)) int fathom_ask_(void)
{
	const char *engine = getenv("FATHOM_ENGINE");

	fathom_listening_ = engine && *engine ? 2 : 1;
	return fathom_listening_;
}

static inline void fathom_mark_(long what, const char *name)
{
	int listening = fathom_listening_;

	if (__builtin_expect(listening == 1, 1))
		return;
	if (listening == 0)
		listening = fathom_ask_();
	if (listening == 2)
		(void)syscall(FATHOM_MARKER_CALL, what, name, (long)strlen(name));
}

/* Regions nest. Names are compared by their text; begin and end of one instance are called by one thread. */
static inline void fathom_region_begin(const char *name)
{
	fathom_mark_(FATHOM_MARKER_BEGIN, name);
}

static inline void fathom_region_end(const char *name)
{
	fathom_mark_(FATHOM_MARKER_END, name);
}

#if defined(FATHOM_FORTRAN)
/* bind(c) procedures for fathom.f90 */
void fathom_region_begin_f(const char *name);
void fathom_region_end_f(const char *name);
void fathom_region_begin_f(const char *name)
{
	fathom_region_begin(name);
}
void fathom_region_end_f(const char *name)
{
	fathom_region_end(name);
}
#endif

#if defined(__cplusplus)
}

namespace fathom
{
class region
{
      public:
	explicit region(const char *name) : name_(name)
	{
		fathom_region_begin(name_);
	}
	~region()
	{
		fathom_region_end(name_);
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;

      private:
	const char *name_;
};
} // namespace fathom
#endif

#endif
