/* What the consumer of native traces does for a reference: feeds it one of a few streams. Usage: bench_consumer
   MACHINE-FILE STREAM [REFERENCES-IN-THOUSANDS]. Count its instructions with
   valgrind --tool=callgrind --toggle-collect=fm_consumer_read. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/trace/consumer.h"
#include "engine/results.h"
#include "translate/translate.h"

enum { SITES = 64, BLOCK = 16384 };

static struct fm_random numbers;

/* Pages of the results stay in memory: valgrind has no mremap() of this kind. */
void *mremap(void *from, size_t old_size, size_t new_size, int flags, ...)
{
	va_list list;
	void *target;

	(void)from, (void)old_size, (void)new_size;
	va_start(list, flags);
	target = va_arg(list, void *);
	va_end(list);
	return target;
}

static uint64_t below(uint64_t limit)
{
	return fm_random_next(&numbers) % limit;
}

/* The same few lines again and again: a stack, a few variables. */
static uint64_t near(uint64_t i)
{
	return i % 3 ? 0x7ffffff00000 + 8 * (i % 40) : 0x1000000 + 4096 * (i % 5) + 64 * (i % 7);
}

/* Three arrays side by side. */
static uint64_t streams(uint64_t i)
{
	return 0x100000000 * (1 + i % 3) + 0x1040 * (i % 3) + 8 * (i / 3) % (64 << 20);
}

/* Anywhere in what the second cache holds, or the third, or none. */
static uint64_t anywhere_in(uint64_t bytes)
{
	return 0x500000000 + below(bytes) / 8 * 8;
}

/* As programs are: mostly near, some of a table that the first cache holds, some streams, few anywhere. */
static uint64_t mixture(uint64_t i)
{
	static uint64_t streamed;
	uint64_t kind = below(100);

	if (kind < 60)
		return near(i);
	if (kind < 85)
		return 0x2000000 + below(12 << 10) / 8 * 8;
	if (kind < 97)
		return streams(streamed++);
	return anywhere_in(kind < 99 ? 200 << 10 : 16 << 20);
}

static uint64_t address_of(const char *stream, uint64_t i)
{
	if (!strcmp(stream, "near"))
		return near(i);
	if (!strcmp(stream, "table"))
		return 0x2000000 + below(20 << 10) / 8 * 8;
	if (!strcmp(stream, "streams"))
		return streams(i);
	if (!strcmp(stream, "second"))
		return anywhere_in(160 << 10);
	if (!strcmp(stream, "third"))
		return anywhere_in(16 << 20);
	if (!strcmp(stream, "memory"))
		return anywhere_in(256 << 20);
	return mixture(i);
}

int main(int argc, char **argv)
{
	struct fm_trace_file *trace =
	    mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct fm_trace_session *session =
	    mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct fm_machine_description description;
	static struct fm_trace_entry block[BLOCK];
	char path[] = "/tmp/fathom-bench-XXXXXX";
	int file = mkstemp(path);
	struct fm_engine_options options = {.machine = &description, .cores = "0"};
	struct fm_consumer_task task = {.options = &options,
	                                .session = session,
	                                .trace = trace,
	                                .results = path,
	                                .first = true,
	                                .unknown_process = true};
	uint64_t blocks = (argc > 3 ? strtoull(argv[3], NULL, 10) : 1000) * 1000 / BLOCK + 1, spent = 0;
	const struct fm_core_counts *counts;
	struct fm_consumer *consumer;
	struct fm_error error;

	if (argc < 3 || trace == MAP_FAILED || session == MAP_FAILED || file < 0 ||
	    ftruncate(file, sizeof(struct fm_results))) {
		fprintf(stderr, "usage: bench_consumer MACHINE-FILE STREAM [THOUSANDS]\n");
		return 2;
	}
	trace->head.magic = session->magic = FM_TRACE_MAGIC;
	trace->head.version = session->version = FM_TRACE_VERSION;
	trace->head.process = 1234;
	for (unsigned i = 0; i < SITES; i++)
		trace->sites[i] = (struct fm_trace_site){.pc = 0x400000 + 4 * i,
		                                         .size = 8,
		                                         .kind = i % 3 == 2 ? FM_TRANSLATE_STORE : FM_TRANSLATE_LOAD,
		                                         .ready = 1};
	if (fm_description_read(argv[1], &description, &error) || fm_consumer_create(&task, &consumer, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	fm_random_seed(&numbers, 1);
	trace->rings[0][trace->threads[0].written++] =
	    (struct fm_trace_entry){.address = 1, .what = FM_TRACE_CONTROL | FM_TRACE_THREAD_BEGIN};
	for (uint64_t done = 0; done < blocks; done++) {
		uint64_t begin;

		for (unsigned i = 0; i < BLOCK; i++)
			block[i] = (struct fm_trace_entry){.address = address_of(argv[2], done * BLOCK + i),
			                                   .what = (done * BLOCK + i) % 63};
		for (unsigned i = 0; i < BLOCK; i++)
			trace->rings[0][trace->threads[0].written++ % FM_TRACE_RING] = block[i];
		begin = fm_clock_now();
		while (fm_consumer_read(consumer, BLOCK))
			;
		spent += fm_clock_now() - begin;
	}
	fm_consumer_finish(consumer);
	counts = &fm_consumer_results(consumer)->cores[0].counts;
	printf("%s %s: %llu references, %.2f ns each, first cache %.1f %%, TLB %.1f %% misses\n", description.name,
	       argv[2], (unsigned long long)(blocks * BLOCK), (double)spent / (double)(blocks * BLOCK),
	       100.0 * (double)(counts->caches[0].load_misses + counts->caches[0].store_misses) /
	           (double)(blocks * BLOCK),
	       100.0 * (double)counts->tlb_misses[0] / (double)(blocks * BLOCK));
	unlink(path);
	return 0;
}
