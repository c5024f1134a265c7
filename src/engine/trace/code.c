#include "engine/trace/code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/account/decode.h"
#include "engine/account/places.h"

enum { MAPPINGS_MAX = 1024, PIECE_BYTES_MAX = 1 << 16, BETWEEN_LOOKS = 256 };

struct mapping {
	uint64_t begin, end, offset;
	int file; /* -1: not opened, or none */
	char path[256];
};

struct fm_code {
	unsigned process;
	int memory;
	unsigned count;
	unsigned strange; /* addresses outside of all mappings since the last look */
	struct mapping mappings[MAPPINGS_MAX], before[MAPPINGS_MAX];
	unsigned char bytes[PIECE_BYTES_MAX];
};

static struct mapping *find(struct fm_code *code, uint64_t address)
{
	for (unsigned i = 0; i < code->count; i++)
		if (address >= code->mappings[i].begin && address < code->mappings[i].end)
			return &code->mappings[i];
	return NULL;
}

static void keep(struct fm_code *code, const struct mapping *mapping)
{
	if (code->count < MAPPINGS_MAX)
		code->mappings[code->count++] = *mapping;
	else if (mapping->file >= 0)
		close(mapping->file);
}

/* Mappings of before stay known unless they were replaced: unloaded code may still be in the ring. */
static void keep_old(struct fm_code *code, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct mapping *old = &code->before[i];
		bool replaced = false;

		for (unsigned k = 0; k < code->count && !replaced; k++) {
			struct mapping *now = &code->mappings[k];

			replaced = old->begin < now->end && now->begin < old->end;
			if (replaced && now->file < 0 && old->begin == now->begin && old->offset == now->offset &&
			    !strcmp(old->path, now->path)) {
				now->file = old->file;
				old->file = -1;
			}
		}
		if (!replaced)
			keep(code, old);
		else if (old->file >= 0)
			close(old->file);
	}
}

void fm_code_look_again(struct fm_code *code)
{
	char name[32], line[512];
	unsigned count = code->count;
	FILE *maps;

	code->strange = 0;
	if (!code->process)
		return;
	snprintf(name, sizeof(name), "/proc/%u/maps", code->process);
	maps = fopen(name, "re");
	if (!maps)
		return;
	memcpy(code->before, code->mappings, count * sizeof(code->mappings[0]));
	code->count = 0;
	while (fgets(line, sizeof(line), maps)) {
		struct mapping mapping = {.file = -1};
		unsigned long begin, end, offset;
		char rights[8];
		int path = 0;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, rights, &offset, &path) < 4 || !path ||
		    strlen(rights) < 3 || rights[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = 0;
		mapping.begin = begin;
		mapping.end = end;
		mapping.offset = offset;
		snprintf(mapping.path, sizeof(mapping.path), "%s", line + path);
		keep(code, &mapping);
	}
	fclose(maps);
	keep_old(code, count);
}

struct fm_code *fm_code_create(unsigned process)
{
	struct fm_code *code = calloc(1, sizeof(*code));
	char name[32];

	if (!code)
		return NULL;
	code->process = process;
	code->memory = -1;
	if (process) {
		snprintf(name, sizeof(name), "/proc/%u/mem", process);
		code->memory = open(name, O_RDONLY | O_CLOEXEC);
	}
	fm_code_look_again(code);
	return code;
}

void fm_code_destroy(struct fm_code *code)
{
	if (!code)
		return;
	for (unsigned i = 0; i < code->count; i++)
		if (code->mappings[i].file >= 0)
			close(code->mappings[i].file);
	if (code->memory >= 0)
		close(code->memory);
	free(code);
}

static struct mapping *find_or_look(struct fm_code *code, uint64_t address)
{
	struct mapping *mapping = find(code, address);

	/* not every time: generated code is in no file, however often one looks */
	if (!mapping && code->strange++ % BETWEEN_LOOKS == 0) {
		unsigned strange = code->strange;

		fm_code_look_again(code);
		code->strange = strange;
		mapping = find(code, address);
	}
	return mapping;
}

void fm_code_note_module(struct fm_code *code, struct fm_account *account, uint64_t address)
{
	const struct mapping *mapping = find_or_look(code, address);

	if (mapping)
		fm_places_add_module(account, mapping->begin, mapping->end, mapping->offset, mapping->path);
}

size_t fm_code_bytes(struct fm_code *code, uint64_t address, void *ret_bytes, size_t size)
{
	struct mapping *mapping = find_or_look(code, address);
	ssize_t got = -1;

	if (mapping && size > mapping->end - address)
		size = mapping->end - address;
	/* the file first: reading another process's memory may be forbidden */
	if (mapping && mapping->file < 0 && mapping->path[0] == '/')
		mapping->file = open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (mapping && mapping->file >= 0)
		got = pread(mapping->file, ret_bytes, size, (off_t)(mapping->offset + (address - mapping->begin)));
	if (got <= 0 && code->memory >= 0)
		got = pread(code->memory, ret_bytes, size, (off_t)address);
	return got > 0 ? (size_t)got : 0;
}

struct fm_work fm_code_work(struct fm_code *code, uint64_t address, unsigned bytes, unsigned instructions)
{
	struct fm_work work = {0};
	size_t length = fm_code_bytes(code, address, code->bytes, bytes < PIECE_BYTES_MAX ? bytes : PIECE_BYTES_MAX);

	for (size_t at = 0; at < length;) {
		struct fm_decoded decoded;

		if (!fm_decode(code->bytes + at, (unsigned)(length - at), &decoded))
			break;
		fm_work_add(&work, &decoded.work);
		at += decoded.length;
	}
	/* the translator has counted them */
	work.instructions = instructions;
	return work;
}
