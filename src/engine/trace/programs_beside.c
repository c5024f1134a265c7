#include "engine/trace/programs_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/launch.h"
#include "base/ranks.h"
#include "engine/tuning.h"

enum { STEP_MS = 5 };

/* A process of a neighbour: the one that we started, or one that it made. */
struct taken {
	uint32_t process;
	unsigned neighbour;
	bool own; /* we did */
	int descriptor;
};

struct neighbour {
	pid_t process; /* 0: none */
	bool there;    /* its trace is */
	struct fm_engine_program_beside report;
};

struct fm_programs_beside {
	const struct fm_engine_options *options;
	void (*prepare)(void *context);
	void *context;
	int nothing; /* /dev/null */
	struct fm_beside_roster *roster;
	struct neighbour neighbours[FM_ENGINE_BESIDE_MAX];
	struct taken *taken;
	unsigned count, room;
};

int fm_programs_beside_create(const struct fm_engine_options *options, void (*prepare)(void *context), void *context,
                              struct fm_programs_beside **ret_neighbours, struct fm_error *error)
{
	struct fm_programs_beside *neighbours = calloc(1, sizeof(*neighbours));

	if (!neighbours)
		return fm_error_set(error, ENOMEM, "out of memory");
	neighbours->options = options;
	neighbours->prepare = prepare;
	neighbours->context = context;
	neighbours->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* the consumer is forked later, and has it too */
	neighbours->roster = mmap(NULL, sizeof(*neighbours->roster), PROT_READ | PROT_WRITE,
	                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (neighbours->roster == MAP_FAILED) {
		if (neighbours->nothing >= 0)
			close(neighbours->nothing);
		free(neighbours);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	*ret_neighbours = neighbours;
	return 0;
}

static bool add(struct fm_programs_beside *neighbours, const struct taken *taken)
{
	if (!fm_array_grow(neighbours->taken, neighbours->count, neighbours->room))
		return false;
	neighbours->taken[neighbours->count++] = *taken;
	return true;
}

/* One of them, in its new process. */
struct beginning {
	const struct fm_programs_beside *neighbours;
	unsigned number;
};

static void prepare(void *context)
{
	const struct beginning *beginning = context;
	const struct fm_programs_beside *neighbours = beginning->neighbours;

	neighbours->prepare(neighbours->context);
	if (neighbours->options->ranks)
		fm_rank_set(1 + beginning->number, neighbours->options->ranks);
}

static int start(struct fm_programs_beside *neighbours, unsigned number, struct fm_error *error)
{
	struct beginning beginning = {neighbours, number};
	char *const *program = neighbours->options->beside[number];
	const struct fm_launch launch = {.program = program,
	                                 .output = neighbours->nothing,
	                                 .input = neighbours->nothing,
	                                 .beside = true,
	                                 .prepare = prepare,
	                                 .context = &beginning};
	struct neighbour *neighbour = &neighbours->neighbours[number];
	struct fm_launched launched;
	int status = fm_launch_begin(&launch, &launched, error);

	if (status)
		return status;
	/* before it can make a trace */
	if (!add(neighbours, &(struct taken){(uint32_t)launched.process, number, true,
	                                     (int)syscall(SYS_pidfd_open, launched.process, 0)})) {
		fm_launch_abandon(&launched);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	neighbour->there = false;
	status = fm_launch_release(&launched, program[0], error);
	if (!status) {
		neighbour->process = launched.process;
		neighbour->report.runs++;
	}
	return status;
}

int fm_programs_beside_begin(struct fm_programs_beside *neighbours, struct fm_error *error)
{
	int status = 0;

	for (unsigned i = 0; i < neighbours->options->beside_count && !status; i++)
		status = start(neighbours, i, error);
	return status;
}

static const struct taken *find(const struct fm_programs_beside *neighbours, uint32_t process)
{
	/* the latest: numbers come again */
	for (unsigned i = neighbours->count; process && i-- > 0;)
		if (neighbours->taken[i].process == process)
			return &neighbours->taken[i];
	return NULL;
}

bool fm_programs_beside_take(struct fm_programs_beside *neighbours, const char *name, uint32_t process, uint32_t parent,
                             int descriptor)
{
	struct fm_beside_roster *roster = neighbours->roster;
	const struct taken *taken = find(neighbours, process), *made_by = taken ? NULL : find(neighbours, parent);
	bool own = taken && taken->own;
	uint32_t at = roster->count;
	unsigned number;

	if (!taken && !made_by)
		return false;
	number = taken ? taken->neighbour : made_by->neighbour;
	if (!taken && !add(neighbours, &(struct taken){process, number, false,
	                                               descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1}))
		return true;
	neighbours->neighbours[number].there |= own;
	if (at >= FM_BESIDE_TRACES)
		return true;
	snprintf(roster->traces[at].name, sizeof(roster->traces[at].name), "%s", name);
	roster->traces[at].neighbour = number;
	roster->traces[at].begins = own;
	__atomic_store_n(&roster->count, at + 1, __ATOMIC_RELEASE);
	return true;
}

void fm_programs_beside_look_after(struct fm_programs_beside *neighbours, bool again)
{
	for (unsigned i = 0; i < neighbours->options->beside_count; i++) {
		struct neighbour *neighbour = &neighbours->neighbours[i];
		struct fm_error ignored;
		int status;

		if (!neighbour->process || waitpid(neighbour->process, &status, WNOHANG) != neighbour->process)
			continue;
		neighbour->process = 0;
		neighbour->report.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		/* one that fails would do so for ever */
		if (again && neighbours->options->beside_again && neighbour->there && !neighbour->report.exit_status &&
		    neighbours->roster->count < FM_BESIDE_TRACES && !start(neighbours, i, &ignored))
			continue;
		neighbour->report.ended = true;
		__atomic_store_n(&neighbours->roster->over[i], 1, __ATOMIC_RELAXED);
	}
}

bool fm_programs_beside_exist(const struct fm_programs_beside *neighbours)
{
	for (unsigned i = 0; i < neighbours->options->beside_count; i++)
		if (neighbours->neighbours[i].process && !neighbours->neighbours[i].there)
			return false;
	return true;
}

/* To all that live. Those that are dead and not collected do not. Whether there were any. */
static bool signal_all(const struct fm_programs_beside *neighbours, int number)
{
	bool some = false;

	for (unsigned i = 0; i < neighbours->count; i++)
		if (neighbours->taken[i].descriptor >= 0) {
			struct pollfd end = {.fd = neighbours->taken[i].descriptor, .events = POLLIN};

			some |= poll(&end, 1, 0) <= 0 && !syscall(SYS_pidfd_send_signal, end.fd, number, NULL, 0);
		}
	return some;
}

/* Our children are collected; other processes have another parent then. */
static void collect(struct fm_programs_beside *neighbours, int flags)
{
	for (unsigned i = 0; i < neighbours->options->beside_count; i++) {
		struct neighbour *neighbour = &neighbours->neighbours[i];
		int status;

		if (neighbour->process && waitpid(neighbour->process, &status, flags) == neighbour->process)
			neighbour->process = 0;
	}
}

void fm_programs_beside_end(struct fm_programs_beside *neighbours)
{
	uint64_t since = fm_clock_now();

	signal_all(neighbours, SIGTERM);
	collect(neighbours, WNOHANG);
	while (signal_all(neighbours, 0) && fm_clock_now() - since < GRACE_MS * 1000000ull) {
		poll(NULL, 0, STEP_MS);
		collect(neighbours, WNOHANG);
	}
	signal_all(neighbours, SIGKILL);
	collect(neighbours, 0);
}

const struct fm_beside_roster *fm_programs_beside_roster(const struct fm_programs_beside *neighbours)
{
	return neighbours->roster;
}

void fm_programs_beside_report(const struct fm_programs_beside *neighbours,
                               struct fm_engine_program_beside *ret_neighbours)
{
	for (unsigned i = 0; i < neighbours->options->beside_count; i++)
		ret_neighbours[i] = neighbours->neighbours[i].report;
}

void fm_programs_beside_destroy(struct fm_programs_beside *neighbours)
{
	if (!neighbours)
		return;
	fm_programs_beside_end(neighbours);
	for (unsigned i = 0; i < neighbours->count; i++)
		if (neighbours->taken[i].descriptor >= 0)
			close(neighbours->taken[i].descriptor);
	munmap(neighbours->roster, sizeof(*neighbours->roster));
	if (neighbours->nothing >= 0)
		close(neighbours->nothing);
	free(neighbours->taken);
	free(neighbours);
}
