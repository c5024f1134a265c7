/* Stands for the sampling library where only the tool is under test: each process that loads it makes a file with one
   sample for every 10 ms that it lives, at most 100. In the calibrating program samples are where a timer of processor
   time interrupts it. With FAKE_RUNTIME=silent in the environment there is no file. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/processor.h"
#include "record/stream.h"

enum { BYTES = FM_STREAM_HEAD + 4 * FM_STREAM_CHUNK, SAMPLES_MAX = 400 };

static struct fm_stream_process *process;
static struct fm_session *session;
static char *at, *end_of_chunk;
static unsigned samples;

static void *map(const char *path, int flags, size_t size)
{
	int file = open(path, flags | O_RDWR | O_CLOEXEC, 0600);
	void *memory = MAP_FAILED;

	if (file >= 0 && (!(flags & O_CREAT) || !ftruncate(file, (off_t)size)))
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file >= 0)
		close(file);
	return memory == MAP_FAILED ? NULL : memory;
}

static void add(enum fm_stream_kind kind, const void *body, size_t size, const char *text)
{
	size_t length = text ? strlen(text) + 1 : 0, words = (sizeof(struct fm_stream_entry) + size + length + 7) / 8;
	struct fm_stream_entry *entry;

	if (at + words * 8 > end_of_chunk) {
		if (end_of_chunk == (char *)process + BYTES)
			return;
		at = end_of_chunk;
		end_of_chunk += FM_STREAM_CHUNK;
	}
	entry = (struct fm_stream_entry *)at;
	memcpy(entry + 1, body, size);
	if (length)
		memcpy((char *)(entry + 1) + size, text, length);
	entry->words = (uint16_t)words;
	entry->thread = 1;
	entry->time = fm_ticks();
	__atomic_store_n(&entry->kind, kind, __ATOMIC_RELEASE);
	at += words * 8;
}

static void add_sample(uint64_t pc)
{
	struct fm_stream_sample body = {.pc = pc,
	                                .address = (uint64_t)&session,
	                                .size = 8,
	                                .kind = FM_STREAM_LOAD,
	                                .cost = 100 + samples,
	                                .baseline = 40,
	                                .period_ns = 10000000};

	if (samples++ < SAMPLES_MAX)
		add(FM_STREAM_SAMPLE, &body, sizeof(body), NULL);
	process->cpu_ns += 10000000;
	process->sampling_ticks += (uint64_t)(session->ticks_per_second * 0.0001);
}

static void *sample(void *unused)
{
	for (int i = 0; i < 100 && !__atomic_load_n(&session->stop, __ATOMIC_ACQUIRE); i++) {
		add_sample((uint64_t)sample);
		usleep(10000);
	}
	return unused;
}

static void on_timer(int number, siginfo_t *information, void *context)
{
	(void)number;
	(void)information;
	add_sample(fm_context_pc(context));
}

static void add_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct fm_stream_mapping body = {.flags = 1, .protection = PROT_READ};
	char line[4200], path[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		*path = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s", &body.begin, &body.end,
		           &body.offset, path) < 3)
			continue;
		add(FM_STREAM_MAPPING, &body, sizeof(body), path);
		body.flags = 0;
	}
	if (maps)
		fclose(maps);
}

static void set_timer(void)
{
	struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval period = {{.tv_usec = 1000}, {.tv_usec = 1000}};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &period, NULL);
}

static void __attribute__((constructor)) begin(void)
{
	const char *folder = getenv(FM_RECORD_VARIABLE), *wish = getenv("FAKE_RUNTIME");
	uint64_t now = fm_ticks();
	char path[4200];
	pthread_t thread;

	if (!folder || (wish && !strcmp(wish, "silent")))
		return;
	snprintf(path, sizeof(path), "%s/session", folder);
	session = map(path, 0, sizeof(*session));
	snprintf(path, sizeof(path), "%s/%d-%lu", folder, (int)getpid(), (unsigned long)now);
	process = session ? map(path, O_CREAT | O_EXCL, BYTES) : NULL;
	if (!process)
		return;
	*process = (struct fm_stream_process){.magic = FM_STREAM_MAGIC,
	                                      .version = FM_STREAM_VERSION,
	                                      .process = (uint32_t)getpid(),
	                                      .parent = (uint32_t)getppid(),
	                                      .begun = now,
	                                      .first_ticks = now,
	                                      .sampler = FM_SAMPLER_CPU_TIMER};
	if (readlink("/proc/self/exe", process->program, sizeof(process->program) - 1) < 0)
		process->program[0] = '\0';
	at = (char *)process + FM_STREAM_HEAD;
	end_of_chunk = at + FM_STREAM_CHUNK;
	add_mappings();
	if (strstr(process->program, "fathom-calibrate"))
		set_timer();
	else
		pthread_create(&thread, NULL, sample, NULL);
}

static void __attribute__((destructor)) end(void)
{
	if (process)
		process->ended = fm_ticks();
}
