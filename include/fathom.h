/* Markers for Fathom: name the parts of a program that matter, such as the iterations of a solver, and its data.

       fathom_region_begin("sweep");
       …
       fathom_region_end("sweep");

       fathom_object(grid, rows * columns * sizeof(*grid), "grid");

   Header-only. A marked program builds and runs without Fathom, also if static or not position-independent: without a
   listening tool a marker is one test of a variable. C++ has fathom::region, which ends with its scope. Fortran calls
   the functions of include/fathom.f90 through a C file that defines FATHOM_FORTRAN before it includes this one.

   The program looks for a listening tool at its start, before it may forbid itself system calls (seccomp). A program
   with more rights than its user (AT_SECURE) has no listener. Later system calls of markers: gettid once per thread,
   getpid in a forked process, and clock_gettime where the kernel has no faster clock. With counters also prctl, tgkill
   and those of perf_event.
 */
#ifndef FATHOM_H
#define FATHOM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
extern long syscall(long number, ...);
#endif

/* No kernel has this system call: an engine that runs the program sees it and its arguments. It is made only after the
   engine has answered a harmless question: a read from an impossible file. Every kernel refuses that without touching
   the buffer, and filters that allow anything allow it. */
#define FATHOM_MARKER_CALL 0x46617468L
#define FATHOM_MARKER_BEGIN 1L
#define FATHOM_MARKER_END 2L
#define FATHOM_QUESTION_FILE (-0x46617468L)
#define FATHOM_ANSWER 0x656e69676e456d46ULL

/* In native runs observed by Fathom, markers note time, and counters if requested, in a file mapped by both. The tool
   defines and reads its layout; a program only writes. Others may write into the file too: the program copies and
   checks its input once, and keeps its own data elsewhere. */
enum {
	FATHOM_THREADS_MAX_ = 256,
	FATHOM_SLOTS_MAX_ = 1024,
	FATHOM_OPEN_MAX_ = 16,
	FATHOM_COUNTERS_MAX_ = 16,
	FATHOM_NAME_MAX_ = 96
};
#define FATHOM_MARKERS_MAGIC_ 0x32736b72616d6846ULL

struct fathom_reading_ {
	uint64_t nanoseconds;
	uint64_t read;                              /* one bit per counter that could be read */
	uint64_t counters[FATHOM_COUNTERS_MAX_][3]; /* value, and ns enabled and running */
};

/* One region in one thread: sums over its instances. */
struct fathom_slot_ {
	char name[FATHOM_NAME_MAX_];
	uint32_t thread; /* number in the file + 1; 0 until the slot is complete */
	uint32_t unread; /* one bit per counter that could not be read in some instance */
	uint64_t instances;
	struct fathom_reading_ spent;
};

/* The requests of the tool. */
struct fathom_wishes_ {
	uint32_t counter_count;
	uint32_t files_max; /* most open files of counters; a program needs its own */
	uint32_t filtered;  /* system calls of the tool are filtered, but it could open the counters */
	/* only instances `first` to `last` of this region are summed, counted from one in each thread */
	char chosen[FATHOM_NAME_MAX_];
	uint64_t first, last;
	uint64_t counters[FATHOM_COUNTERS_MAX_][17]; /* struct perf_event_attr, at most of this size */
};

struct fathom_markers_ {
	uint64_t magic;
	struct fathom_wishes_ wishes;
	uint32_t slot_count, thread_count; /* may exceed the room: the rest was lost */
	uint32_t lost;                     /* begins without room */
	struct {
		uint32_t process, thread;
	} threads[FATHOM_THREADS_MAX_];
	struct fathom_slot_ slots[FATHOM_SLOTS_MAX_];
};

#if !defined(FATHOM_LAYOUT_ONLY_)

struct fathom_thread_ {
	uint32_t index; /* in the file */
	uint32_t open_count;
	uint32_t too_deep;                     /* begins beyond the room, not yet ended */
	int32_t files[FATHOM_COUNTERS_MAX_];   /* of its counters, plus one */
	uint32_t member[FATHOM_COUNTERS_MAX_]; /* position in its group; 0 is the leader, read for the group */
	uint64_t ids[FATHOM_COUNTERS_MAX_];
	uint32_t slots[FATHOM_OPEN_MAX_];
	struct fathom_reading_ open[FATHOM_OPEN_MAX_]; /* readings at their start */
};

/* Private to this process: the kernel clears it in a forked one. */
struct fathom_own_ {
	volatile int process;
	uint32_t files;                        /* open files of counters */
	uint32_t numbers[FATHOM_THREADS_MAX_]; /* of threads; 0 for those of other processes */
	struct fathom_thread_ threads[FATHOM_THREADS_MAX_];
};

/* Listeners. 0: not determined yet, 1: none, 2: an engine, 3: a file, 5: only `fathom record`. */
#define FATHOM_ASKING_ 4
extern int fathom_listening_;
__attribute__((weak)) int fathom_listening_;
extern struct fathom_markers_ *fathom_markers_;
__attribute__((weak)) struct fathom_markers_ *fathom_markers_;
extern struct fathom_wishes_ fathom_wishes_;
__attribute__((weak)) struct fathom_wishes_ fathom_wishes_;
extern struct fathom_own_ *fathom_own_;
__attribute__((weak)) struct fathom_own_ *fathom_own_;

/* The function of the library loaded by `fathom record` or the native engine, which may listen in addition. It is
   looked up by name: a program linked for a fixed address has no slot for a library to fill. */
typedef void fathom_record_type_(int what, const char *name, const void *address, unsigned long size,
                                 const char *group);
extern fathom_record_type_ *fathom_record_;
__attribute__((weak)) fathom_record_type_ *fathom_record_;
#define FATHOM_MARKER_OBJECT 3
#define FATHOM_MARKER_OBJECT_END 4
extern void *fathom_look_up_(void *where, const char *name) __asm__("dlsym") __attribute__((weak));

/* Maps the file named in the environment, if valid. NULL: none. */
struct fathom_markers_ *fathom_map_(const char *path);
__attribute__((weak, noinline, cold)) struct fathom_markers_ *fathom_map_(const char *path)
{
	struct fathom_markers_ *markers = NULL;
	struct stat what;
	void *page;
	int flags = O_RDWR, file;

#ifdef O_NOFOLLOW
	flags |= O_NOFOLLOW;
#endif
#ifdef O_CLOEXEC
	flags |= O_CLOEXEC;
#endif
	file = open(path, flags);
	if (file < 0)
		return NULL;
	if (!fstat(file, &what) && S_ISREG(what.st_mode) && (unsigned long)what.st_uid == getauxval(AT_EUID) &&
	    what.st_size == (off_t)sizeof(struct fathom_markers_)) {
		page = mmap(NULL, sizeof(struct fathom_markers_), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		markers = page == MAP_FAILED ? NULL : (struct fathom_markers_ *)page;
	}
	close(file);
	if (!markers)
		return NULL;
	/* anonymous and private: constants without a POSIX name */
	page = mmap(NULL, sizeof(struct fathom_own_), PROT_READ | PROT_WRITE, 0x22, -1, 0);
	if (page == MAP_FAILED || markers->magic != FATHOM_MARKERS_MAGIC_ ||
	    syscall(SYS_madvise, page, (long)sizeof(struct fathom_own_), 18L /* MADV_WIPEONFORK */)) {
		if (page != MAP_FAILED)
			munmap(page, sizeof(struct fathom_own_));
		munmap(markers, sizeof(struct fathom_markers_));
		return NULL;
	}
	memcpy(&fathom_wishes_, &markers->wishes, sizeof(fathom_wishes_));
	fathom_wishes_.chosen[FATHOM_NAME_MAX_ - 1] = 0;
	if (fathom_wishes_.counter_count > FATHOM_COUNTERS_MAX_)
		fathom_wishes_.counter_count = 0;
	fathom_own_ = (struct fathom_own_ *)page;
	fathom_own_->process = (int)getpid();
	return markers;
}

/* Does an engine run this program? The environment alone is no proof. */
static inline int fathom_engine_answers_(void)
{
	volatile uint64_t answer = 0;

	(void)syscall(SYS_read, FATHOM_QUESTION_FILE, &answer, (long)sizeof(answer));
	return answer == FATHOM_ANSWER;
}

/* Determines the listener. One thread does so, the others wait, two seconds at most: a signal handler may have
   interrupted that very thread. */
int fathom_ask_(void);
__attribute__((weak, noinline, cold)) int fathom_ask_(void)
{
	const char *engine, *path;
	int expected = 0, answer = 1, patience;

	if (!__atomic_compare_exchange_n(&fathom_listening_, &expected, FATHOM_ASKING_, 0, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE)) {
		for (patience = 20000; expected == FATHOM_ASKING_ && patience; patience--) {
			long pause[2] = {0, 100000};

			(void)syscall(SYS_nanosleep, pause, NULL);
			expected = __atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE);
		}
		return expected == FATHOM_ASKING_ ? 1 : expected;
	}
	/* with AT_SECURE, the user's environment must not select a file to write to */
	engine = getauxval(AT_SECURE) ? NULL : getenv("FATHOM_ENGINE");
	path = getauxval(AT_SECURE) ? NULL : getenv("FATHOM_MARKERS");
	if (engine && *engine && fathom_engine_answers_()) {
		answer = 2;
	} else if (path && *path) {
		fathom_markers_ = fathom_map_(path);
		answer = fathom_markers_ ? 3 : 1;
	}
	if (!getauxval(AT_SECURE) && (getenv("FATHOM_RECORD") || getenv("FATHOM_NATIVE")) && fathom_look_up_) {
		void *found = fathom_look_up_(NULL, "fathom_record_call_");

		memcpy(&fathom_record_, &found, sizeof(found)); /* ISO C has no cast from object to function pointers */
		if (fathom_record_ && answer == 1)
			answer = 5;
	}
	__atomic_store_n(&fathom_listening_, answer, __ATOMIC_RELEASE);
	return answer;
}

/* Runs before the program can forbid the system calls for it. */
static void fathom_start_(void) __attribute__((constructor));
static void fathom_start_(void)
{
	int problem = errno;

	if (!__atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE))
		(void)fathom_ask_();
	errno = problem;
}

/* Is the file still this counter? A program may close unknown files and reuse their numbers for its own. */
static inline int fathom_is_ours_(const struct fathom_thread_ *self, uint32_t counter)
{
	uint64_t id = 0;

	return self->files[counter] > 0 &&
	       !syscall(SYS_ioctl, (long)self->files[counter] - 1, 0x80082407L /* PERF_EVENT_IOC_ID */, &id) &&
	       id == self->ids[counter];
}

void fathom_read_(const struct fathom_thread_ *self, struct fathom_reading_ *reading);
__attribute__((weak, noinline)) void fathom_read_(const struct fathom_thread_ *self, struct fathom_reading_ *reading)
{
	uint64_t group[3 + FATHOM_COUNTERS_MAX_];
	uint32_t there = 0, i;
#ifdef CLOCK_MONOTONIC
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	reading->nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#else
	long now[2];

	(void)syscall(SYS_clock_gettime, 1L, now);
	reading->nanoseconds = (uint64_t)now[0] * 1000000000u + (uint64_t)now[1];
#endif
	reading->read = 0;
	for (i = 0; i < fathom_wishes_.counter_count; i++) {
		/* number of counters, ns enabled and running, then one value per counter */
		if (self->files[i] > 0 && !self->member[i]) {
			memset(group, 0, sizeof(group));
			there = fathom_is_ours_(self, i) && read(self->files[i] - 1, group, sizeof(group)) > 0;
		}
		if (self->files[i] <= 0 || !there)
			continue;
		reading->read |= (uint64_t)1 << i;
		reading->counters[i][0] = group[3 + self->member[i]];
		reading->counters[i][1] = group[1];
		reading->counters[i][2] = group[2];
	}
}

/* Closes counters of ended threads of this process. */
void fathom_close_ended_(void);
__attribute__((weak, noinline, cold)) void fathom_close_ended_(void)
{
	long process = (long)fathom_own_->process;
	uint32_t i, k;

	for (i = 0; i < FATHOM_THREADS_MAX_; i++) {
		uint32_t number = __atomic_load_n(&fathom_own_->numbers[i], __ATOMIC_ACQUIRE);
		struct fathom_thread_ *ended = &fathom_own_->threads[i];

		if (!number || !syscall(SYS_tgkill, process, (long)number, 0L))
			continue;
		for (k = 0; k < FATHOM_COUNTERS_MAX_; k++) {
			int32_t file = __atomic_load_n(&ended->files[k], __ATOMIC_RELAXED);

			/* closed by one thread only, and only if still the same file */
			if (file <= 0 || !fathom_is_ours_(ended, k) ||
			    !__atomic_compare_exchange_n(&ended->files[k], &file, 0, 0, __ATOMIC_ACQ_REL,
			                                 __ATOMIC_RELAXED))
				continue;
			close(file - 1);
			__atomic_fetch_sub(&fathom_own_->files, 1, __ATOMIC_RELAXED);
		}
	}
}

/* Opens the counters of this thread: groups as large as the kernel allows. */
void fathom_open_counters_(struct fathom_thread_ *self);
__attribute__((weak, noinline, cold)) void fathom_open_counters_(struct fathom_thread_ *self)
{
	uint32_t members = 0, i;
	long leader = -1, file;

	/* A filter installed since the program's start may kill it for the attempt. */
	if (!fathom_wishes_.filtered && syscall(SYS_prctl, 21L /* PR_GET_SECCOMP */, 0L, 0L, 0L, 0L))
		return;
	fathom_close_ended_();
	for (i = 0; i < fathom_wishes_.counter_count; i++) {
		uint64_t event[17];

		if (__atomic_fetch_add(&fathom_own_->files, 1, __ATOMIC_RELAXED) >= fathom_wishes_.files_max) {
			__atomic_fetch_sub(&fathom_own_->files, 1, __ATOMIC_RELAXED);
			break;
		}
		memcpy(event, fathom_wishes_.counters[i], sizeof(event));
		file = leader < 0 ? -1 : syscall(SYS_perf_event_open, event, 0L, -1L, leader, 8L);
		if (file < 0) {
			event[5] |= 1; /* disabled: a later member of a running group may not run with it */
			file = syscall(SYS_perf_event_open, event, 0L, -1L, -1L, 8L);
			if (file < 0) {
				__atomic_fetch_sub(&fathom_own_->files, 1, __ATOMIC_RELAXED);
				continue;
			}
			leader = file;
			members = 0;
		}
		self->files[i] = (int32_t)file + 1;
		self->member[i] = members++;
		(void)syscall(SYS_ioctl, file, 0x80082407L, &self->ids[i]);
	}
	for (i = 0; i < FATHOM_COUNTERS_MAX_; i++)
		if (self->files[i] > 0 && !self->member[i])
			(void)syscall(SYS_ioctl, (long)self->files[i] - 1, 0x2400L /* PERF_EVENT_IOC_ENABLE */, 1L);
}

/* A place for this thread, with its counters running. NULL: no room. */
struct fathom_thread_ *fathom_enter_(void);
__attribute__((weak, noinline, cold)) struct fathom_thread_ *fathom_enter_(void)
{
	uint32_t index = __atomic_load_n(&fathom_markers_->thread_count, __ATOMIC_RELAXED), number, nobody = 0;
	struct fathom_thread_ *self;

	if (index < FATHOM_THREADS_MAX_)
		index = __atomic_fetch_add(&fathom_markers_->thread_count, 1, __ATOMIC_RELAXED);
	number = (uint32_t)syscall(SYS_gettid);
	/* a corrupted file could assign one place twice */
	if (index >= FATHOM_THREADS_MAX_ || !__atomic_compare_exchange_n(&fathom_own_->numbers[index], &nobody, number,
	                                                                 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return NULL;
	self = &fathom_own_->threads[index];
	self->index = index;
	fathom_markers_->threads[index].process = (uint32_t)fathom_own_->process;
	fathom_markers_->threads[index].thread = number;
	if (fathom_wishes_.counter_count)
		fathom_open_counters_(self);
	return self;
}

/* The slot of a region of this thread, made at its first use. NULL: no room. */
struct fathom_slot_ *fathom_slot_of_(uint32_t thread, const char *name);
__attribute__((weak, noinline)) struct fathom_slot_ *fathom_slot_of_(uint32_t thread, const char *name)
{
	uint32_t count = __atomic_load_n(&fathom_markers_->slot_count, __ATOMIC_ACQUIRE), i;
	struct fathom_slot_ *slot;

	for (i = 0; i < count && i < FATHOM_SLOTS_MAX_; i++)
		if (__atomic_load_n(&fathom_markers_->slots[i].thread, __ATOMIC_ACQUIRE) == thread + 1 &&
		    !strncmp(fathom_markers_->slots[i].name, name, FATHOM_NAME_MAX_ - 1))
			return &fathom_markers_->slots[i];
	if (count >= FATHOM_SLOTS_MAX_)
		return NULL;
	i = __atomic_fetch_add(&fathom_markers_->slot_count, 1, __ATOMIC_ACQ_REL);
	if (i >= FATHOM_SLOTS_MAX_)
		return NULL;
	slot = &fathom_markers_->slots[i];
	for (i = 0; i < FATHOM_NAME_MAX_ - 1 && name[i]; i++)
		slot->name[i] = name[i];
	__atomic_store_n(&slot->thread, thread + 1, __ATOMIC_RELEASE);
	return slot;
}

void fathom_note_(long what, const char *name);
__attribute__((weak, noinline)) void fathom_note_(long what, const char *name)
{
	static __thread struct fathom_thread_ *self;
	static __thread int process; /* process of `self`, also if there was no room */
	struct fathom_reading_ now, begun;
	struct fathom_slot_ *slot;
	uint64_t instance;
	uint32_t at, i, k, inside;

	if (!fathom_own_->process)
		fathom_own_->process = (int)getpid();
	if (process != fathom_own_->process) {
		process = fathom_own_->process;
		self = fathom_enter_();
	}
	if (!self) {
		if (what == FATHOM_MARKER_BEGIN)
			__atomic_fetch_add(&fathom_markers_->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (what == FATHOM_MARKER_BEGIN) {
		slot = fathom_slot_of_(self->index, name);
		if (!slot || self->open_count >= FATHOM_OPEN_MAX_) {
			self->too_deep += slot != NULL;
			__atomic_fetch_add(&fathom_markers_->lost, 1, __ATOMIC_RELAXED);
			return;
		}
		at = self->open_count++;
		self->slots[at] = (uint32_t)(slot - fathom_markers_->slots);
		fathom_read_(self, &self->open[at]);
		return;
	}
	if (self->too_deep) {
		self->too_deep--;
		return;
	}
	fathom_read_(self, &now);
	for (at = self->open_count; at > 0; at--) {
		slot = &fathom_markers_->slots[self->slots[at - 1]];
		if (strncmp(slot->name, name, FATHOM_NAME_MAX_ - 1))
			continue;
		instance = ++slot->instances;
		/* a region inside itself: only the outermost counts */
		for (i = 0; i + 1 < at && self->slots[i] != self->slots[at - 1]; i++)
			;
		inside = i + 1 < at;
		begun = self->open[at - 1]; /* before a signal handler's region reuses the entry */
		self->open_count = at - 1;
		if (inside)
			return;
		if (fathom_wishes_.last && !strncmp(name, fathom_wishes_.chosen, FATHOM_NAME_MAX_ - 1) &&
		    (instance < fathom_wishes_.first || instance > fathom_wishes_.last))
			return;
		slot->spent.nanoseconds += now.nanoseconds - begun.nanoseconds;
		slot->unread |= (uint32_t) ~(now.read & begun.read);
		for (i = 0; i < fathom_wishes_.counter_count; i++)
			for (k = 0; k < 3 && (now.read & begun.read) >> i & 1; k++)
				slot->spent.counters[i][k] += now.counters[i][k] - begun.counters[i][k];
		return;
	}
}

/* The call that an engine sees. Avoids the C library, to add few loads and stores. */
static inline void fathom_call_(long what, const char *name, long length)
{
#if defined(__x86_64__)
	long number = FATHOM_MARKER_CALL;

	__asm__ volatile("syscall" : "+a"(number) : "D"(what), "S"(name), "d"(length) : "rcx", "r11", "memory");
#else
	int problem = errno;

	(void)syscall(FATHOM_MARKER_CALL, what, name, length);
	errno = problem;
#endif
}

void fathom_note_and_keep_(long what, const char *name);
__attribute__((weak, noinline)) void fathom_note_and_keep_(long what, const char *name)
{
	int problem = errno, listening = __atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE);

	if (listening == 0 || listening == FATHOM_ASKING_)
		listening = fathom_ask_();
	if (listening != 1 && fathom_record_)
		fathom_record_((int)what, name, NULL, 0, NULL);
	if (listening == 2)
		fathom_call_(what, name, (long)strlen(name));
	else if (listening == 3)
		fathom_note_(what, name);
	errno = problem;
}

static inline void fathom_mark_(long what, const char *name)
{
	int listening = __atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE);

	if (__builtin_expect(listening == 1, 1) || !name)
		return;
	if (listening == 2 && !fathom_record_)
		fathom_call_(what, name, (long)strlen(name));
	else
		fathom_note_and_keep_(what, name);
}

/* Start and end of a region. Regions nest. Names are compared by their text; one thread begins and ends an instance. */
static inline void fathom_region_begin(const char *name)
{
	fathom_mark_(FATHOM_MARKER_BEGIN, name);
}

static inline void fathom_region_end(const char *name)
{
	fathom_mark_(FATHOM_MARKER_END, name);
}

/* Names a memory range: `fathom record` reports it as an object. Parts of larger allocations may be named; a new name
   replaces the old one. Objects of a group are also reported together. The name stays until fathom_object_end(),
   whatever is allocated there. */
static inline void fathom_object_in(const char *group, const void *address, unsigned long size, const char *name)
{
	if (__builtin_expect(__atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE) == 1, 1) || !name || !address)
		return;
	if (fathom_record_)
		fathom_record_(FATHOM_MARKER_OBJECT, name, address, size, group);
}

static inline void fathom_object(const void *address, unsigned long size, const char *name)
{
	fathom_object_in(NULL, address, size, name);
}

static inline void fathom_object_end(const void *address)
{
	if (__builtin_expect(__atomic_load_n(&fathom_listening_, __ATOMIC_ACQUIRE) == 1, 1) || !address)
		return;
	if (fathom_record_)
		fathom_record_(FATHOM_MARKER_OBJECT_END, NULL, address, 0, NULL);
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

#endif /* FATHOM_LAYOUT_ONLY_ */

#if defined(__cplusplus)
}
#endif

#if defined(__cplusplus) && !defined(FATHOM_LAYOUT_ONLY_)
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
