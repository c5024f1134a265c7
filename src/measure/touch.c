#include "measure/touch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/tuning.h"

enum memory { ANONYMOUS, MAPPED };
enum action { NOTHING, READ, WRITE, RELEASE };
#define TOUCHED FM_TOUCH_kernel_share /* how many are touched */
enum { HUGE_PAGE = 2 << 20, SLICE = 1 << 20, FILE_BYTES = 16 << 20 };

static const struct kind {
	enum memory memory;
	size_t page, distance;
	enum action before, timed;
} kinds[TOUCHED] = {
#define TOUCH_PARAMETER(identifier, memory, page, distance, before, timed, words) \
	{memory, page, distance, before, timed},
#include "profile/touch.def"
#undef TOUCH_PARAMETER
};

struct fm_figure fm_touch_share(double user, double kernel, double step)
{
	double all = user + kernel, error = all > 0 ? 2 * step / all : 1, share;

	if (error > TOUCH_WIDEST)
		return fm_figure_unavailable("the time is too short for the kernel's clock");
	share = kernel / all;
	return fm_figure_make(share, fmax(0, share - error), fmin(1, share + error), "", FM_ORIGIN_measured, "kernels",
	                      1);
}

struct work {
	const struct kind *kind;
	size_t bytes; /* of a mapping */
	int file;
	char *mapping, *memory; /* memory is aligned to huge pages */
	size_t position;
	unsigned small;  /* times that huge pages were asked for and small ones came */
	unsigned silent; /* … that nothing faulted: the pages were there */
};

/* Of slices that were given back nothing is left to unmap: by now a thread's stack may be there. */
static void unmap(struct work *work)
{
	char *end, *rest = work->mapping;

	if (!work->mapping)
		return;
	end = work->mapping + work->bytes + HUGE_PAGE;
	if (work->kind->timed == RELEASE && work->position) {
		if (work->memory > work->mapping)
			munmap(work->mapping, (size_t)(work->memory - work->mapping));
		rest = work->memory + work->position;
	}
	if (end > rest)
		munmap(rest, (size_t)(end - rest));
	work->mapping = NULL;
}

static int map(struct work *work, struct fm_error *error)
{
	bool file = work->kind->memory == MAPPED;

	work->position = 0;
	work->mapping = mmap(NULL, work->bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS), file ? work->file : -1, 0);
	if (work->mapping == MAP_FAILED) {
		work->mapping = NULL;
		return fm_error_set(error, ENOMEM, "not enough memory for first touches");
	}
	work->memory = work->mapping;
	if (!file) {
		work->memory = (char *)(((uintptr_t)work->mapping + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
		madvise(work->mapping, work->bytes + HUGE_PAGE,
		        work->kind->page == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	}
	return 0;
}

static void act(enum action action, char *memory, size_t bytes, size_t distance)
{
	if (action == RELEASE)
		munmap(memory, bytes);
	for (size_t i = 0; i < bytes && action == READ; i += distance)
		(void)*(volatile char *)(memory + i);
	for (size_t i = 0; i < bytes && action == WRITE; i += distance)
		*(volatile char *)(memory + i) = 1;
}

static uint64_t faults_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

/* One slice of the mapping. Slices of one large mapping, rather than a small one again and again: the kernel would give
   the same pages back, which are still in the caches. */
static int trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct work *work = context;
	const struct kind *kind = work->kind;
	size_t slice = kind->page == HUGE_PAGE ? HUGE_PAGE : kind->memory == MAPPED ? work->bytes : SLICE;
	uint64_t begin, elapsed, faults;
	char *memory;

	if (work->mapping && work->position + slice > work->bytes)
		unmap(work);
	if (!work->mapping) {
		int status = map(work, error);

		if (status)
			return status;
	}
	memory = work->memory + work->position;
	work->position += slice;
	act(kind->before, memory, slice, kind->distance);
	faults = faults_so_far();
	begin = fm_clock_now();
	act(kind->timed, memory, slice, kind->distance);
	elapsed = fm_clock_now() - begin;
	faults = faults_so_far() - faults;
	if (kind->page == HUGE_PAGE && kind->timed != RELEASE) {
		/* on small pages these would fault */
		uint64_t before = faults_so_far();

		act(WRITE, memory, slice, 4096);
		work->small += faults != 1 || faults_so_far() != before;
	}
	if (kind->timed == RELEASE)
		faults = slice / kind->page;
	work->silent += !faults;
	*ret_cost = (double)elapsed / (double)(faults ? faults : 1);
	return 0;
}

/* A file without a name, all of it in memory. */
static int make_file(size_t bytes)
{
	int file = memfd_create("fathom", MFD_CLOEXEC);
	char block[4096];

	memset(block, 1, sizeof(block));
	for (size_t i = 0; file >= 0 && i < bytes; i += sizeof(block))
		if (write(file, block, sizeof(block)) != (ssize_t)sizeof(block)) {
			close(file);
			file = -1;
		}
	return file;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* More than the caches hold, as far as memory allows. */
static size_t mapping_bytes(const struct fm_machine_session *session)
{
	uint64_t last = session->topology.caches[session->topology.cache_count - 1].bytes, bytes = 4 * last;

	if (bytes < 32 << 20)
		bytes = 32 << 20;
	if (bytes > 128 << 20)
		bytes = 128 << 20;
	if (bytes > session->memory_limit / 16)
		bytes = session->memory_limit / 16;
	return (size_t)(bytes & ~(uint64_t)(HUGE_PAGE - 1));
}

/* Processor time of a thread, as the kernel accounts for it. */
struct account {
	size_t bytes;
	double user, kernel;
	int status;
};

static double processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nothing but first writes, until it has had enough processor time. */
static void *touch_only(void *argument)
{
	struct account *account = argument;
	struct work work = {.kind = &kinds[FM_TOUCH_touch_write_4k], .bytes = account->bytes, .file = -1};
	uint64_t end = fm_clock_now() + (uint64_t)(1e9 * TOUCH_PATIENCE);
	struct rusage usage;
	double ignored;

	while (!account->status && processor_time() < TOUCH_ACCOUNTED && fm_clock_now() < end)
		account->status = trial(&work, &ignored, NULL);
	unmap(&work);
	getrusage(RUSAGE_THREAD, &usage);
	account->user = seconds_of(&usage.ru_utime);
	account->kernel = seconds_of(&usage.ru_stime);
	return NULL;
}

/* Many kernels only look at every tick whether they or the program run, and divide a thread's time in that proportion:
   it takes a thread that did nothing else. */
static struct fm_figure kernel_share(const struct fm_machine_session *session)
{
	struct account account = {.bytes = mapping_bytes(session)};
	pthread_t thread;

	if (pthread_create(&thread, NULL, touch_only, &account))
		return fm_figure_unavailable("cannot create a thread");
	pthread_join(thread, NULL);
	if (account.status)
		return fm_figure_unavailable("not enough memory for first touches");
	return fm_touch_share(account.user, account.kernel, TOUCH_TICK);
}

static void conclude(const struct fm_measurement *measurements, const struct work *work, struct fm_figure *ret_figures)
{
	for (unsigned i = 0; i < TOUCHED; i++) {
		const struct fm_measurement *measurement = &measurements[i];

		if (!measurement->trial)
			continue;
		ret_figures[i] = fm_measurement_figure(measurement, "ns");
		if (2 * work[i].small > measurement->costs.count)
			ret_figures[i] = fm_figure_unavailable("the kernel provided small pages instead of huge ones");
		if (work[i].silent)
			ret_figures[i] = fm_figure_unavailable("the pages were mapped before the first touch");
	}
	if (!ret_figures[FM_TOUCH_touch_write_2m].available)
		ret_figures[FM_TOUCH_release_2m] = ret_figures[FM_TOUCH_touch_write_2m];
}

int fm_touch_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                     struct fm_error *error)
{
	struct fm_measurement measurements[TOUCHED], wanted[TOUCHED];
	struct work work[TOUCHED];
	unsigned which[TOUCHED], count = 0;
	int file = make_file(FILE_BYTES + HUGE_PAGE), status;

	memset(measurements, 0, sizeof(measurements));
	memset(wanted, 0, sizeof(wanted));
	for (unsigned i = 0; i < TOUCHED; i++) {
		const struct kind *kind = &kinds[i];

		work[i] = (struct work){.kind = kind, .bytes = mapping_bytes(session), .file = file};
		ret_figures[i] = fm_figure_unavailable("not measured");
		if (kind->memory == MAPPED) {
			/* where every page is touched, a part of the file will do */
			work[i].bytes = kind->distance > kind->page ? FILE_BYTES : SLICE;
			if (file < 0)
				ret_figures[i] = fm_figure_unavailable("cannot create a file in memory");
		}
		if (kind->page == HUGE_PAGE && !session->huge_pages)
			ret_figures[i] = fm_figure_unavailable("no huge pages are available");
		else if (kind->memory == ANONYMOUS || file >= 0)
			which[count++] = i;
	}
	for (unsigned i = 0; i < count; i++)
		wanted[i] =
		    (struct fm_measurement){.trial = trial, .context = &work[which[i]], .wanted_width = TOUCH_WIDTH};
	status = fm_machine_session_measure(session, wanted, count, TOUCH_LEAST, TOUCH_MOST, seconds, error);
	for (unsigned i = 0; i < count; i++)
		measurements[which[i]] = wanted[i];
	if (!status) {
		conclude(measurements, work, ret_figures);
		ret_figures[FM_TOUCH_kernel_share] = session->effort == FM_EFFORT_QUICK
		                                         ? fm_figure_unavailable("not measured with --quick")
		                                         : kernel_share(session);
	}
	for (unsigned i = 0; i < TOUCHED; i++) {
		unmap(&work[i]);
		fm_measurement_free(&measurements[i]);
	}
	if (file >= 0)
		close(file);
	return status;
}
