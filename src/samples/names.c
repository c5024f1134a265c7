#include "samples/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const void *key, size_t length)
{
	uint64_t value = 1469598103934665603u;

	for (size_t i = 0; i < length; i++)
		value = (value ^ ((const unsigned char *)key)[i]) * 1099511628211u;
	return value ^ value >> 32;
}

/* Half of the slots stay free. */
static int grow(struct fm_names *names)
{
	size_t count = names->slot_count ? 2 * names->slot_count : 64;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < names->count; i++) {
		size_t at = hash(names->keys[i], names->lengths[i]) & (count - 1);

		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
	return 0;
}

static int add(struct fm_names *names, const void *key, size_t length)
{
	char *copy;

	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 64;
		char **keys = realloc(names->keys, room * sizeof(*keys));
		size_t *lengths;

		if (!keys)
			return -ENOMEM;
		names->keys = keys;
		lengths = realloc(names->lengths, room * sizeof(*lengths));
		if (!lengths)
			return -ENOMEM;
		names->lengths = lengths;
		names->room = room;
	}
	copy = malloc(length + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, key, length);
	copy[length] = '\0';
	names->keys[names->count] = copy;
	names->lengths[names->count++] = length;
	return 0;
}

int fm_names_find_bytes(struct fm_names *names, const void *key, size_t length, uint32_t *ret_number)
{
	size_t at;
	int r;

	if (2 * (names->count + 1) > names->slot_count) {
		r = grow(names);
		if (r)
			return r;
	}
	for (at = hash(key, length) & (names->slot_count - 1); names->slots[at];
	     at = (at + 1) & (names->slot_count - 1)) {
		uint32_t number = names->slots[at] - 1;

		if (names->lengths[number] == length && !memcmp(names->keys[number], key, length)) {
			*ret_number = number;
			return 0;
		}
	}
	r = add(names, key, length);
	if (r)
		return r;
	names->slots[at] = (uint32_t)names->count;
	*ret_number = (uint32_t)names->count - 1;
	return 0;
}

int fm_names_find(struct fm_names *names, const char *key, uint32_t *ret_number)
{
	return fm_names_find_bytes(names, key, strlen(key), ret_number);
}

void fm_names_free(struct fm_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->keys[i]);
	free(names->keys);
	free(names->lengths);
	free(names->slots);
	*names = (struct fm_names){0};
}
