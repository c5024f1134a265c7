/* What is mapped, as /proc/self/maps says, into the log. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/log.h"

enum { MAPS_TEXT = 16384, KNOWN_RANGES = 2048 };

static uint32_t listing; /* somebody is at it */
/* begin and end of what is mapped, as listed last, neighbours joined */
static uint64_t known[KNOWN_RANGES][2];
static uint32_t known_count;

void fm_log_mappings_forked(void)
{
	listing = 0;
}

static const char *hexadecimal(const char *text, uint64_t *ret_value)
{
	for (*ret_value = 0;; text++) {
		char c = *text;
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		                                        : 16;

		if (digit == 16)
			return text;
		*ret_value = *ret_value * 16 + digit;
	}
}

static void note_known(uint64_t begin, uint64_t end, bool first)
{
	uint32_t count = first ? 0 : known_count;

	if (count && known[count - 1][1] == begin) {
		known[count - 1][1] = end;
	} else if (count < KNOWN_RANGES) {
		known[count][0] = begin;
		known[count++][1] = end;
	}
	known_count = count;
}

/* Others may be listing meanwhile: a wrong answer costs one list too many, or too late. */
bool fm_log_knows(uint64_t address)
{
	uint32_t low = 0, high = known_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (address < known[middle][0])
			high = middle;
		else if (address >= known[middle][1])
			low = middle + 1;
		else
			return true;
	}
	return false;
}

/* "55d0c0a00000-55d0c0a01000 r-xp 00001000 fe:00 1234   /usr/bin/x" */
static void log_mapping(const char *line, bool first)
{
	struct fm_stream_mapping mapping = {.flags = first};
	const char *at = hexadecimal(line, &mapping.begin);

	if (*at != '-')
		return;
	at = hexadecimal(at + 1, &mapping.end);
	if (*at++ != ' ')
		return;
	mapping.protection =
	    (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
	at = hexadecimal(at + 5, &mapping.offset);
	for (int field = 0; field < 2; field++) { /* device, inode */
		while (*at == ' ')
			at++;
		while (*at && *at != ' ')
			at++;
	}
	while (*at == ' ')
		at++;
	note_known(mapping.begin, mapping.end, first);
	fm_log_write_text(FM_STREAM_MAPPING, &mapping, sizeof(mapping), at);
}

void fm_log_mappings(void)
{
	static char text[MAPS_TEXT];
	uint32_t nobody = 0;
	size_t used = 0;
	bool first = true;
	long file, got;

	if (!__atomic_compare_exchange_n(&listing, &nobody, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (file >= 0) {
		while ((got = fm_system_call(SYS_read, file, (long)(text + used), (long)(MAPS_TEXT - 1 - used), 0, 0,
		                             0)) > 0) {
			char *line = text, *end;

			used += (size_t)got;
			text[used] = 0;
			while ((end = strchr(line, '\n'))) {
				*end = 0;
				log_mapping(line, first);
				first = false;
				line = end + 1;
			}
			used -= (size_t)(line - text);
			memmove(text, line, used);
			if (used == MAPS_TEXT - 1)
				used = 0;
		}
		fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	}
	__atomic_store_n(&listing, 0, __ATOMIC_RELEASE);
}
