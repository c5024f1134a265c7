/* Machine descriptions. One that is accepted is written and read back the same. */
#include "fuzz/fuzz.h"

#include <unistd.h>

#include "simulator/description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_machine_description read = {0}, again = {0};
	struct fm_error error = {0};
	char *text = fuzz_text(data, size), path[64];
	int status = fm_description_parse(text, "fuzz.machine", &read, &error);

	free(text);
	if (status) {
		must(status < 0 && *error.message);
		return 0;
	}
	must(read.cache_count && read.sockets && read.cores && read.sockets * read.cores <= FM_SIMULATED_CORES_MAX);
	snprintf(path, sizeof(path), "/dev/shm/fathom-fuzz-%d.machine", (int)getpid());
	unlink(path);
	if (fm_description_write(&read, path, &error))
		return 0; /* no such file system here */
	status = fm_description_read(path, &again, &error);
	unlink(path);
	if (status)
		fprintf(stderr, "%s\n", error.message);
	must(!status);
	must(!strcmp(read.title, again.title));
	memcpy(again.name, read.name, sizeof(read.name));
	memcpy(again.source, read.source, sizeof(read.source));
	memcpy(again.title, read.title, sizeof(read.title));
	/* written with nine digits */
	again.frequency_ghz = read.frequency_ghz;
	again.memory_gbs = read.memory_gbs;
	again.memory_core_gbs = read.memory_core_gbs;
	again.remote_gbs = read.remote_gbs;
	again.remote_core_gbs = read.remote_core_gbs;
	again.store_core_gbs = read.store_core_gbs;
	for (unsigned i = 0; i < read.cache_count; i++)
		must(!memcmp(&read.caches[i], &again.caches[i], sizeof(read.caches[i])));
	must(!memcmp(read.tlbs, again.tlbs, sizeof(read.tlbs)));
	must(!memcmp(&read.core, &again.core, sizeof(read.core)));
	must(read.sockets == again.sockets && read.cores == again.cores && read.line_bytes == again.line_bytes &&
	     read.page_bytes == again.page_bytes && read.memory_latency == again.memory_latency &&
	     read.memory_remote_latency == again.memory_remote_latency &&
	     read.memory_write_percent == again.memory_write_percent);
	return 0;
}
