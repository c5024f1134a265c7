#include "replay/parts_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "replay/paces.h"

enum { PROCESSES_MAX = 1 << 16, ENTRY_HEAD = sizeof(struct fm_stream_entry) };

/* A call stack or a name: where it lies, and since when it is known. */
struct numbered {
	uint32_t number;
	uint64_t time;
	const struct fm_stream_entry *entry;
};

struct numbers {
	struct numbered *items;
	size_t count, room;
};

struct file {
	struct fm_part_process process;
	const uint8_t *map;
	size_t bytes;
	struct numbers stacks, names;
	double ticks_per_second, begun; /* seconds of first_ticks */
};

/* The position in a chunk. */
struct cursor {
	uint64_t time; /* of the entry at `at` */
	uint32_t process, at;
	size_t chunk; /* offset in the file */
};

struct fm_parts {
	struct fm_session session;
	struct file *files;
	size_t count, room;
	struct cursor *heap; /* the earliest first */
	size_t cursors;
};

/* The least bytes behind the header. */
static const size_t least[FM_STREAM_KINDS] = {
    [FM_STREAM_THREAD] = sizeof(struct fm_stream_thread),
    [FM_STREAM_MAPPING] = sizeof(struct fm_stream_mapping),
    [FM_STREAM_STACK] = sizeof(struct fm_stream_stack),
    [FM_STREAM_SAMPLE] = sizeof(struct fm_stream_sample),
    [FM_STREAM_MISSED] = sizeof(struct fm_stream_missed),
    [FM_STREAM_ALLOCATE] = sizeof(struct fm_stream_allocation),
    [FM_STREAM_RELEASE] = sizeof(struct fm_stream_release),
    [FM_STREAM_NAME] = sizeof(struct fm_stream_name),
    [FM_STREAM_OBJECT] = sizeof(struct fm_stream_object),
    [FM_STREAM_REGION_BEGIN] = sizeof(struct fm_stream_region),
    [FM_STREAM_REGION_END] = sizeof(struct fm_stream_region),
    [FM_STREAM_FORK] = sizeof(struct fm_stream_child),
    [FM_STREAM_EXECUTE] = sizeof(struct fm_stream_child),
    [FM_STREAM_WINDOW] = sizeof(struct fm_stream_window),
    [FM_STREAM_WATCHED] = sizeof(struct fm_stream_watched),
    [FM_STREAM_PACE] = sizeof(struct fm_stream_pace),
};

/* The entry at a place of a chunk, if there is one. Readers skip kinds of a newer version. */
static const struct fm_stream_entry *entry_at(const struct file *file, size_t chunk, uint32_t at, bool *ret_damaged)
{
	const struct fm_stream_entry *entry;
	uint16_t kind;

	if (at + ENTRY_HEAD > FM_STREAM_CHUNK)
		return NULL;
	entry = (const struct fm_stream_entry *)(file->map + chunk + at);
	/* the last thing that is written of an entry */
	kind = __atomic_load_n(&entry->kind, __ATOMIC_ACQUIRE);
	if (!kind)
		return NULL;
	if (entry->words < ENTRY_HEAD / 8 || at + entry->words * 8u > FM_STREAM_CHUNK ||
	    (kind < FM_STREAM_KINDS && entry->words * 8u < ENTRY_HEAD + least[kind])) {
		*ret_damaged = true;
		return NULL;
	}
	return entry;
}

/* Files */

/* A file of the folder, mapped; its pages are the program's as long as it writes. NULL with errno. */
static const void *map_file(int folder, const char *name, size_t *ret_bytes)
{
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat there;
	void *map = MAP_FAILED;
	int code = EBADMSG;

	if (file < 0)
		return NULL;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && there.st_size > 0) {
		map = mmap(NULL, (size_t)there.st_size, PROT_READ, MAP_SHARED, file, 0);
		code = errno;
	}
	close(file);
	errno = code;
	*ret_bytes = (size_t)there.st_size;
	return map == MAP_FAILED ? NULL : map;
}

static bool is_sane(const struct fm_session *session)
{
	return session->magic == FM_SESSION_MAGIC && session->version == FM_STREAM_VERSION &&
	       isfinite(session->ticks_per_second) && session->ticks_per_second >= 1e6 &&
	       session->ticks_per_second <= 1e11 && isfinite(session->overhead) && isfinite(session->rate);
}

static int open_session(struct fm_parts *parts, int folder, const char *path, struct fm_error *error)
{
	size_t bytes;
	const void *map = map_file(folder, "session", &bytes);

	if (!map)
		return fm_error_set(error, errno == ENOENT ? ENOENT : EBADMSG, "%s/session: %s", path, strerror(errno));
	memcpy(&parts->session, map, bytes < sizeof(parts->session) ? bytes : sizeof(parts->session));
	munmap((void *)map, bytes);
	if (bytes < sizeof(parts->session) || !is_sane(&parts->session))
		return fm_error_set(error, EBADMSG,
		                    "%s: this is no session of fathom record, or one of another version", path);
	return 0;
}

static int add_number(struct numbers *numbers, uint32_t number, const struct fm_stream_entry *entry)
{
	if (!fm_array_grow(numbers->items, numbers->count, numbers->room))
		return -ENOMEM;
	numbers->items[numbers->count++] = (struct numbered){number, entry->time, entry};
	return 0;
}

/* Looks through a chunk: entries with a number, the last time, damage. */
static int scan_chunk(struct file *file, size_t chunk)
{
	bool damaged = false;
	const struct fm_stream_entry *entry;

	for (uint32_t at = 0; (entry = entry_at(file, chunk, at, &damaged)); at += entry->words * 8u) {
		const struct fm_stream_stack *stack = (const void *)(entry + 1);
		size_t size = entry->words * 8u - ENTRY_HEAD;

		if (entry->time > file->process.last)
			file->process.last = entry->time;
		if (entry->kind == FM_STREAM_STACK && stack->count && stack->count <= FM_STREAM_STACK_MAX &&
		    sizeof(*stack) + stack->count * 8u <= size && add_number(&file->stacks, stack->number, entry))
			return -ENOMEM;
		if (entry->kind == FM_STREAM_NAME &&
		    add_number(&file->names, ((const struct fm_stream_name *)(entry + 1))->number, entry))
			return -ENOMEM;
	}
	file->process.damaged += damaged;
	return 0;
}

static int by_number(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

static void sort_numbers(struct numbers *numbers)
{
	if (numbers->count)
		qsort(numbers->items, numbers->count, sizeof(*numbers->items), by_number);
}

/* The rate of the time stamp as this process saw it, if that is believable. */
static void set_clock(struct file *file, const struct fm_session *session)
{
	const struct fm_stream_process *head = &file->process.head;
	double ticks = (double)(head->last_ticks - head->first_ticks);
	double seconds = (double)(head->last_ns - head->first_ns) * 1e-9;

	file->ticks_per_second = session->ticks_per_second;
	if (head->last_ticks > head->first_ticks && head->last_ns > head->first_ns && seconds >= FM_CLOCK_SECONDS &&
	    fabs(ticks / seconds / session->ticks_per_second - 1) < FM_CLOCK_ERROR)
		file->ticks_per_second = ticks / seconds;
	file->begun = head->first_ticks >= session->begun
	                  ? (double)(head->first_ticks - session->begun) / session->ticks_per_second
	                  : 0;
}

/* 0 also when it is no file of a process. */
static int open_process(struct fm_parts *parts, int folder, const char *name, bool engine)
{
	struct file *file;
	size_t bytes, chunks;
	const uint8_t *map;
	int r = 0;

	if (parts->count == PROCESSES_MAX)
		return 0;
	map = map_file(folder, name, &bytes);
	if (!map)
		return errno == ENOMEM ? -ENOMEM : 0;
	if (bytes < FM_STREAM_HEAD || ((const struct fm_stream_process *)map)->magic != FM_STREAM_MAGIC ||
	    ((const struct fm_stream_process *)map)->version != FM_STREAM_VERSION) {
		munmap((void *)map, bytes);
		return 0;
	}
	if (!fm_array_grow(parts->files, parts->count, parts->room)) {
		munmap((void *)map, bytes);
		return -ENOMEM;
	}
	file = &parts->files[parts->count++];
	*file = (struct file){.map = map, .bytes = bytes, .process.engine = engine};
	memcpy(&file->process.head, map, sizeof(file->process.head));
	file->process.head.program[sizeof(file->process.head.program) - 1] = '\0';
	file->process.first = file->process.last = file->process.head.begun;
	set_clock(file, &parts->session);
	chunks = (bytes - FM_STREAM_HEAD) / FM_STREAM_CHUNK;
	for (size_t i = 0; i < chunks && !r; i++)
		r = scan_chunk(file, FM_STREAM_HEAD + i * FM_STREAM_CHUNK);
	sort_numbers(&file->stacks);
	sort_numbers(&file->names);
	return r;
}

/* PID-TICKS, or the engine's PID-TICKS-engine. */
static bool is_process_name(const char *name, bool *ret_engine)
{
	size_t first = strspn(name, "0123456789"), second;
	const char *rest;

	if (!first || name[first] != '-')
		return false;
	second = strspn(name + first + 1, "0123456789");
	rest = name + first + 1 + second;
	*ret_engine = !strcmp(rest, "-engine");
	return second && (!*rest || *ret_engine);
}

static int by_beginning(const void *left, const void *right)
{
	const struct file *a = left, *b = right;

	if (a->process.head.begun != b->process.head.begun)
		return a->process.head.begun < b->process.head.begun ? -1 : 1;
	return (a->process.head.process > b->process.head.process) -
	       (a->process.head.process < b->process.head.process);
}

/* The one of that number that began last before: numbers are used again. */
static void find_origins(struct fm_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		struct fm_part_process *process = &parts->files[i].process;

		process->origin = (uint32_t)i;
		for (size_t k = i; process->head.forked && k-- > 0;)
			if (parts->files[k].process.head.process == process->head.parent &&
			    parts->files[k].process.engine == process->engine) {
				process->origin = (uint32_t)k;
				break;
			}
	}
}

/* The engine's file of a process begins first; the runtime's follows before the engine begins the next program. */
static void find_pairs(struct fm_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		struct fm_part_process *process = &parts->files[i].process;

		process->same = (uint32_t)i;
		for (size_t k = i + 1; process->engine && k < parts->count; k++) {
			if (parts->files[k].process.head.process != process->head.process)
				continue;
			if (!parts->files[k].process.engine)
				process->same = (uint32_t)k;
			break;
		}
	}
}

/* Merging */

static bool earlier(const struct cursor *a, const struct cursor *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->process != b->process ? a->process < b->process : a->chunk < b->chunk;
}

static void sift_down(struct fm_parts *parts, size_t at)
{
	struct cursor moving = parts->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= parts->cursors)
			break;
		if (child + 1 < parts->cursors && earlier(&parts->heap[child + 1], &parts->heap[child]))
			child++;
		if (!earlier(&parts->heap[child], &moving))
			break;
		parts->heap[at] = parts->heap[child];
		at = child;
	}
	parts->heap[at] = moving;
}

static int make_cursors(struct fm_parts *parts)
{
	size_t chunks = 0;

	for (size_t i = 0; i < parts->count; i++)
		chunks += (parts->files[i].bytes - FM_STREAM_HEAD) / FM_STREAM_CHUNK;
	parts->heap = calloc(chunks ? chunks : 1, sizeof(*parts->heap));
	if (!parts->heap)
		return -ENOMEM;
	for (size_t i = 0; i < parts->count; i++) {
		const struct file *file = &parts->files[i];

		for (size_t chunk = FM_STREAM_HEAD; chunk + FM_STREAM_CHUNK <= file->bytes; chunk += FM_STREAM_CHUNK) {
			bool ignored;
			const struct fm_stream_entry *entry = entry_at(file, chunk, 0, &ignored);

			if (entry)
				parts->heap[parts->cursors++] =
				    (struct cursor){.time = entry->time, .process = (uint32_t)i, .chunk = chunk};
		}
	}
	for (size_t i = parts->cursors / 2; i-- > 0;)
		sift_down(parts, i);
	return 0;
}

int fm_parts_open(const char *folder, struct fm_parts **ret_parts, struct fm_error *error)
{
	int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;
	struct fm_parts *parts;
	struct dirent *each;
	bool engine;
	DIR *list;

	if (descriptor < 0)
		return fm_error_set(error, errno == ENOENT ? ENOENT : EBADMSG, "%s: %s", folder, strerror(errno));
	parts = calloc(1, sizeof(*parts));
	list = parts ? fdopendir(descriptor) : NULL;
	if (!list) {
		close(descriptor);
		free(parts);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	r = open_session(parts, dirfd(list), folder, error);
	while (!r && (each = readdir(list)))
		if (is_process_name(each->d_name, &engine) && open_process(parts, dirfd(list), each->d_name, engine))
			r = fm_error_set(error, ENOMEM, "out of memory");
	closedir(list);
	if (!r && parts->count)
		qsort(parts->files, parts->count, sizeof(*parts->files), by_beginning);
	if (!r) {
		find_origins(parts);
		find_pairs(parts);
		if (make_cursors(parts))
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	if (r) {
		fm_parts_close(parts);
		return r;
	}
	*ret_parts = parts;
	return 0;
}

void fm_parts_close(struct fm_parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < parts->count; i++) {
		munmap((void *)parts->files[i].map, parts->files[i].bytes);
		free(parts->files[i].stacks.items);
		free(parts->files[i].names.items);
	}
	free(parts->files);
	free(parts->heap);
	free(parts);
}

const struct fm_session *fm_parts_session(const struct fm_parts *parts)
{
	return &parts->session;
}

size_t fm_parts_process_count(const struct fm_parts *parts)
{
	return parts->count;
}

const struct fm_part_process *fm_parts_process(const struct fm_parts *parts, size_t index)
{
	return &parts->files[index].process;
}

bool fm_parts_next(struct fm_parts *parts, struct fm_part_entry *ret_entry)
{
	while (parts->cursors) {
		struct cursor *first = &parts->heap[0];
		const struct file *file = &parts->files[first->process];
		bool ignored;
		const struct fm_stream_entry *entry = entry_at(file, first->chunk, first->at, &ignored), *next;
		struct fm_part_entry found = {.process = first->process, .time = first->time};

		/* a running process may change its entries: read once, use the copy */
		if (entry) {
			found.kind = (enum fm_stream_kind)entry->kind;
			found.thread = entry->thread;
			found.body = entry + 1;
			found.size = entry->words * 8u - ENTRY_HEAD;
			first->at += (uint32_t)(found.size + ENTRY_HEAD);
		}
		next = entry ? entry_at(file, first->chunk, first->at, &ignored) : NULL;
		if (next)
			first->time = next->time > first->time ? next->time : first->time;
		else
			parts->heap[0] = parts->heap[--parts->cursors];
		if (parts->cursors)
			sift_down(parts, 0);
		if (entry && found.kind > FM_STREAM_EMPTY && found.kind < FM_STREAM_KINDS &&
		    found.size >= least[found.kind]) {
			*ret_entry = found;
			return true;
		}
	}
	return false;
}

/* The latest of that number that the process can know: its own, or one of those it was forked from, from before then.
 */
static const struct numbered *find_number(const struct fm_parts *parts, uint32_t process, uint32_t number, bool stacks,
                                          uint32_t *ret_owner)
{
	uint64_t until = UINT64_MAX;

	for (;;) {
		const struct file *file = &parts->files[process];
		const struct numbers *numbers = stacks ? &file->stacks : &file->names;
		size_t low = 0, high = numbers->count;

		while (low < high) {
			size_t middle = (low + high) / 2;
			const struct numbered *item = &numbers->items[middle];

			if (item->number < number || (item->number == number && item->time <= until))
				low = middle + 1;
			else
				high = middle;
		}
		if (low && numbers->items[low - 1].number == number) {
			*ret_owner = process;
			return &numbers->items[low - 1];
		}
		if (file->process.origin == process)
			return NULL;
		until = file->process.head.begun < until ? file->process.head.begun : until;
		process = file->process.origin;
	}
}

unsigned fm_parts_stack(const struct fm_parts *parts, uint32_t process, uint32_t number, const uint64_t **ret_addresses,
                        uint32_t *ret_owner)
{
	const struct numbered *found = number ? find_number(parts, process, number, true, ret_owner) : NULL;
	const struct fm_stream_stack *stack = found ? (const void *)(found->entry + 1) : NULL;
	size_t room, count;

	if (!found)
		return 0;
	*ret_addresses = (const uint64_t *)(stack + 1);
	room = found->entry->words * 8u < ENTRY_HEAD + sizeof(*stack)
	           ? 0
	           : (found->entry->words * 8u - ENTRY_HEAD - sizeof(*stack)) / 8;
	count = stack->count < FM_STREAM_STACK_MAX ? stack->count : FM_STREAM_STACK_MAX;
	return (unsigned)(count < room ? count : room);
}

const char *fm_parts_name(const struct fm_parts *parts, uint32_t process, uint32_t number)
{
	uint32_t owner;
	const struct numbered *found = number ? find_number(parts, process, number, false, &owner) : NULL;
	const char *text = found ? (const char *)(found->entry + 1) + sizeof(struct fm_stream_name) : NULL;
	size_t room = found && found->entry->words * 8u > ENTRY_HEAD + sizeof(struct fm_stream_name)
	                  ? found->entry->words * 8u - ENTRY_HEAD - sizeof(struct fm_stream_name)
	                  : 0;

	/* its 0 must be there */
	return text && memchr(text, '\0', room) ? text : NULL;
}

double fm_parts_seconds(const struct fm_parts *parts, uint32_t process, uint64_t ticks)
{
	const struct file *file = &parts->files[process];
	const struct fm_stream_process *head = &file->process.head;
	double since = ticks >= head->first_ticks ? (double)(ticks - head->first_ticks) / file->ticks_per_second
	                                          : -(double)(head->first_ticks - ticks) / file->ticks_per_second;
	double seconds = file->begun + since;

	/* a damaged time is no reason for nonsense elsewhere */
	return seconds < 0 ? 0 : seconds > 1e9 ? 1e9 : seconds;
}

const char *fm_part_text(const struct fm_part_entry *entry, size_t offset, char *buffer, size_t size)
{
	size_t room = entry->size > offset ? entry->size - offset : 0;
	size_t length = strnlen((const char *)entry->body + (room ? offset : 0), room);

	length = length < size ? length : size - 1;
	memcpy(buffer, (const char *)entry->body + (room ? offset : 0), length);
	buffer[length] = '\0';
	return buffer;
}
