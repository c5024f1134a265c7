#include "colours/pool.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "colours/tuning.h"

enum { TESTED_AGAIN = 200, SCRUBBED = 16384 };

/* The calling thread stays where it is. */
static bool bind(cpu_set_t *ret_old)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*ret_old), ret_old))
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

static void unbind(const cpu_set_t *old)
{
	sched_setaffinity(0, sizeof(*old), old);
}

int fm_colours_pool_open(struct fm_colours_pool **ret_pool, struct fm_error *error)
{
	struct fm_colours_pool *pool = calloc(1, sizeof(*pool));
	size_t head = (sizeof(*pool->shared) + FM_PAGE_BYTES - 1) / FM_PAGE_BYTES * FM_PAGE_BYTES, bytes;
	int cpu = sched_getcpu(), r;
	void *memory;

	if (!pool)
		return fm_error_set(error, ENOMEM, "out of memory");
	pool->file = -1;
	if (!fm_colours_probe_live.reload) {
		r = fm_error_set(error, ENOTSUP, "page colours are found by timing on x86-64 only");
		goto out;
	}
	r = fm_colours_geometry_read(cpu < 0 ? 0 : (unsigned)cpu, &pool->colours.geometry, error);
	if (r)
		goto out;
	pool->count = fm_colours_pages_wanted(&pool->colours.geometry);
	pool->pages = calloc(pool->count, sizeof(*pool->pages));
	bytes = head + (size_t)pool->count * FM_PAGE_BYTES;
	pool->file = memfd_create("fathom-colours", MFD_CLOEXEC);
	if (!pool->pages || pool->file < 0 || ftruncate(pool->file, (off_t)bytes)) {
		r = fm_error_set(error, ENOMEM, "there is no memory to find colours in");
		goto out;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool->file, 0);
	if (memory == MAP_FAILED) {
		r = fm_error_set(error, ENOMEM, "there is no memory to find colours in");
		goto out;
	}
	pool->shared = memory;
	pool->memory = (char *)memory + head;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < pool->count; i++) {
		pool->pages[i] = pool->memory + (size_t)i * FM_PAGE_BYTES;
		*pool->pages[i] = 0;
	}
	*pool->shared = (struct fm_colours_shared){.magic = FM_COLOURS_MAGIC,
	                                           .bytes = sizeof(*pool->shared),
	                                           .pool_at = (uint32_t)head,
	                                           .pool_pages = pool->count};
	snprintf(pool->path, sizeof(pool->path), "/proc/%d/fd/%d", (int)getpid(), pool->file);
	pool->colours.probe = fm_colours_probe_live;
	fm_random_seed(&pool->colours.random, fm_clock_now());
	*ret_pool = pool;
	return 0;
out:
	fm_colours_pool_close(pool);
	return r;
}

void fm_colours_pool_close(struct fm_colours_pool *pool)
{
	if (!pool)
		return;
	if (pool->shared)
		munmap(pool->shared,
		       (size_t)(pool->memory - (char *)pool->shared) + (size_t)pool->count * FM_PAGE_BYTES);
	if (pool->file >= 0)
		close(pool->file);
	free(pool->pages);
	free(pool);
}

/* Programs find the sets by the numbers of their pages. */
static void publish(struct fm_colours_pool *pool)
{
	struct fm_colours_shared *shared = pool->shared;
	const struct fm_colours *colours = &pool->colours;

	shared->geometry = colours->geometry;
	shared->lines = colours->lines;
	shared->hash = colours->hash;
	shared->threshold = colours->threshold;
	shared->longest = colours->longest;
	shared->passes = colours->passes;
	for (unsigned i = 0; i < colours->count; i++) {
		shared->set_counts[i] = colours->sets[i].count;
		for (unsigned k = 0; k < colours->sets[i].count; k++)
			shared->set_pages[i][k] =
			    (uint32_t)((size_t)(colours->sets[i].pages[k] - pool->memory) / FM_PAGE_BYTES);
	}
}

static int discover(struct fm_colours_pool *pool, uint64_t hash, struct fm_error *error)
{
	struct fm_colours_found found;
	uint64_t begin = fm_clock_now();
	int r;

	pool->colours.hash = hash;
	r = fm_colours_discover(&pool->colours, pool->pages, pool->count, &found, error);
	if (r)
		return r;
	pool->disagreement = fm_colours_disagreement(&pool->colours, pool->pages, TESTED_AGAIN);
	pool->seconds = (double)(fm_clock_now() - begin) * 1e-9;
	if (found.near_ns > 0) {
		pool->near_ns = found.near_ns;
		pool->beyond_ns = found.beyond_ns;
	}
	if (pool->disagreement > POOL_DISAGREEMENT)
		return fm_error_set(
		    error, ENOTSUP,
		    "page colours are not stable: %.0f of %d pages had another colour in a second test; the machine is "
		    "too busy",
		    pool->disagreement * TESTED_AGAIN, TESTED_AGAIN);
	publish(pool);
	return 0;
}

int fm_colours_pool_discover(struct fm_colours_pool *pool, uint64_t hash, struct fm_error *error)
{
	cpu_set_t old;
	int r;

	if (!bind(&old))
		return fm_error_set(error, ENOTSUP, "this process cannot be kept on one CPU");
	r = discover(pool, hash, error);
	unbind(&old);
	return r;
}

int fm_colours_pool_recheck(struct fm_colours_pool *pool, struct fm_error *error)
{
	cpu_set_t old;
	bool holds;

	if (!bind(&old))
		return fm_error_set(error, ENOTSUP, "this process cannot be kept on one CPU");
	holds = fm_colours_recheck(&pool->colours);
	unbind(&old);
	if (!holds)
		return fm_colours_pool_discover(pool, pool->colours.hash, error);
	publish(pool);
	return 0;
}

void fm_colours_scrub(struct fm_random *random)
{
	size_t bytes = (size_t)SCRUBBED * FM_PAGE_BYTES;
	char **pages = calloc(SCRUBBED, sizeof(*pages)), *memory = MAP_FAILED;
	struct sysinfo info;

	/* never memory that others may need */
	if (pages && !sysinfo(&info) && (uint64_t)info.freeram * info.mem_unit > 4 * (uint64_t)bytes)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED) {
		madvise(memory, bytes, MADV_NOHUGEPAGE);
		for (unsigned i = 0; i < SCRUBBED; i++) {
			pages[i] = memory + (size_t)i * FM_PAGE_BYTES;
			*(volatile char *)pages[i] = 1;
		}
		fm_colours_shuffle(random, pages, SCRUBBED);
		for (unsigned i = 0; i < SCRUBBED; i++)
			madvise(pages[i], FM_PAGE_BYTES, MADV_DONTNEED);
		munmap(memory, bytes);
	}
	free(pages);
}
