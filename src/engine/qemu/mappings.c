/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/mappings.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/qemu/part.h"
#include "engine/qemu/state.h"

enum { QEMUS_MAX = 512, PATH_LENGTH = FM_STREAM_TEXT_MAX };

static const char own_library[] = "libfathom-record.so";

static struct {
	uint64_t qemus[QEMUS_MAX]; /* where its mappings begin */
	unsigned qemu_count;
	uint64_t own_begin, own_end;
	uint64_t heap_begin, heap_end; /* the program's */
} mappings;

struct mapping {
	uint64_t begin, end, offset;
	uint32_t protection;
	char path[PATH_LENGTH];
};

static bool read_mapping(FILE *maps, struct mapping *ret_mapping)
{
	char line[PATH_LENGTH + 128], rights[8];
	unsigned long begin, end, offset;
	int path = 0;

	if (!fgets(line, sizeof(line), maps) ||
	    sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, rights, &offset, &path) < 4)
		return false;
	line[strcspn(line, "\n")] = 0;
	ret_mapping->begin = begin;
	ret_mapping->end = end;
	ret_mapping->offset = offset;
	ret_mapping->protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
	                          (rights[2] == 'x' ? PROT_EXEC : 0);
	snprintf(ret_mapping->path, sizeof(ret_mapping->path), "%s", path ? line + path : "");
	return true;
}

void fm_mappings_begin(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;

	while (maps && mappings.qemu_count < QEMUS_MAX && read_mapping(maps, &mapping))
		mappings.qemus[mappings.qemu_count++] = mapping.begin;
	if (maps)
		fclose(maps);
}

static bool is_qemus(uint64_t begin)
{
	for (unsigned i = 0; i < mappings.qemu_count; i++)
		if (mappings.qemus[i] == begin)
			return true;
	return false;
}

static void write_one(struct fm_part_writer *writer, const struct mapping *mapping, bool first)
{
	const struct fm_stream_mapping entry = {.begin = mapping->begin,
	                                        .end = mapping->end,
	                                        .offset = mapping->offset,
	                                        .protection = mapping->protection,
	                                        .flags = first};

	fm_part_write(writer, 0, FM_STREAM_MAPPING, &entry, sizeof(entry), mapping->path);
}

void fm_mappings_write(struct fm_part_writer *writer, uint64_t begin, uint64_t end, uint64_t offset,
                       uint32_t protection, const char *path)
{
	struct mapping mapping = {.begin = begin, .end = end, .offset = offset, .protection = protection};

	snprintf(mapping.path, sizeof(mapping.path), "%s", path);
	write_one(writer, &mapping, false);
}

/* QEMU does not execute the program's code where it is, so the kernel does not know it for code: ask the file. */
static bool has_code(const struct mapping *mapping)
{
	int file = mapping->path[0] == '/' ? open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	Elf64_Ehdr head;
	Elf64_Phdr part;
	bool code = false;

	if (file < 0)
		return false;
	if (pread(file, &head, sizeof(head), 0) == sizeof(head) && !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
	    head.e_phentsize == sizeof(part))
		for (unsigned i = 0; i < head.e_phnum && !code; i++)
			code = pread(file, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) ==
			           sizeof(part) &&
			       part.p_type == PT_LOAD && part.p_flags & PF_X &&
			       part.p_offset < mapping->offset + (mapping->end - mapping->begin) &&
			       part.p_offset + part.p_filesz > mapping->offset;
	close(file);
	return code;
}

static bool is_ours(const char *path)
{
	return !strncmp(path, fm_engine.first_path, strlen(fm_engine.first_path)) || fm_part_is_ours(path);
}

void fm_mappings_write_all(struct fm_part_writer *writer)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;
	uint64_t end = 0; /* of the last one that was the program's */
	bool first = true;

	while (maps && read_mapping(maps, &mapping)) {
		if (is_qemus(mapping.begin) || mapping.path[0] == '[' || is_ours(mapping.path))
			continue;
		/* memory without a file has no name, unless it is the zeroed data of the file before it */
		if (!mapping.path[0] && mapping.begin != end)
			continue;
		end = mapping.end;
		if (!(mapping.protection & PROT_WRITE) && has_code(&mapping))
			mapping.protection |= PROT_EXEC;
		write_one(writer, &mapping, first);
		first = false;
	}
	if (maps)
		fclose(maps);
}

bool fm_mappings_around(uint64_t address, uint64_t *ret_begin, uint64_t *ret_end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;
	bool found = false;

	while (maps && !found && read_mapping(maps, &mapping))
		found = address >= mapping.begin && address < mapping.end;
	if (maps)
		fclose(maps);
	if (!found)
		return false;
	*ret_begin = mapping.begin;
	*ret_end = mapping.end;
	return true;
}

static void note_own(const struct mapping *mapping)
{
	const char *name = strrchr(mapping->path, '/');

	if (strcmp(name ? name + 1 : mapping->path, own_library))
		return;
	if (!mappings.own_end || mapping->begin < mappings.own_begin)
		mappings.own_begin = mapping->begin;
	if (mapping->end > mappings.own_end)
		mappings.own_end = mapping->end;
}

bool fm_mappings_is_own(uint64_t address)
{
	return address >= mappings.own_begin && address < mappings.own_end;
}

static void mapped(struct fm_part_writer *writer, const uint64_t *arguments, uint64_t begin)
{
	const uint64_t flags = arguments[3];
	struct mapping mapping = {.begin = begin,
	                          .end = (begin + arguments[1] + 4095) / 4096 * 4096,
	                          .protection = (uint32_t)arguments[2],
	                          .offset = arguments[5]};
	char link[64];
	ssize_t length;

	if (flags & MAP_ANONYMOUS) {
		/* the zeroed data of a library is put over a mapping of its file; code may be anywhere */
		if (!(flags & MAP_FIXED) && !(arguments[2] & PROT_EXEC))
			return;
		mapping.offset = 0;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)arguments[4]);
		length = readlink(link, mapping.path, sizeof(mapping.path) - 1);
		mapping.path[length > 0 ? length : 0] = 0;
		note_own(&mapping);
	}
	write_one(writer, &mapping, false);
}

static void broken(struct fm_part_writer *writer, uint64_t end)
{
	if (!mappings.heap_begin)
		mappings.heap_begin = mappings.heap_end = end;
	if (end <= mappings.heap_end)
		return;
	mappings.heap_end = end;
	fm_mappings_write(writer, mappings.heap_begin, (end + 4095) / 4096 * 4096, 0, PROT_READ | PROT_WRITE, "[heap]");
}

void fm_mappings_called(struct fm_part_writer *writer, int64_t number, bool x86, const uint64_t *arguments,
                        int64_t result)
{
	if (result < 0 && result > -4096)
		return;
	if (number == (x86 ? 9 : 222))
		mapped(writer, arguments, (uint64_t)result);
	else if (number == (x86 ? 12 : 214))
		broken(writer, (uint64_t)result);
}
