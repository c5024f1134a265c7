/* Which memory holds code that stays as it is. Raw system calls: the thread's errno is the program's. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/system_call.h"
#include "translate/internal.h"

static const char *read_hexadecimal(const char *text, uint64_t *ret_value)
{
	*ret_value = 0;
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			*ret_value = *ret_value * 16 + (uint64_t)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			*ret_value = *ret_value * 16 + (uint64_t)(*text - 'a' + 10);
		else
			return text;
	}
}

/* "55d0c0a00000-55d0c0a01000 r-xp 00001000 fe:00 1234   /usr/bin/x" */
static void add_line(struct ranges *ranges, const char *line)
{
	struct range range = {0};
	const char *at = read_hexadecimal(line, &range.start), *permissions, *name;
	uint64_t inode = 0;

	if (*at != '-')
		return;
	at = read_hexadecimal(at + 1, &range.end);
	if (*at != ' ' || ranges->count == MOST_RANGES)
		return;
	permissions = at + 1;
	if (permissions[0] != 'r' || permissions[2] != 'x')
		return;
	for (int field = 0; field < 4 && at; field++) { /* to the inode */
		at = strchr(at + 1, ' ');
		if (at && field == 2)
			inode = (uint64_t)(at[1] != '0');
	}
	name = at ? strchr(at, '/') : NULL;
	/* memory files and deleted files may be written through another mapping */
	range.kind = RANGE_FILE;
	if (permissions[1] == 'w')
		range.kind = RANGE_WRITABLE;
	else if (!inode || !name || permissions[3] == 's' || !strncmp(name, "/memfd:", 7) ||
	         !strncmp(name, "/dev/shm/", 9))
		range.kind = RANGE_GENERATED;
	if (strstr(line, "[vdso]") || strstr(line, "[vsyscall]"))
		range.kind = RANGE_FILE;
	ranges->list[ranges->count++] = range;
}

static void read_maps(struct ranges *ranges)
{
	long file = fm_system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	size_t used = 0;
	long got;

	if (file < 0)
		return;
	while ((got = fm_system_call(SYS_read, file, (long)(ranges->text + used), (long)(RANGE_TEXT - 1 - used), 0, 0,
	                             0)) > 0) {
		char *line = ranges->text, *end;

		used += (size_t)got;
		ranges->text[used] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			add_line(ranges, line);
			line = end + 1;
		}
		used -= (size_t)(line - ranges->text);
		memmove(ranges->text, line, used);
		if (used == RANGE_TEXT - 1) /* a line too long for any path */
			used = 0;
	}
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
}

static struct range *look(struct ranges *ranges, uint64_t address)
{
	for (unsigned i = 0; i < ranges->count; i++)
		if (address >= ranges->list[i].start && address < ranges->list[i].end)
			return &ranges->list[i];
	return NULL;
}

struct range *fm_translate_find_range(struct ranges *ranges, uint64_t address)
{
	struct range *found = look(ranges, address);
	bool used[MOST_RANGES];
	uint64_t starts[MOST_RANGES];
	unsigned before = ranges->count;

	if (found)
		return found;
	for (unsigned i = 0; i < before; i++) {
		used[i] = ranges->list[i].used;
		starts[i] = ranges->list[i].start;
	}
	ranges->count = 0;
	read_maps(ranges);
	for (unsigned i = 0; i < before; i++) {
		struct range *again = used[i] ? look(ranges, starts[i]) : NULL;

		if (again)
			again->used = true;
	}
	return look(ranges, address);
}

/* The kernel reads the set before it looks at the operation, which does not exist. */
bool fm_translate_is_readable(uint64_t address)
{
	return fm_system_call(SYS_rt_sigprocmask, -1, (long)address, 0, sizeof(uint64_t), 0, 0) == -EINVAL;
}

/* As the kernel knows it (struct rseq_cs). */
struct sequence {
	uint32_t version, flags;
	uint64_t start, length, abort;
};
enum { SEQUENCE_SIGNATURE = 0x53053053, LONGEST_SEQUENCE = 1 << 16 };

bool fm_translate_is_sequence(struct ranges *ranges, uint64_t address)
{
	struct sequence sequence;
	const struct range *range;
	uint32_t signature;

	if (address % sizeof(sequence) || !fm_translate_is_readable(address))
		return false;
	memcpy(&sequence, (const void *)address, sizeof(sequence));
	if (sequence.version || !sequence.length || sequence.length > LONGEST_SEQUENCE || !look(ranges, sequence.start))
		return false;
	range = look(ranges, sequence.abort);
	if (!range || sequence.abort - range->start < sizeof(signature))
		return false;
	memcpy(&signature, (const void *)(sequence.abort - sizeof(signature)), sizeof(signature));
	return signature == SEQUENCE_SIGNATURE;
}
