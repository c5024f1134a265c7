/* The file of a recorded process: whatever is in it, the recording that is made of it is one that can be kept and
   opened. The input is the first page up to its first changed byte, and chunks. */
#include "fuzz/fuzz.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/sampled.h"
#include "record/stream.h"

static void write_file(const char *path, const void *first, size_t first_size, const void *second, size_t second_size)
{
	FILE *file = fopen(path, "w");

	must(file && fwrite(first, 1, first_size, file) == first_size);
	must(!second_size || fwrite(second, 1, second_size, file) == second_size);
	must(!fclose(file));
}

/* A file that begins like one of a process, so that what follows is looked at; the rest is the input. A second one, of
   a process that was forked from it, has the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t head[FM_STREAM_HEAD], chunks[4 * FM_STREAM_CHUNK];
	static char folder[64], session[96], first[96], second[96];
	struct fm_session description = {.magic = FM_SESSION_MAGIC,
	                                 .version = FM_STREAM_VERSION,
	                                 .ticks_per_second = 1e9,
	                                 .begun = 1000,
	                                 .sampling = 1};
	struct fm_stream_process process = {.magic = FM_STREAM_MAGIC, .version = FM_STREAM_VERSION};
	size_t of_head = size < sizeof(process) ? size : sizeof(process);
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error = {0};

	if (!*folder) {
		snprintf(folder, sizeof(folder), "%s/fathom-fuzz-parts-%d",
		         access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
		snprintf(session, sizeof(session), "%s/session", folder);
		snprintf(first, sizeof(first), "%s/1-1000", folder);
		snprintf(second, sizeof(second), "%s/2-2000", folder);
	}
	must(recording && (!mkdir(folder, 0700) || !access(folder, W_OK)));
	memset(head, 0, sizeof(head));
	memcpy(head, data, of_head);
	memcpy(head, &process, offsetof(struct fm_stream_process, process));
	memset(chunks, 0, sizeof(chunks));
	size -= of_head;
	memcpy(chunks, data + of_head, size < sizeof(chunks) ? size : sizeof(chunks));
	write_file(session, &description, sizeof(description), NULL, 0);
	write_file(first, head, sizeof(head), chunks, sizeof(chunks));
	memcpy(&process, head, sizeof(process));
	process.parent = process.process;
	process.process++;
	process.forked = 1;
	process.begun += 500;
	memcpy(head, &process, sizeof(process));
	write_file(second, head, sizeof(head), chunks, sizeof(chunks));
	if (fm_sampled_read(folder, recording, &error))
		must(*error.message);
	else
		must(!fm_recording_settle(recording, &error) && recording->sampled_processes_count == 2);
	fm_recording_free(recording);
	unlink(first);
	unlink(second);
	unlink(session);
	rmdir(folder);
	return 0;
}
