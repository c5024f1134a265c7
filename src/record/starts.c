#include "record/starts.h"

#include <stddef.h>
#include <sys/auxv.h>

enum {
	KNOWN = 8,          /* processes that began before others are passed over */
	ENDED = 4,          /* … of which so many have ended */
	SHORT_NS = 8000000, /* on average in less processor time than this */
	ONE_OF = 32,        /* of those that would be passed over one is recorded: programs change */
};

static struct fm_starts *shared;
static struct fm_starts_program *own;
static uint64_t path;

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

bool fm_starts_is_worth(bool forked)
{
	uint32_t number, ended;

	own = find(forked ? path ^ 2 : path);
	if (!own)
		return true;
	number = __atomic_fetch_add(&own->started, 1, __ATOMIC_RELAXED);
	ended = __atomic_load_n(&own->ended, __ATOMIC_RELAXED);
	if (number < KNOWN || ended < ENDED || number % ONE_OF == 0 ||
	    __atomic_load_n(&own->cpu_ns, __ATOMIC_RELAXED) / ended > SHORT_NS)
		return true;
	__atomic_fetch_add(&own->skipped, 1, __ATOMIC_RELAXED);
	return false;
}

void fm_starts_end(uint64_t cpu_ns)
{
	if (!own)
		return;
	__atomic_fetch_add(&own->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&own->ended, 1, __ATOMIC_RELAXED);
}
