#include "measure/buffer.h"

#include <errno.h>
#include <hwloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "kernels/layout.h"
#include "measure/cycle.h"

enum {
	HUGE_BYTES = 2 << 20,
	LARGE_CHAIN = 16 << 20, /* bytes of a chain that is computed instead of shuffled */
};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static int bind_to_node(void *memory, size_t bytes, int node, struct fm_error *error)
{
	hwloc_topology_t topology;
	hwloc_bitmap_t set;
	int status = 0;

	if (hwloc_topology_init(&topology))
		return fm_error_set(error, ENOMEM, "hwloc cannot be initialised");
	if (hwloc_topology_load(topology)) {
		hwloc_topology_destroy(topology);
		return fm_error_set(error, EIO, "hwloc cannot read the topology of this machine");
	}
	set = hwloc_bitmap_alloc();
	if (!set || hwloc_bitmap_only(set, (unsigned)node) ||
	    hwloc_set_area_membind(topology, memory, bytes, set, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET))
		status = fm_error_set(error, errno, "cannot place memory on NUMA node %d: %s", node, strerror(errno));
	hwloc_bitmap_free(set);
	hwloc_topology_destroy(topology);
	return status;
}

int fm_buffer_reserve(size_t bytes, enum fm_pages pages, struct fm_buffer *ret_buffer, struct fm_error *error)
{
	struct fm_buffer buffer = {.bytes = bytes};
	char size[32];

	buffer.mapped = (bytes + 2 * HUGE_BYTES - 1) & ~(size_t)(HUGE_BYTES - 1);
	buffer.mapping = mmap(NULL, buffer.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer.mapping == MAP_FAILED)
		return fm_error_set(error, ENOMEM,
		                    "not enough memory for a buffer of %s: free some memory, raise the limit (ulimit "
		                    "-v) or use --quick",
		                    fm_text_bytes(size, sizeof(size), (double)bytes));
	buffer.memory = (char *)(((uintptr_t)buffer.mapping + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
	/* may fail without transparent huge pages; fm_huge_pages_probe() reports that */
	madvise(buffer.mapping, buffer.mapped, pages == FM_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	*ret_buffer = buffer;
	return 0;
}

int fm_buffer_allocate(size_t bytes, enum fm_pages pages, int node, struct fm_buffer *ret_buffer,
                       struct fm_error *error)
{
	struct fm_buffer buffer;
	int status = fm_buffer_reserve(bytes, pages, &buffer, error);

	if (!status && node >= 0) {
		status = bind_to_node(buffer.memory, bytes, node, error);
		if (status)
			fm_buffer_free(&buffer);
	}
	if (status)
		return status;
	/* writing makes every page present; reading would map them all to the zero page. In one go it is faster, but
	   not all kernels know how to. */
	madvise(buffer.memory, bytes & ~(size_t)4095, MADV_POPULATE_WRITE);
	memset(buffer.memory, 1, bytes);
	*ret_buffer = buffer;
	return 0;
}

void fm_buffer_free(struct fm_buffer *buffer)
{
	if (buffer->mapping)
		munmap(buffer->mapping, buffer->mapped);
	memset(buffer, 0, sizeof(*buffer));
}

/* AnonHugePages of the mapping that holds the address, in bytes. */
static long long huge_bytes_at(const void *address)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false;
	long long huge = -1;

	if (!file)
		return -1;
	while (huge < 0 && fgets(line, sizeof(line), file)) {
		unsigned long begin, end;
		long long kilobytes;

		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2 && strchr(line, '-') < strchr(line, ' '))
			inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
		else if (inside && sscanf(line, "AnonHugePages: %lld", &kilobytes) == 1)
			huge = kilobytes * 1024;
	}
	fclose(file);
	return huge;
}

long long fm_buffer_huge_bytes(const struct fm_buffer *buffer)
{
	return huge_bytes_at(buffer->memory);
}

int fm_huge_pages_probe(struct fm_error *error)
{
	struct fm_buffer buffer = {0};
	char setting[64] = "not there";
	long long huge;
	int status = fm_buffer_allocate(4 * HUGE_BYTES, FM_PAGES_HUGE, -1, &buffer, error);

	if (status)
		return status;
	huge = huge_bytes_at(buffer.memory);
	fm_buffer_free(&buffer);
	if (huge >= 4 * HUGE_BYTES)
		return 0;
	fm_sysfs_read_line(setting, sizeof(setting), "kernel/mm/transparent_hugepage/enabled");
	return fm_error_set(
	    error, ENOTSUP,
	    "no transparent huge pages (setting: %s): 'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled' "
	    "as root enables them",
	    setting);
}

static char *line_at(const struct fm_buffer *buffer, uint64_t line)
{
	return buffer->memory + line * FM_LINE_BYTES;
}

/* Approximate starts are good enough among many lines; shuffling would take long. */
static void chain_build_large(const struct fm_buffer *buffer, struct fm_random *random, void **starts, unsigned count)
{
	size_t lines = buffer->bytes / FM_LINE_BYTES;
	struct fm_cycle cycle;

	fm_cycle_make(lines, random, &cycle);
	for (size_t i = 0; i < lines; i++)
		*(void **)line_at(buffer, i) = line_at(buffer, fm_cycle_next(&cycle, i));
	for (unsigned i = 0; i < count; i++)
		starts[i] = line_at(buffer, fm_cycle_at(&cycle, i, count));
}

int fm_chain_build(const struct fm_buffer *buffer, struct fm_random *random, void **starts, unsigned count,
                   struct fm_error *error)
{
	size_t lines = buffer->bytes / FM_LINE_BYTES;
	uint32_t *order;

	if (lines < count || lines > UINT32_MAX)
		return fm_error_set(error, EINVAL, "a chain of %zu lines cannot be built", lines);
	if (buffer->bytes >= LARGE_CHAIN) {
		chain_build_large(buffer, random, starts, count);
		return 0;
	}
	order = malloc(lines * sizeof(*order));
	if (!order)
		return fm_error_set(error, ENOMEM, "not enough memory to shuffle %zu lines", lines);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines; i > 1; i--) {
		size_t j = fm_random_below(random, i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < lines; i++) {
		*(void **)line_at(buffer, order[i]) = line_at(buffer, order[i + 1 < lines ? i + 1 : 0]);
	}
	for (unsigned i = 0; i < count; i++)
		starts[i] = line_at(buffer, order[lines * i / count]);
	free(order);
	return 0;
}
