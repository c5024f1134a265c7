#include "replay/make_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t begun = 1000000000;

static void must(int holds)
{
	if (!holds)
		abort();
}

void maker_begin(struct maker *maker)
{
	memset(maker, 0, sizeof(*maker));
	snprintf(maker->folder, sizeof(maker->folder), "/tmp/fathom-parts-XXXXXX");
	must(mkdtemp(maker->folder) != NULL);
	maker->session = (struct fm_session){.magic = FM_SESSION_MAGIC,
	                                     .version = FM_STREAM_VERSION,
	                                     .children = 1,
	                                     .overhead = 0.03,
	                                     .ticks_per_second = 1e9,
	                                     .begun = begun,
	                                     .track = 1,
	                                     .arguments = 1,
	                                     .coarse_step = 2,
	                                     .nodes = 1,
	                                     .sampling = 1};
}

struct maker_process *maker_process(struct maker *maker, uint32_t number, uint32_t parent, int forked, uint64_t time)
{
	struct maker_process *process = &maker->processes[maker->count++];

	must(maker->count <= MAKER_PROCESSES);
	process->head = (struct fm_stream_process){.magic = FM_STREAM_MAGIC,
	                                           .version = FM_STREAM_VERSION,
	                                           .process = number,
	                                           .parent = parent,
	                                           .forked = (uint32_t)forked,
	                                           .begun = begun + time,
	                                           .first_ticks = begun + time,
	                                           .first_ns = 5000 + time,
	                                           .last_ticks = begun + time + 1000000000,
	                                           .last_ns = 5000 + time + 1000000000,
	                                           .sampler = FM_SAMPLER_CPU_TIMER};
	snprintf(process->head.program, sizeof(process->head.program), "/nowhere/program");
	return process;
}

void *maker_entry(struct maker_process *process, enum fm_stream_kind kind, uint32_t thread, uint64_t time, size_t size)
{
	size_t words = (sizeof(struct fm_stream_entry) + size + 7) / 8, *chunk, *used;
	struct fm_stream_entry *entry;

	must(thread < MAKER_THREADS);
	chunk = &process->threads[thread].chunk;
	used = &process->threads[thread].used;
	if (!*chunk || *used + words * 8 > FM_STREAM_CHUNK) {
		/* in pieces of 16, as the runtime may do: the last ones are unused then */
		if (!(process->count % 16)) {
			process->chunks = realloc(process->chunks, (process->count + 16) * FM_STREAM_CHUNK);
			must(process->chunks != NULL);
			memset(process->chunks + process->count * FM_STREAM_CHUNK, 0, (size_t)16 * FM_STREAM_CHUNK);
		}
		*chunk = ++process->count;
		*used = 0;
	}
	entry = (struct fm_stream_entry *)(process->chunks + (*chunk - 1) * FM_STREAM_CHUNK + *used);
	*used += words * 8;
	*entry = (struct fm_stream_entry){
	    .kind = (uint16_t)kind, .words = (uint16_t)words, .thread = thread, .time = begun + time};
	return entry + 1;
}

void maker_thread(struct maker_process *process, uint32_t thread, uint64_t time, uint32_t id, const char *name,
                  uint64_t stack_begin, uint64_t stack_end)
{
	struct fm_stream_thread *body = maker_entry(process, FM_STREAM_THREAD, thread, time, sizeof(*body));

	*body = (struct fm_stream_thread){.id = id, .stack_begin = stack_begin, .stack_end = stack_end};
	strncpy(body->name, name, sizeof(body->name) - 1);
}

void maker_map(struct maker_process *process, uint64_t time, uint64_t begin, uint64_t end, uint64_t offset,
               uint32_t protection, const char *path, int first)
{
	struct fm_stream_mapping *body =
	    maker_entry(process, FM_STREAM_MAPPING, 1, time, sizeof(*body) + strlen(path) + 1);

	*body = (struct fm_stream_mapping){begin, end, offset, protection, (uint32_t)first};
	memcpy(body + 1, path, strlen(path) + 1);
}

void maker_stack(struct maker_process *process, uint32_t thread, uint64_t time, uint32_t number, unsigned count,
                 const uint64_t *addresses)
{
	struct fm_stream_stack *body =
	    maker_entry(process, FM_STREAM_STACK, thread, time, sizeof(*body) + count * sizeof(*addresses));

	*body = (struct fm_stream_stack){number, count};
	memcpy(body + 1, addresses, count * sizeof(*addresses));
}

void maker_name(struct maker_process *process, uint64_t time, uint32_t number, const char *text)
{
	struct fm_stream_name *body = maker_entry(process, FM_STREAM_NAME, 1, time, sizeof(*body) + strlen(text) + 1);

	*body = (struct fm_stream_name){.number = number};
	memcpy(body + 1, text, strlen(text) + 1);
}

void maker_allocate(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t address, uint64_t size,
                    uint32_t stack, uint32_t allocator, double weight)
{
	struct fm_stream_allocation *body = maker_entry(process, FM_STREAM_ALLOCATE, thread, time, sizeof(*body));

	*body = (struct fm_stream_allocation){address, size, stack, allocator, weight};
}

void maker_release(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t address, uint64_t size)
{
	struct fm_stream_release *body = maker_entry(process, FM_STREAM_RELEASE, thread, time, sizeof(*body));

	*body = (struct fm_stream_release){address, size};
}

struct fm_stream_sample *maker_sample(struct maker_process *process, uint32_t thread, uint64_t time, uint64_t pc,
                                      uint64_t address, uint32_t stack)
{
	struct fm_stream_sample *body = maker_entry(process, FM_STREAM_SAMPLE, thread, time, sizeof(*body));

	*body = (struct fm_stream_sample){.pc = pc,
	                                  .address = address,
	                                  .size = 8,
	                                  .kind = FM_STREAM_LOAD,
	                                  .node = FM_STREAM_NO_NODE,
	                                  .page_node = FM_STREAM_NO_NODE,
	                                  .stack = stack,
	                                  .period_ns = 1000000};
	return body;
}

void maker_map_self(struct maker_process *process, uint64_t time)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200], protection[5], path[4096];
	uint64_t begin, end, offset;
	int first = 1;

	must(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		*path = '\0';
		must(sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &begin, &end, protection,
		            &offset, path) >= 4);
		maker_map(process, time, begin, end, offset,
		          (protection[0] == 'r' ? PROT_READ : 0) | (protection[1] == 'w' ? PROT_WRITE : 0) |
		              (protection[2] == 'x' ? PROT_EXEC : 0),
		          path, first);
		first = 0;
	}
	fclose(maps);
}

static void write_file(const char *path, const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
	FILE *file = fopen(path, "w");

	must(file != NULL);
	must(fwrite(head, 1, head_bytes, file) == head_bytes);
	must(!rest_bytes || fwrite(rest, 1, rest_bytes, file) == rest_bytes);
	must(!fclose(file));
}

void maker_write(struct maker *maker)
{
	static char page[FM_STREAM_HEAD];
	char path[600];

	snprintf(path, sizeof(path), "%s/session", maker->folder);
	write_file(path, &maker->session, sizeof(maker->session), NULL, 0);
	for (unsigned i = 0; i < maker->count; i++) {
		struct maker_process *process = &maker->processes[i];

		process->head.chunks = (process->count + 15) / 16 * 16;
		memset(page, 0, sizeof(page));
		memcpy(page, &process->head, sizeof(process->head));
		snprintf(path, sizeof(path), "%s/%u-%" PRIu64 "%s", maker->folder, process->head.process,
		         process->head.begun, process->engine ? "-engine" : "");
		write_file(path, page, sizeof(page), process->chunks, process->head.chunks * FM_STREAM_CHUNK);
		free(process->chunks);
		process->chunks = NULL;
	}
}

void maker_remove(struct maker *maker)
{
	char path[600];

	for (unsigned i = 0; i < maker->count; i++) {
		snprintf(path, sizeof(path), "%s/%u-%" PRIu64 "%s", maker->folder, maker->processes[i].head.process,
		         maker->processes[i].head.begun, maker->processes[i].engine ? "-engine" : "");
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/session", maker->folder);
	unlink(path);
	rmdir(maker->folder);
}
