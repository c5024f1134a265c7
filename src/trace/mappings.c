#include "trace/mappings.h"

#include <fcntl.h>
#include <string.h>

#include "preload/calls.h"

enum { SHARED_AT = 3 /* in "rw-s" */ };

/* Hexadecimal, up to `end`; NULL: something else. */
static const char *read_address(const char *text, char end, uint64_t *ret_address)
{
	uint64_t address = 0;

	for (; *text != end; text++) {
		unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
		                 : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
		                                                : 16;

		if (digit > 15 || address >> 60)
			return NULL;
		address = address << 4 | digit;
	}
	*ret_address = address;
	return text + 1;
}

/* Do the latest bytes end with this text of at most eight? */
static bool matches(uint64_t latest, const char *text)
{
	uint64_t value = 0, mask = 0;

	for (; *text; text++) {
		value = value << 8 | (uint8_t)*text;
		mask = mask << 8 | 0xff;
	}
	return (latest & mask) == value;
}

static bool end_line(const struct fm_mappings_reader *reader)
{
	struct fm_mappings *mappings = reader->mappings;
	uint64_t start = 0, end = 0;
	const char *at = read_address(reader->line, '-', &start);

	if (at)
		at = read_address(at, ' ', &end);
	if (!at || start >= end || strnlen(at, SHARED_AT + 1) <= SHARED_AT || reader->by_kernel)
		return false;
	if (at[SHARED_AT] != 's' && !reader->clock)
		return true;
	if (mappings->count == FM_MAPPINGS)
		return false;
	mappings->shared[mappings->count].start = start;
	mappings->shared[mappings->count++].end = end;
	return true;
}

void fm_mappings_feed(struct fm_mappings_reader *reader, const char *text, size_t length)
{
	for (size_t i = 0; i < length && !reader->refused; i++) {
		if (text[i] == '\n') {
			reader->line[reader->length] = 0;
			reader->refused = !end_line(reader);
			reader->length = 0;
			reader->latest = 0;
			reader->by_kernel = reader->clock = false;
			continue;
		}
		if (reader->length < sizeof(reader->line) - 1)
			reader->line[reader->length++] = text[i];
		reader->latest = reader->latest << 8 | (uint8_t)text[i];
		reader->by_kernel |= matches(reader->latest, "io_uring") || matches(reader->latest, "[aio]");
		reader->clock |= matches(reader->latest, "[vvar");
	}
}

bool fm_mappings_read(struct fm_mappings *ret_mappings)
{
	struct fm_mappings_reader reader = {.mappings = ret_mappings};
	char text[4096] = "";
	long file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0),
	     length;

	ret_mappings->count = 0;
	if (fm_failed(file))
		return false;
	do {
		length = fm_system_call(SYS_read, file, (long)text, sizeof(text), 0, 0, 0);
		if (!fm_failed(length))
			fm_mappings_feed(&reader, text, (size_t)length);
	} while (length > 0 && !fm_failed(length) && !reader.refused);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return !fm_failed(length) && !reader.refused && !reader.length;
}
