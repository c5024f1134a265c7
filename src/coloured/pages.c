/* Pages of the wanted colours: ask the kernel for memory, look at every page, keep what fits. */
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "base/processor.h"
#include "coloured/self.h"

enum { CHUNK = 1024, MOST_CANDIDATES = 1 << 20 };

static void *map(size_t bytes)
{
	long address = fm_system_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
	                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fm_failed(address))
		return NULL;
	fm_system_call(SYS_madvise, address, (long)bytes, MADV_NOHUGEPAGE, 0, 0, 0);
	return (void *)address;
}

static void unmap(void *address, size_t bytes)
{
	if (address)
		fm_system_call(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

/* Free memory. */
static bool is_free(uint64_t pages)
{
	struct sysinfo memory = {0};

	if (fm_system_call(SYS_sysinfo, (long)&memory, 0, 0, 0, 0, 0))
		return false;
	return pages * FM_PAGE_BYTES < (uint64_t)memory.freeram * memory.mem_unit / 2 &&
	       pages * FM_PAGE_BYTES < fm_coloured.shared->free_bytes / 2;
}

struct search {
	struct fm_colours *colours;
	char **candidates;
	unsigned candidate_count, most;
	unsigned wanted, keep, each; /* pages in all; colours; pages of each */
	unsigned counts[FM_COLOURS_MOST], full;
	char **found; /* by colour, `each` places */
};

/* One chunk of memory; false: there is no more. */
static bool look_at_chunk(struct search *search)
{
	char *chunk = search->candidate_count + CHUNK <= search->most ? map((size_t)CHUNK * FM_PAGE_BYTES) : NULL;

	if (!chunk)
		return false;
	for (unsigned i = 0; i < CHUNK; i++) {
		char *page = chunk + (size_t)i * FM_PAGE_BYTES;

		*(volatile char *)page = 0;
		search->candidates[search->candidate_count + i] = page;
	}
	search->candidate_count += CHUNK;
	for (unsigned i = 0; i < CHUNK && search->full < search->keep; i++) {
		char *page = chunk + (size_t)i * FM_PAGE_BYTES;
		unsigned first = (unsigned)fm_random_below(&search->colours->random, search->keep);

		for (unsigned k = 0; k < search->keep; k++) {
			unsigned colour = (first + k) % search->keep;

			if (search->counts[colour] == search->each ||
			    !fm_colours_is(search->colours, colour, page, true))
				continue;
			search->found[colour * search->each + search->counts[colour]] = page;
			search->full += ++search->counts[colour] == search->each;
			break;
		}
	}
	return true;
}

/* In turn from each colour, so that neighbours in memory have different ones. */
static void take_found(struct search *search)
{
	for (unsigned i = 0; i < search->wanted; i++)
		fm_coloured.pages[i] = search->found[i % search->keep * search->each + i / search->keep];
}

static int by_address(char *left, char *right)
{
	return left < right ? -1 : left > right;
}

/* Heap sort: no library is called from here. */
static void sort(char **pages, unsigned count)
{
	for (unsigned end = count, start = count / 2; end > 1;) {
		unsigned root, child;

		if (start) {
			start--;
		} else {
			char *page = pages[--end];

			pages[end] = pages[0];
			pages[0] = page;
		}
		for (root = start; (child = 2 * root + 1) < end; root = child) {
			char *page = pages[root];

			if (child + 1 < end && by_address(pages[child], pages[child + 1]) < 0)
				child++;
			if (by_address(page, pages[child]) >= 0)
				break;
			pages[root] = pages[child];
			pages[child] = page;
		}
	}
}

static bool is_among(char *const *sorted, unsigned count, const char *page)
{
	unsigned low = 0, high = count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (sorted[middle] == page)
			return true;
		if (sorted[middle] < page)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void release_rest(struct search *search, char **room)
{
	for (unsigned i = 0; i < search->wanted; i++)
		room[i] = fm_coloured.pages[i];
	sort(room, search->wanted);
	fm_colours_shuffle(&search->colours->random, search->candidates, search->candidate_count);
	for (unsigned i = 0; i < search->candidate_count; i++)
		if (!is_among(room, search->wanted, search->candidates[i]))
			fm_system_call(SYS_madvise, (long)search->candidates[i], FM_PAGE_BYTES, MADV_DONTNEED, 0, 0, 0);
}

/* True if a chase sees the expected capacity. */
static void verify(struct fm_colours *colours, unsigned keep, unsigned wanted, struct fm_colours_process *process)
{
	unsigned room = keep * colours->geometry.ways, fits = room * 3 / 4, exceeds = room * 3 / 2;
	size_t bytes = (size_t)exceeds * FM_PAGE_LINES * sizeof(char *);
	char **lines = map(bytes);

	if (lines && fits <= wanted)
		process->near_ns = fm_colours_chase(colours, fm_coloured.pages, fits, lines);
	if (lines && exceeds <= wanted)
		process->beyond_ns = fm_colours_chase(colours, fm_coloured.pages, exceeds, lines);
	unmap(lines, bytes);
	/* the program expects zeros */
	for (unsigned i = 0; i < exceeds && i < wanted; i++)
		for (unsigned k = 0; k < FM_PAGE_BYTES / sizeof(uint64_t); k++)
			((volatile uint64_t *)(void *)fm_coloured.pages[i])[k] = 0;
}

const char *fm_coloured_collect(struct fm_colours *colours, unsigned wanted, struct fm_colours_process *process)
{
	const struct fm_colours_shared *shared = fm_coloured.shared;
	struct search search = {.colours = colours, .wanted = wanted, .keep = shared->keep};
	uint64_t most = (uint64_t)wanted * colours->count / shared->keep * 3 / 2 + 8 * CHUNK;
	size_t found_bytes, candidate_bytes, page_bytes = ((size_t)wanted + 1) * sizeof(char *);
	char **room;

	if (most > MOST_CANDIDATES)
		return "the program has more memory than can be confined";
	if (!is_free(most))
		return "there is not enough free memory to choose pages from";
	search.most = (unsigned)most;
	search.each = (wanted + search.keep - 1) / search.keep;
	found_bytes = (size_t)search.each * search.keep * sizeof(char *);
	candidate_bytes = (size_t)search.most * sizeof(char *);
	search.found = map(found_bytes);
	search.candidates = map(candidate_bytes);
	room = map(page_bytes);
	fm_coloured.pages = map(page_bytes);
	if (!search.found || !search.candidates || !room || !fm_coloured.pages)
		return "there is no memory";
	while (search.full < search.keep && look_at_chunk(&search))
		;
	process->candidates = search.candidate_count;
	if (search.full == search.keep && shared->shuffled) {
		fm_colours_shuffle(&colours->random, search.candidates, search.candidate_count);
		for (unsigned i = 0; i < wanted; i++)
			fm_coloured.pages[i] = search.candidates[i];
	} else if (search.full == search.keep) {
		take_found(&search);
	}
	if (search.full == search.keep) {
		verify(colours, search.keep, wanted, process);
		release_rest(&search, room);
		process->kept = fm_coloured.page_count = wanted;
	}
	/* without the runtime the program has no use for them; here they are still in the order of their chunks */
	for (unsigned i = 0; search.full != search.keep && i < search.candidate_count; i += CHUNK)
		unmap(search.candidates[i], (size_t)CHUNK * FM_PAGE_BYTES);
	unmap(search.found, found_bytes);
	unmap(search.candidates, candidate_bytes);
	unmap(room, page_bytes);
	return search.full == search.keep ? NULL : "too few pages of the wanted colours were found";
}

unsigned fm_coloured_take(unsigned wanted, unsigned *ret_first)
{
	unsigned taken;

	while (__atomic_exchange_n(&fm_coloured.lock, 1, __ATOMIC_ACQUIRE))
		fm_pause();
	taken = fm_coloured.page_count - fm_coloured.next;
	if (taken > wanted)
		taken = wanted;
	*ret_first = fm_coloured.next;
	fm_coloured.next += taken;
	__atomic_store_n(&fm_coloured.lock, 0, __ATOMIC_RELEASE);
	return taken;
}
