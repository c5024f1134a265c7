#include "engine/trace/large.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

enum { PART = 8 };

const struct fm_trace_large *fm_large_map(const char *path)
{
	const off_t from = sizeof(struct fm_trace_file);
	const struct fm_trace_large *large = MAP_FAILED;
	struct stat there;
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (file < 0)
		return NULL;
	if (!fstat(file, &there) && S_ISREG(there.st_mode) && there.st_size >= from + (off_t)sizeof(*large))
		large = mmap(NULL, sizeof(*large), PROT_READ, MAP_SHARED | MAP_NORESERVE, file, from);
	close(file);
	return large == MAP_FAILED ? NULL : large;
}

unsigned fm_large_affordable(void)
{
	uint64_t count = fm_memory_available() / PART / sizeof(((struct fm_trace_large *)0)->rings[0]);

	return count < FM_TRACE_LARGE_RINGS ? (unsigned)count : FM_TRACE_LARGE_RINGS;
}
