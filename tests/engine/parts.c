#include "engine/parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_file(const char *path, struct part *part)
{
	FILE *file = fopen(path, "re");
	long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
	uint64_t room = 0;

	if (size < FM_STREAM_HEAD || fseek(file, 0, SEEK_SET) || !(part->bytes = malloc((size_t)size)) ||
	    fread(part->bytes, 1, (size_t)size, file) != (size_t)size) {
		if (file)
			fclose(file);
		return false;
	}
	fclose(file);
	memcpy(&part->process, part->bytes, sizeof(part->process));
	if (part->process.magic != FM_STREAM_MAGIC || part->process.version != FM_STREAM_VERSION)
		return false;
	for (uint64_t chunk = 0; chunk < part->process.chunks; chunk++) {
		uint64_t at = FM_STREAM_HEAD + chunk * FM_STREAM_CHUNK, end = at + FM_STREAM_CHUNK;

		if (end > (uint64_t)size)
			return false;
		while (at + sizeof(struct fm_stream_entry) <= end) {
			struct fm_stream_entry *entry = (struct fm_stream_entry *)((char *)part->bytes + at);

			if (!entry->kind)
				break;
			if (entry->kind >= FM_STREAM_KINDS || entry->words < 2 || at + 8u * entry->words > end)
				return false;
			if (part->count == room) {
				room = room ? 2 * room : 1024;
				part->entries = realloc(part->entries, room * sizeof(*part->entries));
			}
			part->entries[part->count++] = entry;
			at += 8u * entry->words;
		}
	}
	return true;
}

bool part_read(const char *folder, unsigned index, struct part *ret_part)
{
	struct dirent **names;
	struct part *parts;
	int count = scandir(folder, &names, NULL, alphasort);
	unsigned found = 0, chosen = 0;

	if (count < 0)
		return false;
	parts = calloc((size_t)count, sizeof(*parts));
	for (int i = 0; i < count; i++) {
		size_t length = strlen(names[i]->d_name);
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (length > 7 && !strcmp(names[i]->d_name + length - 7, "-engine")) {
			if (take_file(path, &parts[found]))
				found++;
			else
				part_free(&parts[found]);
		}
		free(names[i]);
	}
	free(names);
	/* in the order of their beginning */
	for (unsigned i = 0; i < found; i++) {
		unsigned before = 0;

		for (unsigned k = 0; k < found; k++)
			before += parts[k].process.begun < parts[i].process.begun;
		if (before == index)
			chosen = i + 1;
	}
	for (unsigned i = 0; i < found; i++)
		if (i + 1 != chosen)
			part_free(&parts[i]);
	if (chosen)
		*ret_part = parts[chosen - 1];
	free(parts);
	return chosen;
}

void part_free(struct part *part)
{
	free(part->entries);
	free(part->bytes);
	memset(part, 0, sizeof(*part));
}

const struct fm_stream_sample *part_sample(const struct part *part, unsigned *at, uint32_t *ret_thread)
{
	while (*at < part->count) {
		const struct fm_stream_entry *entry = part->entries[(*at)++];

		if (entry->kind != FM_STREAM_SAMPLE ||
		    8u * entry->words < sizeof(*entry) + sizeof(struct fm_stream_sample))
			continue;
		if (ret_thread)
			*ret_thread = entry->thread;
		return (const struct fm_stream_sample *)(entry + 1);
	}
	return NULL;
}

const uint64_t *part_stack(const struct part *part, uint32_t number, unsigned *ret_count)
{
	for (unsigned i = 0; i < part->count; i++) {
		const struct fm_stream_entry *entry = part->entries[i];
		const struct fm_stream_stack *stack = (const struct fm_stream_stack *)(entry + 1);

		if (entry->kind != FM_STREAM_STACK || stack->number != number ||
		    8u * entry->words < sizeof(*entry) + sizeof(*stack) + 8u * stack->count)
			continue;
		*ret_count = stack->count;
		return (const uint64_t *)(stack + 1);
	}
	return NULL;
}
