#include "engine/trace/map.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fm_trace_file *fm_trace_map(const char *folder, const char *name)
{
	struct fm_trace_file *trace = MAP_FAILED;
	struct stat there;
	char path[1200];
	int file;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return NULL;
	file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (file < 0)
		return NULL;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && there.st_size >= (off_t)sizeof(*trace))
		trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	close(file);
	return trace == MAP_FAILED ? NULL : trace;
}
