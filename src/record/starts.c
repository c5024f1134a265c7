#include "record/starts.h"

#include <stddef.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/log.h"

enum {
	KNOWN = 8,          /* processes that began before others are passed over */
	ENDED = 4,          /* … of which so many have ended */
	SHORT_NS = 8000000, /* on average in less processor time than this */
	ONE_OF = 64,        /* of those that would be passed over one is recorded: programs change */
};

static struct fm_starts *shared;
static struct fm_starts_program *own;
static uint64_t path;
static __thread bool child_is_worth __attribute__((tls_model("initial-exec"))); /* several threads may fork */
static __thread bool is_passed_over __attribute__((tls_model("initial-exec")));

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

/* Its place, a new one if it has none yet; NULL: there is no room. */
static struct fm_starts_program *find(uint64_t key)
{
	for (unsigned i = 0; shared && i < FM_STARTS_PROGRAMS; i++) {
		struct fm_starts_program *program = &shared->programs[(key + i) % FM_STARTS_PROGRAMS];
		uint64_t there = __atomic_load_n(&program->key, __ATOMIC_RELAXED);

		if (there == key ||
		    (!there && __atomic_compare_exchange_n(&program->key, &there, key, false, __ATOMIC_RELAXED,
		                                           __ATOMIC_RELAXED)) ||
		    there == key)
			return program;
	}
	return NULL;
}

void fm_starts_open(struct fm_starts *starts)
{
	shared = starts;
	path = hash_of((const char *)getauxval(AT_EXECFN)) | 1;
}

/* Whether the process that is this number of its program is to be recorded. */
static bool is_worth(const struct fm_starts_program *program, uint32_t number)
{
	uint32_t ended = __atomic_load_n(&program->ended, __ATOMIC_RELAXED);

	return number < KNOWN || ended < ENDED || number % ONE_OF == 0 ||
	       __atomic_load_n(&program->cpu_ns, __ATOMIC_RELAXED) / ended > SHORT_NS;
}

static bool count(struct fm_starts_program *program)
{
	if (!program || is_worth(program, __atomic_fetch_add(&program->started, 1, __ATOMIC_RELAXED)))
		return true;
	__atomic_fetch_add(&program->skipped, 1, __ATOMIC_RELAXED);
	return false;
}

bool fm_starts_is_worth(void)
{
	own = find(path);
	return count(own);
}

void fm_starts_fork(void)
{
	child_is_worth = false;
	if (!fm_is_alive())
		return;
	fm_starts_parent();
	child_is_worth = !shared || count(find(path ^ 2));
}

bool fm_starts_fork_is_worth(void)
{
	is_passed_over = !child_is_worth;
	if (child_is_worth)
		own = find(path ^ 2);
	return child_is_worth;
}

bool fm_starts_is_passed_over(void)
{
	return is_passed_over;
}

bool fm_starts_leave_out(const char *executed)
{
	struct fm_starts_program *program = find(hash_of(executed) | 1);

	if (!program || __atomic_load_n(&program->parents, __ATOMIC_RELAXED) ||
	    is_worth(program, __atomic_load_n(&program->started, __ATOMIC_RELAXED)))
		return false;
	__atomic_fetch_add(&program->started, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&program->skipped, 1, __ATOMIC_RELAXED);
	return true;
}

void fm_starts_parent(void)
{
	if (own)
		__atomic_fetch_add(&own->parents, 1, __ATOMIC_RELAXED);
}

static bool waited_for_others(void)
{
	struct rusage children = {.ru_maxrss = 0};

	fm_system_call(SYS_getrusage, RUSAGE_CHILDREN, (long)&children, 0, 0, 0, 0);
	return children.ru_maxrss > 0;
}

void fm_starts_end(uint64_t cpu_ns)
{
	if (!own)
		return;
	if (waited_for_others())
		fm_starts_parent();
	__atomic_fetch_add(&own->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&own->ended, 1, __ATOMIC_RELAXED);
}
