#include "simulator/code_cache.h"

#include <stdlib.h>
#include <string.h>

struct fm_code_cache {
	unsigned sets, ways;
	uint64_t lines[]; /* of a set, the latest first; line + 1, 0 is empty */
};

struct fm_code_cache *fm_code_cache_create(unsigned bytes, unsigned ways, unsigned line_bytes)
{
	unsigned lines = bytes / line_bytes / ways * ways;
	struct fm_code_cache *cache;

	if (!lines)
		lines = ways;
	cache = calloc(1, sizeof(*cache) + lines * sizeof(cache->lines[0]));
	if (!cache)
		return NULL;
	cache->sets = lines / ways;
	cache->ways = ways;
	return cache;
}

void fm_code_cache_destroy(struct fm_code_cache *cache)
{
	free(cache);
}

bool fm_code_cache_touch_in(struct fm_code_cache *cache, uint64_t line, uint64_t what)
{
	uint64_t *set = &cache->lines[line % cache->sets * cache->ways], wanted = what + 1;
	unsigned at = 0;
	bool found;

	if (set[0] == wanted)
		return true;
	while (at < cache->ways - 1 && set[at] != wanted)
		at++;
	found = set[at] == wanted;
	memmove(&set[1], &set[0], at * sizeof(set[0]));
	set[0] = wanted;
	return found;
}

bool fm_code_cache_touch(struct fm_code_cache *cache, uint64_t line)
{
	return fm_code_cache_touch_in(cache, line, line);
}
